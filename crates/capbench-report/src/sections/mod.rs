//! Charts and tables: each file has the sections of one matter, a pure function of saved results. A new one is a file and a row of
//! the table.

mod reproductions;

use capbench_measure::results::Results;

use crate::model::Section;

/// A matter: its sections, none where the results say nothing of it.
type Make = fn(&Results) -> Vec<Section>;

/// In the order in which they are read.
const SECTIONS: [Make; 1] = [reproductions::sections];

/// Every section that the results have something for.
pub fn sections(results: &Results) -> Vec<Section> {
    SECTIONS.iter().flat_map(|make| make(results)).collect()
}
