//! Tables of all measurements. A family of tables is a file here and a row in [`FAMILIES`].
//!
//! | file | what |
//! |---|---|
//! | `summary` | the table directly after the verdict, for each kind of run |
//! | `claims` | the same for repeated experiments of publications |
//! | `comparisons` | methods that took turns with another one |
//! | `searches`, `sweeps`, `rfc2544`, `soak` | what runs of these kinds found |
//! | `engines` | what ran behind each method's name |
//! | `ledger` | where frames went, by method and place, and which counter reports it |
//! | `cpu`, `latency`, `loss` | cost of packets, delays, times and lengths of losses |
//! | `guards` | what was repeated or marked, and why |
//! | `trials` | every trial |
//! | `environment` | the host |
//! | `shape` | how to build tables |

mod claims;
pub(crate) mod comparisons;
mod cpu;
mod engines;
pub(crate) mod environment;
mod guards;
mod latency;
mod ledger;
mod loss;
mod rfc2544;
mod searches;
pub(crate) mod shape;
mod soak;
pub(crate) mod summary;
mod sweeps;
pub(crate) mod trials;

use crate::results::Results;

use crate::model::{Section, Sentence, Table};
use crate::sections::BOUNDS;

/// Tables of one subject.
struct Family {
    /// Their section; a section of charts may have the same name.
    id: &'static str,
    heading: &'static str,
    /// What to know before reading them.
    text: &'static str,
    tables: fn(&Results) -> Vec<Table>,
}

/// In reading order.
#[rustfmt::skip]
const FAMILIES: [Family; 10] = [
    Family { id: "searches", heading: "Searches", tables: searches::tables,
        text: BOUNDS },
    Family { id: "sweep-points", heading: "Every point of the sweep", tables: sweeps::tables,
        text: "Medians of the visits to a point; intervals reach from one visit to another and assume no distribution." },
    Family { id: "rfc2544", heading: "Tests of RFC 2544", tables: rfc2544::tables,
        text: "Latency, frame loss rate, back-to-back frames and system recovery." },
    Family { id: "soak", heading: "Soak", tables: soak::tables,
        text: "One load for long, in segments; after each the generator pauses until every frame is accounted for." },
    Family { id: "engines", heading: "What ran", tables: engines::tables,
        text: "What did the work behind each method's name, as it was found out." },
    Family { id: "ledger", heading: "Where frames went", tables: ledger::tables,
        text: "Whatever was to be sent was delivered once and intact, or stands under the place that lost it. What nothing \
               explains is the remainder: computed, never forced to 0. Unknown means that nothing here can tell." },
    Family { id: "cpu", heading: "CPU cost", tables: cpu::tables,
        text: "CPU time for each packet. The application's has the verification of every frame in it." },
    Family { id: "latency", heading: "Latency", tables: latency::tables,
        text: "From the planned send time to the kernel's time stamp, from there to the application, and both together." },
    Family { id: "loss-in-time", heading: "When frames were lost", tables: loss::tables,
        text: "Bursts of lost frames, and the 100 ms in which most were lost." },
    Family { id: "guards", heading: "Repeated and disturbed trials", tables: guards::tables,
        text: "Which attempt stands never depends on what it delivered. Probes and attempts set aside are no results." },
];

/// All sections with data in these results.
pub(crate) fn sections(results: &Results) -> Vec<Section> {
    let sections = FAMILIES.iter().map(|family| Section {
        id: family.id.into(),
        heading: family.heading.into(),
        text: vec![Sentence { text: family.text.into(), trials: Vec::new() }],
        charts: Vec::new(),
        tables: (family.tables)(results),
    });
    let sections = sections.filter(|section| !section.tables.is_empty());
    comparisons::sections(results).into_iter().chain(sections).collect()
}
