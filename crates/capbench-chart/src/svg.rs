//! A chart as SVG 1.1: static, without scripts, with fonts that every system has. Every format uses this drawing: a file has it
//! on white with title, legend and notes; the page has the plot and its own text.
//!
//! | file | what |
//! |---|---|
//! | `axis`, `labels` | from values to pixels, and ticks; their labels |
//! | `sheet` | where everything is: title, plot, axes, legend, notes; lines across the plot |
//! | `shapes` | lines, points, areas and bars, and where they are read |
//! | `rows` | drawings with a row for each name |
//! | `ranked`, `forest` | what is in a row: lying bars; a point with its interval |
//! | `pen` | elements with their attributes; widths, breaks and escapes of text |

mod axis;
mod forest;
mod labels;
mod pen;
mod ranked;
mod rows;
mod shapes;
mod sheet;
#[cfg(test)]
mod tests;

use crate::chart::Chart;
use crate::palette::{Look, Palette};
pub use shapes::Spot;
use sheet::{Extent, Sheet};

/// The chart as a file, in the palette's colours.
pub fn svg(chart: &Chart, palette: &Palette) -> String {
    match chart.kind.has_rows() {
        true => rows::whole(chart, &looks(chart, palette)),
        false => Sheet::new(chart, palette, Extent::Whole).draw(),
    }
}

fn looks(chart: &Chart, palette: &Palette) -> Vec<Look> {
    chart.series.iter().map(|series| palette.look(series.role, &series.name)).collect()
}

/// A chart for a page whose title element is `title-ID`. Its classes, such as `ink` and `paper`, use the page's colours.
pub struct Embedded {
    /// The plot with axes and marks, as an `svg` element.
    pub plot: String,
    /// A legend sample of each series, as an `svg` element.
    pub samples: Vec<String>,
    /// Each mark with its position.
    pub marks: Vec<String>,
    /// The chart's notes, and limits of its drawing.
    pub notes: Vec<String>,
    /// The place of each point of each series; `None` for points without a place.
    pub spots: Vec<Vec<Option<Spot>>>,
}

/// The chart for a page, in the palette's colours.
pub fn embedded(chart: &Chart, palette: &Palette) -> Embedded {
    if chart.kind.has_rows() {
        let looks = looks(chart, palette);
        let samples = chart.series.iter().zip(&looks);
        return Embedded {
            plot: rows::embedded(chart, &looks),
            samples: samples.map(|(series, look)| sheet::sample_alone(chart, series.role, look)).collect(),
            marks: Vec::new(),
            notes: chart.notes.clone(),
            spots: rows::spots(chart),
        };
    }
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
