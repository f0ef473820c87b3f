//! Whether a run answers its question.

use capbench_model::trial::{TrialResult, Verdict};

use crate::comparison::Comparison;
use crate::finding::rfc2544::Contradiction;
use crate::reproduction::Reproduction;
use crate::rfc2544::{Ended, Tested};
use crate::search::ranking::FirstPlace;
use crate::search::{End, SearchOutcome, Status};
use crate::sustained::is_delivered;

/// Whether searches and tests of RFC 2544 ended by themselves, and not by their time or traffic.
pub fn ended_by_themselves(searches: &[SearchOutcome], tests: &[Tested]) -> bool {
    searches.iter().all(|search| search.ended == End::Complete)
        && tests.iter().all(|tested| *tested.found.ended() == Ended::Complete)
}

/// What a run other than a soak measured.
#[derive(Clone, Copy, Debug)]
pub struct Measurements<'r> {
    /// Whether it ran to its end: a bench when its time is over, another run if its searches and tests [`ended_by_themselves`].
    pub is_complete: bool,
    /// Whether its verdict names a method, or says that none sustains the load; `None` if its question is not which method to use.
    pub is_decided: Option<bool>,
    /// Its trials.
    pub trials: &'r [TrialResult],
    /// Outcomes of its searches.
    pub searches: &'r [SearchOutcome],
    /// Outcomes of its tests of RFC 2544.
    pub tests: &'r [Tested],
    /// Its comparisons of methods that took turns in pairs; its searches are steps to them.
    pub comparisons: &'r [Comparison],
    /// Its comparisons with publications; its searches are steps to them.
    pub reproductions: &'r [Reproduction],
}

impl Measurements<'_> {
    /// Whether they say something about a method, not about the generator or the time.
    pub fn are_conclusive(&self) -> bool {
        if !self.is_complete {
            return false;
        }
        if let Some(is_decided) = self.is_decided {
            return is_decided;
        }
        if !self.trials.iter().any(shows_method) {
            return false;
        }
        if !self.comparisons.is_empty() {
            return !self.comparisons.iter().all(Comparison::is_inconclusive);
        }
        if !self.reproductions.is_empty() {
            return self.reproductions.iter().any(Reproduction::decides_a_claim);
        }
        if FirstPlace::of_searches(self.searches).is_some_and(|first| !first.is_distinguished) {
            return false;
        }
        if !self.searches.is_empty() {
            // Tests of RFC 2544 at a lower bound of the throughput say something of that load, not of the method: the search must be
            // regular, and no other test may contradict it. The first goal is the question.
            let is_repeatable =
                self.tests.is_empty() || Contradiction::of_searches(self.searches, self.trials).is_none();
            let mut goals = self.searches.iter().filter_map(|search| search.goals.first());
            return is_repeatable && goals.any(|goal| goal.status == Status::Regular);
        }
        // A run without searches and tests, such as a sweep, answers by its trials.
        self.tests.is_empty() || self.tests.iter().any(|test| *test.found.ended() == Ended::Complete)
    }
}

/// Whether a trial says something about its method: it delivered its load, or lost frames of it. A few unsent frames are no other load.
fn shows_method(trial: &TrialResult) -> bool {
    matches!(trial.verdict, Verdict::Lossless | Verdict::Lossy) || is_delivered(trial)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase, TrialResult};

    use super::Measurements;
    use crate::comparison::{Pair, Thresholds, of_pairs};
    use crate::search::preset::goals_of_preset;
    use crate::search::{Bound, End, GoalResult, Held, LossNumbers, SearchOutcome, SearchPlan, Status};

    /// A lossless trial of a second at 1000 packets/s, of which so many were sent.
    fn trial(sent: u64) -> TrialResult {
        let load = Load::Rate("1k".parse().unwrap());
        let measured = measured(1000, sent, sent, 0);
        measured.result(1, Phase::Search, &profile("recv"), load, Duration::from_secs(1))
    }

    /// Measurements of trials alone.
    fn of_trials(trials: &[TrialResult]) -> Measurements<'_> {
        Measurements {
            is_complete: true,
            is_decided: None,
            trials,
            searches: &[],
            tests: &[],
            comparisons: &[],
            reproductions: &[],
        }
    }

    /// A search for one goal with a result of this quality.
    fn search(status: Status) -> SearchOutcome {
        let goal = GoalResult {
            goal: goals_of_preset("ndr").unwrap().remove(0),
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
    fn a_run_that_ended_before_its_end_answers_nothing() {
        let all_sent = [trial(1000)];
        assert!(!Measurements { is_complete: false, ..of_trials(&all_sent) }.are_conclusive());
    }

    #[test]
    fn a_trial_that_only_the_generator_limited_shows_no_method() {
        assert!(of_trials(&[trial(1000)]).are_conclusive());
        assert!(of_trials(&[trial(960)]).are_conclusive(), "the load was sent but for 4 %");
        let half_sent = [trial(500)];
        assert!(!of_trials(&half_sent).are_conclusive());
        assert!(!of_trials(&[]).are_conclusive());
    }

    #[test]
    fn pairs_that_are_too_few_for_a_test_answer_nothing() {
        let mut trials = Vec::new();
        let mut pairs = Vec::new();
        for nth in 0..7 {
            let [then, now] = [2 * nth + 1, 2 * nth + 2];
            trials.push(TrialResult { number: then, phase: Phase::CommonLoad, ..trial(1000) });
            let mut compared = TrialResult { number: now, phase: Phase::CommonLoad, ..trial(1000) };
            compared.profile.method = "packet-v3".into();
            trials.push(compared);
            pairs.push(Pair { then, now });
        }
        for (visits, is_answer) in [(2, false), (7, true)] {
            let comparisons = of_pairs(&trials, &pairs[..visits], Thresholds::default());
            let measurements = Measurements { comparisons: &comparisons, ..of_trials(&trials) };
            assert_eq!(measurements.are_conclusive(), is_answer, "{visits} pairs");
        }
    }

    /// Searches of two methods, each with these lower bounds.
    fn repeated_searches(lower_pps: [[f64; 6]; 2]) -> Vec<SearchOutcome> {
        let mut all = Vec::new();
        for (method, bounds) in ["recv", "packet-v3"].into_iter().zip(lower_pps) {
            for (nth, lower_pps) in (1..).zip(bounds) {
                let mut searched = search(Status::Regular);
                searched.method = Some(method.into());
                searched.nth = Some(nth);
                searched.goals[0].lower = Some(bound(lower_pps));
                searched.goals[0].upper = Some(bound(lower_pps * 1.005));
                all.push(searched);
            }
        }
        all
    }

    fn bound(pps: f64) -> Bound {
        Bound {
            intended_pps: pps,
            achieved_pps: pps,
            seconds: 1.0,
            trials: Vec::new(),
            high_loss: None,
            losses: None,
            backlogged: None,
            disturbed: Vec::new(),
        }
    }

    #[test]
    fn repeated_searches_answer_if_they_distinguish_the_first_two_methods() {
        let trials = [trial(1000)];
        let clear =
            repeated_searches([[90.0, 91.0, 92.0, 93.0, 94.0, 95.0], [80.0, 81.0, 82.0, 83.0, 84.0, 85.0]]);
        assert!(Measurements { searches: &clear, ..of_trials(&trials) }.are_conclusive());
        let mixed =
            repeated_searches([[50.0, 91.0, 92.0, 93.0, 94.0, 95.0], [80.0, 81.0, 82.0, 83.0, 84.0, 99.0]]);
        assert!(!Measurements { searches: &mixed, ..of_trials(&trials) }.are_conclusive());
        // Of one method nothing is compared.
        assert!(Measurements { searches: &mixed[..6], ..of_trials(&trials) }.are_conclusive());
    }

    #[test]
    fn a_search_needs_a_regular_first_goal() {
        let trials = [trial(1000)];
        let regular = [search(Status::Regular)];
        assert!(Measurements { searches: &regular, ..of_trials(&trials) }.are_conclusive());
        let at_least = [search(Status::AtLeast)];
        assert!(!Measurements { searches: &at_least, ..of_trials(&trials) }.are_conclusive());
        // What a later goal shows is no answer to the first one.
        let mut undecided = search(Status::Irregular);
        undecided.goals.extend(search(Status::Regular).goals);
        assert!(!Measurements { searches: &[undecided], ..of_trials(&trials) }.are_conclusive());
    }

    #[test]
    fn a_bench_is_conclusive_if_its_verdict_answers_its_question() {
        let sent = [trial(1000)];
        assert!(!Measurements { is_decided: Some(false), ..of_trials(&sent) }.are_conclusive());
        // What the generator left unsent is in the verdict.
        let half_sent = [trial(500)];
        assert!(Measurements { is_decided: Some(true), ..of_trials(&half_sent) }.are_conclusive());
    }
}
