//! A chart as a picture: SVG 1.1, static, for white paper, without scripts and with fonts that every system has.
//!
//! | file | what |
//! |---|---|
//! | `axis`, `labels` | from values to pixels, and ticks; what stands at them |
//! | `sheet`, `marks` | where everything lies: title, plot, axes, legend, notes; lines across the plot |
//! | `shapes` | lines, points, areas and bars |
//! | `pen` | elements with their attributes |
//! | `text` | widths, breaks and escapes |

mod axis;
mod labels;
mod marks;
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
