//! How facts of a sweep name its points and its methods.

use capbench_model::saved::SavedMethod;
use serde::Serialize;

use crate::sweep::outcome::{Reading, Series, SweepOutcome, SweepScene};

/// A point of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct SweepPoint {
    /// Its index, from 0.
    pub index: usize,
    /// Its coordinate on the axis; absent for names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
    /// Its name in reports.
    pub label: String,
}

impl SweepPoint {
    /// The point of a reading.
    pub(super) fn of_reading(outcome: &SweepOutcome, reading: &Reading) -> Self {
        Self::with_index(outcome, reading.point)
    }

    /// The point with this index.
    pub(super) fn with_index(outcome: &SweepOutcome, index: usize) -> Self {
        match outcome.points.get(index) {
            Some(point) => Self { index, at: point.at, label: point.label.clone() },
            None => Self { index, at: None, label: "?".into() },
        }
    }
}

/// The points of these readings.
pub(super) fn points_of<'r>(
    outcome: &SweepOutcome,
    readings: impl IntoIterator<Item = &'r Reading>,
) -> Vec<SweepPoint> {
    readings.into_iter().map(|reading| SweepPoint::of_reading(outcome, reading)).collect()
}

/// A method over the axis.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct SweepSeries {
    /// The method.
    pub method: SavedMethod,
    /// Its placement and load.
    pub scene: SweepScene,
}

impl SweepSeries {
    pub(super) fn new(series: &Series) -> Self {
        Self { method: series.method.clone(), scene: series.placement_and_load() }
    }
}
