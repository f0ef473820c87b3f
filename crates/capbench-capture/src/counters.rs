//! Kernel counters of a packet socket. The kernel resets them whenever they are read, so they are read here and nowhere
//! else, and accumulated in 64 bits.

use capbench_sys::Result;
use capbench_sys::packet::{PacketSocket, PacketStatistics};

/// Counters since the capture was opened. Absent means that the method cannot tell; it does not mean 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames that passed the socket filter, those dropped for want of room included (`tp_packets`).
    pub accepted: Option<u64>,
    /// Frames that passed the filter and found no room in ring or socket (`tp_drops`).
    pub dropped: Option<u64>,
    /// How often a V3 ring was found full: events, not frames (`tp_freeze_q_cnt`).
    pub freezes: Option<u64>,
}

/// Accumulates `PACKET_STATISTICS`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Accumulator {
    total: Counters,
}

impl Accumulator {
    /// Reads the socket's counters, which resets them, and returns the totals.
    pub(crate) fn read(&mut self, socket: &PacketSocket) -> Result<Counters> {
        self.add(socket.take_statistics()?);
        Ok(self.total)
    }

    fn add(&mut self, since: PacketStatistics) {
        let plus = |total: Option<u64>, more: u32| Some(total.unwrap_or(0) + u64::from(more));
        self.total.accepted = plus(self.total.accepted, since.packets);
        self.total.dropped = plus(self.total.dropped, since.drops);
        if let Some(freezes) = since.freezes {
            self.total.freezes = plus(self.total.freezes, freezes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Accumulator, Counters};
    use capbench_sys::packet::PacketStatistics;

    #[test]
    fn totals_pass_32_bits_and_absent_stays_absent() {
        let mut sum = Accumulator::default();
        for _ in 0..3 {
            sum.add(PacketStatistics { packets: u32::MAX, drops: 7, freezes: None });
        }
        let expected = Counters { accepted: Some(3 * u64::from(u32::MAX)), dropped: Some(21), freezes: None };
        assert_eq!(sum.total, expected);
    }
}
