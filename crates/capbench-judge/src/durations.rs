//! How long trials and runs take. Every estimate that is printed uses these functions: before a run by assumed figures, while it runs by the
//! time of its first trials, and after it by its trials.

use std::time::Duration;

use crate::thresholds::{
    ANNOUNCED_TIME, BENCH_TIME, BENCH_TRIAL, ESTIMATING_TRIALS, QUICK_BENCH_TIME, REPEATS_RESERVE,
    RUN_OVERHEAD, TRIAL_OVERHEAD, TURNS_AT_RATE, TURNS_OF_FIRST_SET_UP, TURNS_TIME, WRONG_ESTIMATE,
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

/// What a plan is likely to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Planned {
    /// Number of its trials.
    pub trials: usize,
    /// Time for which they send.
    pub sending: Duration,
    /// Estimated time of the whole run. Absent if the run ends by its time, and not by its trials.
    pub time: Option<PlannedTime>,
    /// Searches of each set-up, of which each round has one; 0 if the run is no search.
    pub rounds: u32,
}

/// How long a run takes. A search needs more trials where other programs disturb them; before a run it is not known whether they will.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedTime {
    /// On a quiet host.
    pub quiet: Duration,
    /// If other programs disturb the trials.
    pub disturbed: Duration,
}

impl PlannedTime {
    /// The same time on every host.
    pub fn of_any_host(time: Duration) -> Self {
        Self { quiet: time, disturbed: time }
    }

    /// The geometric mean of both.
    fn between(&self) -> Duration {
        let mean_s = (self.quiet.as_secs_f64() * self.disturbed.as_secs_f64()).sqrt();
        Duration::try_from_secs_f64(mean_s).unwrap_or(Duration::MAX)
    }

    /// Whether the time is wrong by more than WRONG_ESTIMATE for both.
    fn excludes(&self, time: Duration) -> bool {
        time > self.quiet.max(self.disturbed).mul_f64(WRONG_ESTIMATE)
            || self.quiet.min(self.disturbed) > time.mul_f64(WRONG_ESTIMATE)
    }
}

/// The announced time of a run. How long a trial takes on this host shows only in the run, which then announces another time.
#[derive(Clone, Copy, Debug)]
pub struct AnnouncedTime {
    planned: Planned,
    announced: PlannedTime,
    trials: usize,
    sending: Duration,
}

impl AnnouncedTime {
    /// The time of a plan; absent if it has none.
    pub fn of_plan(planned: Planned) -> Option<Self> {
        let announced = planned.time?;
        Some(Self { planned, announced, trials: 0, sending: Duration::ZERO })
    }

    /// The announced time, if the run is long enough to announce it.
    pub fn worth_announcing(&self) -> Option<PlannedTime> {
        (self.announced.quiet.max(self.announced.disturbed) >= ANNOUNCED_TIME).then_some(self.announced)
    }

    /// Adds a trial that ended so long after the first one began. The new time of the whole run, if by the trials so far the announced one
    /// is wrong.
    ///
    /// Trials to come may be of another kind: later steps of a publication lose more and so take longer. They are supposed to take the geometric
    /// mean of the assumed time and of that time at the speed of the trials so far.
    pub fn corrected_after(&mut self, trial: &TrialResult, elapsed: Duration) -> Option<Duration> {
        self.trials += 1;
        self.sending += Duration::try_from_secs_f64(trial.duration_s).unwrap_or_default();
        let done = self.done_share(trial.search);
        if self.trials < ESTIMATING_TRIALS || done >= 1.0 {
            return None;
        }
        let assumed = self.planned.time?.between();
        let slower = elapsed.div_duration_f64(assumed.mul_f64(done));
        let rest = assumed.mul_f64((1.0 - done) * slower.sqrt());
        let expected = elapsed + rest;
        if !self.announced.excludes(expected) || rest < ANNOUNCED_TIME {
            return None;
        }
        self.announced = PlannedTime::of_any_host(expected);
        Some(expected)
    }

    /// The share of the plan that the trials so far are, by the time that was assumed for each. A search takes as many trials as it needs:
    /// in round `nth` of n, nth - 1 rounds are done, and no more than nth.
    fn done_share(&self, nth: Option<u32>) -> f64 {
        let done = self.sending + TRIAL_OVERHEAD * self.trials as u32;
        let planned = self.planned.sending + TRIAL_OVERHEAD * self.planned.trials as u32;
        let by_trials = if planned.is_zero() { 1.0 } else { done.div_duration_f64(planned) };
        let of_rounds = |rounds: u32| f64::from(rounds) / f64::from(self.planned.rounds);
        match nth {
            Some(nth) if self.planned.rounds > 0 => {
                by_trials.clamp(of_rounds(nth.saturating_sub(1)), of_rounds(nth))
            }
            _ => by_trials,
        }
    }
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
    /// The number of rounds of so many methods that a bench of one set-up has time for, if a trial takes as long as in this bench, of
    /// whose set-ups this was the first. At a load that the user gave each has the same part of the time, else the first has most.
    pub fn rounds_of_next(&self, set_ups: usize, methods: usize) -> usize {
        let time = match (self.is_at_load, self.is_quick) {
            (true, _) => TURNS_AT_RATE,
            (false, true) => QUICK_BENCH_TIME.mul_f64(TURNS_TIME),
            (false, false) => BENCH_TIME.mul_f64(TURNS_TIME),
        };
        let next = if self.is_at_load { TURNS_AT_RATE } else { BENCH_TIME.mul_f64(TURNS_TIME) };
        let share = match set_ups {
            0 | 1 => 1.0,
            set_ups if self.is_at_load => 1.0 / set_ups as f64,
            _ => TURNS_OF_FIRST_SET_UP,
        };
        let trial_s = share * time.as_secs_f64() / self.trials.max(1) as f64;
        (next.as_secs_f64() / (trial_s * methods.max(1) as f64)) as usize
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::trial::TrialResult;

    use super::{AnnouncedTime, Planned, PlannedTime, TrialsInTurns};

    /// The times in whole seconds that a run of a hundred trials of 0.7 s announces, if each of them takes so long.
    fn announced(planned_s: u64, trial_s: f64) -> Vec<u64> {
        let sending = Duration::from_secs(70);
        let time = PlannedTime::of_any_host(Duration::from_secs(planned_s));
        let planned = Planned { trials: 100, sending, time: Some(time), rounds: 0 };
        let mut time = AnnouncedTime::of_plan(planned).unwrap();
        let trial = TrialResult { duration_s: 0.7, ..TrialResult::default() };
        let mut announced = Vec::new();
        for nth in 1..=120 {
            let elapsed = Duration::from_secs_f64(f64::from(nth) * trial_s);
            announced.extend(time.corrected_after(&trial, elapsed).map(|time| time.as_secs()));
        }
        announced
    }

    #[test]
    fn a_run_announces_another_time_if_the_new_estimate_is_wrong_by_half() {
        assert!(announced(102, 1.6).is_empty());
        assert_eq!(announced(102, 1.65), [153]);
        assert!(announced(102, 0.7).is_empty());
        assert_eq!(announced(102, 0.6), [67]);
        assert!(announced(12, 0.9).is_empty(), "the rest is estimated at less than half a minute");
        assert_eq!(announced(12, 1.0), [41]);
    }

    /// The trials after which a run of a hundred trials of a second announces another time, and the times in whole seconds. It has this many
    /// rounds of searches, of so many trials each.
    fn corrections(
        (rounds, trials): (u32, usize),
        seconds_of_trial: impl Fn(usize) -> f64,
    ) -> Vec<(usize, u64)> {
        let time = Some(PlannedTime::of_any_host(Duration::from_secs(100)));
        let planned = Planned { trials: 100, time, rounds, ..Planned::default() };
        let mut time = AnnouncedTime::of_plan(planned).unwrap();
        let mut elapsed = Duration::ZERO;
        let mut announced = Vec::new();
        for nth in 1..=120 {
            elapsed += Duration::from_secs_f64(seconds_of_trial(nth));
            let search = (rounds > 0).then_some(nth.div_ceil(trials) as u32);
            let corrected = time.corrected_after(&TrialResult { search, ..TrialResult::default() }, elapsed);
            announced.extend(corrected.map(|time| (nth, time.as_secs())));
        }
        assert!(AnnouncedTime::of_plan(Planned { time: None, ..planned }).is_none());
        announced
    }

    #[test]
    fn a_time_is_corrected_again_if_trials_become_slower_and_not_if_only_the_first_are_quick() {
        let no_search = (0, 120);
        let slower = corrections(no_search, |nth| if nth <= 50 { 2.0 } else { 12.0 });
        assert_eq!(slower, [(15, 150), (55, 236), (66, 363), (84, 547)]);
        assert_eq!(corrections(no_search, |nth| if nth <= 40 { 0.56 } else { 1.3 }), []);
        assert_eq!(corrections(no_search, |_| 0.56), [(44, 66)]);
    }

    #[test]
    fn a_time_that_depends_on_the_host_is_corrected_where_the_run_is_quicker_than_on_a_quiet_host_or_slower_than_on_another()
     {
        let seconds = Duration::from_secs;
        let time = PlannedTime { quiet: seconds(80), disturbed: seconds(180) };
        let planned = Planned { trials: 100, time: Some(time), ..Planned::default() };
        let corrected = |trial_s: f64| {
            let mut time = AnnouncedTime::of_plan(planned).unwrap();
            assert_eq!(time.worth_announcing(), planned.time);
            (1..=20).find_map(|nth| {
                time.corrected_after(
                    &TrialResult::default(),
                    Duration::from_secs_f64(f64::from(nth) * trial_s),
                )
            })
        };
        assert_eq!([0.2, 1.2, 8.0].map(|trial_s| corrected(trial_s).is_some()), [true, false, true]);
    }

    #[test]
    fn searches_that_take_other_numbers_of_trials_than_planned_show_how_long_the_others_take() {
        assert_eq!(corrections((10, 10), |_| 1.0), []);
        assert_eq!(corrections((10, 40), |_| 1.0), [(21, 151), (74, 227)]);
        assert_eq!(corrections((10, 5), |_| 1.0), [(21, 64)]);
    }

    #[test]
    fn a_longer_bench_of_fewer_methods_has_more_rounds() {
        let quick = TrialsInTurns { trials: 30, is_at_load: false, is_quick: true };
        assert_eq!(quick.rounds_of_next(1, 2), 70, "80 s for 17 s, and two methods");
        assert_eq!(TrialsInTurns { is_quick: false, ..quick }.rounds_of_next(1, 5), 6);
        let at_load = TrialsInTurns { is_at_load: true, ..quick };
        assert_eq!([1, 3].map(|set_ups| at_load.rounds_of_next(set_ups, 2)), [15, 45]);
        assert_eq!(TrialsInTurns { is_quick: false, ..quick }.rounds_of_next(3, 5), 7, "of one set-up alone");
    }
}
