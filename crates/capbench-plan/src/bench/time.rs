//! The time of a bench: what it may take, what it took so far, and what still fits. Everything follows from trials that ran.

use std::time::Duration;

use capbench_model::trial::{Phase, TrialResult};

use super::search_plan::Searching;
use crate::session::Session;
use capbench_judge::thresholds::{
    COARSEST_SEARCH, PROBE_LENGTH, REPEATS_RESERVE, TURN_LENGTH, TURNS_LOOKS, TURNS_OF_FIRST_SET_UP,
    TURNS_ROUNDS_OF_COSTS, TURNS_TIME,
};

/// Factors of the requested precision that a search gets where the time does not suffice, finest first.
pub(super) fn coarser_searches() -> [u32; 3] {
    [1, 2, COARSEST_SEARCH]
}

/// The time of a bench.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// The time that all trials may take.
    budget: Duration,
    /// What a trial takes besides sending: preparation, drain, probes and repeats. The mean of the trials so far.
    mean: Duration,
    /// The same without the wait for frames that are lost.
    lossless: Duration,
    /// The longest of them.
    longest: Duration,
    spent: Duration,
}

impl Clock {
    /// The time of a bench as its trials show it.
    pub(super) fn from_trials(searching: &Searching, session: &Session<'_>) -> Self {
        let time = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let count = session.trials.len() as u32;
        let sending: f64 = session.trials.iter().map(|trial| trial.sending_s).sum();
        let mean = session.spent.saturating_sub(time(sending)) / count.max(1);
        let besides = || session.trials.iter().map(|trial| trial.spent_s() - trial.sending_s);
        let waited =
            besides().sum::<f64>() / f64::from(count.max(1)) - besides().fold(f64::INFINITY, f64::min);
        let lossless = mean.saturating_sub(time(waited));
        // Every trial can miss frames and wait for them, and be an overload that is probed after.
        let waits = searching.quiet + PROBE_LENGTH;
        let longest = time(besides().fold(0.0, f64::max)).max(mean).max(waits);
        Self { budget: searching.budget, mean, lossless, longest, spent: session.spent }
    }

    /// The time that is left.
    pub(super) fn left(&self) -> Duration {
        self.budget.saturating_sub(self.spent)
    }

    /// The time in which the methods of the current set-up may take turns. The first set-up, which the answer is about, has most of the
    /// time for turns, the others have the same part of what it leaves, and of what each of them leaves. Searches keep their part of the
    /// whole. `None` if no trial fits.
    pub(super) fn for_turns(&self, set_ups: SetUps, at_maximum: Duration) -> Option<TimeForTurns> {
        let later_at_maximum = at_maximum * set_ups.left.saturating_sub(1);
        let all = self.left().saturating_sub(self.for_searches(set_ups, at_maximum));
        let for_turns = all.saturating_sub(later_at_maximum);
        let mut own = for_turns / set_ups.left.max(1);
        if set_ups.left == set_ups.all {
            own = own.max(for_turns.mul_f64(TURNS_OF_FIRST_SET_UP));
        }
        let own = self.for_trials(own, TURN_LENGTH).unwrap_or_default();
        let all = self.for_trials(all, TURN_LENGTH)?;
        Some(TimeForTurns { own, all })
    }

    /// The time that is kept for searches after the turns.
    fn for_searches(&self, set_ups: SetUps, at_maximum: Duration) -> Duration {
        let without_maximum = self.budget.saturating_sub(at_maximum * set_ups.all);
        without_maximum.mul_f64(1.0 - TURNS_TIME)
    }

    /// Whether there is time for the trials of so many methods in one more set-up until its rounds are judged, if they take as long as those
    /// so far.
    pub(super) fn fits_set_up(&self, set_ups: SetUps, methods: u32, session: &Session<'_>) -> bool {
        let at_maximum = mean_of(session, |phase| phase == Phase::BestEffort) * methods;
        let in_turns = mean_of(session, |phase| matches!(phase, Phase::Turns | Phase::CommonLoad)) * methods;
        // One round more to find the load.
        let rounds = 1 + TURNS_LOOKS[0] + TURNS_LOOKS[0].div_ceil(TURNS_ROUNDS_OF_COSTS);
        let until_judged = at_maximum + in_turns * rounds as u32;
        until_judged + self.for_searches(set_ups, at_maximum) <= self.left()
    }

    /// The likely time of so many trials.
    pub(super) fn time(&self, trials: usize, duration: Duration) -> Duration {
        (duration + self.mean) * trials as u32
    }

    /// The time to keep for so many trials that are likely to lose nothing. The last one may take as long as any before.
    pub(super) fn reserve(&self, trials: usize, duration: Duration) -> Duration {
        (duration + self.lossless) * trials as u32 + (self.longest - self.lossless)
    }

    /// The likely time of a search after this trial at maximum load.
    pub(super) fn of_search(&self, overload: &TrialResult, searching: &Searching, coarser: u32) -> Duration {
        self.time(searching.likely_trials(overload, coarser), searching.trial)
    }

    /// Whether one more trial ends in time, though it may take as long as any before.
    pub(super) fn fits(&self, duration: Duration) -> bool {
        duration + self.longest <= self.left()
    }

    /// What is left of this time if the last trial is to end in the time of the bench, though it may take as long as any before.
    /// `None` if no trial fits.
    pub(super) fn for_trials(&self, time: Duration, trial: Duration) -> Option<Duration> {
        let time = time.min(self.left().checked_sub(self.longest)?);
        (time >= trial).then_some(time)
    }
}

/// The mean time of the trials of some phases, zero if there are none.
fn mean_of(session: &Session<'_>, is_meant: impl Fn(Phase) -> bool) -> Duration {
    let mut spent_s = Vec::new();
    for trial in session.trials.iter().filter(|trial| is_meant(trial.phase)) {
        spent_s.push(trial.spent_s());
    }
    let mean_s = spent_s.iter().sum::<f64>() / spent_s.len().max(1) as f64;
    Duration::try_from_secs_f64(mean_s).unwrap_or_default()
}

/// The time in which the methods of a set-up may take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeForTurns {
    /// The part of this set-up.
    pub(super) own: Duration,
    /// With the parts of the later ones.
    pub(super) all: Duration,
}

impl TimeForTurns {
    /// Of a set-up that leaves nothing to others.
    pub(super) fn all(time: Duration) -> Self {
        Self { own: time, all: time }
    }
}

/// The set-ups of a bench.
#[derive(Clone, Copy, Debug)]
pub(super) struct SetUps {
    /// Number of all of them.
    pub(super) all: u32,
    /// Number of those that are still to be measured, the current one included.
    pub(super) left: u32,
}

/// How many set-ups fit, at least one. `one` is the time of all trials of one, of which some are over for the first one.
pub(super) fn set_ups_that_fit(set_ups: usize, budget: Duration, one: Duration) -> usize {
    let budget = budget.mul_f64(1.0 - REPEATS_RESERVE);
    (1..=set_ups).rev().find(|&set_ups| one * set_ups as u32 <= budget).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bench of 80 s that has spent so many, with trials that take no time besides sending.
    fn clock(spent_s: u64) -> Clock {
        Clock {
            budget: Duration::from_secs(80),
            mean: Duration::ZERO,
            lossless: Duration::ZERO,
            longest: Duration::ZERO,
            spent: Duration::from_secs(spent_s),
        }
    }

    /// Whole milliseconds for turns of a set-up whose trials at maximum load took 5 s: its own, and with those of later set-ups.
    fn for_turns_ms(spent_s: u64, all: u32, left: u32) -> Option<[u128; 2]> {
        let time = clock(spent_s).for_turns(SetUps { all, left }, Duration::from_secs(5))?;
        Some([time.own, time.all].map(|time| time.as_millis()))
    }

    #[test]
    fn set_ups_share_the_time_for_turns_and_leave_the_rest_of_it_to_later_ones() {
        assert_eq!(for_turns_ms(5, 1, 1), Some([63_750, 63_750]), "of 75 s besides 5 s at maximum load");
        assert_eq!(
            for_turns_ms(5, 3, 3),
            Some([44_200, 65_250]),
            "four fifths of 55.25 s, of 65 s besides maximum load"
        );
        assert_eq!(
            for_turns_ms(16, 3, 2),
            Some([24_625, 54_250]),
            "half of what is left after 6 s of the first set-up"
        );
        assert_eq!(for_turns_ms(75, 3, 1), None, "the rest is for searches");
    }

    #[test]
    fn a_tenth_of_the_time_is_kept_for_repeats() {
        let budget = Duration::from_secs(100);
        assert_eq!(set_ups_that_fit(10, budget, Duration::from_millis(8700)), 10);
        assert_eq!(set_ups_that_fit(10, budget, Duration::from_millis(9200)), 9);
    }
}
