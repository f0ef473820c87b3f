//! Charts as SVG.

use crate::model::Chart;

/// A chart as a file of its own.
pub fn svg(chart: &Chart) -> String {
    let title: String = chart.title.chars().filter(|c| !"<>&".contains(*c)).collect();
    format!("<svg xmlns=\"http://www.w3.org/2000/svg\"><title>{title}</title></svg>\n")
}
