//! How far a bench got in its time, and what it leaves out.

use std::time::Duration;

use capbench_model::laboratory::Setup;
use capbench_model::statement::{LeftOutOfBench, PartOfBench};

use super::search_plan::Searching;
use super::time::{Clock, set_ups_that_fit};
use super::{BenchPlan, Measured};
use crate::session::Session;

/// How far a bench got in its time.
#[derive(Debug)]
pub(super) struct Progress {
    /// Set-ups that are still to be measured, the current one included.
    pub(super) left: usize,
    /// Whether the trials at maximum load of the first set-up have shown how many set-ups fit.
    is_planned: bool,
    /// The time of the bench and the length of its trials; `None` if they are not limited.
    searching: Option<Searching>,
    /// What the time did not suffice for.
    pub(super) left_out: Vec<LeftOutOfBench>,
}

impl Progress {
    /// Before the first trial, with this number of set-ups.
    pub(super) fn before(set_ups: usize, searching: Option<&Searching>) -> Self {
        Self { left: set_ups, is_planned: false, searching: searching.copied(), left_out: Vec::new() }
    }

    pub(super) fn clock(&self, session: &Session<'_>) -> Option<Clock> {
        Some(Clock::from_trials(self.searching.as_ref()?, session))
    }

    /// Whether so many trials are likely to fit into the time that is left.
    pub(super) fn has_time(&self, trials: usize, duration: Duration, session: &Session<'_>) -> bool {
        self.clock(session).is_none_or(|clock| clock.time(trials, duration) <= clock.left())
    }

    /// Whether one more trial ends in time, however long it takes.
    pub(super) fn has_time_for_one(&self, duration: Duration, session: &Session<'_>) -> bool {
        self.clock(session).is_none_or(|clock| clock.fits(duration))
    }

    /// Whether a trial of this set-up fits. If not, that is kept as left out.
    pub(super) fn fits(&mut self, setup: &Setup, duration: Duration, session: &Session<'_>) -> bool {
        let fits = self.has_time_for_one(duration, session);
        if !fits {
            self.leave_out(setup, PartOfBench::Trials);
        }
        fits
    }

    pub(super) fn leave_out(&mut self, setup: &Setup, part: PartOfBench) {
        let placement = setup.placement.to_string().into();
        let left_out = LeftOutOfBench { frame_size: setup.label(), placement, part };
        if !self.left_out.contains(&left_out) {
            self.left_out.push(left_out);
        }
    }

    /// Decides after the trials at maximum load of the first set-up how many set-ups fit.
    pub(super) fn plan(
        &mut self,
        plan: &BenchPlan,
        searching: &Searching,
        measured: &[Measured],
        clock: &Clock,
    ) {
        if std::mem::replace(&mut self.is_planned, true) {
            return;
        }
        let searches: Duration =
            measured.iter().map(|one| clock.of_search(&one.overload, searching, 1)).sum();
        // Each method has a trial at maximum load and one at the common load.
        let one = clock.time(2 * measured.len(), plan.duration) + searches;
        self.left = set_ups_that_fit(self.left, searching.budget, one);
    }
}
