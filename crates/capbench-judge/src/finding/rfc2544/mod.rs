//! Facts about tests of RFC 2544: the throughput, whether other tests contradict it, and the results of the tests.
//!
//! | file | about |
//! |---|---|
//! | `test_fact` | the result of a test |

mod test_fact;

pub use test_fact::{LossAtLoad, TestFact, Way};

use crate::sustained::{is_explained_by_disturbance, is_higher};
use capbench_model::saved::{SavedMethod, SavedPlacement};
use capbench_model::trial::{Phase, SizeLabel, TrialResult, Verdict};
use serde::Serialize;

use super::search::SetUp;
use super::{Finding, Found};
use crate::limit::Limit;
use crate::rfc2544::{Found as FoundByTest, Tested};
use crate::search::bound::Trials;
use crate::search::{GoalResult, Reason, SearchOutcome, Status};

/// A throughput, and a trial of another test that lost frames at or below it.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Contradiction {
    /// The throughput, frames per second.
    pub throughput_pps: f64,
    /// The share of frames that the trial lost.
    pub loss_ratio: f64,
    /// Its load, frames per second.
    pub at_pps: f64,
    /// The trials of both.
    pub trials: Vec<u32>,
}

impl Contradiction {
    /// The first throughput, by the first goals of searches, at or below which other trials lost frames, with its search.
    pub fn of_searches<'s>(
        searches: &'s [SearchOutcome],
        trials: &[TrialResult],
    ) -> Option<(&'s SearchOutcome, Self)> {
        for search in searches {
            let Some(goal) = search.goals.first() else { continue };
            if let Some(contradiction) = Self::find(search, goal, trials) {
                return Some((search, contradiction));
            }
        }
        None
    }

    /// The trial of another test that lost the largest share, of those at loads up to what the search found to be lossless. A loss that the
    /// disturbances of its trial explain contradicts nothing. `None` if there is no such trial, or if the search found no such load.
    pub fn find(search: &SearchOutcome, goal: &GoalResult, trials: &[TrialResult]) -> Option<Self> {
        let lower = goal.lower.as_ref()?;
        let mut worst: Option<&TrialResult> = None;
        for trial in trials {
            let is_lossy = trial.verdict != Verdict::Invalid && trial.lost() > 0;
            let is_explained = is_explained_by_disturbance(trial);
            let is_below = !is_higher(trial.offered_pps, lower.achieved_pps);
            if !is_lossy || is_explained || !is_below || !is_of_other_test(trial, search) {
                continue;
            }
            if worst.is_none_or(|worst| worst.sent_loss_ratio() <= trial.sent_loss_ratio()) {
                worst = Some(trial);
            }
        }
        let worst = worst?;
        let mut trials = lower.trials.clone();
        trials.push(worst.number);
        Some(Self {
            throughput_pps: lower.achieved_pps,
            loss_ratio: worst.sent_loss_ratio(),
            at_pps: worst.offered_pps,
            trials,
        })
    }
}

/// Whether a trial tested frame loss or latency in the set-up of a search.
fn is_of_other_test(trial: &TrialResult, search: &SearchOutcome) -> bool {
    let profile = &trial.profile;
    matches!(trial.phase, Phase::FrameLoss | Phase::Latency)
        && search.method.as_ref() == Some(&profile.method)
        && search.frame_size.as_ref() == Some(&profile.frame_size)
        && search.placement.as_ref() == Some(&profile.placement)
}

/// The throughput of a set-up.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Throughput {
    /// The set-up.
    pub set_up: SetUp,
    /// What the search found.
    pub found: FoundThroughput,
    /// The trials of the lower bound.
    pub trials: Vec<u32>,
}

/// What a search for the throughput found, frames per second.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "known", rename_all = "snake_case")]
pub enum FoundThroughput {
    /// No load is known to be sustained.
    Nothing {
        /// Why.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Reason>,
        /// What limits the lowest load.
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<Limit>,
    },
    /// A regular result.
    Regular {
        /// The throughput.
        pps: f64,
    },
    /// The throughput may be higher.
    AtLeast {
        /// The load that was sustained.
        pps: f64,
        /// Why no more is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Reason>,
    },
    /// The search did not settle it.
    NotSettled {
        /// The load that was sustained.
        pps: f64,
    },
}

/// The result of a test, and what it tested.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct TestResult {
    /// What it tested, if the tests of the run have several set-ups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_up: Option<TestSetUp>,
    /// The result.
    pub fact: TestFact,
    /// Its trials.
    pub trials: Vec<u32>,
}

/// What a test tested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct TestSetUp {
    /// The method.
    pub method: SavedMethod,
    /// The frame size.
    pub frame_size: SizeLabel,
    /// The placement.
    pub placement: SavedPlacement,
}

impl TestSetUp {
    fn of_test(tested: &Tested) -> Self {
        Self {
            method: tested.method.clone(),
            frame_size: tested.frame_size.clone(),
            placement: tested.placement.clone(),
        }
    }
}

/// An answer to the question of a run of RFC 2544.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a run has few of them")]
pub enum Rfc2544Answer {
    /// A throughput at or below which other trials of the run lost frames.
    NotRepeatable {
        /// The set-up.
        set_up: SetUp,
        /// The throughput, and the trial.
        contradiction: Contradiction,
    },
    /// The throughput of each set-up.
    Throughput {
        /// Each set-up.
        set_ups: Vec<Throughput>,
    },
    /// Frame loss rate and back-to-back frames.
    Loss {
        /// Each test.
        tests: Vec<TestResult>,
    },
    /// Latency and system recovery.
    Time {
        /// Each test.
        tests: Vec<TestResult>,
    },
}

/// The answers, the verdict first.
pub fn answers(searches: &[SearchOutcome], tests: &[Tested], trials: &[TrialResult]) -> Vec<Found> {
    let mut answers = Vec::new();
    // A throughput that other trials contradict is none.
    answers.extend(not_repeatable(searches, trials).or_else(|| throughput(searches, trials)));
    let mut loss = Vec::new();
    let mut time = Vec::new();
    let has_several_set_ups =
        tests.iter().any(|tested| TestSetUp::of_test(tested) != TestSetUp::of_test(&tests[0]));
    for tested in tests {
        let Some(fact) = TestFact::of_outcome(&tested.found) else { continue };
        let set_up = has_several_set_ups.then(|| TestSetUp::of_test(tested));
        let result = TestResult { set_up, fact, trials: tested.trials.clone() };
        match tested.found {
            FoundByTest::FrameLoss(_) | FoundByTest::BackToBack(_) => loss.push(result),
            FoundByTest::Latency(_) | FoundByTest::Recovery(_) => time.push(result),
        }
    }
    if !loss.is_empty() {
        let trials = trials_of_tests(&loss);
        answers.push(found(Rfc2544Answer::Loss { tests: loss }, trials));
    }
    if !time.is_empty() {
        let trials = trials_of_tests(&time);
        answers.push(found(Rfc2544Answer::Time { tests: time }, trials));
    }
    answers
}

fn trials_of_tests(tests: &[TestResult]) -> Vec<u32> {
    tests.iter().flat_map(|test| test.trials.clone()).collect()
}

fn found(answer: Rfc2544Answer, trials: Vec<u32>) -> Found {
    Found::new(Finding::Rfc2544Answer(answer), trials)
}

/// The first throughput at or below which other trials lost frames.
fn not_repeatable(searches: &[SearchOutcome], trials: &[TrialResult]) -> Option<Found> {
    let (search, contradiction) = Contradiction::of_searches(searches, trials)?;
    let trials = contradiction.trials.clone();
    let set_up = SetUp::of_search(search);
    Some(found(Rfc2544Answer::NotRepeatable { set_up, contradiction }, trials))
}

/// The throughput of each set-up, by the first goal of its search.
fn throughput(searches: &[SearchOutcome], trials: &[TrialResult]) -> Option<Found> {
    let mut set_ups = Vec::new();
    for search in searches {
        let Some(goal) = search.goals.first() else { continue };
        let found = match &goal.lower {
            None => FoundThroughput::Nothing {
                reason: goal.reason.clone(),
                limit: goal.limit_by_trials(&Trials::new(trials, search.plan.burst_frames)),
            },
            Some(lower) => {
                let pps = lower.achieved_pps;
                match goal.status {
                    Status::Regular => FoundThroughput::Regular { pps },
                    Status::AtLeast => FoundThroughput::AtLeast { pps, reason: goal.reason.clone() },
                    Status::Irregular => FoundThroughput::NotSettled { pps },
                }
            }
        };
        let trials = goal.lower.as_ref().map_or_else(Vec::new, |lower| lower.trials.clone());
        set_ups.push(Throughput { set_up: SetUp::of_search(search), found, trials });
    }
    if set_ups.is_empty() {
        return None;
    }
    let trials = set_ups.iter().flat_map(|throughput| throughput.trials.clone()).collect();
    Some(found(Rfc2544Answer::Throughput { set_ups }, trials))
}
