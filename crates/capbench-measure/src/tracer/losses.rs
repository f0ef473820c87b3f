//! What the ledger takes from the tracer: drops by the place that they stand for.

use std::collections::BTreeMap;
use std::fmt;

use super::InterfaceTrace;
use super::reasons::{Standing, standing};

/// Numbers of frames by why they were dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses(BTreeMap<String, u64>);

impl Losses {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add(&mut self, why: String, count: u64) {
        *self.0.entry(why).or_default() += count;
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> = self.0.iter().map(|(why, count)| format!("{why} {count}")).collect();
        f.write_str(&parts.join(", "))
    }
}

/// What the tracer saw during a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracedLosses {
    /// Lost on the sending interface and not in its counters.
    pub transmit: Losses,
    /// Lost in generic XDP on the receiving one.
    pub xdp: Losses,
    /// Lost in the stack in front of the capture point.
    pub stack: Losses,
    /// Dropped on the sending interface, nobody knows whether its counters have it.
    pub unplaced_transmit: Losses,
    /// Dropped on the receiving interface, nobody knows whether before or after the capture point.
    pub unplaced: Losses,
    /// Dropped on the receiving interface after the capture point: no losses, but the end of each frame that reached it.
    pub after: u64,
    /// XDP programs' exceptions and failed redirects on the receiving interface.
    pub xdp_failures: u64,
    /// Those of them that were redirects.
    pub failed_redirects: u64,
    /// Frames dropped on both interfaces, for whatever reason: how often the program that counts them ran for the trial.
    pub drops: u64,
    /// Events of the whole host that the tracer missed.
    pub missed: u64,
    /// Whether the receiving interface's program runs on socket buffers: whatever it drops is then seen.
    pub xdp_is_generic: bool,
    /// Everything that was counted, by name.
    pub counters: BTreeMap<String, u64>,
}

impl TracedLosses {
    /// Sorts what was counted on the two sides during a trial.
    pub fn new(transmit: &InterfaceTrace, receive: &InterfaceTrace, xdp_is_generic: bool) -> Self {
        let mut losses = Self {
            xdp_failures: receive.xdp_exceptions + receive.xdp_redirect_errors,
            failed_redirects: receive.xdp_redirect_errors,
            missed: receive.missed,
            xdp_is_generic,
            ..Self::default()
        };
        for (side, trace, receives) in [("transmit", transmit, false), ("receive", receive, true)] {
            for (kind, count) in &trace.drops {
                losses.counters.insert(format!("trace.{side}.drop.{kind}"), *count);
                losses.drops += count;
                let place = match (standing(kind), receives) {
                    (Standing::Transmit, false) => &mut losses.transmit,
                    (Standing::Xdp, true) => &mut losses.xdp,
                    (Standing::Stack, true) => &mut losses.stack,
                    (Standing::Unknown, true) => &mut losses.unplaced,
                    (Standing::Unknown, false) => &mut losses.unplaced_transmit,
                    (Standing::After, true) => {
                        losses.after += count;
                        continue;
                    }
                    _ => continue,
                };
                place.add(kind.to_string(), *count);
            }
            for (name, count) in
                [("xdp_exception", trace.xdp_exceptions), ("xdp_redirect_err", trace.xdp_redirect_errors)]
            {
                if count > 0 {
                    losses.counters.insert(format!("trace.{side}.{name}"), count);
                }
            }
        }
        if losses.missed > 0 {
            losses.counters.insert("trace.missed".into(), losses.missed);
        }
        losses
    }

    /// Frames that were seen to end on the receiving interface, lost or captured, without those that counters of their own have.
    pub fn ended(&self) -> u64 {
        self.xdp.total() + self.stack.total() + self.unplaced.total() + self.after
    }

    /// Frames lost in XDP where the method itself has no counter of them, with the source. `unseen` is as for [`Self::in_stack`].
    pub fn xdp(traced: Option<&Self>, attached: Option<bool>, unseen: u64) -> (Option<u64>, String) {
        match (traced, attached) {
            (Some(traced), _) if !traced.xdp.is_empty() => {
                let failed = match traced.xdp_failures {
                    0 => String::new(),
                    failures => format!("; {failures} of them failed (xdp:*)"),
                };
                traced.as_far_as_seen(&traced.xdp, format!("skb:kfree_skb: {}{failed}", traced.xdp), unseen)
            }
            (_, Some(false)) => (Some(0), "no XDP program is attached".into()),
            (Some(traced), Some(true)) if traced.xdp_is_generic => {
                traced.as_far_as_seen(&traced.xdp, "skb:kfree_skb: none by generic XDP".into(), unseen)
            }
            (Some(traced), Some(true)) => (
                None,
                format!(
                    "unknown: the verdicts of the XDP program in the driver; {} of them failed (xdp:xdp_exception, \
                     xdp:xdp_redirect_err)",
                    traced.xdp_failures
                ),
            ),
            (_, _) => (None, "unknown: the verdicts of an XDP program".into()),
        }
    }

    /// Frames lost in the stack, with the source. `unseen` is how many frames must have ended on the receiving interface whose
    /// end the tracer did not see; 0 where nothing tells.
    pub fn in_stack(&self, unseen: u64) -> (Option<u64>, String) {
        let seen = match self.stack.is_empty() {
            true => "skb:kfree_skb: none in front of the capture point".into(),
            false => format!("skb:kfree_skb: {}", self.stack),
        };
        self.as_far_as_seen(&self.stack, seen, unseen)
    }

    /// Why it is in doubt whether everything was seen that the receiving interface lost.
    pub fn doubts(&self, unseen: u64) -> Vec<String> {
        let mut doubts = Vec::new();
        if !self.unplaced.is_empty() {
            doubts.push(format!("not counted, as their place is unknown: {}", self.unplaced));
        }
        if self.missed > 0 {
            doubts.push(format!("{} events of the host were missed", self.missed));
        }
        // A kernel may run no BPF program while certain threads are on the CPU, nor for a softirq that interrupts them, and
        // keeps no count of it. Where it kept back ends of captured frames, it may have kept back losses.
        if unseen > 0 {
            doubts.push(format!("{unseen} frames ended on the interface that were not seen to end"));
        }
        doubts
    }

    /// In doubt, none is not known to be none, and some are at least so many.
    fn as_far_as_seen(&self, losses: &Losses, seen: String, unseen: u64) -> (Option<u64>, String) {
        let doubts = self.doubts(unseen);
        let is_certain = doubts.is_empty();
        let told = [seen].into_iter().chain(doubts).collect::<Vec<_>>().join("; ");
        match (is_certain, losses.is_empty()) {
            (true, _) => (Some(losses.total()), told),
            (false, false) => (Some(losses.total()), format!("at least: {told}")),
            (false, true) => (None, format!("unknown: {told}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::DropKind;
    use super::*;

    fn trace(drops: &[(&str, u64)]) -> InterfaceTrace {
        let kind = |name: &str| DropKind { reason: Some(name.into()), function: None };
        let drops = drops.iter().map(|(name, count)| (kind(name), *count)).collect();
        InterfaceTrace { drops, ..InterfaceTrace::default() }
    }

    #[test]
    fn drops_go_to_their_places_and_captured_frames_to_none() {
        let sent = trace(&[("QDISC_DROP", 3), ("OTHERHOST", 9), ("NEWER", 4)]);
        let received =
            trace(&[("OTHERHOST", 1000), ("PFMEMALLOC", 2), ("XDP", 5), ("NEW", 1), ("CPU_BACKLOG", 8)]);
        let losses = TracedLosses::new(&sent, &received, true);
        assert_eq!((losses.transmit.total(), losses.stack.total(), losses.xdp.total()), (3, 2, 5));
        assert_eq!(
            (losses.unplaced_transmit.to_string(), losses.unplaced.to_string()),
            ("NEWER 4".into(), "NEW 1".into())
        );
        assert_eq!(
            losses.in_stack(0),
            (
                Some(2),
                "at least: skb:kfree_skb: PFMEMALLOC 2; not counted, as their place is unknown: NEW 1".into()
            )
        );
        assert_eq!(losses.counters["trace.receive.drop.OTHERHOST"], 1000);
    }

    #[test]
    fn where_the_tracer_may_have_been_blind_no_loss_is_unknown_and_some_are_at_least_so_many() {
        let seen = TracedLosses { after: 1000, ..TracedLosses::default() };
        let count = |losses: &TracedLosses, unseen| losses.in_stack(unseen).0;
        assert_eq!(count(&seen, 0), Some(0));
        assert_eq!(count(&seen, 3), None, "three ends were not seen");
        assert_eq!(count(&TracedLosses { missed: 1, ..seen.clone() }, 0), None);
        let unplaced = TracedLosses::new(&trace(&[]), &trace(&[("NEW", 1), ("OTHERHOST", 1000)]), false);
        assert_eq!(count(&unplaced, 0), None);
        let lost = TracedLosses::new(&trace(&[]), &trace(&[("PFMEMALLOC", 2)]), false);
        let (count, source) = TracedLosses { missed: 3, ..lost }.in_stack(0);
        assert_eq!(count, Some(2));
        assert_eq!(source, "at least: skb:kfree_skb: PFMEMALLOC 2; 3 events of the host were missed");
    }

    #[test]
    fn xdp_in_the_driver_drops_unseen() {
        let quiet = TracedLosses::default();
        let xdp = |traced: Option<&TracedLosses>, attached| TracedLosses::xdp(traced, attached, 0).0;
        assert_eq!(xdp(Some(&quiet), Some(true)), None);
        assert_eq!(xdp(Some(&TracedLosses { xdp_is_generic: true, ..quiet.clone() }), Some(true)), Some(0));
        assert_eq!((xdp(Some(&quiet), Some(false)), xdp(None, Some(false))), (Some(0), Some(0)));
        assert_eq!((xdp(None, Some(true)), xdp(None, None), xdp(Some(&quiet), None)), (None, None, None));
        let dropping = TracedLosses::new(&trace(&[]), &trace(&[("XDP", 5)]), true);
        let (count, source) = TracedLosses::xdp(Some(&dropping), Some(true), 0);
        assert_eq!((count, source.as_str()), (Some(5), "skb:kfree_skb: XDP 5"));
    }

    #[test]
    fn what_generic_xdp_drops_is_as_much_in_doubt_as_what_the_stack_does() {
        let generic = |drops: &[_]| TracedLosses::new(&trace(&[]), &trace(drops), true);
        let xdp = |losses: &TracedLosses, unseen| TracedLosses::xdp(Some(losses), Some(true), unseen);
        let dropping = generic(&[("XDP", 5), ("OTHERHOST", 7)]);
        assert_eq!((dropping.ended(), xdp(&dropping, 0).0), (12, Some(5)));
        let (count, source) = xdp(&dropping, 2);
        assert_eq!(count, Some(5));
        assert_eq!(
            source,
            "at least: skb:kfree_skb: XDP 5; 2 frames ended on the interface that were not seen to end"
        );
        let (count, source) = xdp(&generic(&[]), 2);
        assert!(count.is_none() && source.starts_with("unknown: "), "{source}");
        assert_eq!(xdp(&TracedLosses { missed: 1, ..generic(&[]) }, 0).0, None);
        let detached = TracedLosses::xdp(Some(&generic(&[])), Some(false), 2);
        assert_eq!(detached.0, Some(0), "no program, no drops of one");
    }
}
