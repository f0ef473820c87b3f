//! The answers of a bench: which method to use, up to which rate, and what the others lack.
//!
//! | file | about |
//! |---|---|
//! | `verdict` | which method to use |
//! | `in_turns` | how the other methods compare with the best one at one load |
//! | `unanswered` | why no method can be named |
//! | `programs` | programs of which nothing is known, and why |
//! | `pauses` | losses of single moments, which no method is blamed for |
//! | `next` | the command that shows more |
//! | `ranks` | methods that are worse, or of which no trial shows what they sustain |
//! | `overload` | what the methods lose at maximum load, without trials in turns |
//! | `costs` | the methods with the least and the most CPU time |
//! | `elsewhere` | whether the same method is best in the other set-ups |

mod costs;
mod elsewhere;
mod in_turns;
mod next;
mod overload;
mod pauses;
mod programs;
mod ranks;
mod unanswered;
mod verdict;

use capbench_model::not_measured::NotMeasured;
use capbench_model::saved::{SavedMethod, SavedPlacement, SavedWork};
use capbench_model::trial::{SizeLabel, TrialResult, Verdict};
use capbench_model::work::Work;
use serde::Serialize;

pub use self::costs::{ComparedTime, NsRange};
pub use self::elsewhere::BetterElsewhere;
pub use self::in_turns::{CostByLoad, MethodBelow, MethodNotBelow, MethodsInTurns, MostMissed};
pub use self::overload::{OverloadLoss, at_overload};
pub use self::pauses::PausedMethod;
pub use self::programs::{UnknownBecause, UnknownProgram};
pub use self::verdict::{BenchVerdict, NoAnswerBecause, Rivals, SustainedRate, TimeOfThread, WorseMethod};
use super::{Finding, Found};
use crate::recommendation::turns::Turns;
use crate::recommendation::{Conclusion, Ranked, Ranking, Recommendation};
use crate::run::RunFacts;

/// An answer of a bench.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum BenchFinding {
    /// Which method to use, or why none can be named.
    Verdict(BenchVerdict),
    /// How the other methods compare with the first one where all took turns at one load.
    InTurns(MethodsInTurns),
    /// A command decides between the methods that the trials leave.
    Settle {
        /// Words of the command, without the program.
        command: Vec<String>,
        /// How long it takes, in seconds; absent if unknown.
        #[serde(skip_serializing_if = "Option::is_none")]
        takes_s: Option<f64>,
    },
    /// A longer run of the same kind does not decide between the methods that the trials leave.
    CannotSettle {
        /// The methods.
        methods: Vec<SavedMethod>,
        /// The number of rounds that it would have.
        rounds: u32,
    },
    /// A command finds the highest rate that the methods sustain.
    FindHighest {
        /// Words of the command, without the program.
        command: Vec<String>,
    },
    /// Nothing is known of what these programs sustain.
    ProgramsUnknown {
        /// The programs, with the reason.
        programs: Vec<UnknownProgram>,
    },
    /// No trial shows what these methods sustain.
    Unknown {
        /// The methods.
        methods: Vec<SavedMethod>,
    },
    /// The host stopped the capture thread for a moment.
    Paused {
        /// The methods with losses in such moments.
        methods: Vec<PausedMethod>,
    },
    /// Methods are worse although the best one is not decided.
    Worse {
        /// Methods that certainly sustain less.
        certainly_less: Vec<SavedMethod>,
        /// Methods that probably sustain less.
        probably_less: Vec<SavedMethod>,
        /// Methods that cost more at about the same rate.
        costlier: Vec<SavedMethod>,
    },
    /// What the methods lose at maximum load.
    Overload {
        /// Methods that lose nothing.
        lossless: Vec<SavedMethod>,
        /// Methods that lose nothing, but leave frames in buffers.
        behind: Vec<SavedMethod>,
        /// The one that loses the smallest share, if all lose frames.
        #[serde(skip_serializing_if = "Option::is_none")]
        least: Option<OverloadLoss>,
        /// The one that loses the largest share.
        most: OverloadLoss,
    },
    /// The methods cannot be distinguished by their CPU time.
    CostsEqual {
        /// Which time is compared.
        time: ComparedTime,
        /// The load at which it is compared, in packets per second.
        #[serde(skip_serializing_if = "Option::is_none")]
        at_pps: Option<f64>,
    },
    /// The methods with the least and the most CPU time.
    CostsDiffer {
        /// Which time is compared.
        time: ComparedTime,
        /// The load at which it is compared, in packets per second.
        #[serde(skip_serializing_if = "Option::is_none")]
        at_pps: Option<f64>,
        /// The methods with the least.
        cheapest: Vec<SavedMethod>,
        /// Their time per packet.
        cheapest_time: NsRange,
        /// Methods whose time is not known well enough to be in one of both groups.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        undecided: Vec<SavedMethod>,
        /// The method with the most, of the others.
        dearest: SavedMethod,
        /// Its time per packet.
        dearest_time: NsRange,
    },
    /// Whether the best method is best in other set-ups, too.
    OtherSetUps {
        /// The set-up of the verdict.
        set_up: SetUp,
        /// Its best method.
        method: SavedMethod,
        /// How many other set-ups there are.
        others: u32,
        /// In how many other set-ups the method is best, equal to the best, or may be best.
        alike: u32,
        /// The best method of each of the remaining set-ups.
        better: Vec<BetterElsewhere>,
    },
}

/// What trials must have in common for a comparison of their methods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct SetUp {
    /// The frame size with FCS, or the name of a mix.
    pub frame_size: SizeLabel,
    /// The placement.
    pub placement: SavedPlacement,
    /// Work per packet.
    pub work: SavedWork,
}

impl SetUp {
    /// The set-up of a ranking.
    fn of_ranking(ranking: &Ranking) -> Self {
        Self {
            frame_size: ranking.frame_size.clone(),
            placement: ranking.placement.clone(),
            work: ranking.work.clone(),
        }
    }

    /// Whether a trial is compared in this set-up. A program has its own work, and is compared in the set-ups of any work.
    fn includes(&self, trial: &TrialResult) -> bool {
        let profile = &trial.profile;
        let has_work = profile.work == self.work || profile.work == Work::OfProgram;
        has_work && profile.frame_size == self.frame_size && profile.placement == self.placement
    }
}

/// Programs of which nothing is known; which method to use; then what else decides, the most important first. None if the run was
/// stopped before anything was decided.
pub fn answers(
    recommendation: Option<&Recommendation>,
    run: &RunFacts<'_>,
    not_measured: &[NotMeasured],
) -> Vec<Found> {
    let ranking = recommendation.and_then(Recommendation::headline);
    if !run.complete && !ranking.is_some_and(is_decided_in_turns) {
        return Vec::new();
    }
    let mut all = Vec::new();
    all.extend(ranking.and_then(|ranking| programs::unknown(ranking, run, not_measured)));
    all.extend(of_ranking(recommendation, run));
    all
}

/// Whether the verdict answers the question of the run.
pub fn is_answered(
    recommendation: Option<&Recommendation>,
    run: &RunFacts<'_>,
    not_measured: &[NotMeasured],
) -> bool {
    let is_answer = |found: &Found| match &found.fact {
        Finding::Bench(BenchFinding::Verdict(verdict)) => verdict.is_answer(),
        _ => false,
    };
    answers(recommendation, run, not_measured).iter().any(is_answer)
}

/// Whether trials in turns name the best method: what else a stopped run would have measured does not change it.
fn is_decided_in_turns(ranking: &Ranking) -> bool {
    ranking.turns.as_ref().is_some_and(Turns::name_the_best)
}

/// What the headline's ranking shows, the verdict first.
fn of_ranking(recommendation: Option<&Recommendation>, run: &RunFacts<'_>) -> Vec<Found> {
    let every_trial_invalid = unanswered::every_trial_invalid(run);
    let Some(recommendation) = recommendation else { return every_trial_invalid.into_iter().collect() };
    let Some(ranking) = recommendation.headline() else { return every_trial_invalid.into_iter().collect() };
    let question = recommendation.question;
    let no_time = unanswered::no_time(question, ranking, run);
    if ranking.conclusion == Conclusion::Nothing && no_time.is_none() {
        let no_answer = every_trial_invalid.or_else(|| unanswered::no_answer(question, ranking, run));
        // Trials in turns can show which method loses least of a load that none is shown to sustain.
        return no_answer.into_iter().chain(in_turns::in_turns(ranking, run)).collect();
    }
    let paused = pauses::paused(ranking, run);
    let has_time = no_time.is_none();
    let verdict = no_time.or_else(|| verdict::verdict(question, ranking, &paused));
    let mut all = Vec::new();
    all.extend(verdict.map(|verdict| found(BenchFinding::Verdict(verdict), trials_of_ranking(ranking))));
    let in_turns = in_turns::in_turns(ranking, run);
    let has_turns = in_turns.is_some();
    // The set-up of the verdict comes before its reasons.
    all.extend(elsewhere::elsewhere(recommendation));
    all.extend(in_turns);
    all.extend(next::settle(recommendation, ranking, run));
    all.extend(next::find_highest(ranking, run));
    // Where one thread has no time for the load, that answers for every method: single methods and costs add nothing.
    if has_time {
        all.extend(ranks::unknown(ranking));
    }
    all.extend(pauses::found(&paused));
    // Trials in turns show which methods are worse, by what, and where they lose frames.
    if !has_turns {
        all.extend(ranks::worse(ranking));
        all.extend(overload::overload(ranking, run, &paused));
    }
    if has_time && !ranking.turns.as_ref().is_some_and(Turns::compare_costs) {
        all.extend(costs::costs(ranking));
    }
    all
}

/// An answer with these trials.
fn found(fact: BenchFinding, trials: impl IntoIterator<Item = u32>) -> Found {
    Found::new(Finding::Bench(fact), trials)
}

/// The trials behind the figures of all methods of a ranking.
fn trials_of_ranking(ranking: &Ranking) -> Vec<u32> {
    ranking.methods.iter().flat_map(trials_of).collect()
}

/// The trials behind the figures of a method.
pub fn trials_of(ranked: &Ranked) -> Vec<u32> {
    let mut trials = ranked.lossless.trials.clone();
    trials.extend(&ranked.nearly_lossless.trials);
    if let Some(cost) = &ranked.cost {
        trials.extend(&cost.trials);
    }
    trials
}

/// Whether a trial shows something: its ledger does not contradict itself.
fn is_sound(trial: &TrialResult) -> bool {
    trial.verdict != Verdict::Invalid
}
