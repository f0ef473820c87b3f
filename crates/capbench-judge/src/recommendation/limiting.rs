//! What limits the rate that a ranking shows for a method, and whether its order follows these rates.

use capbench_model::ledger::LostAt;
use capbench_model::trial::{TrialResult, Verdict};

use super::{Question, Ranked, Ranking, SustainedStatus};
use crate::limit::{LimitedBy, is_mostly_buffered};
use crate::sustained::buffered_frames;
use crate::thresholds::{HIGHER_RANKED_RATE, SENT_ABOVE_A_LIMIT};

impl Ranked {
    /// What limits the highest load that it sustained without loss. `trials` are those of the run.
    pub fn lossless_limit(&self, question: Question, trials: &[TrialResult]) -> Option<LimitedBy> {
        let limit = match self.lossless.status {
            SustainedStatus::Unknown => None,
            SustainedStatus::AtLeast => match LimitedBy::from_limit(self.limited_by, None, false) {
                Some(LimitedBy::Generator) if self.was_sent_far_more(trials) => Some(LimitedBy::Noise),
                limit => limit,
            },
            SustainedStatus::Disturbed => Some(LimitedBy::Noise),
            SustainedStatus::Between | SustainedStatus::NotReached => self.limit_at_bounds(trials),
        };
        match (question, limit) {
            // No load above that of the user is sent, so the generator limits nothing.
            (Question::CheapestAt { .. }, Some(LimitedBy::Generator)) => None,
            (_, limit) => limit,
        }
    }

    /// Whether the generator sent the method far more than it is shown to sustain.
    fn was_sent_far_more(&self, trials: &[TrialResult]) -> bool {
        let is_shown = |trial: &&TrialResult| self.lossless.trials.contains(&trial.number);
        let Some(shown) = trials.iter().find(is_shown).map(|trial| &trial.profile) else { return false };
        for TrialResult { profile, offered_pps, verdict, .. } in trials {
            let is_alike = profile.method == shown.method
                && profile.frame_size == shown.frame_size
                && profile.placement == shown.placement
                && profile.work == shown.work;
            if is_alike
                && *verdict != Verdict::Invalid
                && *offered_pps > SENT_ABOVE_A_LIMIT * self.shown_pps()
            {
                return true;
            }
        }
        false
    }

    /// The same, where a load was too high: by the trials at the bounds.
    fn limit_at_bounds(&self, trials: &[TrialResult]) -> Option<LimitedBy> {
        let mut losses = Vec::new();
        let mut buffered = 0;
        for trial in trials {
            if trial.verdict != Verdict::Invalid && self.lossless.trials.contains(&trial.number) {
                losses.extend(trial.losses());
                buffered += buffered_frames(trial, 1);
            }
        }
        let lost = LostAt::sum(losses);
        let lost_at = lost.first().map(|most| most.place).or(self.lost_at);
        LimitedBy::from_limit(self.limited_by, lost_at, is_mostly_buffered(&lost, buffered))
    }

    /// The rate up to which it is shown to be lossless.
    fn shown_pps(&self) -> f64 {
        match self.lossless.status {
            SustainedStatus::Unknown => 0.0,
            _ => self.lossless.lower_pps.unwrap_or(0.0),
        }
    }
}

impl Ranking {
    /// Whether a method is above one with a higher rate.
    pub fn is_out_of_order(&self) -> bool {
        for (nth, above) in self.methods.iter().enumerate() {
            let least_higher_pps = above.shown_pps() * (1.0 + HIGHER_RANKED_RATE);
            if self.methods[nth..].iter().any(|below| below.shown_pps() > least_higher_pps) {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::ledger::Entry;
    use capbench_model::places::Place;
    use capbench_model::trial::{Emptying, Load, Phase};

    use super::*;
    use crate::limit::Limit;
    use crate::recommendation::{Conclusion, Sustained};

    fn row(status: SustainedStatus, lower_pps: f64) -> Ranked {
        let lossless = Sustained {
            status,
            lower_pps: Some(lower_pps),
            upper_pps: None,
            at_most_pps: None,
            precision: None,
            searched_to: None,
            trials: vec![1],
        };
        Ranked {
            method: "recv".into(),
            rank: 1,
            below: None,
            nearly_lossless: lossless.clone(),
            lossless,
            cost: None,
            limited_by: None,
            lost_at: None,
            trials: 1,
            disturbed: 0,
        }
    }

    /// Lost in the ring, and read for so long after sending ended.
    fn trial(lost: u64, after_s: f64) -> TrialResult {
        let load = Load::Rate("100k".parse().unwrap());
        let measured = measured(100_000, 100_000, 100_000 - lost, lost);
        let mut trial = measured.result(1, Phase::Search, &profile("recv"), load, Duration::from_secs(1));
        trial.ledger =
            vec![Entry { place: Place::Ring, count: Some(lost), source: String::new(), source_fact: None }];
        trial.emptying = Some(Emptying { after_s, holds_s: 0.0 });
        trial.cpu.batches = 100_000;
        trial
    }

    #[test]
    fn trials_at_the_bounds_show_where_frames_are_lost_or_wait() {
        let too_slow = Ranked { limited_by: Some(Limit::Application), ..row(SustainedStatus::Between, 1e5) };
        let limit = |lost, after_s| too_slow.lossless_limit(Question::HighestRate, &[trial(lost, after_s)]);
        assert_eq!(limit(1000, 0.0), Some(LimitedBy::Place(Place::Ring)));
        assert_eq!(limit(1000, 0.25), Some(LimitedBy::Application), "20,000 remained in the buffer");
        assert_eq!(limit(0, 0.25), Some(LimitedBy::Application));
        let unknown = row(SustainedStatus::Between, 1e5);
        assert_eq!(unknown.lossless_limit(Question::HighestRate, &[trial(0, 0.0)]), None);
    }

    #[test]
    fn a_generator_limits_no_load_of_the_user() {
        let limited_by = Some(Limit::Generator);
        let row = Ranked { limited_by, ..row(SustainedStatus::AtLeast, 1e5) };
        assert_eq!(row.lossless_limit(Question::HighestRate, &[]), Some(LimitedBy::Generator));
        assert_eq!(row.lossless_limit(Question::CheapestAt { pps: 1e5 }, &[]), None);
    }

    #[test]
    fn a_generator_that_sent_more_than_twice_as_much_in_another_trial_is_no_limit() {
        let row = Ranked { limited_by: Some(Limit::Generator), ..row(SustainedStatus::AtLeast, 1e5) };
        for (sent, other_method, limit) in [
            (190_000, false, LimitedBy::Generator),
            (210_000, false, LimitedBy::Noise),
            (210_000, true, LimitedBy::Generator),
        ] {
            let mut more = trial(0, 0.0);
            (more.number, more.offered_pps) = (2, f64::from(sent));
            if other_method {
                more.profile.method = "packet-v2".into();
            }
            assert_eq!(
                row.lossless_limit(Question::HighestRate, &[trial(0, 0.0), more]),
                Some(limit),
                "{sent}"
            );
        }
        let mut more = trial(0, 0.0);
        (more.number, more.offered_pps) = (2, 210_000.0);
        let unlimited = Ranked { limited_by: None, ..row };
        assert_eq!(
            unlimited.lossless_limit(Question::HighestRate, &[trial(0, 0.0), more]),
            None,
            "the time was over"
        );
    }

    #[test]
    fn an_order_follows_rates_that_differ_by_more_than_a_hundredth() {
        for (below_pps, is_out_of_order) in [(0.9e5, false), (1.008e5, false), (1.012e5, true)] {
            let methods = vec![row(SustainedStatus::Between, 1e5), row(SustainedStatus::Between, below_pps)];
            let ranking = Ranking {
                frame_size: profile("recv").frame_size,
                placement: profile("recv").placement,
                work: profile("recv").work,
                precision: None,
                equal_load_pps: None,
                turns: None,
                methods,
                conclusion: Conclusion::Nothing,
            };
            assert_eq!(ranking.is_out_of_order(), is_out_of_order, "{below_pps}");
        }
    }
}
