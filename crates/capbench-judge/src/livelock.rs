//! Receive livelock: a higher load delivers fewer frames, because the kernel spends the CPU on frames that it drops later. A pure
//! function of trials; their order does not matter.

use crate::thresholds::LIVELOCK_CHANGE;

use capbench_model::trial::{Livelock, TrialResult, Verdict};

/// Marks the trials of a run that were offered notably more than the best of their set-up and delivered notably less.
pub fn mark(trials: &mut [TrialResult]) {
    let marks: Vec<Option<Livelock>> = trials.iter().map(|trial| livelock(trial, trials)).collect();
    for (trial, mark) in trials.iter_mut().zip(marks) {
        trial.livelock = mark;
    }
}

/// The trial of the same set-up that delivered most, if this one shows livelock.
fn livelock(trial: &TrialResult, trials: &[TrialResult]) -> Option<Livelock> {
    if !is_comparable(trial) {
        return None;
    }
    let best = trials
        .iter()
        .filter(|other| is_comparable(other) && is_same_setup(trial, other))
        .max_by(|a, b| a.delivered_pps.total_cmp(&b.delivered_pps))?;
    let is_offered_more = trial.offered_pps > best.offered_pps * (1.0 + LIVELOCK_CHANGE);
    let delivers_less = trial.delivered_pps < best.delivered_pps * (1.0 - LIVELOCK_CHANGE);
    (is_offered_more && delivers_less).then_some(Livelock {
        against: best.number,
        offered_pps: best.offered_pps,
        delivered_pps: best.delivered_pps,
    })
}

/// Whether a trial's rates can show livelock. A disturbed trial delivers less for other reasons. A burst is delivered from buffers at
/// any rate, so the load must be constant.
fn is_comparable(trial: &TrialResult) -> bool {
    let is_valid = trial.verdict != Verdict::Invalid;
    let is_disturbed = !trial.disturbance.reasons_for_rates().is_empty();
    let is_constant_load = trial.load.is_none();
    is_valid && !is_disturbed && is_constant_load
}

/// Whether two trials differ only in load and duration. The granted sizes distinguish rings.
fn is_same_setup(one: &TrialResult, other: &TrialResult) -> bool {
    let profile = &one.profile;
    let other_profile = &other.profile;
    profile.method == other_profile.method
        && profile.frame_size == other_profile.frame_size
        && profile.placement == other_profile.placement
        && profile.work == other_profile.work
        && profile.traffic == other_profile.traffic
        && profile.cpus == other_profile.cpus
        && captures_alike(one, other)
}

/// Whether both trials captured with the same settings, as far as they are known.
fn captures_alike(one: &TrialResult, other: &TrialResult) -> bool {
    match (&one.capture, &other.capture) {
        (Some(one), Some(other)) => one.runs_alike(other),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase, TrialResult, Verdict};

    use super::mark;

    /// Trials of one set-up, numbered from 1, by their offered and delivered rates in packets per second.
    fn trials(rates: &[[f64; 2]]) -> Vec<TrialResult> {
        let mut trials = Vec::new();
        for (number, &[offered_pps, delivered_pps]) in (1..).zip(rates) {
            let load = Load::Rate("1k".parse().unwrap());
            let measured = measured(1000, 1000, 1000, 0);
            let second = Duration::from_secs(1);
            let result = measured.result(number, Phase::BestEffort, &profile("packet-v3"), load, second);
            trials.push(TrialResult { offered_pps, delivered_pps, ..result });
        }
        trials
    }

    /// For each trial, the number of the trial against which it is marked.
    fn marks(mut trials: Vec<TrialResult>) -> Vec<Option<u32>> {
        mark(&mut trials);
        trials.iter().map(|trial| trial.livelock.map(|mark| mark.against)).collect()
    }

    #[test]
    fn less_is_delivered_of_more_by_more_than_a_tenth() {
        let rates = [
            [1000.0, 1000.0],
            [1090.0, 500.0],
            [1110.0, 910.0],
            [1110.0, 890.0],
            [5000.0, 10.0],
            [500.0, 10.0],
        ];
        assert_eq!(marks(trials(&rates)), [None, None, None, Some(1), Some(1), None]);
        let best_is_last = [[3000.0, 100.0], [900.0, 900.0], [1000.0, 950.0]];
        assert_eq!(marks(trials(&best_is_last)), [Some(3), None, None]);
    }

    #[test]
    fn what_shows_nothing_neither_has_a_mark_nor_gives_one() {
        let rates = [[1000.0, 1000.0], [2000.0, 500.0], [3000.0, 100.0]];
        let mut with_invalid = trials(&rates);
        with_invalid[0].verdict = Verdict::Invalid;
        assert_eq!(marks(with_invalid), [None, None, Some(2)]);
        let mut with_other_work = trials(&rates);
        with_other_work[1].profile.work = "touch".into();
        assert_eq!(marks(with_other_work), [None, None, Some(1)]);
    }
}
