//! The horizontal axis of a sweep.

use capbench_measure::sweep::{AxisKind, Reading, Series, SweepOutcome};

use super::parts::{linear, logarithmic, names};
use crate::model::{Axis, Point, Scale, Unit};

/// What was varied, as an axis, and where its points lie on it.
pub(super) struct Varied {
    pub(super) axis: Axis,
    places: Vec<f64>,
}

impl Varied {
    pub(super) fn of(outcome: &SweepOutcome) -> Self {
        let label = match outcome.axis {
            AxisKind::Work => "Work per packet",
            AxisKind::Size => "Frame size",
            AxisKind::Ring => "Ring",
            AxisKind::Placement => "Placement",
            AxisKind::Load => "Intended load",
            AxisKind::Coalesce => "Interrupts held back for",
        };
        let known = outcome.unit.as_deref().and_then(unit);
        let at: Option<Vec<f64>> = outcome.points.iter().map(|point| point.at).collect();
        match at.zip(known) {
            Some((at, (unit, times))) => {
                let axis = if outcome.axis == AxisKind::Ring {
                    logarithmic(label, unit)
                } else {
                    linear(label, unit)
                };
                Self { axis, places: at.into_iter().map(|at| at * times).collect() }
            }
            None => Self {
                axis: names(label, outcome.points.iter().map(|point| point.label.clone()).collect()),
                places: (0..outcome.points.len()).map(|nth| nth as f64).collect(),
            },
        }
    }

    /// Whether its points are names, between which there is nothing.
    pub(super) fn is_named(&self) -> bool {
        matches!(self.axis.scale, Scale::Names(_))
    }

    pub(super) fn at(&self, reading: &Reading) -> Option<f64> {
        self.places.get(reading.point).copied()
    }

    /// A point for every place of the axis: those that were not measured are unknown.
    pub(super) fn points(&self, series: &Series, of: impl Fn(&Reading, f64) -> Point) -> Vec<Point> {
        let missing = |x: f64| Point { x, y: None, interval: None, trials: Vec::new() };
        self.places
            .iter()
            .enumerate()
            .map(|(nth, &x)| {
                let reading = series.readings.iter().find(|reading| reading.point == nth);
                reading.map_or_else(|| missing(x), |reading| of(reading, x))
            })
            .collect()
    }
}

/// The unit of a stored sweep, and by what its numbers are multiplied to be in it.
fn unit(stored: &str) -> Option<(Unit, f64)> {
    Some(match stored {
        "ns" => (Unit::Nanoseconds, 1.0),
        "us" => (Unit::Nanoseconds, 1000.0),
        "iterations" => (Unit::Iterations, 1.0),
        "octets" | "bytes" => (Unit::Bytes, 1.0),
        "packets/s" => (Unit::PacketsPerSecond, 1.0),
        _ => return None,
    })
}
