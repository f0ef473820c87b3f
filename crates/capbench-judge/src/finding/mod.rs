//! What a run shows: facts with their numbers and their trials. capbench-report has the words of each.
//!
//! | file | about |
//! |---|---|
//! | `whole_run` | all facts of a run, in the order of a report |
//! | `trials` | trials of any run |
//! | `loss_pattern` | when, and in which flows, trials lost frames |
//! | `sweep` | where methods of a sweep lose frames, their costs, and how they compare |
//! | `search` | what searches found: bounds, limits, doubts, the order of methods |
//! | `rfc2544` | throughput, and the results of the tests relative to it |
//! | `soak` | whether a load was sustained, and when frames were lost |
//! | `reproduction` | the answers to claims of publications |
//! | `queues` | the queues of the interfaces that captured |
//! | `bench` | the answers of a bench |
//! | `comparison` | two runs, or methods that took turns |
//! | `unfinished` | a run without conclusions |
//! | `caveats`, `noise` | how noisy a run is, and why; what could not be measured |
//! | `disturbers` | what used the CPUs of trials besides them |

pub mod bench;
pub mod caveats;
pub mod comparison;
pub mod disturbers;
pub mod loss_pattern;
pub mod noise;
pub mod queues;
pub mod reproduction;
pub mod rfc2544;
pub mod search;
pub mod soak;
pub mod sweep;
pub mod trials;
pub mod unfinished;
pub mod whole_run;

use capbench_model::saved::SavedPlacement;
use capbench_model::trial::SizeLabel;
use serde::Serialize;

use crate::sweep::outcome::SweepScene;

/// One fact of a run.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "about", rename_all = "snake_case")]
// In the schema, `Finding` is the saved finding: the sentence of this fact, with the fact itself.
#[schemars(rename = "Fact")]
#[allow(clippy::large_enum_variant, reason = "a run has few of them")]
pub enum Finding {
    /// When, or in which flows, a trial lost frames.
    LossPattern(loss_pattern::LossPatternFinding),
    /// An answer to the question of a run of sweeps.
    SweepAnswer(Box<sweep::SweepAnswer>),
    /// What a sweep shows.
    Sweep(Box<sweep::SweepFinding>),
    /// An answer to the question of a run of searches.
    SearchAnswer(search::SearchAnswer),
    /// What one search shows, or several together.
    Search(search::SearchFinding),
    /// An answer to the question of a run of RFC 2544.
    Rfc2544Answer(rfc2544::Rfc2544Answer),
    /// An answer to the question of a soak.
    SoakAnswer(soak::SoakAnswer),
    /// What a soak shows.
    Soak(soak::SoakFinding),
    /// How many claims of publications still hold, and which.
    ReproductionAnswer(reproduction::ReproductionAnswer),
    /// The answer to a claim of a publication.
    Reproduction(reproduction::ReproductionFinding),
    /// What trials of any run show.
    Trials(trials::TrialFinding),
    /// The queues of an interface that captured.
    Queues(queues::QueuesAgainstCapture),
    /// An answer of a bench.
    Bench(bench::BenchFinding),
    /// How two runs, or methods that took turns, compare.
    Comparison(comparison::ComparisonFinding),
    /// A run without conclusions.
    Unfinished(unfinished::Unfinished),
    /// A caveat of a run.
    Caveat(caveats::Caveat),
}

impl Finding {
    /// Whether it only gives details of the caveat on noise, as some facts about trials and soaks do. The short text of a run leaves
    /// them out.
    pub fn is_detail(&self) -> bool {
        match self {
            Self::Trials(fact) => fact.is_detail(),
            Self::Soak(fact) => fact.is_detail(),
            _ => false,
        }
    }
}

/// What a fact concerns, if not the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Subject {
    /// Frames of a size in a placement.
    Frames {
        /// The size of the frames.
        frame_size: SizeLabel,
        /// The placement.
        placement: SavedPlacement,
    },
    /// Placement and load of methods of a sweep.
    Series(SweepScene),
    /// A publication.
    Publication {
        /// Its key.
        key: String,
    },
}

/// Frames that arrived otherwise than they were sent. Facts about trials and about soaks count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct OddFrames {
    /// Frames of other senders, or of another trial.
    pub foreign: u64,
    /// Repeated frames.
    pub duplicates: u64,
    /// Frames that arrived after a later one.
    pub reordered: u64,
    /// Frames cut short.
    pub truncated: u64,
    /// Damaged frames.
    pub corrupt: u64,
}

/// A fact and its evidence: what a judgement returns. A report adds the sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// What it concerns, if not the whole run.
    pub subject: Option<Subject>,
    /// The fact.
    pub fact: Finding,
    /// Numbers of the trials that show it.
    pub trials: Vec<u32>,
}

impl Found {
    /// A fact about the whole run.
    pub fn new(fact: Finding, trials: impl IntoIterator<Item = u32>) -> Self {
        Self { subject: None, fact, trials: trials.into_iter().collect() }
    }
}
