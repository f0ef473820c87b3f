//! The rows of lying bars: a name, its values, and under them its bars.

use super::axis::drawable;
use super::labels::scaling;
use super::pen::{Anchor, Pen, Style, pixels};
use super::shapes::{coloured, filling};
use crate::chart::{Chart, Point};
use crate::figures;
use crate::palette::Look;

/// Height of a row, and within it the baseline of its text and the top of its bars.
const ROW: f64 = 38.0;
const BASELINE: f64 = 13.0;
const BARS: f64 = 19.0;
const THICK: f64 = 11.0;
/// Height of the line with the unit.
const HEAD: f64 = 16.0;
const TEXT: Style = Style { size: 13.0, is_pale: false, anchor: Anchor::Start, is_bold: false, turned: 0.0 };
/// Digits of a value.
const DIGITS: i32 = 3;

/// A lower bound with the digits that are shown, rounded down.
fn down(value: f64) -> f64 {
    let digit = 10f64.powi(value.max(1.0).log10().floor() as i32 + 1 - DIGITS);
    (value / digit).floor() * digit
}

pub(super) fn height(chart: &Chart) -> f64 {
    HEAD + ROW * chart.names().len() as f64
}

pub(super) fn draw(pen: &mut Pen, chart: &Chart, looks: &[Look]) {
    let points = || chart.series.iter().flat_map(|series| &series.points);
    // A range counts with its upper end.
    let upper = |point: &Point| point.y.or(point.interval.map(|[_, high]| high));
    let values = points().filter_map(|point| drawable(upper(point)?));
    // Long whiskers are cut: the bars are what is compared.
    let largest = values.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let share = |value: f64| format!("{}%", pixels((value / (largest * 1.04)).clamp(0.0, 1.0) * 100.0));
    let (factor, unit) = scaling(chart.y.unit, largest);
    pen.words("desc", &format!("{} ({unit})", chart.y.label));
    pen.placed_text(&unit, ["100%", "11"], Style { anchor: Anchor::End, is_pale: true, size: 11.5, ..TEXT });
    for (row, name) in chart.names().iter().enumerate() {
        let top = HEAD + ROW * row as f64;
        let own = |nth: usize| chart.series[nth].points.iter().find(|point| point.x == row as f64);
        let baseline = pixels(top + BASELINE);
        // On a phone a page has the names of one of two drawings.
        pen.group("class=\"name\"");
        pen.placed_text(name, ["0", &baseline], TEXT);
        pen.end();
        let mut words: Vec<String> = (0..chart.series.len())
            .map(|nth| {
                let figure = |value: f64| figures::rounded(value / factor, DIGITS);
                match own(nth).map(|point| (point.y.and_then(drawable), point)) {
                    Some((Some(value), point)) if point.is_at_least => format!("≥ {}", figure(down(value))),
                    Some((Some(value), _)) => figure(value),
                    Some((None, Point { interval: Some([low, high]), .. })) => {
                        format!("{} to {}", figure(*low), figure(*high))
                    }
                    _ => "?".into(),
                }
            })
            .collect();
        words.dedup();
        let end = Style { anchor: Anchor::End, ..TEXT };
        pen.placed_text(&words.join(" / "), ["100%", &baseline], end);
        let bar = pixels(top + BARS);
        pen.raw(&format!(
            "<rect class=\"track\" x=\"0\" y=\"{bar}\" width=\"100%\" height=\"{}\" fill=\"#eceff2\"/>\n",
            pixels(THICK)
        ));
        for nth in (0..chart.series.len()).rev() {
            let Some(point) = own(nth) else { continue };
            let known = point.y.or(point.interval.map(|[low, _]| low));
            let Some(value) = known.and_then(drawable) else { continue };
            pen.group(&coloured(&looks[nth], &format!("s{nth}")));
            let fill = filling(chart, &looks[nth]);
            let (wide, thick) = (share(value), pixels(THICK));
            pen.raw(&format!("<rect x=\"0\" y=\"{bar}\" width=\"{wide}\" height=\"{thick}\" {fill}/>\n"));
            pen.end();
            if let Some([low, high]) = point.interval {
                let middle = pixels(top + BARS + THICK / 2.0);
                let (from, to) = (share(low), share(high));
                pen.raw(&format!(
                    "<line class=\"ink\" stroke=\"#222222\" stroke-width=\"1.5\" x1=\"{from}\" x2=\"{to}\" y1=\"{middle}\" \
                     y2=\"{middle}\"/>\n"
                ));
            }
        }
    }
}
