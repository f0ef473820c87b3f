//! Tables of all measurements. A family of tables is a row in [`FAMILIES`].
//!
//! | file | what |
//! |---|---|
//! | `summary` | the table directly after the verdict, for each kind of run |
//! | `comparisons` | two runs, or methods that took turns with another one; claims of publications |
//! | `searches`, `sweeps`, `rfc2544`, `soak` | what runs of these kinds found |
//! | `members` | what each of several threads read and lost |
//! | `ledger` | where frames went, by method and place, and which counter reports it |
//! | `trials` | every trial; what ran, cost, delays, times and lengths of losses, what was repeated or marked |
//! | `environment` | the host |
//! | `shape` | how to build tables |

pub(crate) mod comparisons;
pub(crate) mod environment;
mod ledger;
mod members;
mod rfc2544;
mod searches;
pub(crate) mod shape;
mod soak;
pub(crate) mod summary;
mod sweeps;
pub(crate) mod trials;

use capbench_results::Kind;
use capbench_results::Results;

use crate::model::{Section, Sentence, Table};

pub(crate) const BOUNDS: &str =
    "The lower bound was sustained, the upper bound was not; the words are those of RFC 9971.";

/// Tables of one subject: the name of their section, which a section of charts may share, its heading, what to know before
/// reading them, and the tables.
type Family = (&'static str, &'static str, &'static str, fn(&Results) -> Vec<Table>);

/// In reading order.
#[rustfmt::skip]
const FAMILIES: [Family; 12] = [
    ("set-ups", "Other set-ups", "Each set-up has its own ranking: rates of different set-ups are not comparable.",
        |results| match results.kind() { Kind::Bench => summary::other_set_ups(results), _ => Vec::new() }),
    ("searches", "Searches", BOUNDS, |results| searches::tables(&results.searches)),
    ("sweep-points", "Every point of the sweep",
        "Medians of the visits to a point; intervals reach from one visit to another and assume no distribution.",
        sweeps::tables),
    ("rfc2544", "Tests of RFC 2544", "Latency, frame loss rate, back-to-back frames and system recovery.",
        |results| rfc2544::tables(&results.rfc2544)),
    ("soak", "Soak", "One load for long, in segments; after each the generator pauses until every frame is accounted for.",
        |results| results.soak.as_ref().map_or_else(Vec::new, soak::tables)),
    ("engines", "What ran", "The engine that each method used, as detected.",
        |results| all([trials::engines(results)])),
    ("ledger", "Where frames went",
        "Every intended frame was delivered once and intact, or is listed under the place that lost it. The remainder is \
         unexplained. Unknown means that no counter here reports it.",
        |results| all([ledger::by_method(results), ledger::sources(results)])),
    ("members", "Members", "Each is a thread with a socket of its own. What reached its socket, it read, or the socket lost it.",
        |results| all([members::table(results)])),
    ("cpu", "CPU cost", "CPU time for each packet. The application's has the verification of every frame in it.",
        |results| all([trials::cpu(results)])),
    ("latency", "Latency",
        "From the planned send time to the kernel's time stamp, from there to the application, and both together.",
        |results| all([trials::latency(results)])),
    ("loss-in-time", "When frames were lost", "Bursts of lost frames, and the 100 ms in which most were lost.",
        |results| all([trials::shapes(results), trials::longest(results)])),
    ("guards", "Repeated and disturbed trials",
        "An attempt is repeated because of the host, never because of what it delivered. Probes and discarded attempts are no results.",
        |results| all([trials::attempts(results), trials::marks(results)])),
];

fn all<const N: usize>(tables: [Option<Table>; N]) -> Vec<Table> {
    tables.into_iter().flatten().collect()
}

/// All sections with data in these results.
pub(crate) fn sections(results: &Results) -> Vec<Section> {
    let sections = FAMILIES.iter().map(|(id, heading, text, tables)| Section {
        id: (*id).into(),
        heading: (*heading).into(),
        text: vec![Sentence { text: (*text).into(), trials: Vec::new() }],
        charts: Vec::new(),
        tables: tables(results),
    });
    sections.filter(|section| !section.tables.is_empty()).collect()
}
