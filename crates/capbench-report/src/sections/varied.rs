//! The varied setting of a sweep as the axis of a chart.

use capbench_judge::sweep::{Analysis, Reading, Series as SweptSeries, SweepOutcome};

use super::ledger_layers::PlacedTrials;
use super::parts::{linear, logarithmic, names, point};
use crate::model::{Axis, Kind, Point, Scale};
use crate::naming::Numbered;
use crate::sentences::axes::{AxisWords, axis_words, shown_unit};

/// The varied setting of a sweep as an axis, with the positions of its points.
pub(super) struct Varied {
    pub(super) axis: Axis,
    /// The setting in a sentence.
    pub(super) words: &'static str,
    /// The position of each point on the axis, in the order of the sweep's points.
    pub(super) positions: Vec<f64>,
}

impl Varied {
    /// The axis of a sweep: numbers if all points have one and their unit is known, else names.
    pub(super) fn from_outcome(outcome: &SweepOutcome) -> Self {
        let AxisWords { heading: label, noun: words, .. } = axis_words(outcome.axis);
        let numbers: Option<Vec<f64>> = outcome.points.iter().map(|point| point.at).collect();
        let unit = outcome.unit.map(shown_unit);
        let (Some(numbers), Some((unit, factor))) = (numbers, unit) else {
            let labels = outcome.points.iter().map(|point| point.label.clone()).collect();
            return Self::named(label, words, labels);
        };
        // Sizes of buffers range over orders of magnitude.
        let axis = match outcome.axis.shows(Analysis::Buffers) {
            true => logarithmic(label, unit),
            false => linear(label, unit),
        };
        Self { axis, words, positions: numbers.into_iter().map(|number| number * factor).collect() }
    }

    /// An axis of names, at equal distances.
    pub(super) fn named(label: &str, words: &'static str, labels: Vec<String>) -> Self {
        let positions = (0..labels.len()).map(|index| index as f64).collect();
        Self { axis: names(label, labels), words, positions }
    }

    /// Whether its points are names, with nothing between them.
    pub(super) fn is_named(&self) -> bool {
        matches!(self.axis.scale, Scale::Names(_))
    }

    /// The position of a reading; `None` if the file has no such point.
    pub(super) fn at(&self, reading: &Reading) -> Option<f64> {
        self.positions.get(reading.point).copied()
    }

    /// The kind of its charts: `kind_of_names` if its points are names, which cannot be joined by lines; else lines, or layers
    /// instead of stacked bars.
    pub(super) fn kind(&self, kind_of_names: Kind) -> Kind {
        if self.is_named() {
            return kind_of_names;
        }
        match kind_of_names {
            Kind::StackedBars => Kind::Stacked,
            _ => Kind::Lines,
        }
    }

    /// The trials of a line at each position, without burst searches.
    pub(super) fn placed<'r>(&self, line: &SweptSeries, trials: &Numbered<'r>) -> Vec<PlacedTrials<'r>> {
        let mut placed = Vec::new();
        for reading in &line.readings {
            if let (None, Some(x)) = (&reading.back_to_back, self.at(reading)) {
                placed.push(PlacedTrials { x, trials: trials.sound(&reading.trials) });
            }
        }
        placed
    }

    /// A point for every position, as `make` makes it of a reading and its position; unknown where nothing was measured.
    pub(super) fn points(&self, line: &SweptSeries, make: impl Fn(&Reading, f64) -> Point) -> Vec<Point> {
        let mut points = Vec::new();
        for (index, &x) in self.positions.iter().enumerate() {
            points.push(match line.readings.iter().find(|reading| reading.point == index) {
                Some(reading) => make(reading, x),
                None => point(x, None, Vec::new()),
            });
        }
        points
    }
}
