//! How late frames were handed over, by their schedule.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// The largest lateness that is told apart, one hour; later ones count as this late.
const LATEST_NS: u64 = 3_600_000_000_000;

/// How long after its planned time each frame had been handed over (the return of the call that did it, even if the
/// frame stayed in a ring), at a resolution of 1 %. Measured from the plan, a stalled sender cannot hide its stall.
#[derive(Debug, Clone)]
pub struct Lateness(Histogram<u64>);

/// The lateness in numbers, nanoseconds, for a results file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LatenessSummary {
    /// Half of the frames were at most this late.
    pub p50_ns: u64,
    /// 99 % of the frames were at most this late.
    pub p99_ns: u64,
    /// The latest frame.
    pub max_ns: u64,
}

impl Default for Lateness {
    /// Of no frame yet.
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
    /// Counts a frame that was handed over so many nanoseconds after its time.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.0.saturating_record(ns);
    }

    /// Number of frames recorded.
    pub fn frames(&self) -> u64 {
        self.0.len()
    }

    /// Half of the frames were at most this late; `None` without a plan.
    pub fn p50(&self) -> Option<Duration> {
        self.at(0.5)
    }

    /// 99 % of the frames were at most this late; `None` without a plan.
    pub fn p99(&self) -> Option<Duration> {
        self.at(0.99)
    }

    /// The latest frame; `None` without a plan.
    pub fn max(&self) -> Option<Duration> {
        (!self.0.is_empty()).then(|| Duration::from_nanos(self.0.max()))
    }

    /// The whole distribution, in nanoseconds.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }

    /// The numbers for a results file; `None` without a plan.
    pub fn summary(&self) -> Option<LatenessSummary> {
        (!self.0.is_empty()).then(|| LatenessSummary {
            p50_ns: self.0.value_at_quantile(0.5),
            p99_ns: self.0.value_at_quantile(0.99),
            max_ns: self.0.max(),
        })
    }

    fn at(&self, quantile: f64) -> Option<Duration> {
        (!self.0.is_empty()).then(|| Duration::from_nanos(self.0.value_at_quantile(quantile)))
    }
}
