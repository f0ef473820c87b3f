//! A chart as a picture: SVG 1.1, static, without scripts and with fonts that every system has. Every report of a chart shows this
//! drawing: a file has it on white paper with title, legend and notes; the page has the plot, and these around it.
//!
//! | file | what |
//! |---|---|
//! | `axis`, `labels` | from values to pixels, and ticks; their labels |
//! | `sheet`, `marks` | where everything is: title, plot, axes, legend, notes; lines across the plot |
//! | `shapes` | lines, points, areas and bars, and where they are read |
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
pub use shapes::Spot;
use sheet::{Extent, Sheet};

/// The chart as a file, coloured as in the report that the palette is of.
pub fn svg(chart: &Chart, palette: &Palette) -> String {
    Sheet::new(chart, palette, Extent::Whole).draw()
}

/// A chart for a page that has its title as `title-ID`. Classes in it, such as `ink` and `paper`, take the page's colours.
pub struct Embedded {
    /// The plot with its axes and marks, as an element `svg`.
    pub plot: String,
    /// A sample of each series, as an element `svg`.
    pub samples: Vec<String>,
    /// Each mark with where it is.
    pub marks: Vec<String>,
    /// The chart's notes, and what its drawing could not show as it is.
    pub notes: Vec<String>,
    /// Where each point of each series is read; none for points without a place.
    pub spots: Vec<Vec<Option<Spot>>>,
}

/// The chart for a page, coloured as in the report that the palette is of.
pub fn embedded(chart: &Chart, palette: &Palette) -> Embedded {
    let sheet = Sheet::new(chart, palette, Extent::Plot);
    let in_words = |(mark, is_drawn): (String, bool)| match is_drawn {
        true => mark,
        false => format!("{mark} (beyond what is drawn)"),
    };
    let looks = chart.series.iter().zip(&sheet.plot.looks);
    Embedded {
        plot: sheet.draw(),
        samples: looks.map(|(series, look)| sheet::sample_alone(chart, series.role, look)).collect(),
        marks: sheet.marks().into_iter().map(in_words).collect(),
        notes: sheet.notes(),
        spots: sheet.plot.spots(),
    }
}
