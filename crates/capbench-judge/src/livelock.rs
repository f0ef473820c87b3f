//! Receive livelock: a higher load delivers fewer frames, because the kernel spends the CPU on frames that it drops later. Pure
//! functions of trials; their order does not matter. Trials of runs and points of sweeps are judged here.
//!
//! The rule: more was offered, and less was delivered by more than chance explains. What shows the size of chance depends on what is
//! compared:
//!
//! | compared | more was offered | less was delivered |
//! |---|---|---|
//! | two trials of a set-up: [`mark`] | by [`LIVELOCK_HIGHER_LOAD`] | by [`LIVELOCK_LOWER_RATE`], as no repeats show the size of chance |
//! | points of a load sweep: `largest_fall` | at a later point | by [`LIVELOCK_LOWER_RATE_OF_REPEATS`], and ranks of the repeats exclude chance |

use crate::sweep::contrasts::{Rise, Rises};
use crate::sweep::outcome::{Reading, Series, Swept};
use crate::thresholds::{LIVELOCK_HIGHER_LOAD, LIVELOCK_LOWER_RATE, LIVELOCK_LOWER_RATE_OF_REPEATS};

use capbench_model::trial::{Livelock, TrialResult, Verdict};

/// Whether a fall of the delivered rate is larger than this share of the higher rate.
fn is_fall(higher_pps: f64, fall_pps: f64, share: f64) -> bool {
    fall_pps > share * higher_pps
}

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
    let is_offered_more = trial.offered_pps > best.offered_pps * (1.0 + LIVELOCK_HIGHER_LOAD);
    let fall_pps = best.delivered_pps - trial.delivered_pps;
    let delivers_less = is_fall(best.delivered_pps, fall_pps, LIVELOCK_LOWER_RATE);
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

/// A fall of the delivered rate along a load sweep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fall<'r> {
    /// The points that are compared. The delivered rate falls as its negative rises: `low` are the points with the high rates.
    pub(crate) compared: Rise<'r>,
    /// The point with the highest delivered rate.
    pub(crate) peak: &'r Reading,
    /// The later point with the lowest delivered rate.
    pub(crate) lowest: &'r Reading,
}

/// The largest fall of the delivered rate along a load sweep that is livelock; `None` if none is.
pub(crate) fn largest_fall<'r>(swept: &Swept<'_>, series: &'r Series) -> Option<Fall<'r>> {
    let rises = Rises::find(swept, &series.readings, |trial| -trial.delivered_pps);
    let compared = *rises.largest(is_fall_of_repeats)?;
    let peak = compared.low.iter().max_by(|a, b| median_pps(a).total_cmp(&median_pps(b)))?;
    let lowest = compared.high.iter().min_by(|a, b| median_pps(a).total_cmp(&median_pps(b)))?;
    Some(Fall { compared, peak, lowest })
}

/// Whether the delivered rate falls enough from the earlier points to the later ones.
fn is_fall_of_repeats(compared: &Rise<'_>) -> bool {
    let highest_pps = compared.low.iter().map(median_pps).fold(0.0, f64::max);
    is_fall(highest_pps, compared.gain, LIVELOCK_LOWER_RATE_OF_REPEATS)
}

fn median_pps(reading: &Reading) -> f64 {
    reading.delivered_pps.median
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase, TrialResult, Verdict};

    use super::{largest_fall, mark};
    use crate::sweep::for_tests::{LoadTrial, reading, series, sweep_of_loads};
    use crate::sweep::outcome::Swept;

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

    #[test]
    fn repeats_show_livelock_if_a_twentieth_less_is_delivered() {
        const VISITS: u32 = 8;
        for (delivered_pps, is_found) in [(95_300.0, false), (94_700.0, true)] {
            let mut at_low_load = Vec::new();
            let mut at_high_load = Vec::new();
            for visit in 0..VISITS {
                // Repeats differ a little, as those of a measurement.
                let noise_pps = f64::from(visit);
                let low = LoadTrial { delivered_pps: 1e5 + noise_pps, ..LoadTrial::lossless(visit + 1) };
                let high = LoadTrial {
                    number: VISITS + visit + 1,
                    pps: 2e5,
                    delivered_pps: delivered_pps + noise_pps,
                    lost: 1000,
                };
                at_low_load.push(low.result());
                at_high_load.push(high.result());
            }
            let readings = vec![reading(0, &at_low_load), reading(1, &at_high_load)];
            let sweep = sweep_of_loads(&[1e5, 2e5], vec![series("recv", readings)]);
            let trials = [at_low_load, at_high_load].concat();
            let fall = largest_fall(&Swept::new(&sweep, &trials), &sweep.series[0]);
            assert_eq!(fall.is_some(), is_found, "{delivered_pps} packets/s after 100,000");
        }
    }

    #[test]
    fn three_points_together_show_a_fall_that_chance_explains_at_fewer() {
        for (points, is_found) in [(5, false), (6, true)] {
            let mut places = Vec::new();
            let mut readings = Vec::new();
            let mut trials = Vec::new();
            for point in 0..points {
                let load_pps = 1e5 * f64::from(point + 1);
                let mut visits = Vec::new();
                for visit in 0..2 {
                    let number = 2 * point + visit + 1;
                    let delivered_pps = if point < 3 { 1e5 } else { 8e4 } + f64::from(visit);
                    visits.push(LoadTrial { number, pps: load_pps, delivered_pps, lost: 1000 }.result());
                }
                places.push(load_pps);
                readings.push(reading(point as usize, &visits));
                trials.extend(visits);
            }
            let sweep = sweep_of_loads(&places, vec![series("recv", readings)]);
            let fall = largest_fall(&Swept::new(&sweep, &trials), &sweep.series[0]);
            assert_eq!(fall.is_some(), is_found, "{points} points");
        }
    }
}
