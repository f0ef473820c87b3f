//! The counters of a packet socket.

use std::sync::{Arc, Mutex, PoisonError};

use capbench_sys::Result;
use capbench_sys::packet::{PacketSocket, PacketStatistics};

use capbench_model::counters::Counters;
use capbench_model::counters::FREEZES;

/// Accumulates `PACKET_STATISTICS` in 64 bits. The kernel resets them on every read, so only this type reads them. Clones
/// share one total.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accumulator {
    sums: Arc<Mutex<Sums>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    packets: u64,
    drops: u64,
    freezes: Option<u64>,
}

impl Accumulator {
    /// Reads the socket's counters, which resets them, and returns the totals.
    pub(crate) fn read(&self, socket: &PacketSocket) -> Result<Counters> {
        Ok(self.add(socket.take_statistics()?).total())
    }

    fn add(&self, since: PacketStatistics) -> Sums {
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.packets += u64::from(since.packets);
        sums.drops += u64::from(since.drops);
        if let Some(freezes) = since.freezes {
            sums.freezes = Some(sums.freezes.unwrap_or(0) + u64::from(freezes));
        }
        *sums
    }
}

impl Sums {
    fn total(self) -> Counters {
        let mut raw = vec![("tp_packets".into(), self.packets), ("tp_drops".into(), self.drops)];
        // How often a V3 ring was full: events, not frames.
        raw.extend(self.freezes.map(|freezes| (FREEZES.into(), freezes)));
        Counters::of_ring(Some(self.packets), Some(self.drops), "PACKET_STATISTICS: tp_drops", raw)
    }
}

#[cfg(test)]
mod tests {
    use capbench_sys::packet::PacketStatistics;

    use super::Accumulator;
    use capbench_model::counters::Counters;
    use capbench_model::places::Place;

    #[test]
    fn totals_pass_32_bits_and_absent_stays_absent() {
        let sum = Accumulator::default();
        for _ in 0..3 {
            sum.add(PacketStatistics { packets: u32::MAX, drops: 7, freezes: None });
        }
        let total = sum.add(PacketStatistics { packets: 0, drops: 0, freezes: None }).total();
        assert_eq!((total.accepted, total.dropped()), (Some(3 * u64::from(u32::MAX)), Some(21)));
        assert_eq!((total.raw("tp_freeze_q_cnt"), total.lost_at(Place::FillRing)), (None, None));
        assert_eq!(Counters::default().dropped(), None);
    }

    #[test]
    fn only_a_later_reading_counts_as_new() {
        let sum = Accumulator::default();
        let before = sum.add(PacketStatistics { packets: 10, drops: 3, freezes: Some(1) }).total();
        let now = sum.clone().add(PacketStatistics { packets: 20, drops: 4, freezes: Some(2) });
        let since = now.total().since(&before);
        assert_eq!(
            (since.accepted, since.dropped(), since.raw("tp_freeze_q_cnt")),
            (Some(20), Some(4), Some(2))
        );
        assert!(now.total().shows_full_ring_since(&before));
        let frozen = sum.add(PacketStatistics { packets: 0, drops: 0, freezes: Some(1) }).total();
        assert!(frozen.shows_full_ring_since(&now.total()));
        assert!(
            !frozen.shows_full_ring_since(&frozen) && !Counters::default().shows_full_ring_since(&before)
        );
        assert_eq!(before.since(&Counters::default()), before, "nothing was counted before it was opened");
        assert_eq!(Counters::default().since(&before).accepted, None, "absent is not zero");
    }
}
