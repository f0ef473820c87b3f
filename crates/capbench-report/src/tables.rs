//! Tables of all measurements. A family of tables is a row in [`FAMILIES`].
//!
//! | file | what |
//! |---|---|
//! | `summary` | the table directly after the verdict, for each kind of run |
//! | `comparisons` | two runs, or methods that took turns with another one |
//! | `claims` | claims of publications |
//! | `searches`, `sweeps`, `rfc2544`, `soak` | what runs of these kinds found |
//! | `members` | what each of several threads read and lost |
//! | `ledger` | where frames went, by method and place, and which counter reports it |
//! | `trials` | every trial |
//! | `engines`, `cpu`, `latency`, `loss_in_time` | what ran; cost, delays, times and lengths of losses |
//! | `guards` | what was repeated or marked |
//! | `environment` | the host |
//! | `rows`, `columns`, `cells` | how to build tables |

mod cells;
mod claims;
pub(crate) mod columns;
pub(crate) mod comparisons;
mod cpu;
mod engines;
pub(crate) mod environment;
mod guards;
mod latency;
mod ledger;
mod loss_in_time;
mod members;
mod rfc2544;
pub(crate) mod rows;
mod searches;
mod soak;
pub(crate) mod summary;
mod sweeps;
pub(crate) mod trials;

use capbench_results::Results;

use crate::model::{Section, Sentence, Table};

pub(crate) const BOUNDS: &str =
    "The lower bound was sustained, the upper bound was not; the words are those of RFC 9971.";

/// Tables of one subject.
struct Family {
    /// The name of their section, which a section of charts may share.
    id: &'static str,
    heading: &'static str,
    /// What to know before reading them.
    text: &'static str,
    tables: fn(&Results) -> Vec<Table>,
}

/// In reading order.
const FAMILIES: [Family; 12] = [
    Family {
        id: "set-ups",
        heading: "Other set-ups",
        text: "Each set-up has its own ranking: rates of different set-ups are not comparable.",
        tables: summary::bench::other_set_ups,
    },
    Family {
        id: "searches",
        heading: "Searches",
        text: BOUNDS,
        tables: |results| searches::tables(&results.searches),
    },
    Family {
        id: "sweep-points",
        heading: "Every point of the sweep",
        text: "Medians of the visits to a point; intervals reach from one visit to another and assume no distribution.",
        tables: sweeps::tables,
    },
    Family {
        id: "rfc2544",
        heading: "Tests of RFC 2544",
        text: "Latency, frame loss rate, back-to-back frames and system recovery.",
        tables: rfc2544::tables,
    },
    Family {
        id: "soak",
        heading: "Soak",
        text: "One load for long, in segments; after each the generator pauses until every frame is accounted for.",
        tables: soak::tables,
    },
    Family {
        id: "engines",
        heading: "What ran",
        text: "The engine that each method used, as detected.",
        tables: engines::tables,
    },
    Family {
        id: "ledger",
        heading: "Where frames went",
        text: "Every intended frame was delivered once and intact, or is listed under the place that lost it. The remainder is \
               unexplained. Unknown means that no counter here reports it.",
        tables: ledger::tables,
    },
    Family {
        id: "members",
        heading: "Members",
        text: "Each is a thread with a socket of its own. What reached its socket, it read, or the socket lost it.",
        tables: members::tables,
    },
    Family {
        id: "cpu",
        heading: "CPU cost",
        text: "CPU time for each packet. The application's has the verification of every frame in it.",
        tables: cpu::tables,
    },
    Family {
        id: "latency",
        heading: "Latency",
        text: "From the planned send time to the kernel's time stamp, from there to the application, and both together.",
        tables: latency::tables,
    },
    Family {
        id: "loss-in-time",
        heading: "When frames were lost",
        text: "Bursts of lost frames, and the 100 ms in which most were lost.",
        tables: loss_in_time::tables,
    },
    Family {
        id: "guards",
        heading: "Repeated and disturbed trials",
        text: "An attempt is repeated because of the host, never because of what it delivered. Probes and discarded attempts are \
               no results.",
        tables: guards::tables,
    },
];

/// All sections with data in these results.
pub(crate) fn sections(results: &Results) -> Vec<Section> {
    let mut sections = Vec::new();
    for family in &FAMILIES {
        let tables = (family.tables)(results);
        if !tables.is_empty() {
            sections.push(Section {
                id: family.id.into(),
                heading: family.heading.into(),
                text: vec![Sentence { text: family.text.into(), trials: Vec::new() }],
                charts: Vec::new(),
                tables,
            });
        }
    }
    sections
}
