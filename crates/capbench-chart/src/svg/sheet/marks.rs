//! Marks across a chart: which ones are drawn, where their lines are, and labels without overlap.

use super::{EDGE, PLOT_HEIGHT, Sheet, WIDTH};
use crate::chart::{Chart, Mark, Place, Scale};
use crate::svg::axis::drawable;
use crate::svg::pen::{Anchor, Pen, Style, width, wrapped};

/// Text style of labels.
pub(super) const MARK: Style =
    Style { size: 11.5, is_pale: true, anchor: Anchor::Start, is_bold: false, turned: 0.0 };
/// Widest label next to the plot.
pub(super) const MARK_WIDTH: f64 = 118.0;
/// A mark more than this many times as far out as the values is named, not drawn: it would squeeze the values.
const FAR: f64 = 2.5;
/// The same on a logarithmic axis.
const FAR_BY_POWERS: f64 = 100.0;

/// A mark's label, next to or above the plot.
struct Label {
    lines: Vec<String>,
    at: f64,
}

impl Sheet<'_> {
    /// Labels of vertical marks in as few rows as possible without overlap.
    pub(super) fn rows_above(&self) -> Vec<Vec<(String, f64)>> {
        let mut labels: Vec<(f64, &str)> = self
            .marks
            .iter()
            .filter_map(|mark| match mark.at {
                Place::X(x) => Some((self.plot.x.at(drawable(x)?), mark.label.as_str())),
                Place::Y(_) | Place::Curve(_) => None,
            })
            .collect();
        labels.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut rows: Vec<Vec<(String, f64)>> = Vec::new();
        let mut ends: Vec<f64> = Vec::new();
        for (at, label) in labels {
            let wide = width(label, MARK.size);
            let begin = (at - wide / 2.0).clamp(EDGE, (WIDTH - EDGE - wide).max(EDGE));
            let row = ends.iter().position(|end| end + 8.0 <= begin).unwrap_or(ends.len());
            if row == ends.len() {
                ends.push(0.0);
                rows.push(Vec::new());
            }
            ends[row] = begin + wide;
            rows[row].push((label.into(), begin));
        }
        rows
    }

    pub(super) fn draw_marks(&self, pen: &mut Pen) {
        let bottom = self.top + PLOT_HEIGHT;
        let stroke =
            "class=\"mark\" fill=\"none\" stroke=\"#444444\" stroke-width=\"1.3\" stroke-dasharray=\"6 4\"";
        let mut outside: Vec<Label> = Vec::new();
        for mark in &self.marks {
            let lines = wrapped(&mark.label, MARK.size, MARK_WIDTH);
            match &mark.at {
                Place::X(x) => {
                    let Some(x) = drawable(*x).map(|x| self.plot.x.at(x)) else { continue };
                    pen.line([x, self.top - 3.0], [x, bottom], stroke);
                }
                Place::Y(y) => {
                    let Some(y) = drawable(*y).map(|y| self.plot.y.at(y)) else { continue };
                    pen.line([self.left, y], [self.right, y], stroke);
                    outside.push(Label { lines, at: y });
                }
                Place::Curve(curve) => {
                    let way: Vec<[f64; 2]> = self.curve(curve).collect();
                    pen.group(&format!("clip-path=\"url(#{})\"", self.clip()));
                    pen.path(&way, false, stroke, "");
                    pen.end();
                    let end =
                        way.iter().rev().find(|at| at[0] <= self.right + 1.0).map_or(self.top, |at| at[1]);
                    outside.push(Label { lines, at: end });
                }
            }
        }
        for (nth, row) in self.above.iter().enumerate() {
            for (label, begin) in row {
                pen.text(label, [*begin, self.top - 7.0 - 15.0 * nth as f64], MARK);
            }
        }
        self.draw_outside(pen, outside);
    }

    fn curve(&self, curve: &[[f64; 2]]) -> impl Iterator<Item = [f64; 2]> {
        let known = curve.iter().filter_map(|[x, y]| Some([drawable(*x)?, drawable(*y)?]));
        known.map(|[x, y]| [self.plot.x.at(x), self.plot.y.at(y)])
    }

    /// Labels to the right of the plot, moved apart if they overlap.
    fn draw_outside(&self, pen: &mut Pen, mut labels: Vec<Label>) {
        labels.sort_by(|a, b| a.at.total_cmp(&b.at));
        let mut free = self.top;
        for label in labels {
            let first = label.at.clamp(self.top, self.top + PLOT_HEIGHT).max(free);
            for (nth, line) in label.lines.iter().enumerate() {
                pen.text(line, [self.right + 6.0, first + 4.0 + 13.0 * nth as f64], MARK);
            }
            free = first + 13.0 * label.lines.len() as f64 + 4.0;
        }
    }
}

/// Whether the values have enough room if the mark is drawn. A curve is drawn only inside the plot.
pub(super) fn is_near(mark: &Mark, chart: &Chart, across: &[f64], up: &[f64]) -> bool {
    let near = |value: f64, values: &[f64], scale: &Scale| {
        let Some(value) = drawable(value) else { return false };
        let (Some(low), Some(high)) = (values.first(), values.last()) else { return true };
        match scale {
            Scale::Logarithmic => {
                value > 0.0 && value <= high * FAR_BY_POWERS && value >= low / FAR_BY_POWERS
            }
            Scale::Names(names) => value >= -0.5 && value <= names.len() as f64 - 0.5,
            Scale::Linear => {
                let (low, high) = (low.min(0.0), high.max(0.0));
                let room = (high - low) * (FAR - 1.0);
                // If all values are 0, every mark is near.
                high == low || (value <= high + room && value >= low - room)
            }
        }
    };
    match &mark.at {
        Place::X(x) => near(*x, across, &chart.x.scale),
        Place::Y(y) => near(*y, up, &chart.y.scale),
        Place::Curve(curve) => curve.iter().any(|[_, y]| near(*y, up, &chart.y.scale)),
    }
}

/// Extends the range by the marks that are drawn.
pub(super) fn take_in(marks: &[&Mark], chart: &Chart, across: &mut Vec<f64>, up: &mut Vec<f64>) {
    let (mut more_across, mut more_up) = (Vec::new(), Vec::new());
    for mark in marks {
        match &mark.at {
            Place::X(x) if !matches!(chart.x.scale, Scale::Names(_)) => more_across.extend(drawable(*x)),
            Place::X(_) => {}
            Place::Y(y) => more_up.extend(drawable(*y)),
            Place::Curve(curve) => {
                let alone = |y: f64| Mark { label: String::new(), at: Place::Y(y) };
                let near = curve.iter().filter(|[_, y]| is_near(&alone(*y), chart, across, up));
                more_up.extend(near.filter_map(|[_, y]| drawable(*y)));
            }
        }
    }
    across.extend(more_across);
    up.extend(more_up);
}
