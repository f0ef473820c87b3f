//! Losses that the tracer saw in a trial, by the place that lost the frames.

use std::collections::BTreeMap;
use std::fmt;

/// Numbers of frames by drop reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses(BTreeMap<String, u64>);

impl Losses {
    /// Sum over all reasons.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds frames with this drop reason.
    pub fn add(&mut self, why: String, count: u64) {
        *self.0.entry(why).or_default() += count;
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> = self.0.iter().map(|(why, count)| format!("{why} {count}")).collect();
        f.write_str(&parts.join(", "))
    }
}

/// Losses that the tracer saw during a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracedLosses {
    /// Lost on the sending interface and missing in its counters.
    pub transmit: Losses,
    /// Lost in generic XDP on the receiving interface.
    pub xdp: Losses,
    /// Refused by the softirq backlog of a CPU on the receiving interface.
    pub backlog: u64,
    /// Lost in the stack before the capture point.
    pub stack: Losses,
    /// Dropped on the sending interface. Unknown whether its counters include them.
    pub unplaced_transmit: Losses,
    /// Dropped on the receiving interface. Unknown whether before or after the capture point.
    pub unplaced: Losses,
    /// Dropped on the receiving interface after the capture point. These are no losses: each frame that reached it ends so.
    pub after: u64,
    /// Those among them that tc consumed, which no program of the tracer counts.
    pub consumed: u64,
    /// XDP programs' exceptions and failed redirects on the receiving interface.
    pub xdp_failures: u64,
    /// Failed redirects among them.
    pub failed_redirects: u64,
    /// Frames dropped on both interfaces, for any reason: how often the counting program ran for the trial.
    pub drops: u64,
    /// Events of the whole host that the tracer missed.
    pub missed: u64,
    /// Whether the receiving interface's XDP program runs on socket buffers (generic XDP). The tracer then sees every drop.
    pub xdp_is_generic: bool,
    /// All counters, by name.
    pub counters: BTreeMap<String, u64>,
}

impl TracedLosses {
    /// Frames seen to end on the receiving interface, lost or captured, without those that other counters include.
    pub fn ended(&self) -> u64 {
        self.xdp.total() + self.stack.total() + self.unplaced.total() + self.after
    }

    /// Frames lost in XDP that the method does not count, with the source. `unseen` is as for [`Self::in_stack`].
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

    /// Frames lost in the stack, with the source. `unseen` is the number of frames that must have ended on the receiving
    /// interface without the tracer seeing it. 0 if unknown.
    pub fn in_stack(&self, unseen: u64) -> (Option<u64>, String) {
        let seen = match self.stack.is_empty() {
            true => "skb:kfree_skb: none in front of the capture point".into(),
            false => format!("skb:kfree_skb: {}", self.stack),
        };
        self.as_far_as_seen(&self.stack, seen, unseen)
    }

    /// Reasons to doubt that the tracer saw all losses of the receiving interface.
    pub fn doubts(&self, unseen: u64) -> Vec<String> {
        let mut doubts = Vec::new();
        if !self.unplaced.is_empty() {
            doubts.push(format!("not counted, as their place is unknown: {}", self.unplaced));
        }
        if self.missed > 0 {
            doubts.push(format!("{} events of the host were missed", self.missed));
        }
        // A kernel may skip BPF programs while certain threads are on the CPU, and for a softirq that interrupts them,
        // without counting it. If it hid the end of captured frames, it may have hidden losses.
        if unseen > 0 {
            doubts.push(format!("{unseen} frames ended on the interface that were not seen to end"));
        }
        doubts
    }

    /// In doubt, a count of 0 is unknown, and a count above 0 is a lower bound.
    fn as_far_as_seen(&self, losses: &Losses, seen: String, unseen: u64) -> (Option<u64>, String) {
        let doubts = self.doubts(unseen);
        let is_certain = doubts.is_empty();
        let text = [seen].into_iter().chain(doubts).collect::<Vec<_>>().join("; ");
        match (is_certain, losses.is_empty()) {
            (true, _) => (Some(losses.total()), text),
            (false, false) => (Some(losses.total()), format!("at least: {text}")),
            (false, true) => (None, format!("unknown: {text}")),
        }
    }
}
