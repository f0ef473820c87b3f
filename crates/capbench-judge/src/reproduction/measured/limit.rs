//! What it means that visits meet a limit: which frames count, also buffered ones, and how many visits may miss it.

use serde::Deserialize;

use super::figure::Figure;
use super::visits::Visits;
use crate::disturbed::are_explained;
use crate::sustained::highest_undisturbed;
use crate::thresholds::REPRODUCTION_FALSE_ALARMS;
use capbench_statistics::sign_test;

/// A limit that each visit must meet.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Limit {
    /// At least this value, and not only because the buffer had room until sending ended.
    AtLeast(f64),
    /// More than this value, under the same condition.
    Above(f64),
    /// This value or less.
    AtMost(f64),
    /// Less than this value.
    Below(f64),
}

impl Limit {
    /// Whether a share meets it the sooner, the more is lost.
    pub(crate) fn is_met_by_loss(self) -> bool {
        matches!(self, Self::AtMost(_) | Self::Below(_))
    }

    /// The limit that exactly those values meet that do not meet this one.
    pub(crate) fn contrary(self) -> Self {
        match self {
            Self::AtLeast(limit) => Self::Below(limit),
            Self::Above(limit) => Self::AtMost(limit),
            Self::AtMost(limit) => Self::Above(limit),
            Self::Below(limit) => Self::AtLeast(limit),
        }
    }

    fn is_met_by(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::Above(least) => value > least,
            Self::AtMost(most) => value <= most,
            Self::Below(most) => value < most,
        }
    }
}

impl Visits<'_> {
    /// Whether a share meets a limit in each of at least two visits, or in more of them than chance explains: a single one may be disturbed.
    pub(crate) fn meets(&self, limit: Limit, share: Figure) -> bool {
        let values = match limit {
            Limit::AtLeast(_) | Limit::Above(_) => self.values(share.without_buffered()),
            Limit::AtMost(_) | Limit::Below(_) => self.values(share),
        };
        if values.len() < 2 {
            return false;
        }
        let contrary = values.iter().filter(|value| !limit.is_met_by(**value)).count();
        contrary == 0 || 2.0 * sign_test(contrary, values.len()) <= REPRODUCTION_FALSE_ALARMS
    }

    /// Whether other work explains that a share is low enough for a limit, in more than half of the visits: without the time that it took, the
    /// share might be too high. Slow CPUs do not count: a hypervisor that slows its guests slows most trials.
    pub(crate) fn are_explained_by_noise(&self, limit: Limit, share: Figure) -> bool {
        if !limit.is_met_by_loss() {
            return false;
        }
        let values = self.values(share);
        let mut explained = 0;
        for (trial, value) in self.trials.iter().zip(&values) {
            let highest = highest_undisturbed(*value, &trial.disturbance.without_core_speed());
            explained += usize::from(limit.is_met_by(*value) && !limit.is_met_by(highest));
        }
        are_explained(explained, values.len())
    }

    /// Whether some visits meet a limit, and others do not.
    pub(crate) fn are_on_both_sides(&self, limit: Limit, share: Figure) -> bool {
        let values = self.values(share);
        let met = values.iter().filter(|value| limit.is_met_by(**value)).count();
        met > 0 && met < values.len()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::disturbance::CpuDisturbance;
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase};

    use super::{Figure, Limit, Visits};
    use crate::thresholds::REPRODUCTION_VISITS;

    #[test]
    fn noise_explains_a_loss_up_to_twice_the_time_that_it_took_and_no_limit_that_half_of_the_loss_meets() {
        let below = Limit::Below(0.99);
        for (captured, limit, disturbed, is_explained) in [
            (70_000, below, 9, true),
            (45_000, below, 9, true),
            (35_000, below, 9, false),
            (70_000, below, 5, true),
            (70_000, below, 4, false),
            (500, Limit::AtMost(0.01), 9, true),
            (500, Limit::AtMost(0.51), 9, false),
            (70_000, Limit::AtLeast(0.5), 9, false),
            (99_500, below, 9, false),
        ] {
            let mut trials = Vec::new();
            for nth in 0..9 {
                let second = Duration::from_secs(1);
                let trial = measured(100_000, 100_000, captured, 100_000 - captured);
                let mut trial = trial.result(1, Phase::Sweep, &profile("recv"), Load::Maximum, second);
                if nth < disturbed {
                    let (window_ns, foreign_ns) = (1_000_000_000, 300_000_000);
                    let cpu = CpuDisturbance { window_ns, foreign_ns, ..CpuDisturbance::default() };
                    trial.disturbance.cpus = vec![cpu];
                    trial.disturbance.sending_ns = window_ns;
                }
                trials.push(trial);
            }
            let visits = Visits { trials: trials.iter().collect() };
            let explained = visits.are_explained_by_noise(limit, Figure::Captured);
            assert_eq!(
                explained, is_explained,
                "{captured} of 100,000, {disturbed} disturbed visits, {limit:?}"
            );
        }
    }

    #[test]
    fn one_of_the_default_number_of_visits_may_miss_a_limit_and_one_of_eight_or_two_may_not() {
        let default = REPRODUCTION_VISITS;
        for (missed, visits, is_met) in [(0, 2, true), (1, 8, false), (1, default, true), (2, default, false)]
        {
            let mut trials = Vec::new();
            for nth in 0..visits {
                let lost = if nth < missed { 10 } else { 5000 };
                let trial = measured(100_000, 100_000, 100_000 - lost, lost);
                let second = Duration::from_secs(1);
                trials.push(trial.result(1, Phase::Sweep, &profile("recv"), Load::Maximum, second));
            }
            let is_below = Visits::from_trials(&trials).meets(Limit::Below(0.96), Figure::Captured);
            assert_eq!(is_below, is_met, "{missed} of {visits} visits");
        }
    }
}
