//! What the kernel's tracepoints tell of an interval: why it dropped frames, and where XDP failed.

use serde::Serialize;

use capbench_host::tracer::InterfaceTrace;
use capbench_host::tracer::reasons::{Standing, standing};

/// Whether the kernel's drops are traced while one looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracing {
    /// Where the privilege and the kernel allow it. A program then runs for every frame that the host drops.
    Wanted,
    /// Not at all.
    LeftOut,
}

/// Frames that the kernel dropped for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// The kernel's name of the reason, or where it gives none its function.
    pub reason: String,
    /// How many.
    pub frames: u64,
    /// What that is for a capture.
    pub standing: Standing,
}

/// What was traced on the interface in an interval.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Traced {
    /// Frames by the reason for which they were dropped (`skb:kfree_skb`), most first; those that a socket had already got
    /// are among them, when the stack drops its own copy.
    pub drops: Vec<Dropped>,
    /// Frames for which an XDP program aborted, gave an invalid verdict, or could not be obeyed (`xdp:xdp_exception`).
    pub xdp_exceptions: u64,
    /// Frames that an XDP program could not redirect (`xdp:xdp_redirect_err`).
    pub xdp_redirect_errors: u64,
    /// Events of the whole host that were missed: the other counts are then the least.
    pub missed: u64,
}

impl Traced {
    /// Sorts what was counted.
    pub(super) fn new(trace: &InterfaceTrace) -> Self {
        let of = |(kind, frames): &(_, u64)| Dropped {
            reason: ToString::to_string(kind),
            frames: *frames,
            standing: standing(kind),
        };
        let mut drops: Vec<_> = trace.drops.iter().map(of).collect();
        drops.sort_by(|one, other| other.frames.cmp(&one.frames).then_with(|| one.reason.cmp(&other.reason)));
        Self {
            drops,
            xdp_exceptions: trace.xdp_exceptions,
            xdp_redirect_errors: trace.xdp_redirect_errors,
            missed: trace.missed,
        }
    }

    /// Frames dropped at one place.
    pub(super) fn frames(&self, at: Standing) -> u64 {
        self.at(at).map(|dropped| dropped.frames).sum()
    }

    /// How many for which reason at one place, for the source of a count; empty where there are none.
    pub(super) fn reasons(&self, at: Standing) -> String {
        let reasons = self.at(at).map(|dropped| format!("{} {}", dropped.reason, dropped.frames));
        let all = reasons.collect::<Vec<_>>().join(", ");
        if all.is_empty() { all } else { format!("; skb:kfree_skb: {all}") }
    }

    /// What XDP failed at, for the source of a count; empty where it did not.
    pub(super) fn xdp_failures(&self) -> String {
        let counts = [
            (self.xdp_exceptions, "exceptions (xdp:xdp_exception)"),
            (self.xdp_redirect_errors, "failed redirects (xdp:xdp_redirect_err)"),
        ];
        let told = counts.iter().filter(|(count, _)| *count > 0);
        told.map(|(count, what)| format!("; {count} {what}")).collect()
    }

    fn at(&self, at: Standing) -> impl Iterator<Item = &Dropped> {
        self.drops.iter().filter(move |dropped| dropped.standing == at)
    }
}
