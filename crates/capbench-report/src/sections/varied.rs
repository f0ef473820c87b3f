//! The horizontal axis of a sweep.

use capbench_plan::sweep::{AxisKind, Reading, Series, SweepOutcome};

use super::parts::{PlacedTrials, linear, logarithmic, names, point};
use crate::model::{Axis, Kind, Point, Scale, Unit};
use crate::naming::Numbered;

/// The varied setting as an axis, with the positions of its points.
pub(super) struct Varied {
    pub(super) axis: Axis,
    /// The setting in a sentence.
    pub(super) words: &'static str,
    pub(super) places: Vec<f64>,
}

impl Varied {
    pub(super) fn of(outcome: &SweepOutcome) -> Self {
        let (label, words) = match outcome.axis {
            AxisKind::Work => ("Work per packet", "the work per packet"),
            AxisKind::Size => ("Frame size", "the frame size"),
            AxisKind::Ring => ("Ring", "the ring"),
            AxisKind::Placement => ("Placement", "the placement"),
            AxisKind::Load => ("Intended load", "the load"),
            AxisKind::Coalesce => ("Interrupts held back for", "the time that interrupts are held back for"),
        };
        let known = outcome.unit.as_deref().and_then(unit);
        let at: Option<Vec<f64>> = outcome.points.iter().map(|point| point.at).collect();
        match at.zip(known) {
            Some((at, (unit, times))) => {
                let scaled = if outcome.axis == AxisKind::Ring { logarithmic } else { linear };
                Self {
                    axis: scaled(label, unit),
                    words,
                    places: at.into_iter().map(|at| at * times).collect(),
                }
            }
            None => {
                Self::named(label, words, outcome.points.iter().map(|point| point.label.clone()).collect())
            }
        }
    }

    /// A sequence of names.
    pub(super) fn named(label: &str, words: &'static str, all: Vec<String>) -> Self {
        let places = (0..all.len()).map(|nth| nth as f64).collect();
        Self { axis: names(label, all), words, places }
    }

    /// Whether its points are names, with nothing between them.
    pub(super) fn is_named(&self) -> bool {
        matches!(self.axis.scale, Scale::Names(_))
    }

    pub(super) fn at(&self, reading: &Reading) -> Option<f64> {
        self.places.get(reading.point).copied()
    }

    /// The kind of its charts: names cannot be joined by lines.
    pub(super) fn kind(&self, of_names: Kind) -> Kind {
        match (self.is_named(), of_names) {
            (false, Kind::StackedBars) => Kind::Stacked,
            (false, _) => Kind::Lines,
            (true, of_names) => of_names,
        }
    }

    /// The trials of a line at each place, without burst searches.
    pub(super) fn placed<'r>(&self, line: &Series, trials: &Numbered<'r>) -> Vec<PlacedTrials<'r>> {
        let readings = line.readings.iter().filter(|reading| reading.back_to_back.is_none());
        readings
            .filter_map(|reading| {
                Some(PlacedTrials { x: self.at(reading)?, trials: trials.sound(&reading.trials) })
            })
            .collect()
    }

    /// A point for every place of the axis; unknown where nothing was measured.
    pub(super) fn points(&self, series: &Series, of: impl Fn(&Reading, f64) -> Point) -> Vec<Point> {
        self.places
            .iter()
            .enumerate()
            .map(|(nth, &x)| {
                let reading = series.readings.iter().find(|reading| reading.point == nth);
                reading.map_or_else(|| point(x, None, Vec::new()), |reading| of(reading, x))
            })
            .collect()
    }
}

/// The unit of a saved sweep, and the factor that converts its numbers to this unit.
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
