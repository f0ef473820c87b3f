//! Helpers to build sections, charts, axes and points.

pub(super) use capbench_statistics::by_key;
pub(super) use capbench_statistics::interval::Estimate;

use capbench_model::trial::{Phase, TrialResult};
use capbench_results::Results;

use crate::model::{
    Axis, Chart, Kind, Mark, Place, Point, Role, Scale, Section, Sentence, Series, Trials, Unit,
};
use crate::naming::{self, is_sound};

/// Most charts of one kind in a section. A note counts the omitted ones.
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

/// A point; `y` is `None` if it is unknown, or not finite.
pub(super) fn point(x: f64, y: impl Into<Option<f64>>, trials: Trials) -> Point {
    let y = y.into().filter(|y| y.is_finite());
    Point { x, y, interval: None, is_at_least: false, trials }
}

/// A median with the interval of its repeats.
pub(super) fn estimated(x: f64, estimate: Option<&Estimate>, trials: Trials) -> Point {
    let Some(estimate) = estimate else { return point(x, None, trials) };
    let interval = estimate.low.zip(estimate.high).map(|(low, high)| [low, high]);
    Point { interval, ..point(x, estimate.median, trials) }
}

/// A series with its points in the order of the horizontal axis.
pub(super) fn series(name: impl Into<String>, role: Role, mut points: Vec<Point>) -> Series {
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    Series { name: name.into(), role, points }
}

/// A chart. It leaves out series of which nothing would be drawn.
pub(super) fn chart(id: &str, title: String, kind: Kind, x: Axis, y: Axis, mut series: Vec<Series>) -> Chart {
    series.retain(|series| series.points.iter().any(|point| is_drawn(kind, point)));
    Chart { id: slug(id), title, kind, x, y, series, marks: Vec::new(), notes: Vec::new() }
}

/// Whether a chart of this kind shows a point. A layer of height 0 is invisible.
fn is_drawn(kind: Kind, point: &Point) -> bool {
    match (kind, point.y) {
        (Kind::Stacked | Kind::StackedBars, Some(y)) => y != 0.0,
        (_, Some(_)) => true,
        (_, None) => point.interval.is_some(),
    }
}

/// An upright line across a chart.
pub(super) fn upright(label: impl Into<String>, x: f64) -> Mark {
    Mark { label: label.into(), at: Place::X(x) }
}

/// A section with a text and its first charts, up to [`MOST_CHARTS`]; it counts the omitted ones. `None` if no chart has known
/// values.
pub(super) fn section(
    id: &str,
    heading: &str,
    mut charts: Vec<Chart>,
    text: &str,
    more: impl IntoIterator<Item = Sentence>,
) -> Option<Section> {
    let note_of_omitted = keep_few(&mut charts);
    whole_section(id, heading, charts, text, more.into_iter().chain(note_of_omitted))
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
    if charts.is_empty() {
        return None;
    }
    let mut sentences = vec![sentence(text, Vec::new())];
    sentences.extend(more);
    Some(Section { id: id.into(), heading: heading.into(), text: sentences, charts, tables: Vec::new() })
}

pub(super) fn sentence(text: impl Into<String>, trials: Trials) -> Sentence {
    Sentence { text: text.into(), trials }
}

/// A sentence with its trials; `None` without trials.
pub(super) fn resting_on(trials: Trials, text: &str) -> Option<Sentence> {
    if trials.is_empty() { None } else { Some(sentence(text, trials)) }
}

/// Keeps the first charts with known values, up to [`MOST_CHARTS`], and says how many it omits.
pub(super) fn keep_few(charts: &mut Vec<Chart>) -> Option<Sentence> {
    charts.retain(Chart::is_known);
    let omitted = charts.len().saturating_sub(MOST_CHARTS);
    charts.truncate(MOST_CHARTS);
    if omitted == 0 {
        return None;
    }
    let text = format!(
        "{omitted} further charts of this kind are left out here; their trials are in the table of all trials."
    );
    Some(sentence(text, Vec::new()))
}

/// A text as a name for links, of lower-case letters, digits and single hyphens; empty if the text has no ASCII letter or digit.
fn slug(text: &str) -> String {
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let mut slug = Vec::from_iter(parts).join("-").to_ascii_lowercase();
    // A name is also the name of a file.
    slug.truncate(60);
    slug.trim_end_matches('-').into()
}

/// Trials of a bench at maximum load and at common loads.
pub(super) fn bench_trials(results: &Results) -> Vec<&TrialResult> {
    let mut trials = Vec::new();
    for trial in naming::compared(results) {
        let is_of_bench = matches!(trial.phase, Phase::BestEffort | Phase::CommonLoad | Phase::FixedLoad);
        if is_of_bench && is_sound(trial) {
            trials.push(trial);
        }
    }
    trials
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
