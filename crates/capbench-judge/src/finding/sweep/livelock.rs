//! The fact that more load delivers fewer packets along a sweep. [`crate::livelock`] decides it.

use serde::Serialize;

use super::point::{SweepPoint, SweepSeries};
use super::{SweepFinding, found};
use crate::finding::Found;
use crate::livelock::{Fall, largest_fall};
use crate::sweep::contrasts::Evidence;
use crate::sweep::outcome::{Series, Swept, numbers};

/// A higher load at which fewer packets are delivered.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LivelockFound {
    /// The method.
    pub series: SweepSeries,
    /// The point with the highest delivered rate.
    pub peak: SweepPoint,
    /// The delivered rate there, in packets per second.
    pub peak_pps: f64,
    /// The later point with the lowest delivered rate.
    pub lowest: SweepPoint,
    /// The delivered rate there, in packets per second.
    pub lowest_pps: f64,
    /// Whether chance explains the difference.
    pub evidence: Evidence,
}

/// Where more load delivers fewer packets, with the chance of that.
pub(super) fn livelock(swept: &Swept<'_>, series: &Series) -> Option<Found> {
    let Fall { compared, peak, lowest } = largest_fall(swept, series)?;
    let fact = LivelockFound {
        series: SweepSeries::new(series),
        peak: SweepPoint::of_reading(swept.outcome, peak),
        peak_pps: peak.delivered_pps.median,
        lowest: SweepPoint::of_reading(swept.outcome, lowest),
        lowest_pps: lowest.delivered_pps.median,
        evidence: compared.evidence,
    };
    Some(found(SweepFinding::Livelock(fact), numbers(compared.low.iter().chain(compared.high))))
}
