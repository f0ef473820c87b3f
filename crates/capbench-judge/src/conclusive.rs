//! Whether a run answers its question.

use capbench_model::trial::{TrialResult, Verdict};

use crate::rfc2544::{Ended, Tested};
use crate::search::{SearchOutcome, Status};

/// What a run other than a soak measured.
#[derive(Clone, Copy, Debug)]
pub struct Measurements<'r> {
    /// Its trials.
    pub trials: &'r [TrialResult],
    /// Outcomes of its searches.
    pub searches: &'r [SearchOutcome],
    /// Outcomes of its tests of RFC 2544.
    pub tests: &'r [Tested],
    /// Whether it recommends a method, or compares with a publication: then its searches are steps to that.
    pub has_answer: bool,
}

impl Measurements<'_> {
    /// Whether they say something about a method, not about the generator or the time.
    pub fn are_conclusive(&self) -> bool {
        let shows_method = |trial: &TrialResult| matches!(trial.verdict, Verdict::Lossless | Verdict::Lossy);
        if !self.trials.iter().any(shows_method) {
            return false;
        }
        if self.has_answer || self.searches.is_empty() && self.tests.is_empty() {
            return true;
        }
        if self.searches.is_empty() {
            return self.tests.iter().any(|test| *test.found.ended() == Ended::Complete);
        }
        // Tests at a lower bound of the throughput say something of the load, not of the method: the search has to be regular.
        let mut goals = self.searches.iter().flat_map(|search| &search.goals);
        goals.any(|goal| goal.status == Status::Regular)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase};

    use super::*;
    use crate::search::notation::preset;
    use crate::search::{End, GoalResult, Held, LossNumbers, SearchOutcome, SearchPlan};

    fn trial(sent: u64) -> TrialResult {
        let load = Load::Rate("1k".parse().unwrap());
        let measured = measured(1000, sent, sent, 0);
        measured.result(1, Phase::Search, &profile("recv"), load, Duration::from_secs(1))
    }

    fn are_conclusive(trials: &[TrialResult], searches: &[SearchOutcome], has_answer: bool) -> bool {
        Measurements { trials, searches, tests: &[], has_answer }.are_conclusive()
    }

    fn search(status: Status) -> SearchOutcome {
        let goal = GoalResult {
            goal: preset("ndr").unwrap().remove(0),
            status,
            reason: None,
            lower: None,
            upper: None,
            relative_width: None,
            conditional_throughput_pps: None,
            so_far: None,
            distinction: None,
            limit: None,
        };
        let held = Held {
            by: "ndr".into(),
            pps: None,
            at_least: false,
            upper_pps: None,
            seconds: 0.0,
            trials: Vec::new(),
        };
        SearchOutcome {
            method: None,
            placement: None,
            frame_size: None,
            work: None,
            nth: None,
            plan: SearchPlan::new(Vec::new()),
            maximum: None,
            goals: vec![goal],
            numbers: LossNumbers {
                strict_lossless: held.clone(),
                ndr: held.clone(),
                pdr: held,
                loss_events: None,
            },
            buffered: None,
            ended: End::Complete,
            warnings: Vec::new(),
            warning_facts: Vec::new(),
            trials: Vec::new(),
            sending_s: 0.0,
            spent_s: 0.0,
        }
    }

    #[test]
    fn a_trial_that_only_the_generator_limited_shows_no_method() {
        assert!(are_conclusive(&[trial(1000)], &[], false));
        assert!(!are_conclusive(&[trial(500)], &[], true));
        assert!(!are_conclusive(&[], &[], true));
    }

    #[test]
    fn a_search_needs_a_regular_goal_unless_it_is_a_step_to_an_answer() {
        let trials = [trial(1000)];
        assert!(are_conclusive(&trials, &[search(Status::Regular)], false));
        assert!(!are_conclusive(&trials, &[search(Status::AtLeast)], false));
        assert!(are_conclusive(&trials, &[search(Status::AtLeast)], true));
    }
}
