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

    /// Frames lost in XDP where the method itself has no counter of them, with the source.
    pub fn xdp(traced: Option<&Self>, attached: Option<bool>) -> (Option<u64>, String) {
        match (traced, attached) {
            (Some(traced), _) if !traced.xdp.is_empty() && traced.xdp_failures == 0 => {
                (Some(traced.xdp.total()), format!("skb:kfree_skb: {}", traced.xdp))
            }
            (Some(traced), _) if !traced.xdp.is_empty() => (
                Some(traced.xdp.total()),
                format!("skb:kfree_skb: {}; {} of them failed (xdp:*)", traced.xdp, traced.xdp_failures),
            ),
            (_, Some(false)) => (Some(0), "no XDP program is attached".into()),
            (Some(traced), Some(true)) if traced.xdp_is_generic => {
                (Some(0), "skb:kfree_skb: none by generic XDP".into())
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

    /// How many of the frames that reached the capture point on a link of capbench's own the tracer has not seen end. There
    /// the stack drops each of them behind it; where it took less than half to its end, the method keeps frames from it.
    pub fn unseen(&self, accepted: u64) -> u64 {
        if self.after < accepted / 2 { 0 } else { accepted.saturating_sub(self.after) }
    }

    /// Where the number of the frames lost in the stack comes from.
    pub fn stack_source(&self) -> String {
        let lost = match self.stack.is_empty() {
            true => "skb:kfree_skb: none in front of the capture point".into(),
            false => format!("skb:kfree_skb: {}", self.stack),
        };
        let lost = match self.unplaced.is_empty() {
            true => lost,
            false => format!("{lost}; not counted, as their place is unknown: {}", self.unplaced),
        };
        match self.missed {
            0 => lost,
            missed => format!("{lost}; {missed} events of the host were missed"),
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
        let sent = trace(&[("QDISC_DROP", 3), ("OTHERHOST", 9)]);
        let received =
            trace(&[("OTHERHOST", 1000), ("PFMEMALLOC", 2), ("XDP", 5), ("NEW", 1), ("CPU_BACKLOG", 8)]);
        let losses = TracedLosses::new(&sent, &received, true);
        assert_eq!((losses.transmit.total(), losses.stack.total(), losses.xdp.total()), (3, 2, 5));
        assert_eq!(
            losses.stack_source(),
            "skb:kfree_skb: PFMEMALLOC 2; not counted, as their place is unknown: NEW 1"
        );
        assert_eq!(losses.counters["trace.receive.drop.OTHERHOST"], 1000);
    }

    #[test]
    fn xdp_in_the_driver_drops_unseen() {
        let quiet = TracedLosses::default();
        let xdp = |traced: Option<&TracedLosses>, attached| TracedLosses::xdp(traced, attached).0;
        assert_eq!(xdp(Some(&quiet), Some(true)), None);
        assert_eq!(xdp(Some(&TracedLosses { xdp_is_generic: true, ..quiet.clone() }), Some(true)), Some(0));
        assert_eq!((xdp(Some(&quiet), Some(false)), xdp(None, Some(false))), (Some(0), Some(0)));
        assert_eq!((xdp(None, Some(true)), xdp(None, None), xdp(Some(&quiet), None)), (None, None, None));
        let (count, source) =
            TracedLosses::xdp(Some(&TracedLosses::new(&trace(&[]), &trace(&[("XDP", 5)]), true)), Some(true));
        assert_eq!((count, source.as_str()), (Some(5), "skb:kfree_skb: XDP 5"));
    }
}
