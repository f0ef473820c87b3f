//! Frames that the interface received and that never reached the capture's socket. They came while the interface was down or
//! coming up: the kernel then detaches a packet socket (`packet_notifier` of net/packet/af_packet.c).
//!
//! No counter counts them. The recorder compares *received* with *accepted*, which is valid only if both count the same frames.
//! It reports a number only if it is certain; the number is then a lower bound:
//! - The interface is a veth without GRO and without an XDP program. It counts a frame when it passes the frame to the stack.
//!   Other drivers count frames that their hardware keeps, some of them seconds later; GRO merges frames after the counter; XDP
//!   takes them away.
//! - One packet socket captures, without a filter. Several sockets would open at different times.
//! - Frames in a kernel backlog are not missing yet: the maximum possible number is subtracted.
//! - Frames that this host sends are accepted but not received. Those that the recorder sees are subtracted from *accepted*.
//!   Where it does not look at single frames, each hides one missing frame.

use std::cell::Cell;

use capbench_capture::interface::Interface;
use capbench_model::counters::{Counters, Loss};
use capbench_model::direction::Direction;
use capbench_model::places::Place;
use capbench_sys::bpf;
use capbench_sys::host::ethtool::{self, Offload};

use super::link::LinkSample;
use super::plan::Source;

/// The driver whose counter is known to count the frames passed to the stack.
const DRIVER: &str = "veth";

/// The ledger's note for a known number.
const KNOWN: &str =
    "rx_packets less accepted: came while the interface was down, or before the kernel attached the socket";

/// Counts these frames.
#[derive(Debug)]
pub(super) struct Unreached {
    interface: Interface,
    unknown_because: Cell<Option<&'static str>>,
    least: Cell<u64>,
}

impl Unreached {
    /// For a source that captures by a packet socket.
    pub(super) fn of(source: &Source) -> Self {
        let unreached = Self {
            interface: source.interface.clone(),
            unknown_because: Cell::new(unsuitable(source)),
            least: Cell::new(0),
        };
        unreached.check();
        unreached
    }

    /// Compares counters read after `sample`. This host sent at least `outgoing` of the frames accepted by then.
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

    /// Lower bound of the lost frames.
    pub(super) fn least(&self) -> u64 {
        self.least.get()
    }

    /// The entry for the ledger.
    pub(super) fn loss(&self) -> Loss {
        let least = self.least.get();
        let (count, source) = match self.unknown_because.get() {
            Some(reason) if least == 0 => (None, reason),
            _ => (Some(least), KNOWN),
        };
        Loss { place: Place::Stack, count, source: source.into() }
    }

    /// Stops comparing once the two counters no longer count the same frames. Earlier results stay valid.
    fn check(&self) {
        let reason = match (
            ethtool::offload(&self.interface.name, Offload::Gro),
            bpf::attached_to(self.interface.index),
        ) {
            (Ok(true), _) => "unknown: GRO merges packets behind the interface's counter",
            (_, Ok(Some(_))) => "unknown: an XDP program on the interface takes packets",
            // An interface that is gone counts no more frames.
            _ => return,
        };
        self.unknown_because.set(self.unknown_because.get().or(Some(reason)));
    }
}

/// Why the frames of a source cannot be compared.
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
        _ => Some("unknown: the driver's rx_packets is not known to count what it passes to the stack"),
    }
}

/// Lower bound of the missing frames; `None` if a number is unknown.
fn missing(sample: &LinkSample, counters: &Counters, outgoing: u64) -> Option<u64> {
    let incoming = counters.accepted?.saturating_sub(outgoing);
    Some(sample.counts.received?.saturating_sub(incoming).saturating_sub(sample.in_flight?))
}

#[cfg(test)]
mod tests {
    use super::{LinkSample, missing};
    use crate::recording::link::LinkCounts;
    use capbench_model::counters::Counters;

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
    fn uncounted_frames_are_no_loss() {
        for unknown in [
            compared(None, Some(0), Some(1), 0),
            compared(Some(9), None, Some(1), 0),
            compared(Some(9), Some(0), None, 0),
        ] {
            assert_eq!(unknown, None);
        }
    }
}
