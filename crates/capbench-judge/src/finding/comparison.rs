//! What a comparison of two runs, or of methods that took turns, shows: how many figures are worse or better, by the judgements
//! of its contrasts, or why nothing follows from it.

mod answers;

use capbench_model::saved::{SavedMethod, SavedPlacement, SavedWork};
use capbench_model::trial::{Phase, Profile, SizeLabel, TrialResult};
use capbench_statistics::{by_key, median};
use serde::Serialize;

pub use self::answers::{FigureAnswer, KnownChange};
use super::{Finding, Found};
use crate::comparison::note::{ComparisonNote, RunsDifference};
use crate::comparison::{Comparison, Contrast, Judgement, Scale};

/// What a comparison shows.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum ComparisonFinding {
    /// What a comparison of two runs shows.
    OfRuns {
        /// What follows.
        outcome: ComparisonOutcome,
        /// Whether it delivers more, loses less and is cheaper, by the trials as they are: a host that disturbed them may be the cause. None
        /// if the file is damaged. Absent in files of versions that did not write them.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        answers: Vec<FigureAnswer>,
    },
    /// What comparisons of methods that took turns show.
    OfMethods {
        /// Each comparison.
        compared: Vec<ComparedMethods>,
    },
    /// The runs differ in something that could be the reason of a change.
    RunsDiffer {
        /// The difference.
        difference: RunsDifference,
    },
    /// Something to read before the figures.
    Note {
        /// The note.
        note: ComparisonNote,
    },
}

/// A comparison of two methods.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct ComparedMethods {
    /// The reference.
    pub then: String,
    /// The compared method.
    pub now: String,
    /// What follows.
    pub outcome: ComparisonOutcome,
    /// Whether it delivers more, loses less and is cheaper. Absent in files of versions that did not write them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<FigureAnswer>,
}

/// What follows from a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "known", rename_all = "snake_case")]
pub enum ComparisonOutcome {
    /// Nothing: the host disturbed most trials of a run.
    Disturbed,
    /// Nothing: the file of a run was damaged or changed.
    Damaged,
    /// Nothing: there are too few runs of the same hosts.
    TooFewRuns,
    /// Nothing: there are too few trials.
    TooFewTrials {
        /// How many visits can decide most of the figures; absent if unknown.
        #[serde(skip_serializing_if = "Option::is_none")]
        visits: Option<u32>,
        /// Trials that were left out.
        #[schemars(default)]
        left_out: u32,
    },
    /// Numbers of figures by what is known of them.
    Judged(FigureCounts),
}

/// Numbers of compared figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct FigureCounts {
    /// Figures that are worse.
    pub worse: u64,
    /// Figures that are better.
    pub better: u64,
    /// Figures that changed by less than the threshold.
    pub below_threshold: u64,
    /// Figures that show no difference, and are not worse by more than the threshold.
    pub not_worse: u64,
    /// Figures that show no difference, but may be worse.
    pub may_be_worse: u64,
    /// Figures with too few trials.
    pub too_few_trials: u64,
    /// Whether more trials decide the figures with too few. Of runs of hosts, more runs do.
    pub more_trials_decide: bool,
    /// How many visits can decide most of them, more than there were; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visits: Option<u32>,
    /// Whether the methods took turns in one run.
    #[schemars(default)]
    pub is_one_run: bool,
}

/// What follows for two runs.
pub fn of_runs(comparison: &Comparison) -> Found {
    let outcome = outcome(comparison, &[]);
    let fact = ComparisonFinding::OfRuns { outcome, answers: answers_of(comparison, outcome) };
    Found::new(Finding::Comparison(fact), evidence(comparison))
}

/// What follows for methods that took turns; `None` without such a comparison.
pub fn of_methods(comparisons: &[Comparison], trials: &[TrialResult]) -> Option<Found> {
    if comparisons.is_empty() {
        return None;
    }
    let mut compared = Vec::new();
    for comparison in comparisons {
        let outcome = outcome(comparison, trials);
        compared.push(ComparedMethods {
            then: comparison.then.clone(),
            now: comparison.now.clone(),
            outcome,
            answers: answers_of(comparison, outcome),
        });
    }
    let fact = ComparisonFinding::OfMethods { compared };
    Some(Found::new(Finding::Comparison(fact), comparisons.iter().flat_map(evidence)))
}

/// What the two runs differ in, which could be the reason of a change. Noise is a caveat.
pub fn circumstances(comparison: &Comparison) -> Vec<Found> {
    let mut facts = Vec::new();
    for difference in &comparison.difference_facts {
        facts.push(ComparisonFinding::RunsDiffer { difference: difference.clone() });
    }
    for note in comparison.note_facts.iter().filter(|note| !note.is_of_noise()) {
        facts.push(ComparisonFinding::Note { note: note.clone() });
    }
    facts.into_iter().map(|fact| Found::new(Finding::Comparison(fact), [])).collect()
}

/// The trials behind a contrast. Of two runs there are none: trials of both have the same numbers.
pub fn trials_of(comparison: &Comparison, contrast: &Contrast) -> Vec<u32> {
    if !comparison.paired {
        return Vec::new();
    }
    contrast.then.trials.iter().chain(&contrast.now.trials).copied().collect()
}

/// The trials behind changes for the worse or better.
fn evidence(comparison: &Comparison) -> Vec<u32> {
    let worse = comparison.judged(Judgement::Regression);
    let changed = worse.chain(comparison.judged(Judgement::Improvement));
    changed.flat_map(|contrast| trials_of(comparison, contrast)).collect()
}

/// The answers of a comparison of two runs or methods, if its figures show something. Disturbances of the host leave open what caused a
/// difference, and not that there is one.
fn answers_of(comparison: &Comparison, outcome: ComparisonOutcome) -> Vec<FigureAnswer> {
    match outcome {
        ComparisonOutcome::Judged(_) | ComparisonOutcome::Disturbed if comparison.hosts.is_none() => {
            answers::answers(comparison)
        }
        _ => Vec::new(),
    }
}

/// What follows from a comparison: why nothing does, or the numbers of figures.
fn outcome(comparison: &Comparison, trials: &[TrialResult]) -> ComparisonOutcome {
    if comparison.damaged {
        return ComparisonOutcome::Damaged;
    }
    if comparison.disturbed {
        return ComparisonOutcome::Disturbed;
    }
    if comparison.is_inconclusive() {
        return match comparison.hosts {
            Some(_) => ComparisonOutcome::TooFewRuns,
            None => ComparisonOutcome::TooFewTrials {
                visits: visits_to_decide(comparison, trials),
                left_out: comparison.left_out.iter().map(|left_out| left_out.trials).sum(),
            },
        };
    }
    ComparisonOutcome::Judged(figure_counts(comparison, trials))
}

/// How many visits can decide most of the figures with too few trials: the number that a comparison needs, times the
/// visits that ran for each one that could be compared.
/// Always more than there were. `trials` are those of a run in which methods took turns.
fn visits_to_decide(comparison: &Comparison, trials: &[TrialResult]) -> Option<u32> {
    let needed = f64::from(comparison.visits_needed?);
    let mut compared = Vec::new();
    for contrast in comparison.judged(Judgement::TooFewVisits).filter(|contrast| contrast.setups == 1) {
        compared.push(contrast.then.trials.len().min(contrast.now.trials.len()).max(1) as f64);
    }
    let compared = median(compared)?;
    let visits = visits(comparison, trials).unwrap_or(compared).max(compared);
    Some((needed * visits / compared).ceil().max(visits.floor() + 1.0) as u32)
}

/// What the visits of a method share.
#[derive(PartialEq)]
struct VisitedLoad<'t> {
    method: &'t SavedMethod,
    frame_size: &'t SizeLabel,
    placement: &'t SavedPlacement,
    work: &'t SavedWork,
    phase: Phase,
    intended_pps: Option<f64>,
}

/// The visits of a run in which methods took turns: how often a method ran at one load. `None` without its trials.
fn visits(comparison: &Comparison, trials: &[TrialResult]) -> Option<f64> {
    let of_methods = trials.iter().filter(|trial| {
        let method = trial.profile.method.to_string();
        let is_visit = matches!(trial.phase, Phase::BestEffort | Phase::CommonLoad | Phase::FixedLoad);
        is_visit && (method == comparison.then || method == comparison.now)
    });
    let loads = by_key(of_methods, |trial| {
        let Profile { method, frame_size, placement, work, .. } = &trial.profile;
        VisitedLoad {
            method,
            frame_size,
            placement,
            work,
            phase: trial.phase,
            intended_pps: trial.intended_pps,
        }
    });
    loads.iter().map(|(_, trials)| trials.len()).max().map(|most| most as f64)
}

fn figure_counts(comparison: &Comparison, trials: &[TrialResult]) -> FigureCounts {
    let mut counts = FigureCounts { is_one_run: comparison.paired, ..FigureCounts::default() };
    for contrast in &comparison.contrasts {
        let count = match contrast.judgement {
            Judgement::Regression => &mut counts.worse,
            Judgement::Improvement => &mut counts.better,
            Judgement::BelowThreshold => &mut counts.below_threshold,
            Judgement::NotShown if excludes_worse(comparison, contrast) => &mut counts.not_worse,
            Judgement::NotShown => &mut counts.may_be_worse,
            Judgement::TooFewVisits => &mut counts.too_few_trials,
        };
        *count += 1;
    }
    counts.more_trials_decide = counts.too_few_trials > 0 && comparison.hosts.is_none();
    counts.visits = visits_to_decide(comparison, trials).filter(|_| counts.more_trials_decide);
    counts
}

/// Whether the trials exclude that a figure is worse by more than the threshold.
fn excludes_worse(comparison: &Comparison, contrast: &Contrast) -> bool {
    let threshold = match contrast.measure.scale() {
        Scale::Ratio => comparison.thresholds.relative,
        Scale::Difference => comparison.thresholds.loss,
    };
    contrast.worst_possible().is_some_and(|worst| worst <= threshold)
}
