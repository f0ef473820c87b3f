//! Whether a loss counts against a load of a bench: only if a second trial repeats it. A trial that loses no more than allowed sustains the
//! load.

use std::time::Duration;

use capbench_model::trial::{TrialResult, Verdict};

use super::{Class, Criteria, Tally, is_higher, is_of_method, missing_share};
use crate::ratio::Ratio;
use crate::thresholds::{LOSSY_REPEATS, REPEATS_OF_LOSS};

impl Criteria {
    /// The criteria of a bench, whose trials of a load have one length.
    pub fn of_repeats(loss_ratio: Ratio, trial: Duration) -> Self {
        Self {
            loss_ratio,
            exceed_ratio: Ratio::fixed(LOSSY_REPEATS),
            full_length: trial,
            duration_sum: REPEATS_OF_LOSS * trial,
        }
    }
}

/// The class of a load without a search, by [`Criteria::of_repeats`], where every trial counts alike. Unlike in a search, no trial
/// follows that could repeat a loss. So a single trial also decides against its load if its loss is the method's own.
pub fn class_of_repeats(trials: &[&TrialResult], loss_ratio: f64) -> Class {
    // A ratio of 1 allows any loss.
    let Ok(loss_ratio) = Ratio::new(loss_ratio) else { return Class::Lower };
    let length = Duration::from_secs(1);
    let criteria = Criteria::of_repeats(loss_ratio, length);
    let mut tally = Tally::default();
    for trial in trials {
        tally.add(length, criteria.kind(length, missing_share(trial)));
    }
    match (criteria.decide(&tally), trials) {
        (Class::Undecided, [single]) if is_of_method(single) => Class::Upper,
        (class, _) => class,
    }
}

/// Of two trials at maximum load, the one that shows a method's limit: that which lost less. The loss of the other one may be a stall of
/// the host, which a second trial does not repeat.
pub fn shows_limit(first: TrialResult, again: TrialResult) -> TrialResult {
    let quality = |trial: &TrialResult| (trial.verdict == Verdict::Invalid, trial.sent_loss_ratio());
    if quality(&again) < quality(&first) { again } else { first }
}

/// Whether a failed trial's loss is one that a search without an upper bound did not repeat: it is one of the trials of the search, or
/// its load is about the highest that they show.
pub fn is_unrepeated(failed: &TrialResult, lower_pps: Option<f64>, trials_of_search: &[u32]) -> bool {
    !is_higher(failed.offered_pps, lower_pps.unwrap_or(0.0)) || trials_of_search.contains(&failed.number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sustained::Observation;

    /// The class of a load by trials that lost this share of their frames.
    fn class(losses: &[f64]) -> Class {
        let duration = Duration::from_secs(1);
        let load = "1k".parse().unwrap();
        let mut trials = Vec::new();
        for &loss_ratio in losses {
            let achieved = load;
            let path_loss_ratio = loss_ratio;
            trials.push(Observation { number: 1, load, duration, loss_ratio, path_loss_ratio, achieved });
        }
        Criteria::of_repeats(Ratio::ZERO, duration).classify(&trials)
    }

    #[test]
    fn a_loss_counts_if_a_second_trial_repeats_it() {
        assert_eq!(class(&[0.0]), Class::Lower);
        assert_eq!(class(&[0.1]), Class::Undecided);
        assert_eq!(class(&[0.1, 0.0]), Class::Lower);
        assert_eq!(class(&[0.1, 0.1]), Class::Upper);
    }

    #[test]
    fn a_load_is_not_sustained_if_more_than_half_of_its_trials_lose() {
        assert_eq!(class(&[0.1, 0.0, 0.1, 0.0, 0.1]), Class::Upper, "three of five");
        assert_eq!(class(&[0.1, 0.0, 0.1, 0.0, 0.0]), Class::Lower, "two of five");
    }
}
