//! Frames that the interface received and that never reached the capture's socket.
//!
//! Some came while the interface was down or coming up: the kernel then detaches a packet socket (`packet_notifier` of
//! net/packet/af_packet.c). Others were taken by an XDP program, which runs before packet sockets see a frame.
//!
//! No counter counts the former. The recorder compares *received* with *accepted*, which is valid only if both count the same
//! frames. It reports a number only if it is certain; the number is then a lower bound:
//! - The interface is a veth without GRO. It counts a frame when it passes the frame to the stack. Other drivers count frames that
//!   their hardware keeps, some of them seconds later; GRO merges frames after the counter.
//! - One packet socket captures, without a filter. Several sockets would open at different times.
//! - Frames in a kernel backlog are not missing yet: the maximum possible number is subtracted.
//! - Frames that this host sends are accepted but not received. Those that the recorder sees are subtracted from *accepted*.
//!   Where it does not look at single frames, each hides one missing frame.
//!
//! What an XDP program in the driver takes, the driver counts, if it is one that does. Of another program the same comparison
//! shows it: frames that go missing while such a program is attached count as its.

use std::cell::{Cell, RefCell};

use capbench_capture::interface::Interface;
use capbench_host::xdp::{COUNTED_BY_DRIVER, XdpTakes};
use capbench_model::counters::{Counters, Loss};
use capbench_model::direction::Direction;
use capbench_model::places::Place;
use capbench_sys::host::ethtool::{self, Offload};

use super::link::LinkSample;
use super::plan::Source;

/// The driver whose counter is known to count the frames passed to the stack.
const DRIVER: &str = "veth";

/// The ledger's note for a known number.
const KNOWN: &str =
    "rx_packets less accepted: came while the interface was down, or before the kernel attached the socket";

/// The ledger's note for frames of a program that no driver counts.
const COMPARED: &str = "rx_packets less accepted, while it was attached";

/// The same where the comparison ended before the recording.
const COMPARED_BEFORE: &str =
    "at least: rx_packets less accepted, while both could be compared; later ones are unknown";

/// The ledger's note for an unknown number.
const UNCOUNTED: &str = "unknown: no counter of this host shows how many frames it takes";

/// Counts these frames.
#[derive(Debug)]
pub(super) struct Unreached {
    interface: Interface,
    unknown_because: Cell<Option<&'static str>>,
    least: Cell<u64>,
    xdp: RefCell<XdpTakes>,
    /// Frames that went missing while a program was attached that no driver counts.
    by_program: Cell<u64>,
    /// Whether such a program was attached at the last comparison.
    was_uncounted: Cell<bool>,
    is_shut: Cell<bool>,
    /// Whether the user's filter selects frames.
    has_filter: bool,
    /// Whether the capture wants frames that the interface receives.
    receives: bool,
}

impl Unreached {
    /// For a source that captures by a packet socket.
    pub(super) fn of(source: &Source) -> Self {
        let Source { interface, options, .. } = source;
        let unreached = Self {
            interface: interface.clone(),
            unknown_because: Cell::new(unsuitable(source)),
            least: Cell::new(0),
            xdp: RefCell::new(XdpTakes::new(&interface.name, interface.index)),
            by_program: Cell::new(0),
            was_uncounted: Cell::new(false),
            is_shut: Cell::new(false),
            has_filter: options.filter.is_some(),
            receives: options.direction != Direction::Out,
        };
        unreached.check();
        unreached
    }

    /// The capture takes no more frames: what XDP programs take from here on is not of the recording.
    pub(super) fn shut(&self) {
        self.xdp.borrow_mut().read();
        self.is_shut.set(true);
    }

    /// Compares counters read after `sample`. This host sent at least `outgoing` of the frames accepted by then.
    pub(super) fn compare(&self, sample: &LinkSample, counters: &Counters, outgoing: u64) {
        if !self.is_shut.get() {
            self.xdp.borrow_mut().read();
        }
        self.check();
        if self.unknown_because.get().is_some() {
            return;
        }
        let Some(missing) = missing(sample, counters, outgoing) else {
            self.unknown_because.set(Some("unknown: the host does not show what to compare"));
            return;
        };
        let xdp = self.xdp.borrow();
        let is_uncounted = xdp.is_attached() && xdp.taken().is_none();
        let was_uncounted = self.was_uncounted.replace(is_uncounted);
        let known = xdp.counted() + self.least.get() + self.by_program.get();
        let more = missing.saturating_sub(known);
        let place = if is_uncounted || was_uncounted { &self.by_program } else { &self.least };
        place.set(place.get() + more);
    }

    /// Lower bound of the lost frames.
    pub(super) fn least(&self) -> u64 {
        let by_programs = self.taken().and_then(|loss| loss.count).unwrap_or(0);
        self.least.get() + by_programs
    }

    /// The entries for the ledger: what XDP programs took, if there was one, and the others.
    pub(super) fn losses(&self) -> Vec<Loss> {
        let least = self.least.get();
        let (count, source) = match self.unknown_because.get() {
            Some(reason) if least == 0 => (None, reason),
            _ => (Some(least), KNOWN),
        };
        let others = Loss { place: Place::Stack, count, source: source.into() };
        self.taken().into_iter().chain([others]).collect()
    }

    /// Whether XDP programs may have taken more frames than [`Self::losses`] has, or an unknown number.
    pub(super) fn may_be_more_by_xdp(&self) -> bool {
        let xdp = self.xdp.borrow();
        let is_seen = xdp.program().is_some() && self.receives;
        is_seen && xdp.taken().is_none() && self.unknown_because.get().is_some()
    }

    /// What XDP programs took; `None` if there was none, or if the capture wants no received frames.
    fn taken(&self) -> Option<Loss> {
        let xdp = self.xdp.borrow();
        let program = xdp.program().filter(|_| self.receives)?;
        let is_compared = self.unknown_because.get().is_none();
        let seen = xdp.counted() + self.by_program.get();
        let (count, source) = match xdp.taken() {
            Some(frames) if frames > 0 && self.has_filter => (
                None,
                format!(
                    "unknown: it took {frames} frames, and which of them the filter would pass is unknown"
                ),
            ),
            Some(frames) => (Some(frames), COUNTED_BY_DRIVER.into()),
            None if is_compared => (Some(seen), COMPARED.into()),
            // Of the frames that the driver counts, a filter passes an unknown number.
            None if !self.has_filter && seen > 0 => (Some(seen), COMPARED_BEFORE.into()),
            None => (None, UNCOUNTED.into()),
        };
        Some(Loss { place: Place::Xdp, count, source: format!("XDP {program}; {source}").into() })
    }

    /// Stops comparing once the two counters no longer count the same frames. Earlier results stay valid.
    fn check(&self) {
        // An interface that is gone counts no more frames.
        if let Ok(true) = ethtool::offload(&self.interface.name, Offload::Gro) {
            let reason = "unknown: GRO merges packets behind the interface's counter";
            self.unknown_because.set(self.unknown_because.get().or(Some(reason)));
        }
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
