//! Charts of results, with the tables that belong to them.

use capbench_measure::results::Results;

use crate::model::Section;

/// The sections that these results have something for.
pub fn sections(_results: &Results) -> Vec<Section> {
    Vec::new()
}
