//! The rows of a forest plot: a name, and under it the interval as a line, the point as a marker, and the value. In each row a
//! band reaches from the lowest mark of the vertical axis to the highest, with a line at 0.

use super::axis::{Ends, Ruler, drawable, extremes};
use super::pen::{Anchor, Pen, Style, pixels};
use super::shapes::{OWN, coloured, draw_marker};
use crate::chart::{Chart, Place, Point};
use crate::palette::Look;

/// Height of a row, and within it the baseline of its name and the top of its track.
const ROW: f64 = 36.0;
const BASELINE: f64 = 12.0;
const TRACK: f64 = 17.0;
const THICK: f64 = 14.0;
/// Height of the ticks below all rows.
const TICKS: f64 = 20.0;
/// The ends of the tracks in percent of the width. Values are to the right of them.
const ENDS: [f64; 2] = [2.0, 80.0];
/// An interval is cut where it is this many times as far from 0 as all points and marks.
const LONGEST: f64 = 2.0;
const TEXT: Style = Style { size: 13.0, is_pale: false, anchor: Anchor::Start, is_bold: false, turned: 0.0 };
const TICK: Style = Style { size: 11.5, is_pale: true, anchor: Anchor::Middle, ..TEXT };

pub(super) fn height(chart: &Chart) -> f64 {
    ROW * chart.names().len() as f64 + TICKS
}

pub(super) fn draw(pen: &mut Pen, chart: &Chart, looks: &[Look]) {
    let mut axis = Ruler::new(&chart.y, &reach(chart), Ends::Padded);
    axis.put(ENDS[0], ENDS[1]);
    pen.words("desc", &axis.title());
    let names = chart.names();
    for (row, name) in names.iter().enumerate() {
        let top = ROW * row as f64;
        ground(pen, chart, &axis, top + TRACK);
        let of_row = |points: &'_ [Point]| points.iter().position(|point| point.x == row as f64);
        let all = chart.series.iter().zip(looks).enumerate();
        let mut own = all
            .filter_map(|(nth, (series, look))| Some((nth, look, &series.points[of_row(&series.points)?])));
        let known = own.next();
        let is_bold = known.is_some_and(|(_, look, _)| !look.is_hollow);
        pen.placed_text(name, ["0", &pixels(top + BASELINE)], Style { is_bold, ..TEXT });
        let middle = top + TRACK + THICK / 2.0;
        let value = known.and_then(|(.., point)| drawable(point.y?));
        let words = value.map_or_else(|| "?".into(), |value| signed(&axis, value));
        let right = Style { anchor: Anchor::End, is_bold, ..TEXT };
        pen.placed_text(&words, ["100%", &pixels(middle + 4.5)], right);
        let (Some((nth, look, point)), Some(value)) = (known, value) else { continue };
        pen.group(&coloured(look, &format!("s{nth}")));
        interval(pen, &axis, point, middle);
        pen.raw(&format!("<svg x=\"{}\" y=\"{}\" overflow=\"visible\">\n", at(&axis, value), pixels(middle)));
        draw_marker(pen, [0.0, 0.0], look, "", "");
        pen.raw("</svg>\n");
        pen.end();
    }
    let bottom = pixels(ROW * names.len() as f64 + 14.0);
    for tick in axis.ticks(4) {
        pen.placed_text(&tick.label, [&percent(tick.at), &bottom], TICK);
    }
    pen.placed_text(&axis.title(), ["100%", &bottom], Style { anchor: Anchor::End, ..TICK });
}

/// The ends of the vertical axis: 0, all points and marks, and intervals that are not too long.
fn reach(chart: &Chart) -> Vec<f64> {
    let points = || chart.series.iter().flat_map(|series| &series.points);
    let values = points().filter_map(|point| drawable(point.y?));
    let values: Vec<f64> = values.chain(marks(chart)).chain([0.0]).collect();
    let furthest = LONGEST * values.iter().fold(0.0, |far: f64, value| far.max(value.abs()));
    let ends = points().filter_map(|point| point.interval).flatten().filter_map(drawable);
    let ends = ends.map(|end| end.clamp(-furthest, furthest));
    extremes(ends.chain(values.iter().copied())).map_or_else(Vec::new, |(low, high)| vec![low, high])
}

fn marks(chart: &Chart) -> impl Iterator<Item = f64> {
    chart.marks.iter().filter_map(|mark| match mark.at {
        Place::Y(y) => drawable(y),
        Place::X(_) | Place::Curve(_) => None,
    })
}

/// The band between the marks, and the line at 0.
fn ground(pen: &mut Pen, chart: &Chart, axis: &Ruler<'_>, top: f64) {
    let (low, high) = extremes(marks(chart)).unwrap_or_default();
    let (from, to) = (place(axis, low), place(axis, high));
    let (y, thick) = (pixels(top), pixels(THICK));
    pen.raw(&format!(
        "<rect class=\"track\" x=\"{}\" y=\"{y}\" width=\"{}\" height=\"{thick}\" fill=\"#eceff2\"/>\n",
        percent(from),
        percent(to - from)
    ));
    for mark in marks(chart) {
        let dashed = "class=\"mark\" stroke=\"#444444\" stroke-width=\"1\" stroke-dasharray=\"3 2\"";
        line(pen, [&at(axis, mark); 2], [top, top + THICK], dashed);
    }
    let axis_line = "class=\"axis\" stroke=\"#444444\" stroke-width=\"1.2\"";
    line(pen, [&at(axis, 0.0); 2], [top - 1.0, top + THICK + 1.0], axis_line);
}

/// The interval of a point with caps at its ends; an end without a cap is beyond the axis.
fn interval(pen: &mut Pen, axis: &Ruler<'_>, point: &Point, middle: f64) {
    let Some([Some(low), Some(high)]) = point.interval.map(|ends| ends.map(drawable)) else { return };
    line(pen, [&at(axis, low), &at(axis, high)], [middle; 2], OWN);
    for end in [low, high] {
        let is_inside = (ENDS[0]..=ENDS[1]).contains(&axis.at(end));
        if is_inside {
            line(pen, [&at(axis, end); 2], [middle - 4.0, middle + 4.0], OWN);
        }
    }
}

fn line(pen: &mut Pen, [x1, x2]: [&String; 2], [y1, y2]: [f64; 2], attributes: &str) {
    let (y1, y2) = (pixels(y1), pixels(y2));
    pen.raw(&format!("<line {attributes} x1=\"{x1}\" x2=\"{x2}\" y1=\"{y1}\" y2=\"{y2}\"/>\n"));
}

/// The place of a value on the tracks, in percent.
fn place(axis: &Ruler<'_>, value: f64) -> f64 {
    axis.at(value).clamp(ENDS[0], ENDS[1])
}

fn at(axis: &Ruler<'_>, value: f64) -> String {
    percent(place(axis, value))
}

fn percent(share: f64) -> String {
    format!("{}%", pixels(share))
}

fn signed(axis: &Ruler<'_>, value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", axis.in_words(value))
}
