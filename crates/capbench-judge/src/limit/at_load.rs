//! What limited the trials of a load together: the generator, noise of the host, or the component that lost most of their frames.

use capbench_model::ledger::LostAt;
use capbench_model::trial::TrialResult;

use super::{Limit, is_mostly_buffered, is_of_most};
use crate::sustained::moments::Moments;
use crate::sustained::{buffered_frames, is_explained_by_disturbance};

impl Limit {
    /// What limited these trials of a load that is not sustained. `together` frames are sent at once. `None` if no frame is missing, or
    /// if no place is known.
    ///
    /// | trials | limit |
    /// |---|---|
    /// | Most have unsent frames, and most captured all that was sent. | the generator |
    /// | The disturbances of the host explain the losses of each, or losses are in few moments, in which not only the ring was too small. | noise |
    /// | other ones | [`Limit::from_trials`] |
    pub fn at_load(trials: &[&TrialResult], together: u32) -> Option<Self> {
        let mut unsent = 0;
        let mut missing: Vec<&TrialResult> = Vec::new();
        let mut buffered = 0;
        for &trial in trials {
            unsent += usize::from(trial.shortfall() > 0);
            let buffered_of_trial = buffered_frames(trial, together);
            if trial.lost() > 0 || buffered_of_trial > 0 {
                missing.push(trial);
                buffered += buffered_of_trial;
            }
        }
        let capturing = trials.len() - missing.len();
        if is_of_most(unsent, trials.len()) && is_of_most(capturing, trials.len()) {
            return Some(Self::Generator);
        }
        if !missing.is_empty() && missing.iter().all(|trial| is_explained_by_disturbance(trial)) {
            return Some(Self::Noise);
        }
        let lost = LostAt::sum(missing.iter().flat_map(|trial| trial.losses()));
        let limit = Self::from_trials(&lost, missing, together)?;
        let are_moments = Moments::from_trials(trials).is_some_and(Moments::are_few);
        if are_moments && limit != Self::Ring && !is_mostly_buffered(&lost, buffered) {
            return Some(Self::Noise);
        }
        Some(limit)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::ledger::Entry;
    use capbench_model::places::Place;
    use capbench_model::trial::{Load, Phase};

    use super::*;
    use crate::limit::tests::in_one_window;

    /// A trial of a second at 100,000 packets/s that sent so many, and lost so many of them in the backlog, in each tenth of it.
    fn trial(sent: u64, lost: u64) -> TrialResult {
        let load = Load::Rate("100k".parse().unwrap());
        let measured = measured(100_000, sent, sent - lost, lost);
        let mut trial = measured.result(1, Phase::Search, &profile("recv"), load, Duration::from_secs(1));
        let count = Some(lost);
        trial.ledger = vec![Entry { place: Place::Backlog, count, source: String::new(), source_fact: None }];
        trial.loss_pattern = None;
        trial
    }

    /// What limited trials that sent and lost so many.
    fn limit(trials: &[TrialResult]) -> Option<Limit> {
        Limit::at_load(&trials.iter().collect::<Vec<_>>(), 1)
    }

    #[test]
    fn the_generator_limits_where_most_trials_have_unsent_frames_and_no_lost_ones() {
        let unsent = || trial(90_000, 0);
        let lossy = || trial(90_000, 4000);
        assert_eq!(limit(&[unsent(), unsent(), lossy()]), Some(Limit::Generator));
        assert_eq!(
            limit(&[unsent(), lossy(), lossy()]),
            Some(Limit::Backlog),
            "the median trial lost frames"
        );
        let all_sent = || trial(100_000, 0);
        assert_eq!(limit(&[unsent(), all_sent(), all_sent(), lossy()]), Some(Limit::Backlog));
        assert_eq!(limit(&[all_sent()]), None);
    }

    #[test]
    fn losses_in_few_moments_are_noise() {
        let moment =
            TrialResult { loss_pattern: Some(in_one_window(100_000, 4000, false)), ..trial(100_000, 4000) };
        assert_eq!(limit(&[moment.clone(), moment]), Some(Limit::Noise));
        assert_eq!(limit(&[trial(100_000, 4000)]), Some(Limit::Backlog), "their times are unknown");
    }
}
