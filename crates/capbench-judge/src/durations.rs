//! How long trials and runs take. Every estimate that is printed uses these functions: before a run by assumed figures, and after it by
//! those of its trials.

use std::time::Duration;

use crate::thresholds::{
    BENCH_TIME, BENCH_TRIAL, QUICK_BENCH_TIME, REPEATS_RESERVE, RUN_OVERHEAD, TRIAL_OVERHEAD, TURNS_AT_RATE,
    TURNS_TIME,
};
use capbench_model::trial::TrialResult;

/// The time of trials that were planned, with repeats of those that the host disturbs.
pub fn with_repeats(time: Duration) -> Duration {
    time.saturating_add(time.mul_f64(REPEATS_RESERVE))
}

/// The time of a whole run whose trials take so long: it also opens the test bed, and writes the report.
pub fn whole_run(trials: Duration) -> Duration {
    trials.saturating_add(RUN_OVERHEAD)
}

/// The time that these trials take when they are run again, with as many probes and repeats.
pub fn time_again<'t>(trials: impl IntoIterator<Item = &'t TrialResult>) -> Duration {
    let mut time = Duration::ZERO;
    for trial in trials {
        let spent = Duration::try_from_secs_f64(trial.spent_s()).unwrap_or_default();
        let overhead = TRIAL_OVERHEAD.saturating_mul(attempts_and_probes(trial));
        time = time.saturating_add(spent).saturating_add(overhead);
    }
    time
}

/// How many times frames were sent for a trial.
fn attempts_and_probes(trial: &TrialResult) -> u32 {
    let Some(guarding) = &trial.guarding else { return 1 };
    let probes = guarding.recovery.as_ref().map_or(0, |recovery| recovery.probes.len());
    (1 + guarding.discarded.len() + probes) as u32
}

/// The time of the trials of a bench of one set-up, at one load or for the highest rates.
pub fn time_of_bench(is_at_load: bool, methods: usize) -> Duration {
    if !is_at_load {
        return BENCH_TIME;
    }
    // A trial of each method at the load follows the turns.
    TURNS_AT_RATE + with_repeats((BENCH_TRIAL + TRIAL_OVERHEAD) * methods as u32)
}

/// The trials in turns of a bench that left several methods.
#[derive(Clone, Copy, Debug)]
pub struct TrialsInTurns {
    /// Their number at the limit. Each has its share of the time at the load at which costs are compared.
    pub trials: usize,
    /// Whether the user gave the load.
    pub is_at_load: bool,
    /// Whether it was a quick bench.
    pub is_quick: bool,
}

impl TrialsInTurns {
    /// The number of rounds of so many methods that a bench of one set-up has time for, if a trial takes as long as in this bench, which
    /// shared its time with other set-ups.
    pub fn rounds_of_next(&self, set_ups: usize, methods: usize) -> usize {
        let time = match (self.is_at_load, self.is_quick) {
            (true, _) => TURNS_AT_RATE,
            (false, true) => QUICK_BENCH_TIME.mul_f64(TURNS_TIME),
            (false, false) => BENCH_TIME.mul_f64(TURNS_TIME),
        };
        let next = if self.is_at_load { TURNS_AT_RATE } else { BENCH_TIME.mul_f64(TURNS_TIME) };
        let trial_s = time.as_secs_f64() / (set_ups.max(1) * self.trials.max(1)) as f64;
        (next.as_secs_f64() / (trial_s * methods.max(1) as f64)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::TrialsInTurns;

    #[test]
    fn a_longer_bench_of_fewer_methods_has_more_rounds() {
        let quick = TrialsInTurns { trials: 30, is_at_load: false, is_quick: true };
        assert_eq!(quick.rounds_of_next(1, 2), 66, "80 s for 18 s, and two methods");
        assert_eq!(TrialsInTurns { is_quick: false, ..quick }.rounds_of_next(1, 5), 6);
        assert_eq!(TrialsInTurns { is_at_load: true, ..quick }.rounds_of_next(1, 2), 15);
        assert_eq!(
            TrialsInTurns { is_quick: false, ..quick }.rounds_of_next(3, 5),
            18,
            "of one set-up alone"
        );
    }
}
