//! A chart as a picture: SVG 1.1, static, for white paper, without scripts and with fonts that every system has.
//!
//! | file | what |
//! |---|---|
//! | `axis` | from values to pixels, and ticks |
//! | `sheet` | where everything lies: title, plot, axes, marks, legend, notes |
//! | `shapes` | lines, points, areas and bars |
//! | `pen` | elements with their attributes |
//! | `text` | widths, breaks and escapes |

mod axis;
mod pen;
mod shapes;
mod sheet;
#[cfg(test)]
mod tests;
mod text;

use crate::model::Chart;
use crate::palette::Palette;

/// The chart as SVG, coloured as if it stood alone.
pub fn svg(chart: &Chart) -> String {
    svg_in(chart, &Palette::of([chart]))
}

/// The chart as SVG, coloured as in the report that the palette is of.
pub fn svg_in(chart: &Chart, palette: &Palette) -> String {
    sheet::draw(chart, palette)
}
