//! What a sender did: every intended frame is in exactly one of its counts.

use crate::error::TrafficError;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The largest lateness that is told apart, one hour; later ones count as this late.
const LATEST_NS: u64 = 3_600_000_000_000;

/// The account of a sending phase. `intended = unsent + sent` and `sent = accepted + refused_lost`.
#[derive(Debug)]
pub struct SendReport {
    /// Frames that were to be sent.
    pub intended: u64,
    /// Frames handed to the kernel.
    pub sent: u64,
    /// Frames that the kernel took without complaint. It may still lose them: see the interface's counters.
    pub accepted: u64,
    /// Frames that the kernel refused with `ENOBUFS` and lost.
    pub refused_lost: u64,
    /// How often the kernel refused a frame with `ENOBUFS` but kept it in the ring and tried again: the interface's
    /// drop counter rose although no frame was lost.
    pub refused_repeated: u64,
    /// Frames that were not handed over before the phase ended.
    pub unsent: u64,
    /// Frames among `accepted` that the driver had not let go of when the sender stopped waiting for it.
    pub in_flight: u64,
    /// Octets of the frames sent, FCS included.
    pub octets: u64,
    /// From the start to the moment when the last frame had been handed over.
    pub elapsed: Duration,
    /// How late frames were handed over, by their plan; empty where nothing was planned.
    pub lateness: Lateness,
    /// Why the phase ended before its time, for example because the interface went down.
    pub failure: Option<TrafficError>,
}

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

impl Lateness {
    pub(crate) fn new() -> Self {
        // The bounds are constants that the constructor accepts; the fallback only widens them.
        Self(
            Histogram::new_with_bounds(1, LATEST_NS, 2)
                .or_else(|_| Histogram::new(2))
                .expect("2 significant digits are between 0 and 5"),
        )
    }

    #[inline]
    pub(crate) fn record(&mut self, ns: u64) {
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
