//! Receive livelock: a higher load delivers fewer frames, because the kernel spends the CPU on frames that it drops later. A pure
//! function of trials; their order does not matter.

use crate::thresholds::LIVELOCK_CHANGE;

use capbench_model::trial::{Livelock, TrialResult, Verdict};

/// Marks the trials of a run that were offered more than another of their set-up and delivered less.
pub fn mark(trials: &mut [TrialResult]) {
    let marks: Vec<_> = trials.iter().map(|trial| livelock(trial, trials)).collect();
    for (trial, mark) in trials.iter_mut().zip(marks) {
        trial.livelock = mark;
    }
}

fn livelock(trial: &TrialResult, trials: &[TrialResult]) -> Option<Livelock> {
    let best = trials
        .iter()
        .filter(|other| is_comparable(other) && is_same_setup(trial, other))
        .max_by(|a, b| a.delivered_pps.total_cmp(&b.delivered_pps))?;
    let is_livelock = is_comparable(trial)
        && trial.offered_pps > best.offered_pps * (1.0 + LIVELOCK_CHANGE)
        && trial.delivered_pps < best.delivered_pps * (1.0 - LIVELOCK_CHANGE);
    is_livelock.then_some(Livelock {
        against: best.number,
        offered_pps: best.offered_pps,
        delivered_pps: best.delivered_pps,
    })
}

/// Whether a trial's rates can show livelock. One that was disturbed for a share of its time delivers less for other reasons; `load` is
/// set for loads other than a constant rate: buffers deliver a burst at any rate.
fn is_comparable(trial: &TrialResult) -> bool {
    trial.verdict != Verdict::Invalid
        && trial.disturbance.reasons_for_rates().is_empty()
        && trial.load.is_none()
}

/// Whether two trials differ only in load and duration. The granted sizes distinguish rings.
fn is_same_setup(one: &TrialResult, other: &TrialResult) -> bool {
    let (a, b) = (&one.profile, &other.profile);
    (&a.method, &a.frame_size, &a.placement, &a.work, &a.traffic)
        == (&b.method, &b.frame_size, &b.placement, &b.work, &b.traffic)
        && a.cpus == b.cpus
        && runs_alike(one, other)
}

fn runs_alike(one: &TrialResult, other: &TrialResult) -> bool {
    match (&one.capture, &other.capture) {
        (Some(one), Some(other)) => one.runs_alike(other),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::mark;
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase, TrialResult, Verdict};

    /// Numbers of the trials that those of these offered and delivered rates are marked against.
    fn marks(change: impl Fn(&mut [TrialResult]), rates: &[(f64, f64)]) -> Vec<Option<u32>> {
        let load = Load::Rate("1k".parse().unwrap());
        let (profile, second) = (profile("packet-v3"), Duration::from_secs(1));
        let mut trials: Vec<_> = rates
            .iter()
            .zip(1..)
            .map(|(&(offered_pps, delivered_pps), number)| {
                let trial = measured(1000, 1000, 1000, 0);
                let result = trial.result(number, Phase::BestEffort, &profile, load, second);
                TrialResult { offered_pps, delivered_pps, ..result }
            })
            .collect();
        change(&mut trials);
        mark(&mut trials);
        trials.iter().map(|trial| trial.livelock.map(|mark| mark.against)).collect()
    }

    #[test]
    fn less_is_delivered_of_more_by_more_than_a_tenth() {
        let rates = [
            (1000.0, 1000.0),
            (1090.0, 500.0),
            (1110.0, 910.0),
            (1110.0, 890.0),
            (5000.0, 10.0),
            (500.0, 10.0),
        ];
        assert_eq!(marks(|_| (), &rates), [None, None, None, Some(1), Some(1), None]);
        // The best of all counts, in any order.
        assert_eq!(marks(|_| (), &[(3000.0, 100.0), (900.0, 900.0), (1000.0, 950.0)]), [Some(3), None, None]);
    }

    #[test]
    fn what_shows_nothing_neither_has_a_mark_nor_gives_one() {
        let rates = [(1000.0, 1000.0), (2000.0, 500.0), (3000.0, 100.0)];
        let invalid = |trials: &mut [TrialResult]| trials[0].verdict = Verdict::Invalid;
        assert_eq!(marks(invalid, &rates), [None, None, Some(2)]);
        let other = |trials: &mut [TrialResult]| trials[1].profile.work = "touch".into();
        assert_eq!(marks(other, &rates), [None, None, Some(1)]);
    }
}
