//! Charts: each file has the section of one subject, a pure function of saved results. A new subject is a file, and a line of
//! [`sections`]. `ranking` has no section: its charts are the picture next to the verdict, which `report` adds. `report` also uses
//! `comparisons`, for two runs.
//!
//! | file | what |
//! |---|---|
//! | `reproductions` | published figures next to those of this host |
//! | `comparisons` | changes between two runs, or between methods that took turns |
//! | `searches` | trials of searches, and bounds over searches and set-ups |
//! | `loads` | delivered frames and losses, over the load or by method |
//! | `frame_sizes` | rates against the frame size |
//! | `sweeps` | what a sweep varied, with intervals |
//! | `cost_regimes`, `buffers` | what a packet costs besides its work; what buffers hold |
//! | `cpu` | CPU time per packet of application and kernel |
//! | `ranking` | the picture of a bench: sustained rates, with CPU time next to them |
//! | `latency` | percentiles of latency |
//! | `moments` | when frames were lost during a trial |
//! | `soak` | a soak over its time |
//!
//! `parts` makes sections, charts, axes and points, `ledger_layers` charts of a ledger, `varied` the axis of a sweep.

mod buffers;
pub(crate) mod comparisons;
mod cost_regimes;
mod cpu;
mod frame_sizes;
mod latency;
mod ledger_layers;
mod loads;
mod moments;
mod parts;
pub(crate) mod ranking;
mod reproductions;
mod searches;
mod soak;
mod sweeps;
mod varied;

use capbench_results::Results;

use crate::model::Section;
use crate::naming::Numbered;

/// Every section with data in the results.
pub fn sections(results: &Results) -> Vec<Section> {
    let trials = Numbered::from_results(results);
    let mut sections = reproductions::sections(results);
    sections.extend(searches::section(results, &trials));
    sections.extend(loads::sections(results, &trials));
    sections.extend(frame_sizes::section(results));
    sections.extend(sweeps::sections(results, &trials));
    sections.extend(cost_regimes::section(results));
    sections.extend(buffers::section(results, &trials));
    sections.extend(cpu::section(results, &trials));
    sections.extend(latency::section(results, &trials));
    sections.extend(moments::section(results));
    sections.extend(soak::section(results));
    sections.retain(|section| !section.charts.is_empty() || !section.tables.is_empty());
    // Sections of comparisons stay without charts and tables: their text says why nothing could be compared.
    sections.extend(comparisons::sections(results));
    sections
}
