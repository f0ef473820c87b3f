//! What a run shows: facts with their numbers and their trials. capbench-report has the words of each.
//!
//! | file | about |
//! |---|---|
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

pub mod bench;
pub mod caveats;
pub mod comparison;
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

use capbench_model::saved::SavedPlacement;
use capbench_model::trial::SizeLabel;
use serde::{Deserialize, Serialize};

/// One fact of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "about", rename_all = "snake_case")]
// `Finding` is the name of a saved one, which has its sentence, too.
#[schemars(rename = "Fact")]
#[allow(clippy::large_enum_variant, reason = "a run has few of them")]
pub enum Finding {
    /// When, or in which flows, a trial lost frames.
    LossPattern(loss_pattern::LossPatternFinding),
    /// What a sweep shows.
    Sweep(Box<sweep::SweepFinding>),
    /// What a search found, or several.
    Search(search::SearchFinding),
    /// What a soak shows.
    Soak(soak::SoakFinding),
    /// The answer to a claim of a publication.
    Reproduction(reproduction::ReproductionFinding),
    /// Trials of any run.
    Trials(trials::TrialFinding),
    /// The queues of an interface that captured.
    Queues(queues::QueuesAgainstCapture),
    /// An answer of a bench.
    Bench(bench::BenchFinding),
    /// Two runs, or methods that took turns.
    Comparison(comparison::ComparisonFinding),
    /// A run without conclusions.
    Unfinished(unfinished::Unfinished),
    /// A caveat of a run.
    Caveat(caveats::Caveat),
}

impl Finding {
    /// Whether it only gives details of the caveat on noise. The short text of a run leaves it out.
    pub fn is_detail(&self) -> bool {
        match self {
            Self::Trials(fact) => fact.is_detail(),
            Self::Soak(fact) => fact.is_detail(),
            _ => false,
        }
    }
}

/// The frames and the placement that a fact concerns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scene {
    /// The size of the frames.
    pub frame_size: SizeLabel,
    /// The placement.
    pub placement: SavedPlacement,
}

/// A fact and its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// What it concerns, if it concerns one frame size and placement.
    pub scene: Option<Scene>,
    /// The fact.
    pub fact: Finding,
    /// Numbers of the trials that show it.
    pub trials: Vec<u32>,
}

impl Found {
    /// A fact about no single frame size or placement.
    pub fn new(fact: Finding, trials: impl IntoIterator<Item = u32>) -> Self {
        Self { scene: None, fact, trials: trials.into_iter().collect() }
    }
}
