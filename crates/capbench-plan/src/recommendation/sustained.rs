//! The limit of one method, by its search or, without one, by its trials alone.

use std::cmp::Ordering;

use capbench_model::trial::TrialResult;

use super::{Entrant, Sustained, SustainedStatus};
use crate::search::{GoalResult, Status};

/// Factor by which the loss must exceed the share of time that others took from the trial's CPUs to be the method's own.
const CLEAR: f64 = 2.0;

impl Sustained {
    /// The highest load with a loss of up to `loss_ratio`.
    pub(super) fn of(entrant: &Entrant<'_>, loss_ratio: f64) -> Self {
        let trials = &entrant.trials;
        if trials.is_empty() {
            return Self::new(SustainedStatus::Unknown, None, None, None, Vec::new());
        }
        let searched = entrant.search.and_then(|search| {
            search
                .goals
                .iter()
                .find(|result| result.goal.loss_ratio.get().total_cmp(&loss_ratio) == Ordering::Equal)
        });
        let tried = Tried::of(trials, loss_ratio);
        match searched.and_then(Bounds::of) {
            Some(bounds) => tried.with(bounds),
            None => tried.alone(),
        }
    }

    fn new(
        status: SustainedStatus,
        lower_pps: Option<f64>,
        upper_pps: Option<f64>,
        at_most_pps: Option<f64>,
        trials: Vec<u32>,
    ) -> Self {
        let highest = at_most_pps.or(upper_pps);
        let precision = lower_pps.zip(highest).map(|(lower, upper)| ((upper - lower) / upper).max(0.0));
        Self { status, lower_pps, upper_pps, at_most_pps, precision, trials }
    }
}

/// The bounds that a search found.
struct Bounds {
    lower_pps: Option<f64>,
    upper_pps: Option<f64>,
    is_at_least: bool,
    trials: Vec<u32>,
}

impl Bounds {
    /// `None` if the search decided no load.
    fn of(result: &GoalResult) -> Option<Self> {
        let own = (result.lower.as_ref(), result.upper.as_ref());
        let (lower, upper) = match (own, result.best_bounds()) {
            (_, Some((lower, upper))) => (Some(lower), Some(upper)),
            ((None, None), None) => return None,
            (own, None) => own,
        };
        let is_at_least = result.status == Status::AtLeast;
        Some(Self {
            lower_pps: lower.map(|bound| bound.achieved_pps),
            upper_pps: upper.filter(|_| !is_at_least).map(|bound| bound.intended_pps),
            is_at_least,
            trials: [lower, upper].into_iter().flatten().flat_map(|bound| bound.trials.clone()).collect(),
        })
    }
}

/// A trial by whether it lost more than allowed.
struct Tried<'r> {
    /// Trials that sustained their load.
    held: Vec<&'r TrialResult>,
    /// Trials that did not, lowest load first.
    failed: Vec<&'r TrialResult>,
}

impl<'r> Tried<'r> {
    fn of(trials: &[&'r TrialResult], loss_ratio: f64) -> Self {
        let (mut held, mut failed): (Vec<_>, Vec<_>) =
            trials.iter().copied().partition(|trial| missing(trial) <= loss_ratio);
        held.sort_by(|a, b| a.offered_pps.total_cmp(&b.offered_pps));
        failed.sort_by(|a, b| a.offered_pps.total_cmp(&b.offered_pps));
        Self { held, failed }
    }

    /// The lowest load above `lower_pps` at which the method lost more than the host's disturbances explain.
    fn at_most(&self, lower_pps: f64) -> Option<f64> {
        let mut own = self.failed.iter().filter(|trial| is_its_own(trial));
        own.find(|trial| trial.offered_pps > lower_pps).map(|trial| trial.offered_pps)
    }

    /// By the bounds of a search. Its trials are among these.
    fn with(&self, bounds: Bounds) -> Sustained {
        let Bounds { lower_pps, upper_pps, is_at_least, trials } = bounds;
        if is_at_least {
            return Sustained::new(SustainedStatus::AtLeast, lower_pps, None, None, trials);
        }
        let Some(upper) = upper_pps else {
            // The search ended early. Loads above it were tried at maximum load.
            let at_most = self.at_most(lower_pps.unwrap_or(0.0));
            let status = if at_most.is_some() { SustainedStatus::Between } else { SustainedStatus::AtLeast };
            return Sustained::new(status, lower_pps, at_most, at_most, trials);
        };
        let at_upper: Vec<_> = self.failed.iter().filter(|trial| trials.contains(&trial.number)).collect();
        let is_clear = at_upper.is_empty() || at_upper.iter().any(|trial| is_its_own(trial));
        let at_most = if is_clear { Some(upper) } else { self.at_most(upper) };
        let status = match lower_pps {
            _ if !is_clear => SustainedStatus::Disturbed,
            None => SustainedStatus::NotReached,
            Some(_) => SustainedStatus::Between,
        };
        Sustained::new(status, lower_pps, upper_pps, at_most, trials)
    }

    /// By the trials alone: the highest load without loss below the lowest with loss.
    fn alone(&self) -> Sustained {
        let upper = self.failed.first().copied();
        let below = |trial: &&&TrialResult| upper.is_none_or(|upper| trial.offered_pps < upper.offered_pps);
        let lower = self.held.iter().rfind(below).copied();
        let trials = lower.iter().chain(&upper).map(|trial| trial.number).collect();
        let lower_pps = lower.map(|trial| trial.offered_pps);
        let at_most = self.at_most(lower_pps.unwrap_or(0.0));
        let status = match (lower, upper) {
            (_, None) => SustainedStatus::AtLeast,
            (_, Some(upper)) if !is_its_own(upper) => SustainedStatus::Disturbed,
            (None, Some(_)) => SustainedStatus::NotReached,
            (Some(_), Some(_)) => SustainedStatus::Between,
        };
        Sustained::new(status, lower_pps, upper.map(|trial| trial.offered_pps), at_most, trials)
    }

    /// The failed trial at the lowest load.
    pub(super) fn first_failed(&self) -> Option<&'r TrialResult> {
        self.failed.first().copied()
    }
}

/// The trial at the lowest load that lost frames or only buffered them.
pub(super) fn first_failed<'r>(entrant: &Entrant<'r>) -> Option<&'r TrialResult> {
    Tried::of(&entrant.trials, 0.0).first_failed()
}

/// Share of the sent frames that a longer trial loses: lost frames, and those that only the buffer had room for.
fn missing(trial: &TrialResult) -> f64 {
    let frames = trial.lost() + trial.buffered_frames(1);
    if trial.sent == 0 { 1.0 } else { frames as f64 / trial.sent as f64 }
}

/// Whether the method itself lost the frames, and not a disturbance of the host: the trial is undisturbed and its losses are not
/// one single run, or it lost clearly more than the share of the time that others took from its CPUs.
fn is_its_own(trial: &TrialResult) -> bool {
    let is_quiet = trial.disturbance.reasons().is_empty() && !is_one_run(trial);
    is_quiet || missing(trial) > CLEAR * trial.disturbance.taken_share()
}

/// Whether most of the lost frames were consecutive: nobody read for a moment.
fn is_one_run(trial: &TrialResult) -> bool {
    let longest = trial.loss_pattern.as_ref().and_then(|shape| shape.bursts.max).unwrap_or(0);
    trial.buffered_frames(1) == 0 && trial.lost() > 0 && 2 * longest > trial.lost()
}
