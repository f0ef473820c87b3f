//! The time and precision of a bench, quick or not.

use std::time::Duration;

use capbench_judge::search::Ratio;
use capbench_judge::thresholds::{
    BENCH_PRECISION, BENCH_TIME, BENCH_TRIAL, QUICK_BENCH_PRECISION, QUICK_BENCH_TIME, QUICK_BENCH_TRIAL,
    TURNS_AT_RATE,
};

use super::search_plan::Searching;

/// The time and precision of a bench.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Length of its trials at maximum load and at one load. Those of searches follow from the precision.
    pub trial: Duration,
    precision: f64,
    /// Time of all trials. Opening the test bed and writing the report take the rest of 20 or 90 seconds.
    budget: Duration,
}

impl Pace {
    /// The time and precision of a quick bench, or of another one.
    pub fn new(is_quick: bool) -> Self {
        if is_quick {
            let precision = QUICK_BENCH_PRECISION;
            return Self { trial: QUICK_BENCH_TRIAL, precision, budget: QUICK_BENCH_TIME };
        }
        Self { trial: BENCH_TRIAL, precision: BENCH_PRECISION, budget: BENCH_TIME }
    }

    /// How long methods take turns, at most.
    pub fn turns(&self, is_at_rate: bool) -> Duration {
        if is_at_rate { TURNS_AT_RATE } else { self.budget }
    }

    /// How sustained rates are searched. Longer trials lengthen the searches in proportion; turns stay as they are.
    pub fn searching(&self, trial: Option<Duration>, quiet: Duration) -> Searching {
        let factor = trial.map_or(1.0, |trial| trial.as_secs_f64() / self.trial.as_secs_f64()).max(1.0);
        let precision = Ratio::new(self.precision).expect("a ratio below 1");
        let trial = Searching::least_trial(precision).mul_f64(factor);
        Searching { precision, budget: self.budget.mul_f64(factor), trial, quiet }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Pace;
    use crate::bench::BenchPlan;
    use crate::for_tests::{Collected, bench_plan, path, pps};
    use capbench_model::trial::{Phase, TrialResult};

    const QUIET: Duration = Duration::from_millis(150);

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// A bench of two methods that take turns.
    fn plan(pace: Pace) -> BenchPlan {
        BenchPlan {
            duration: pace.trial,
            turns: Some(pace.turns(false)),
            searching: Some(pace.searching(None, QUIET)),
            ..bench_plan(&["recv", "packet-v2"])
        }
    }

    #[test]
    fn a_quick_bench_ends_in_20_seconds_and_another_one_within_90() {
        for (is_quick, trial_ms, in_all_ms) in [(true, 300, 19_000), (false, 400, 82_000)] {
            let plan = plan(Pace::new(is_quick));
            assert_eq!(plan.estimate(), ms(in_all_ms), "two seconds are for the test bed");
            let outcome = plan.run(&mut path(), &mut Collected::default()).unwrap();
            let mut at_maximum: Vec<&TrialResult> = outcome.trials.iter().collect();
            at_maximum.retain(|trial| trial.phase == Phase::BestEffort);
            assert!(at_maximum.iter().all(|trial| trial.duration_s == ms(trial_ms).as_secs_f64()));
        }
    }

    #[test]
    fn a_bench_at_one_rate_takes_turns_for_20_seconds_and_then_runs_a_trial_of_each_method() {
        let pace = Pace::new(false);
        let rate = Some(pps(1e5));
        let plan = BenchPlan { rate, turns: Some(pace.turns(true)), searching: None, ..plan(pace) };
        // Two trials of 0.4 s with 0.3 s of overhead, a tenth of that for repeats, and two seconds for the test bed.
        assert_eq!(plan.estimate(), ms(20_000 + 1540 + 2000));
    }

    #[test]
    fn searches_of_a_quick_bench_are_half_as_precise_and_their_trials_half_as_long() {
        for (is_quick, precision, trial_ms) in [(true, "10 %", 200), (false, "5 %", 400)] {
            let searching = Pace::new(is_quick).searching(None, QUIET);
            assert_eq!(searching.precision.to_string(), precision);
            assert_eq!(searching.trial, ms(trial_ms));
        }
        let longer = Pace::new(true).searching(Some(ms(600)), QUIET);
        assert_eq!((longer.trial, longer.budget), (ms(400), ms(34_000)), "trials of 600 ms instead of 300");
        let shorter = Pace::new(true).searching(Some(ms(100)), QUIET);
        assert_eq!((shorter.trial, shorter.budget), (ms(200), ms(17_000)), "a shorter one shows less");
    }
}
