//! What limited the trials of a load together: the generator, noise of the host, or the component that lost most of their frames.

use capbench_model::ledger::LostAt;
use capbench_model::trial::TrialResult;

use super::{Limit, is_mostly_buffered, is_of_most};
use crate::disturbed::are_explained;
use crate::sustained::moments::Moments;
use crate::sustained::{buffered_frames, captures_all, has_unsent_frames, is_explained_by_disturbance};

impl Limit {
    /// What limited the visits of a point of a sweep, which lost frames at these places, most first: noise of the host if it explains what
    /// most of those that miss frames miss, else as [`Limit::from_trials`].
    pub(crate) fn of_visits<'t>(
        lost: &[LostAt],
        visits: impl IntoIterator<Item = &'t TrialResult>,
    ) -> Option<Self> {
        let visits: Vec<&TrialResult> = visits.into_iter().collect();
        let mut missing = visits.clone();
        missing.retain(|trial| !captures_all(trial));
        match is_mostly_noise(&missing) {
            true => Some(Self::Noise),
            false => Self::from_trials(lost, visits, 1),
        }
    }

    /// What limited these trials of a load that is not sustained. `together` frames are sent at once. `None` if no frame is missing, or
    /// if no place is known.
    ///
    /// | trials | limit |
    /// |---|---|
    /// | Most have unsent frames, and most captured all that was sent. | the generator |
    /// | The disturbances of the host explain the losses of most, or losses are in few moments, in which not only the ring was too small. | noise |
    /// | other ones | [`Limit::from_trials`] |
    ///
    /// One trial that the noise left alone, or disturbed too little to explain its loss, does not make the method the limit: the load
    /// is refused by most trials.
    pub fn at_load(trials: &[&TrialResult], together: u32) -> Option<Self> {
        let mut unsent = 0;
        let mut missing: Vec<&TrialResult> = Vec::new();
        let mut buffered = 0;
        for &trial in trials {
            unsent += usize::from(has_unsent_frames(trial));
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
        if is_mostly_noise(&missing) {
            return Some(Self::Noise);
        }
        let lost = LostAt::sum(missing.iter().flat_map(|trial| trial.losses()));
        let limit = Self::from_trials(&lost, missing, together)?;
        let are_moments = Moments::from_trials(trials).is_some_and(Moments::are_few);
        // Frames that wait in most trials are no moment; those of one trial can be, near its end.
        let is_behind = limit == Self::Application && is_mostly_buffered(&lost, buffered);
        if are_moments && limit != Self::Ring && !is_behind {
            return Some(Self::Noise);
        }
        Some(limit)
    }
}

/// Whether the disturbances of the host explain what most of these trials, which all miss frames, miss.
fn is_mostly_noise(missing: &[&TrialResult]) -> bool {
    let explained = missing.iter().filter(|trial| is_explained_by_disturbance(trial)).count();
    are_explained(explained, missing.len())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::disturbance::CpuDisturbance;
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::ledger::Entry;
    use capbench_model::places::Place;
    use capbench_model::trial::{Emptying, Load, Phase};

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

    /// The same, while other work had half of a CPU.
    fn disturbed(trial: TrialResult) -> TrialResult {
        let mut trial = trial;
        trial.disturbance.sending_ns = 1_000_000_000;
        trial.disturbance.cpus = vec![CpuDisturbance {
            cpu: 1,
            window_ns: 1_000_000_000,
            foreign_ns: 500_000_000,
            ..CpuDisturbance::default()
        }];
        trial
    }

    #[test]
    fn noise_limits_where_it_explains_the_losses_of_most_trials() {
        let explained = || disturbed(trial(100_000, 4000));
        let unexplained = || trial(100_000, 971);
        assert_eq!(limit(&[explained(), explained(), unexplained()]), Some(Limit::Noise));
        assert_eq!(limit(&[explained(), unexplained()]), Some(Limit::Backlog), "half are not most");
        let trials = [explained(), explained(), unexplained()];
        let lost = LostAt::sum(trials.iter().flat_map(TrialResult::losses));
        assert_eq!(Limit::of_visits(&lost, &trials), Some(Limit::Noise), "of a sweep, too");
        assert_eq!(Limit::of_visits(&lost, &trials[2..]), Some(Limit::Backlog));
        let clearly_own = || disturbed(trial(10_000, 9900));
        assert_eq!(limit(&[clearly_own(), clearly_own(), explained()]), Some(Limit::Backlog));
    }

    #[test]
    fn one_trial_that_a_stall_left_behind_at_its_end_does_not_make_losses_in_few_moments_a_limit() {
        let moment =
            || TrialResult { loss_pattern: Some(in_one_window(100_000, 100, false)), ..trial(100_000, 100) };
        let mut behind = trial(100_000, 0);
        behind.emptying = Some(Emptying { after_s: 0.03, holds_s: 0.0 });
        behind.cpu.batches = 100_000;
        assert_eq!(limit(&[moment(), moment(), behind.clone()]), Some(Limit::Noise));
        assert_eq!(limit(&[moment(), behind.clone(), behind]), Some(Limit::Application), "most were behind");
    }

    #[test]
    fn losses_in_few_moments_are_noise() {
        let moment =
            TrialResult { loss_pattern: Some(in_one_window(100_000, 4000, false)), ..trial(100_000, 4000) };
        assert_eq!(limit(&[moment.clone(), moment]), Some(Limit::Noise));
        assert_eq!(limit(&[trial(100_000, 4000)]), Some(Limit::Backlog), "their times are unknown");
    }
}
