//! Helpers to build sections, charts, axes and points.

pub(super) use capbench_model::statistics::by_key as grouped;
pub(super) use capbench_model::statistics::interval::Estimate;
use capbench_model::statistics::interval::METHOD;

use crate::results::Results;
use capbench_model::trial::{Phase, TrialResult};

use crate::model::{
    Axis, Chart, Kind, Mark, Place, Point, Role, Scale, Section, Sentence, Series, Trials, Unit,
};
use crate::naming::{self, is_sound, numbers};

/// Most charts of one kind in a section. A note lists the omitted ones.
pub(super) const MOST_CHARTS: usize = 16;

pub(super) fn linear(label: &str, unit: Unit) -> Axis {
    Axis { label: label.into(), unit, scale: Scale::Linear }
}

pub(super) fn logarithmic(label: &str, unit: Unit) -> Axis {
    Axis { label: label.into(), unit, scale: Scale::Logarithmic }
}

pub(super) fn names(label: &str, names: Vec<String>) -> Axis {
    Axis { label: label.into(), unit: Unit::None, scale: Scale::Names(names) }
}

pub(super) fn point(x: f64, y: impl Into<Option<f64>>, trials: Trials) -> Point {
    Point { x, y: y.into().filter(|y| y.is_finite()), interval: None, trials }
}

/// A median with the interval of its repeats.
pub(super) fn estimated(x: f64, estimate: Option<&Estimate>, trials: Trials) -> Point {
    let interval = estimate.and_then(|estimate| Some([estimate.low?, estimate.high?]));
    Point { interval, ..point(x, estimate.map(|estimate| estimate.median), trials) }
}

/// A note about intervals if a chart has some.
fn of_repeats(chart: &Chart) -> Option<String> {
    let has_intervals =
        chart.series.iter().flat_map(|series| &series.points).any(|point| point.interval.is_some());
    let words = match chart.kind {
        Kind::StackedBars | Kind::Stacked => {
            "Layers are of all repeats together; whiskers are intervals of the repeats"
        }
        Kind::Lines | Kind::Points | Kind::Bars => {
            "Points are medians of the repeats, whiskers their intervals"
        }
    };
    has_intervals.then(|| format!("{words} ({METHOD})."))
}

pub(super) fn series(name: impl Into<String>, role: Role, mut points: Vec<Point>) -> Series {
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    Series { name: name.into(), role, points }
}

/// Trials at one place of the horizontal axis.
pub(super) struct PlacedTrials<'r> {
    pub(super) x: f64,
    pub(super) trials: Vec<&'r TrialResult>,
}

impl<'r> PlacedTrials<'r> {
    /// Groups of trials along an axis of names.
    pub(super) fn along(groups: impl IntoIterator<Item = Vec<&'r TrialResult>>) -> Vec<Self> {
        groups.into_iter().enumerate().map(|(nth, trials)| Self { x: nth as f64, trials }).collect()
    }

    pub(super) fn numbers(&self) -> Trials {
        numbers(self.trials.iter().copied())
    }
}

/// Trials of a bench at maximum load and at common loads.
pub(super) fn of_bench(results: &Results) -> Vec<&TrialResult> {
    let is_bench = |trial: &&TrialResult| {
        is_sound(trial) && matches!(trial.phase, Phase::BestEffort | Phase::CommonLoad | Phase::FixedLoad)
    };
    naming::compared(results).iter().filter(is_bench).collect()
}

pub(super) fn chart(id: &str, title: String, kind: Kind, x: Axis, y: Axis, series: Vec<Series>) -> Chart {
    Chart { id: slug(id), title, kind, x, y, series, marks: Vec::new(), notes: Vec::new() }
}

impl Chart {
    /// The same with more notes.
    pub(super) fn noting<N: Into<String>>(mut self, notes: impl IntoIterator<Item = N>) -> Self {
        self.notes.extend(notes.into_iter().map(Into::into));
        self
    }

    /// The same with more marks.
    pub(super) fn marking(mut self, marks: impl IntoIterator<Item = Mark>) -> Self {
        self.marks.extend(marks);
        self
    }

    /// The same with a note on its intervals, if it has some.
    pub(super) fn noting_repeats(self) -> Self {
        let note = of_repeats(&self);
        self.noting(note)
    }

    /// Whether it has a known value. Other charts are not shown.
    fn is_known(&self) -> bool {
        self.series.iter().flat_map(|series| &series.points).any(|point| point.y.is_some())
    }
}

/// A vertical mark at this place.
pub(super) fn upright(label: impl Into<String>, x: f64) -> Mark {
    Mark { label: label.into(), at: Place::X(x) }
}

/// A section with a text and those charts that have known values; `None` if no chart is left.
pub(super) fn section(
    id: &str,
    heading: &str,
    mut charts: Vec<Chart>,
    text: &str,
    more: impl IntoIterator<Item = Sentence>,
) -> Option<Section> {
    charts.retain(Chart::is_known);
    let text = std::iter::once(sentence(text, Vec::new())).chain(more).collect();
    (!charts.is_empty()).then(|| Section {
        id: id.into(),
        heading: heading.into(),
        text,
        charts,
        tables: Vec::new(),
    })
}

pub(super) fn sentence(text: impl Into<String>, trials: Trials) -> Sentence {
    Sentence { text: text.into(), trials }
}

/// A sentence about trials; `None` without trials.
pub(super) fn resting_on(trials: Trials, text: &str) -> Option<Sentence> {
    (!trials.is_empty()).then(|| sentence(text, trials))
}

/// Keeps the first charts with known values, up to a section's limit, and names the omitted ones.
pub(super) fn keep_few(charts: &mut Vec<Chart>) -> Option<Sentence> {
    charts.retain(Chart::is_known);
    let left_out = charts.len().saturating_sub(MOST_CHARTS);
    charts.truncate(MOST_CHARTS);
    let text = format!(
        "{left_out} further charts of this kind are left out here; the trials that they are of stand in the table of all trials."
    );
    (left_out > 0).then(|| sentence(text, Vec::new()))
}

/// An identifier of letters, digits and `-`.
pub(super) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(60);
    slug.trim_end_matches('-').into()
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn slugs_have_letters_digits_and_single_hyphens() {
        assert_eq!(slug("Delivered: packet-v3, 64 B  (same)"), "delivered-packet-v3-64-b-same");
        assert_eq!(slug("μ"), "");
    }
}
