//! Lying bars, a row for each name: its name, its values, and under them its bars. Lengths are in percent, so that a page draws
//! it as wide as it likes with letters of the same size.

use super::axis::drawable;
use super::labels::scaling;
use super::pen::{Anchor, Pen, Style, escaped, pixels, wrapped};
use super::shapes::{Spot, coloured, filling};
use super::sheet::{EDGE, FONTS, NOTE, TITLE, WIDTH, draw_legend};
use crate::figures;
use crate::model::{Chart, Point, Scale};
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

/// The bars alone, as wide as their place in a page.
pub(super) fn embedded(chart: &Chart, looks: &[Look]) -> String {
    let id = escaped(&chart.id);
    let mut pen = Pen::within(
        height(chart),
        &format!("width=\"100%\" role=\"img\" aria-labelledby=\"title-{id}\" font-family=\"{FONTS}\""),
    );
    draw(&mut pen, chart, looks);
    pen.finish()
}

/// The drawing as a file: with title, legend and notes.
pub(super) fn whole(chart: &Chart, looks: &[Look]) -> String {
    let inner = WIDTH - 2.0 * EDGE;
    let title = wrapped(&chart.title, TITLE.size * 1.07, inner);
    let notes: Vec<String> = chart.notes.iter().flat_map(|note| wrapped(note, NOTE.size, inner)).collect();
    let top = EDGE + 20.0 * title.len() as f64 + 8.0;
    let legend = top + height(chart) + 14.0;
    let below = legend + 19.0;
    let full = below + 15.0 * notes.len() as f64 + 4.0;
    let mut pen = Pen::new(WIDTH, full, &format!("role=\"img\" font-family=\"{FONTS}\""));
    pen.words("title", &chart.title);
    pen.rectangle([0.0, 0.0], [WIDTH, full], "fill=\"#ffffff\"", "");
    for (nth, line) in title.iter().enumerate() {
        pen.text(line, [EDGE, EDGE + 14.0 + 20.0 * nth as f64], TITLE);
    }
    let place = format!("x=\"{}\" y=\"{}\" width=\"{}\"", pixels(EDGE), pixels(top), pixels(inner));
    let mut bars = Pen::within(height(chart), &place);
    draw(&mut bars, chart, looks);
    pen.raw(&bars.finish());
    draw_legend(&mut pen, chart, looks, &[(0..chart.series.len()).collect()], legend);
    for (nth, line) in notes.iter().enumerate() {
        pen.text(line, [EDGE, below + 8.0 + 15.0 * nth as f64], NOTE);
    }
    pen.finish()
}

/// The place of each point: its row.
pub(super) fn spots(chart: &Chart) -> Vec<Vec<Option<Spot>>> {
    let spot = |point: &Point| Some(Spot { place: drawable(point.x)?, shape: None });
    chart.series.iter().map(|series| series.points.iter().map(spot).collect()).collect()
}

fn height(chart: &Chart) -> f64 {
    HEAD + ROW * names(chart).len() as f64
}

fn names(chart: &Chart) -> &[String] {
    match &chart.x.scale {
        Scale::Names(names) => names,
        Scale::Linear | Scale::Logarithmic => &[],
    }
}

fn draw(pen: &mut Pen, chart: &Chart, looks: &[Look]) {
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
    for (row, name) in names(chart).iter().enumerate() {
        let top = HEAD + ROW * row as f64;
        let own = |nth: usize| chart.series[nth].points.iter().find(|point| point.x == row as f64);
        let baseline = pixels(top + BASELINE);
        // On a phone a page has the names of one of two drawings.
        pen.group("class=\"name\"");
        pen.placed_text(name, ["0", &baseline], Style { is_bold: row == 0, ..TEXT });
        pen.end();
        let mut words: Vec<String> = (0..chart.series.len())
            .map(|nth| {
                let figure = |value: f64| figures::rounded(value / factor, DIGITS);
                match own(nth).map(|point| (point.y.and_then(drawable), point)) {
                    Some((Some(value), point)) if point.is_at_least => format!("≥ {}", figure(value)),
                    Some((Some(value), _)) => figure(value),
                    Some((None, Point { interval: Some([low, high]), .. })) => {
                        format!("{} to {}", figure(*low), figure(*high))
                    }
                    _ => "?".into(),
                }
            })
            .collect();
        words.dedup();
        let end = Style { anchor: Anchor::End, is_bold: row == 0, ..TEXT };
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
