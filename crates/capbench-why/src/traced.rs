//! The results of the kernel's tracepoints in an interval: why the kernel dropped frames, and where XDP failed.

use schemars::JsonSchema;
use serde::Serialize;

use capbench_host::tracer::InterfaceTrace;
use capbench_host::tracer::reasons::{DropStage, is_in_rx_dropped, stage_of};

/// Whether to trace the kernel's drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracing {
    /// If the privilege and the kernel allow it. A program then runs for every frame that the host drops.
    Wanted,
    /// Never.
    LeftOut,
}

/// Frames that the kernel dropped for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Dropped {
    /// The kernel's name of the reason; if there is none, the kernel function.
    pub reason: String,
    /// Number of frames.
    pub frames: u64,
    /// Its meaning for a capture.
    #[serde(rename = "standing")]
    pub stage: DropStage,
}

/// The trace of the interface in an interval.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Traced {
    /// Frames by drop reason (`skb:kfree_skb`), most frequent first. They include frames that a socket has received, when the
    /// stack drops its own copy.
    pub drops: Vec<Dropped>,
    /// Frames whose XDP program aborted, returned an invalid verdict, or whose verdict failed (`xdp:xdp_exception`).
    pub xdp_exceptions: u64,
    /// Frames that an XDP program could not redirect (`xdp:xdp_redirect_err`).
    pub xdp_redirect_errors: u64,
    /// Missed events of the whole host: if there are any, the other counts are lower bounds.
    pub missed: u64,
    /// Frames that no protocol handles: captured, and yet counted in rx_dropped.
    #[serde(skip)]
    pub unhandled: u64,
    /// Drops that rx_dropped counts, too, including those right before the interval: no fewer than the interval's.
    #[serde(skip)]
    pub in_rx_dropped: u64,
}

impl Traced {
    /// Sorts the counts. `around` begins before the link's counters were read, `trace` after that.
    pub(super) fn new(trace: &InterfaceTrace, around: &InterfaceTrace) -> Self {
        let of = |(kind, frames): &(_, u64)| Dropped {
            reason: ToString::to_string(kind),
            frames: *frames,
            stage: stage_of(kind),
        };
        let mut drops: Vec<_> = trace.drops.iter().map(of).collect();
        drops.sort_by(|one, other| other.frames.cmp(&one.frames).then_with(|| one.reason.cmp(&other.reason)));
        Self {
            drops,
            xdp_exceptions: trace.xdp_exceptions,
            xdp_redirect_errors: trace.xdp_redirect_errors,
            missed: trace.missed,
            unhandled: sum_in_rx_dropped(trace, |stage| stage == DropStage::After),
            in_rx_dropped: sum_in_rx_dropped(around, |_| true),
        }
    }

    /// The frames of rx_dropped, without those of the driver, that no traced drop explains.
    pub(crate) fn unexplained(&self, rx_dropped: Option<u64>) -> Option<u64> {
        rx_dropped.map(|all| all.saturating_sub(self.in_rx_dropped))
    }

    /// Frames dropped at one place.
    pub(super) fn frames(&self, at: DropStage) -> u64 {
        self.at(at).map(|dropped| dropped.frames).sum()
    }

    /// Counts by reason at one place, for the source of a count; empty if there are none.
    pub(super) fn reasons(&self, at: DropStage) -> String {
        let reasons = self.at(at).map(|dropped| format!("{} {}", dropped.reason, dropped.frames));
        reasons.collect::<Vec<_>>().join(", ")
    }

    /// Failures of XDP, for the source of a count; empty if there are none.
    pub(super) fn xdp_failures(&self) -> String {
        let counts = [
            (self.xdp_exceptions, "exceptions (xdp:xdp_exception)"),
            (self.xdp_redirect_errors, "failed redirects (xdp:xdp_redirect_err)"),
        ];
        let counted = counts.iter().filter(|(count, _)| *count > 0);
        counted.map(|(count, what)| format!("; {count} {what}")).collect()
    }

    fn at(&self, at: DropStage) -> impl Iterator<Item = &Dropped> {
        self.drops.iter().filter(move |dropped| dropped.stage == at)
    }
}

/// Frames that rx_dropped counts, too, of the stages that are wanted.
fn sum_in_rx_dropped(trace: &InterfaceTrace, is_wanted: fn(DropStage) -> bool) -> u64 {
    let drops = trace.drops.iter().filter(|(kind, _)| is_in_rx_dropped(kind) && is_wanted(stage_of(kind)));
    drops.map(|(_, frames)| frames).sum()
}
