//! The searches of a bench as plans: how precise, with trials of which length, and how many trials each is likely to need.

use std::time::Duration;

use capbench_frames::rates::Pps;

use crate::cost::Cost;
use crate::search::plan::{cost, supposed_maximum};
use capbench_judge::recommendation::{LOSSLESS, NEARLY_LOSSLESS};
use capbench_judge::search::{Goal, Overload, Ratio, SearchPlan, Strategy, Width};
use capbench_judge::sustained::{Criteria, is_sustained};
use capbench_judge::thresholds::{
    ASSUMED_CAPACITY, LONGER_SEARCH_TRIALS, LONGER_TRIALS_TIME, LOWEST_SEARCH_LOAD, METHOD_HOLD_TIME,
    NEARLY_LOSSLESS_RATIO,
};
use capbench_model::trial::{TICK, TrialResult, Verdict};

/// How a bench searches for sustained rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Searching {
    /// Requested distance of the bounds, as a share of the upper one.
    pub precision: Ratio,
    /// The time that all trials of the first visit may take.
    pub budget: Duration,
    /// Length of the trials of searches. Shorter trials do not show a smaller excess: [`Self::least_trial`].
    pub trial: Duration,
    /// How long a trial waits for missing frames.
    pub quiet: Duration,
}

impl Searching {
    /// The shortest trial that shows an excess of this share: the buffer absorbs the frames of the time that the receiver needs
    /// to notice the end, and of the time that the method may hold frames back.
    pub fn least_trial(precision: Ratio) -> Duration {
        (TICK + METHOD_HOLD_TIME).div_f64(precision.get().max(f64::MIN_POSITIVE))
    }

    /// The same with longer trials (four times, else twice) if what the searches then need is up to a part of the time left.
    pub(super) fn longer(&self, left: Duration, needs: impl Fn(&Self) -> Duration) -> Self {
        let time = left.mul_f64(LONGER_TRIALS_TIME);
        for factor in [LONGER_SEARCH_TRIALS, 2] {
            let longer = Self { trial: self.trial * factor, ..*self };
            if needs(&longer) <= time {
                return longer;
            }
        }
        *self
    }

    /// The search after a trial at maximum load, with a precision that is so many times coarser; `None` if that trial shows no limit of the
    /// method, or nothing at all.
    pub(super) fn plan(&self, overload: &TrialResult, coarser: u32) -> Option<SearchPlan> {
        if is_sustained(overload) || overload.verdict == Verdict::Invalid {
            return None;
        }
        let precision = Ratio::new(self.precision.get() * f64::from(coarser)).ok()?;
        // A coarser search has fewer trials, but no shorter ones: these would not meet a loss that lasts for a moment.
        let goals = vec![
            goal(LOSSLESS, Ratio::ZERO, precision, self.trial),
            goal(NEARLY_LOSSLESS, Ratio::new(NEARLY_LOSSLESS_RATIO).ok()?, precision, self.trial),
        ];
        let overload = Overload::from_trial(overload)?;
        let plan = SearchPlan::new(goals);
        let least = plan.least_pps.get().max(overload.read_pps.get() * LOWEST_SEARCH_LOAD);
        let least_pps = Pps::new(least).ok().filter(|least| *least < overload.offered_pps)?;
        Some(SearchPlan { least_pps, overload: Some(overload), quiet: self.quiet, ..plan })
    }

    /// The trials that a search after this trial at maximum load is likely to need; 0 if none follows it.
    pub(super) fn likely_trials(&self, overload: &TrialResult, coarser: u32) -> usize {
        let cost = self.plan(overload, coarser).and_then(|plan| likely_cost(&plan));
        cost.map_or(0, |cost| cost.trials as usize)
    }
}

/// The cost of a search if the capacity is a little more than what was read at maximum load; `None` if the search cannot run.
fn likely_cost(plan: &SearchPlan) -> Option<Cost> {
    let maximum = supposed_maximum(plan).ok()?;
    let capacity = Pps::new(plan.overload?.read_pps.get() * ASSUMED_CAPACITY).ok()?;
    cost(plan, maximum, if capacity < maximum { capacity } else { maximum }).ok()
}

fn goal(name: &str, loss_ratio: Ratio, precision: Ratio, trial: Duration) -> Goal {
    let criteria = Criteria::of_repeats(loss_ratio, trial);
    Goal {
        name: name.into(),
        strategy: Strategy::Mlr,
        loss_ratio,
        exceed_ratio: criteria.exceed_ratio,
        width: Width::Relative(precision),
        final_duration: criteria.full_length,
        duration_sum: criteria.duration_sum,
        initial_duration: trial,
        preceding_targets: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trials_of_a_search_are_counted_for_a_little_more_than_was_read() {
        let searching = crate::for_tests::searching_bench_plan(&["recv"]).searching.unwrap();
        let trials = |sent: u64, lost: u64| {
            let measured = capbench_model::for_tests::measured(sent, sent, sent - lost, lost);
            let profile = capbench_model::for_tests::profile("recv");
            let load = capbench_model::trial::Load::Maximum;
            let phase = capbench_model::trial::Phase::BestEffort;
            let overload = measured.result(1, phase, &profile, load, Duration::from_secs(1));
            searching.likely_trials(&overload, 1)
        };
        let counted: Vec<usize> = (1..10).map(|tenth| trials(1_000_000, tenth * 50_000)).collect();
        assert_eq!(counted, [4, 5, 4, 4, 4, 4, 4, 4, 4], "it loses 5 % to 45 %");
    }
}
