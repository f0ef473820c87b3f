//! Lateness of sent frames relative to their schedule.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// The largest distinguishable lateness, one hour. Later frames count as this late.
const LATEST_NS: u64 = 3_600_000_000_000;

/// Time from each frame's planned time to the return of the call that passed it to the kernel, even if the frame stayed in a
/// ring. Resolution 1 %. Because it is relative to the plan, a stalled sender cannot hide its stall.
#[derive(Debug, Clone)]
pub struct Lateness(Histogram<u64>);

/// Percentiles of the lateness in nanoseconds, for a results file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LatenessSummary {
    /// Median: half of the frames were up to this late.
    pub p50_ns: u64,
    /// 99 % of the frames were up to this late.
    pub p99_ns: u64,
    /// Lateness of the latest frame.
    pub max_ns: u64,
}

impl Default for Lateness {
    /// No frames yet.
    fn default() -> Self {
        // The bounds are constants that the constructor accepts; the fallback only widens them.
        Self(
            Histogram::new_with_bounds(1, LATEST_NS, 2)
                .or_else(|_| Histogram::new(2))
                .expect("2 significant digits are between 0 and 5"),
        )
    }
}

impl Lateness {
    /// Records a frame that was sent `ns` nanoseconds after its planned time.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.0.saturating_record(ns);
    }

    /// Adds the frames of another sender.
    pub fn add(&mut self, other: &Self) {
        // Both have the same bounds.
        self.0 += &other.0;
    }

    /// The percentiles for a results file. `None` without a plan.
    pub fn summary(&self) -> Option<LatenessSummary> {
        (!self.0.is_empty()).then(|| LatenessSummary {
            p50_ns: self.0.value_at_quantile(0.5),
            p99_ns: self.0.value_at_quantile(0.99),
            max_ns: self.0.max(),
        })
    }
}
