//! The time of a bench: what it may take, what it took so far, and what still fits. Everything follows from trials that ran.

use std::time::Duration;

use capbench_model::trial::TrialResult;

use super::Searching;
use crate::search::SearchPlan;
use crate::session::Session;

/// Factors of the stated precision that a slow host gets, finest first.
const COARSER: [u32; 3] = [1, 2, 4];
/// Capacity that is supposed of a method, as a share of the rate at which it read frames at maximum load.
const SUPPOSED: f64 = 1.05;
/// Share of the time that planning keeps for trials that are repeated because the host disturbed them.
const RESERVE: f64 = 0.1;

/// The time of a bench.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// The time that all trials may take.
    budget: Duration,
    /// What a trial takes besides sending: the mean of the trials so far.
    overhead: Duration,
}

impl Clock {
    /// The time of a bench whose trials at maximum load ran: they show what a trial really costs.
    pub(super) fn new(budget: Duration, session: &Session<'_>) -> Self {
        let sending: f64 = session.trials.iter().map(|trial| trial.sending_s).sum();
        let besides = session.spent.saturating_sub(Duration::try_from_secs_f64(sending).unwrap_or_default());
        Self { budget, overhead: besides / (session.trials.len() as u32).max(1) }
    }

    /// The time that is left.
    pub(super) fn left(&self, session: &Session<'_>) -> Duration {
        self.budget.saturating_sub(session.spent)
    }

    /// The time of so many trials.
    pub(super) fn of(&self, trials: u32, duration: Duration) -> Duration {
        (duration + self.overhead) * trials
    }

    /// Sending and draining time that a search may use, so that its last trial ends in time. `None` if no trial fits.
    pub(super) fn for_search(&self, time: Duration, trial: Duration) -> Option<Duration> {
        time.checked_sub(self.overhead).filter(|time| *time >= trial)
    }
}

/// How many set-ups are measured, and how precisely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    pub(super) set_ups: usize,
    /// Factor of the requested precision.
    pub(super) coarser: u32,
}

impl Extent {
    /// The largest extent that fits: first fewer set-ups, then a coarser precision. `one` returns the time of all trials of one
    /// set-up at a precision, of which `spent` is over for the first one.
    pub(super) fn fitting(set_ups: usize, budget: Duration, one: impl Fn(u32) -> Duration) -> Self {
        let budget = budget.mul_f64(1.0 - RESERVE);
        let fits = |extent: &Self| one(extent.coarser) * extent.set_ups as u32 <= budget;
        let fewer = (1..=set_ups).rev().map(|set_ups| Self { set_ups, coarser: COARSER[0] });
        let coarser = COARSER[1..].iter().map(|&coarser| Self { set_ups: 1, coarser });
        let all = fewer.chain(coarser);
        all.into_iter().find(fits).unwrap_or(Self { set_ups: 1, coarser: COARSER[COARSER.len() - 1] })
    }
}

/// The trials that a search after this trial at maximum load is likely to need; 0 if that trial lost nothing.
pub(super) fn trials_of_search(overload: &TrialResult, searching: &Searching, coarser: u32) -> u32 {
    let Some(plan) = searching.plan(overload, coarser) else { return 0 };
    let supposed = |plan: &SearchPlan| {
        let maximum = plan.supposed_maximum().ok()?;
        let read = plan.overload?.read_pps.get() * SUPPOSED;
        let capacity = capbench_frames::rates::Pps::new(read).ok()?;
        plan.cost(maximum, if capacity < maximum { capacity } else { maximum }).ok()
    };
    supposed(&plan).map_or(0, |cost| cost.trials)
}
