//! Drawings with a row for each name. Lengths are in percent, so that a page draws them as wide as it likes with letters of the
//! same size. The file of a kind draws its rows; here is what is around them.

use super::axis::drawable;
use super::pen::{Pen, escaped, pixels, wrapped};
use super::shapes::Spot;
use super::sheet::{EDGE, FONTS, NOTE, TITLE, WIDTH, draw_legend, legend};
use super::{forest, ranked};
use crate::chart::{Chart, Kind, Point};
use crate::palette::Look;

/// The rows alone, as wide as their place in a page.
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
    let entries = legend(chart);
    let top = EDGE + 20.0 * title.len() as f64 + 8.0;
    let legend = top + height(chart) + 14.0;
    let below = legend + 19.0 * entries.len().max(1) as f64;
    let full = below + 15.0 * notes.len() as f64 + 4.0;
    let mut pen = Pen::new(WIDTH, full, &format!("role=\"img\" font-family=\"{FONTS}\""));
    pen.words("title", &chart.title);
    pen.rectangle([0.0, 0.0], [WIDTH, full], "fill=\"#ffffff\"", "");
    for (nth, line) in title.iter().enumerate() {
        pen.text(line, [EDGE, EDGE + 14.0 + 20.0 * nth as f64], TITLE);
    }
    let place = format!("x=\"{}\" y=\"{}\" width=\"{}\"", pixels(EDGE), pixels(top), pixels(inner));
    let mut rows = Pen::within(height(chart), &place);
    draw(&mut rows, chart, looks);
    pen.raw(&rows.finish());
    draw_legend(&mut pen, chart, looks, &entries, legend);
    for (nth, line) in notes.iter().enumerate() {
        pen.text(line, [EDGE, below + 8.0 + 15.0 * nth as f64], NOTE);
    }
    pen.finish()
}

/// The place of each point: its row.
pub(super) fn spots(chart: &Chart) -> Vec<Vec<Option<Spot>>> {
    let spot = |point: &Point| Some(Spot { axis_px: drawable(point.x)?, shape_px: None });
    chart.series.iter().map(|series| series.points.iter().map(spot).collect()).collect()
}

fn height(chart: &Chart) -> f64 {
    match chart.kind {
        Kind::Forest => forest::height(chart),
        _ => ranked::height(chart),
    }
}

fn draw(pen: &mut Pen, chart: &Chart, looks: &[Look]) {
    match chart.kind {
        Kind::Forest => forest::draw(pen, chart, looks),
        _ => ranked::draw(pen, chart, looks),
    }
}
