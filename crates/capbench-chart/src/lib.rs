//! Charts: what they show as data, and their drawings. Nothing here knows what a run is.
//!
//! | module | what |
//! |---|---|
//! | [`chart`] | a chart: its axes, series, points and marks; units of numbers |
//! | [`figures`] | numbers as people read them |
//! | [`palette`] | colours, dashes and markers of series |
//! | [`svg`] | a chart as SVG; the only place that draws |

#![forbid(unsafe_code)]

pub mod chart;
pub mod figures;
pub mod palette;
pub mod svg;
