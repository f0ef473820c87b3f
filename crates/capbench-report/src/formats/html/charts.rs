//! Charts as the page's script takes them: columns instead of points, and with each series how it is drawn.

use serde::Serialize;

use crate::model::{Axis, Chart, Kind, Mark, Place, Point, Report, Role, Scale, Series, Unit};
use crate::palette::{Look, Marker, Palette};

/// All charts of a report in their order, as JSON that may stand in a `script` element.
pub fn json(report: &Report) -> String {
    let charts: Vec<&Chart> = report.sections.iter().flat_map(|section| &section.charts).collect();
    let palette = Palette::of(charts.iter().copied());
    let drawn: Vec<Drawn<'_>> = charts.into_iter().map(|chart| Drawn::new(chart, &palette)).collect();
    // Values of these types have keys that are text and no failing serialisers.
    let text = serde_json::to_string(&drawn).expect("charts are plain data");
    // No `</script` and no `<!--` then, which would end the element or change how it is read; to JSON it is the same.
    text.replace('<', "\\u003c")
}

#[derive(Serialize)]
struct Drawn<'r> {
    title: &'r str,
    kind: Kind,
    x: DrawnAxis<'r>,
    y: DrawnAxis<'r>,
    series: Vec<DrawnSeries<'r>>,
    marks: Vec<DrawnMark<'r>>,
}

#[derive(Serialize)]
struct DrawnAxis<'r> {
    label: &'r str,
    unit: Unit,
    symbol: &'static str,
    logarithmic: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<&'r [String]>,
}

#[derive(Serialize)]
struct DrawnSeries<'r> {
    name: &'r str,
    light: &'static str,
    dark: &'static str,
    dash: &'static [u8],
    marker: &'static str,
    marked: bool,
    hollow: bool,
    hatched: bool,
    /// Whether it is a sum on top of the layers.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    total: bool,
    x: Vec<f64>,
    y: Vec<Option<f64>>,
    /// Of those points that have an interval; empty where none has.
    intervals: Vec<Option<[f64; 2]>>,
    trials: Vec<&'r [u32]>,
}

#[derive(Serialize)]
struct DrawnMark<'r> {
    label: &'r str,
    #[serde(flatten)]
    at: &'r Place,
}

impl<'r> Drawn<'r> {
    fn new(chart: &'r Chart, palette: &Palette) -> Self {
        Self {
            title: &chart.title,
            kind: chart.kind,
            x: DrawnAxis::new(&chart.x),
            y: DrawnAxis::new(&chart.y),
            series: chart
                .series
                .iter()
                .map(|series| DrawnSeries::new(series, palette.look(series.role, &series.name)))
                .collect(),
            marks: chart
                .marks
                .iter()
                .filter(|mark| is_finite(&mark.at))
                .map(|Mark { label, at }| DrawnMark { label, at })
                .collect(),
        }
    }
}

impl<'r> DrawnAxis<'r> {
    fn new(axis: &'r Axis) -> Self {
        let names = match &axis.scale {
            Scale::Names(names) => Some(names.as_slice()),
            Scale::Linear | Scale::Logarithmic => None,
        };
        Self {
            label: &axis.label,
            unit: axis.unit,
            symbol: axis.unit.symbol(),
            logarithmic: axis.scale == Scale::Logarithmic,
            names,
        }
    }
}

impl<'r> DrawnSeries<'r> {
    fn new(series: &'r Series, look: Look) -> Self {
        // JSON has no other numbers; a place that is none cannot be drawn in any format.
        let points: Vec<&Point> = series.points.iter().filter(|point| point.x.is_finite()).collect();
        let has_intervals = points.iter().any(|point| point.interval.is_some());
        Self {
            name: &series.name,
            light: look.colour.light,
            dark: look.colour.dark,
            dash: look.dash,
            marker: match look.marker {
                Marker::Circle => "circle",
                Marker::Square => "square",
                Marker::Triangle => "triangle",
                Marker::Diamond => "diamond",
                Marker::Arrow => "arrow",
            },
            marked: look.is_marked,
            hollow: look.is_hollow,
            hatched: look.is_hatched,
            total: series.role == Role::Total,
            x: points.iter().map(|point| point.x).collect(),
            y: points.iter().map(|point| point.y.filter(|y| y.is_finite())).collect(),
            intervals: if has_intervals {
                points.iter().map(|point| finite(point.interval)).collect()
            } else {
                Vec::new()
            },
            trials: points.iter().map(|point| point.trials.as_slice()).collect(),
        }
    }
}

fn finite(interval: Option<[f64; 2]>) -> Option<[f64; 2]> {
    interval.filter(|ends| ends.iter().all(|end| end.is_finite()))
}

fn is_finite(place: &Place) -> bool {
    match place {
        Place::X(at) | Place::Y(at) => at.is_finite(),
        Place::Curve(points) => points.iter().flatten().all(|at| at.is_finite()),
    }
}
