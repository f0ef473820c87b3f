//! Frames that the interface received and that never reached the socket of the capture: those that came while the interface was
//! down or on its way up, since the kernel detaches a packet socket then (`packet_notifier` of net/packet/af_packet.c).
//!
//! Nothing counts them. What is left is a comparison, *received* less *accepted*, which says something only where both count the
//! same frames. A number is counted where that is certain, and then it is the least that can have been lost:
//! - The interface is a veth without GRO and without an XDP program. It counts a frame when it gives it to the stack. Other drivers
//!   count frames that their hardware keeps, some of them seconds later; GRO merges frames behind the counter; XDP takes them away.
//! - One packet socket captures, without a filter. With several, some are open before the others.
//! - Frames in a backlog of the kernel are not missing yet: as many as may be there are subtracted.
//! - Frames that this host sends are accepted and not received. Those that the recorder sees as such are subtracted from what
//!   was accepted; where it does not look, they hide as many that are missing.

use std::cell::Cell;

use capbench_capture::Direction;
use capbench_capture::counters::{Counters, Loss, LossPlace};
use capbench_capture::interface::Interface;
use capbench_sys::bpf;
use capbench_sys::host::ethtool::{self, Offload};

use super::link::LinkSample;
use super::plan::Source;

/// The driver whose counter is known to count what goes to the stack.
const DRIVER: &str = "veth";

/// What the ledger says of a number.
const KNOWN: &str =
    "rx_packets less accepted: came while the interface was down, or before the kernel attached the socket";

/// Counts them.
#[derive(Debug)]
pub(super) struct Unreached {
    interface: Interface,
    unknown_because: Cell<Option<&'static str>>,
    least: Cell<u64>,
}

impl Unreached {
    /// Of a source whose capture is a packet socket.
    pub(super) fn of(source: &Source) -> Self {
        let unreached = Self {
            interface: source.interface.clone(),
            unknown_because: Cell::new(unsuitable(source)),
            least: Cell::new(0),
        };
        unreached.check();
        unreached
    }

    /// Counters were read behind `sample`; of the frames that were accepted by then, the host itself sent so many, at least.
    pub(super) fn compare(&self, sample: &LinkSample, counters: &Counters, outgoing: u64) {
        self.check();
        if self.unknown_because.get().is_some() {
            return;
        }
        match missing(sample, counters, outgoing) {
            Some(missing) => self.least.set(self.least.get().max(missing)),
            None => self.unknown_because.set(Some("unknown: the host does not show what to compare")),
        }
    }

    /// As many were lost, at least.
    pub(super) fn least(&self) -> u64 {
        self.least.get()
    }

    /// As an entry of the ledger.
    pub(super) fn loss(&self) -> Loss {
        let least = self.least.get();
        let (count, source) = match self.unknown_because.get() {
            Some(reason) if least == 0 => (None, reason),
            _ => (Some(least), KNOWN),
        };
        Loss { place: LossPlace::Stack, count, source: source.into() }
    }

    /// Gives up once the two counters no longer count the same frames. What was found before stays certain.
    fn check(&self) {
        let reason = match (
            ethtool::offload(&self.interface.name, Offload::Gro),
            bpf::attached_to(self.interface.index),
        ) {
            (Ok(true), _) => "unknown: GRO merges packets behind the interface's counter",
            (_, Ok(Some(_))) => "unknown: an XDP program on the interface takes packets",
            // An interface that is gone counts nothing more.
            _ => return,
        };
        self.unknown_because.set(self.unknown_because.get().or(Some(reason)));
    }
}

/// Why the frames of a source cannot be compared at all.
fn unsuitable(source: &Source) -> Option<&'static str> {
    let options = &source.options;
    if options.filter.is_some() {
        return Some("unknown: a filter leaves packets out that the interface counts");
    }
    if options.direction == Direction::Out {
        return Some("unknown: packets that are received are not captured");
    }
    if source.members > 1 {
        return Some("unknown: several captures share the interface's packets");
    }
    match ethtool::driver(&source.interface.name) {
        Ok(info) if info.driver == DRIVER => None,
        _ => Some("unknown: the driver's rx_packets is not known to count what it gives to the stack"),
    }
}

/// Frames that are missing, at least; `None` where something is unknown.
fn missing(sample: &LinkSample, counters: &Counters, outgoing: u64) -> Option<u64> {
    let incoming = counters.accepted?.saturating_sub(outgoing);
    Some(sample.counts.received?.saturating_sub(incoming).saturating_sub(sample.in_flight?))
}

#[cfg(test)]
mod tests {
    use super::{LinkSample, missing};
    use crate::recording::link::LinkCounts;
    use capbench_capture::counters::Counters;

    fn compared(
        received: Option<u64>,
        in_flight: Option<u64>,
        accepted: Option<u64>,
        outgoing: u64,
    ) -> Option<u64> {
        let counts = LinkCounts { received, ..LinkCounts::default() };
        let counters = Counters { accepted, ..Counters::default() };
        missing(&LinkSample { counts, in_flight }, &counters, outgoing)
    }

    #[test]
    fn only_what_is_certain_is_missing() {
        assert_eq!(compared(Some(1000), Some(0), Some(573), 0), Some(427));
        assert_eq!(compared(Some(1000), Some(30), Some(573), 0), Some(397), "it may still come");
        assert_eq!(
            compared(Some(1000), Some(0), Some(1100), 527),
            Some(427),
            "outgoing ones were not received"
        );
        assert_eq!(
            compared(Some(1000), Some(0), Some(1100), 0),
            Some(0),
            "nobody looked which were outgoing"
        );
        assert_eq!(compared(Some(1000), Some(5), Some(998), 0), Some(0));
    }

    #[test]
    fn what_nobody_counts_is_no_loss() {
        for unknown in [
            compared(None, Some(0), Some(1), 0),
            compared(Some(9), None, Some(1), 0),
            compared(Some(9), Some(0), None, 0),
        ] {
            assert_eq!(unknown, None);
        }
    }
}
