//! Helpers to build sections, charts, axes and points; the ledger as stacked layers; the axis of a sweep.

pub(super) use capbench_model::statistics::by_key as grouped;
pub(super) use capbench_model::statistics::interval::Estimate;

use capbench_judge::sweep::axis::Facts;
use capbench_judge::sweep::{Analysis, Reading, Series as SweptSeries, SweepOutcome};
use capbench_model::places::ALL as ALL_PLACES;
use capbench_model::trial::{Phase, TrialResult};
use capbench_results::Results;

use crate::model::{
    Axis, Chart, Kind, Mark, Place, Point, Role, Scale, Section, Sentence, Series, Trials, Unit,
};
use crate::naming::{self, Numbered, is_sound, numbers};
use crate::sentences::places;

/// Most charts of one kind in a section. A note lists the omitted ones.
pub(super) const MOST_CHARTS: usize = 16;
/// Name of the layer that must be 0 for a complete ledger.
pub(super) const UNEXPLAINED: &str = "unexplained";

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
    Point { x, y: y.into().filter(|y| y.is_finite()), interval: None, is_at_least: false, trials }
}

/// A median with the interval of its repeats.
pub(super) fn estimated(x: f64, estimate: Option<&Estimate>, trials: Trials) -> Point {
    let interval = estimate.and_then(|estimate| Some([estimate.low?, estimate.high?]));
    Point { interval, ..point(x, estimate.map(|estimate| estimate.median), trials) }
}

pub(super) fn series(name: impl Into<String>, role: Role, mut points: Vec<Point>) -> Series {
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    Series { name: name.into(), role, points }
}

/// A chart of the series of which something is drawn.
pub(super) fn chart(id: &str, title: String, kind: Kind, x: Axis, y: Axis, mut series: Vec<Series>) -> Chart {
    let is_drawn = |point: &Point| match (kind, point.y) {
        (Kind::Stacked | Kind::StackedBars, Some(y)) => y != 0.0,
        (_, Some(_)) => true,
        (_, None) => point.interval.is_some(),
    };
    series.retain(|series| series.points.iter().any(is_drawn));
    Chart { id: slug(id), title, kind, x, y, series, marks: Vec::new(), notes: Vec::new() }
}

pub(super) fn upright(label: impl Into<String>, x: f64) -> Mark {
    Mark { label: label.into(), at: Place::X(x) }
}

/// A section with a text and its first charts up to a limit; it names the omitted ones. `None` if no chart has known values.
pub(super) fn section(
    id: &str,
    heading: &str,
    mut charts: Vec<Chart>,
    text: &str,
    more: impl IntoIterator<Item = Sentence>,
) -> Option<Section> {
    let left_out = keep_few(&mut charts);
    whole_section(id, heading, charts, text, more.into_iter().chain(left_out))
}

/// A section with a text and all charts; `None` if no chart has known values.
pub(super) fn whole_section(
    id: &str,
    heading: &str,
    mut charts: Vec<Chart>,
    text: &str,
    more: impl IntoIterator<Item = Sentence>,
) -> Option<Section> {
    charts.retain(Chart::is_known);
    let text = std::iter::once(sentence(text, Vec::new())).chain(more).collect();
    let (id, heading) = (id.into(), heading.into());
    (!charts.is_empty()).then(|| Section { id, heading, text, charts, tables: Vec::new() })
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
        "{left_out} further charts of this kind are left out here; their trials are in the table of all trials."
    );
    (left_out > 0).then(|| sentence(text, Vec::new()))
}

fn slug(text: &str) -> String {
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let mut slug = parts.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    slug.truncate(60);
    slug.trim_end_matches('-').into()
}

/// Trials of a bench at maximum load and at common loads.
pub(super) fn of_bench(results: &Results) -> Vec<&TrialResult> {
    let is_bench = |trial: &&TrialResult| {
        is_sound(trial) && matches!(trial.phase, Phase::BestEffort | Phase::CommonLoad | Phase::FixedLoad)
    };
    naming::compared(results).iter().filter(is_bench).collect()
}

/// Trials at one place of the horizontal axis.
pub(super) struct PlacedTrials<'r> {
    pub(super) x: f64,
    pub(super) trials: Vec<&'r TrialResult>,
}

impl<'r> PlacedTrials<'r> {
    pub(super) fn along(groups: impl IntoIterator<Item = Vec<&'r TrialResult>>) -> Vec<Self> {
        groups.into_iter().enumerate().map(|(nth, trials)| Self { x: nth as f64, trials }).collect()
    }

    pub(super) fn numbers(&self) -> Trials {
        numbers(self.trials.iter().copied())
    }

    /// Frames of its trials per second of sending time.
    fn rate(&self, frames: impl Fn(&TrialResult) -> Option<f64>) -> Point {
        let seconds: f64 = self.trials.iter().map(|trial| trial.sending_s).sum();
        let frames: Option<f64> = self.trials.iter().map(|trial| frames(trial)).sum();
        let rate = frames.filter(|_| seconds > 0.0).map(|frames| frames / seconds);
        point(self.x, rate, self.numbers())
    }

    /// Delivered frames per second, with their spread over several trials.
    fn delivered(&self) -> Point {
        let own = self.trials.iter().filter(|trial| trial.sending_s > 0.0);
        let spread = Estimate::of(own.map(|trial| trial.delivered as f64 / trial.sending_s));
        let interval = spread.and_then(|found| Some([found.low?, found.high?]));
        Point { interval, ..self.rate(|trial| Some(trial.delivered as f64)) }
    }
}

/// The ledger of these trials as a chart in packets per second: delivered frames, losses by place, and unexplained frames. Their
/// sum is the intended load. A place that a trial does not know is unknown there, and its losses are unexplained frames.
pub(super) fn stacked(id: &str, title: String, kind: Kind, x: Axis, placed: &[PlacedTrials<'_>]) -> Chart {
    let delivered = placed.iter().map(PlacedTrials::delivered).collect();
    let mut layers = vec![series("delivered", Role::Delivered, delivered)];
    let mut unknown = Vec::new();
    for place in ALL_PLACES {
        let count = |trial: &TrialResult| trial.ledger.iter().find(|entry| entry.place == place)?.count;
        let trials = || placed.iter().flat_map(|one| &one.trials);
        if trials().any(|trial| count(trial).is_some_and(|count| count > 0)) {
            let rates = placed.iter().map(|one| one.rate(|trial| count(trial).map(|count| count as f64)));
            layers.push(series(places::words(place), Role::Place, rates.collect()));
        } else if trials().next().is_some() && trials().all(|trial| count(trial).is_none()) {
            unknown.push(places::words(place));
        }
    }
    let unexplained = placed.iter().map(|one| one.rate(|trial| Some(trial.unexplained as f64)));
    layers.push(series(UNEXPLAINED, Role::Unexplained, unexplained.collect()));
    let y = linear("Delivered and lost", Unit::PacketsPerSecond);
    chart(id, title, kind, x, y, layers).noting(of_unknown(&unknown)).noting_repeats()
}

pub(super) fn of_unknown(places: &[&str]) -> Option<String> {
    let text = "it would be among what is unexplained.";
    (!places.is_empty())
        .then(|| format!("No counter here reports what was lost {}: {text}", places.join(", ")))
}

/// The varied setting of a sweep as an axis, with the positions of its points.
pub(super) struct Varied {
    pub(super) axis: Axis,
    /// The setting in a sentence.
    pub(super) words: &'static str,
    pub(super) places: Vec<f64>,
}

impl Varied {
    pub(super) fn from_outcome(outcome: &SweepOutcome) -> Self {
        let Facts { heading: label, words, .. } = *outcome.axis.facts();
        // The unit of a saved sweep, and the factor that converts its numbers to this unit.
        let known = match outcome.unit.as_deref() {
            Some("ns") => Some((Unit::Nanoseconds, 1.0)),
            Some("us") => Some((Unit::Nanoseconds, 1000.0)),
            Some("iterations") => Some((Unit::Iterations, 1.0)),
            Some("octets" | "bytes") => Some((Unit::Bytes, 1.0)),
            Some("packets/s") => Some((Unit::PacketsPerSecond, 1.0)),
            Some("members") => Some((Unit::Count, 1.0)),
            _ => None,
        };
        let at: Option<Vec<f64>> = outcome.points.iter().map(|point| point.at).collect();
        let Some((at, (unit, times))) = at.zip(known) else {
            return Self::named(
                label,
                words,
                outcome.points.iter().map(|point| point.label.clone()).collect(),
            );
        };
        let scaled = if outcome.axis.shows(Analysis::Buffers) { logarithmic } else { linear };
        Self { axis: scaled(label, unit), words, places: at.into_iter().map(|at| at * times).collect() }
    }

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
    pub(super) fn placed<'r>(&self, line: &SweptSeries, trials: &Numbered<'r>) -> Vec<PlacedTrials<'r>> {
        let readings = line.readings.iter().filter(|reading| reading.back_to_back.is_none());
        let at = |reading: &Reading| {
            Some(PlacedTrials { x: self.at(reading)?, trials: trials.sound(&reading.trials) })
        };
        readings.filter_map(at).collect()
    }

    /// A point for every place of the axis; unknown where nothing was measured.
    pub(super) fn points(&self, line: &SweptSeries, of: impl Fn(&Reading, f64) -> Point) -> Vec<Point> {
        let at = |(nth, &x): (usize, &f64)| {
            let reading = line.readings.iter().find(|reading| reading.point == nth);
            reading.map_or_else(|| point(x, None, Vec::new()), |reading| of(reading, x))
        };
        self.places.iter().enumerate().map(at).collect()
    }
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
