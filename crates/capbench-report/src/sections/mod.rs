//! Charts: each file has the section of one subject, a pure function of saved results. A new one is a file and a line of
//! [`sections`].
//!
//! | file | what |
//! |---|---|
//! | `reproductions` | published figures next to those of this host |
//! | `searches` | trials of searches, and bounds over searches and set-ups |
//! | `loads` | delivered frames and losses, over the load or by method |
//! | `sizes` | rates against the frame size |
//! | `sweeps` | what a sweep varied, with intervals |
//! | `regimes` | cost of a packet besides its work |
//! | `rings` | the longest burst without loss and the time that buffers last |
//! | `cpu` | CPU time per packet of application and kernel |
//! | `latency` | percentiles of latency |
//! | `moments` | when frames were lost during a trial |
//! | `soak` | a soak over its time |
//!
//! Shared code: `parts` makes sections, charts, axes and points, `layers` stacks the ledger, `varied` has the axis of a sweep.

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

use crate::results::Results;

use crate::model::Section;
use crate::naming::Numbered;

pub(crate) use searches::BOUNDS;

/// Every section with data in the results, in reading order.
pub fn sections(results: &Results) -> Vec<Section> {
    let trials = Numbered::of(results);
    let mut sections = reproductions::sections(results);
    sections.extend(searches::section(results, &trials));
    sections.extend(loads::sections(results, &trials));
    sections.extend(sizes::section(results));
    sections.extend(sweeps::sections(results, &trials));
    sections.extend(regimes::section(results));
    sections.extend(rings::section(results, &trials));
    sections.extend(cpu::section(results, &trials));
    sections.extend(latency::section(results, &trials));
    sections.extend(moments::section(results));
    sections.extend(soak::section(results));
    sections.retain(|section| !section.charts.is_empty() || !section.tables.is_empty());
    sections
}
