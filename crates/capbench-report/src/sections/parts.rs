//! Axes, points, series and sentences in few words.

pub(super) use capbench_measure::statistics::by_key as grouped;
pub(super) use capbench_measure::statistics::interval::Estimate;
use capbench_measure::statistics::interval::METHOD;

use crate::model::{Axis, Chart, Kind, Point, Role, Scale, Section, Sentence, Series, Trials, Unit};

/// Sections have at most so many charts of one kind; what is left out they say.
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

/// A median with the interval that its repeats give.
pub(super) fn estimated(x: f64, estimate: Option<&Estimate>, trials: Trials) -> Point {
    let interval = estimate.and_then(|estimate| Some([estimate.low?, estimate.high?]));
    Point { interval, ..point(x, estimate.map(|estimate| estimate.median), trials) }
}

/// What is to be said of intervals, where a chart has some.
pub(super) fn of_repeats(chart: &Chart) -> Option<String> {
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

pub(super) fn chart(id: &str, title: String, kind: Kind, x: Axis, y: Axis, series: Vec<Series>) -> Chart {
    Chart { id: slug(id), title, kind, x, y, series, marks: Vec::new(), notes: Vec::new() }
}

pub(super) fn section(id: &str, heading: &str, charts: Vec<Chart>) -> Section {
    Section { id: id.into(), heading: heading.into(), text: Vec::new(), charts, tables: Vec::new() }
}

pub(super) fn sentence(text: impl Into<String>, trials: Trials) -> Sentence {
    Sentence { text: text.into(), trials }
}

/// Whether something of a chart is known: one that knows nothing is not shown.
pub(super) fn is_known(chart: &Chart) -> bool {
    chart.series.iter().flat_map(|series| &series.points).any(|point| point.y.is_some())
}

/// Keeps as many charts as a section may have, and says what is left out.
pub(super) fn keep_few(charts: &mut Vec<Chart>) -> Option<Sentence> {
    let left_out = charts.len().saturating_sub(MOST_CHARTS);
    charts.truncate(MOST_CHARTS);
    let text = format!(
        "{left_out} further charts of this kind are left out here; the trials that they are of stand in the table of all trials."
    );
    (left_out > 0).then(|| sentence(text, Vec::new()))
}

/// Of letters, digits and `-`.
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
    use super::{grouped, slug};

    #[test]
    fn slugs_have_letters_digits_and_single_hyphens() {
        assert_eq!(slug("Delivered: packet-v3, 64 B  (same)"), "delivered-packet-v3-64-b-same");
        assert_eq!(slug("μ"), "");
    }

    #[test]
    fn groups_keep_their_order() {
        let groups = grouped([3, 1, 4, 1, 5], |number| number % 2);
        assert_eq!(groups, [(1, vec![3, 1, 1, 5]), (0, vec![4])]);
    }
}
