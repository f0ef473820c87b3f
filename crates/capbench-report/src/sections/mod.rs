//! Charts: each file has the section of one matter, a pure function of saved results. A new one is a file and a row of the
//! table.
//!
//! | file | what |
//! |---|---|
//! | `reproductions` | publications beside this host |
//! | `searches` | trials of searches, and bounds over searches and set-ups |
//! | `loads` | what was delivered and where the rest was lost, against the load or by method |
//! | `sizes` | rates against the frame size |
//! | `sweeps` | what a sweep varied, with intervals |
//! | `regimes` | what a packet costs beside its work |
//! | `rings` | the longest burst and the time that buffers hold for |
//! | `cpu` | CPU time per packet of application and kernel |
//! | `latency` | percentiles of latency |
//! | `moments` | when in a trial frames were lost |
//! | `soak` | a soak over its time |
//!
//! What they share: `parts` makes axes and points, `layers` stacks the ledger, `varied` has the axis of
//! a sweep.

mod cpu;
mod latency;
mod layers;
mod loads;
mod moments;
mod parts;
mod regimes;
mod reproductions;
mod rings;
mod searches;
mod sizes;
mod soak;
mod sweeps;
#[cfg(test)]
mod tests;
mod varied;

use capbench_measure::results::Results;

use crate::model::Section;

pub(crate) use searches::BOUNDS;

/// A matter: its sections, none where the results say nothing of it.
type Make = fn(&Results) -> Vec<Section>;

/// In the order in which they are read.
const SECTIONS: [Make; 11] = [
    reproductions::sections,
    searches::sections,
    loads::sections,
    sizes::sections,
    sweeps::sections,
    regimes::sections,
    rings::sections,
    cpu::sections,
    latency::sections,
    moments::sections,
    soak::sections,
];

/// Every section that the results have something for.
pub fn sections(results: &Results) -> Vec<Section> {
    let mut sections: Vec<Section> = SECTIONS.iter().flat_map(|make| make(results)).collect();
    sections.retain(|section| !section.charts.is_empty() || !section.tables.is_empty());
    sections
}
