//! What a search will cost, before it starts: the search itself, run on paths of known capacity that lose nothing below it.

use std::time::Duration;

use capbench_traffic::rates::Pps;

use super::conduct::pursue;
use super::database::{Database, Observation};
use super::plan::SearchPlan;
use super::request::Request;
use crate::error::{MeasureError, Result};

/// Parts of the range of loads, by its logarithm; a capacity between any two is tried.
const CAPACITIES: u32 = 24;
/// The maximum load that stands for one that only the self-test will tell. The count of trials depends on its logarithm.
const SUPPOSED_MAXIMUM: f64 = 1e6;
/// Trials of the self-test, where the generator keeps to its plan at once.
const SELF_TEST_TRIALS: u32 = 2;
/// A search of more trials takes days beside its traffic.
const MOST_TRIALS: u32 = 100_000;

/// Trials, and how long they send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    /// Seconds of traffic.
    pub traffic: Duration,
    /// How many trials.
    pub trials: u32,
}

impl Cost {
    /// Traffic, and `between` for each trial: drain, settling, opening rings.
    pub fn with(self, between: Duration) -> Duration {
        self.traffic + between * self.trials
    }
}

/// What a search costs on a path without noise. With noise it takes more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Where the maximum load is held.
    pub at_maximum: Cost,
    /// Where it is not: at the luckiest capacity.
    pub least: Cost,
    /// Half of the capacities take at most that.
    pub median: Cost,
    /// At the unluckiest.
    pub most: Cost,
}

impl Estimate {
    /// The least of all.
    pub(super) fn soonest(self) -> Cost {
        self.at_maximum.min(self.least)
    }
}

impl SearchPlan {
    /// What the search will cost.
    ///
    /// # Errors
    /// Goals that cannot be searched together, and those that need too many trials.
    pub fn estimate(&self) -> Result<Estimate> {
        let supposed = self.line_rate_pps.map_or(SUPPOSED_MAXIMUM, Pps::get).max(self.least_pps.get() * 2.0);
        let maximum = self.maximum_pps.unwrap_or(Pps::new(supposed)?);
        let span = maximum.get() / self.least_pps.get();
        let capacity =
            |position: u32| self.least_pps.get() * span.powf(f64::from(position) / f64::from(CAPACITIES));
        let costs: Result<Vec<_>> =
            (1..CAPACITIES).map(|position| self.cost(maximum, capacity(position))).collect();
        let mut costs = costs?;
        costs.sort();
        Ok(Estimate {
            at_maximum: self.cost(maximum, maximum.get())?,
            least: costs[0],
            median: costs[costs.len() / 2],
            most: costs[costs.len() - 1],
        })
    }

    fn cost(&self, maximum: Pps, capacity: f64) -> Result<Cost> {
        let self_tests = if self.maximum_pps.is_some() { 0 } else { SELF_TEST_TRIALS };
        let mut cost = Cost { traffic: self.self_test * self_tests, trials: self_tests };
        let mut strategists = self.strategists(maximum)?;
        pursue(&mut strategists, &mut Database::default(), |request| {
            cost.trials += 1;
            cost.traffic += request.duration;
            if cost.trials > MOST_TRIALS {
                return Err(MeasureError::Search {
                    reason: format!(
                        "the goals can need more than {MOST_TRIALS} trials; give smaller sums, longer trials or larger widths"
                    ),
                });
            }
            Ok(lossless_below(capacity, request, cost.trials))
        })?;
        Ok(cost)
    }
}

/// A trial on a path that loses what is above its capacity, and nothing else.
fn lossless_below(capacity: f64, request: Request, number: u32) -> Observation {
    let loss_ratio = (1.0 - capacity / request.load.get()).max(0.0);
    Observation {
        number,
        load: request.load,
        duration: request.duration,
        loss_ratio,
        path_loss_ratio: loss_ratio,
        achieved: request.load,
        loss_events: None,
    }
}

/// Whether the time allowed can suffice; a warning where it need not.
pub(super) fn enough_time(plan: &SearchPlan) -> Result<Option<String>> {
    let Some(allowed) = plan.time_allowed else { return Ok(None) };
    let estimate = plan.estimate()?;
    let words =
        |cost: Cost| format!("{} trials with {:.0} s of traffic", cost.trials, cost.traffic.as_secs_f64());
    let time = humantime::format_duration(allowed);
    if estimate.soonest().traffic > allowed {
        return Err(MeasureError::Search {
            reason: format!(
                "{time} cannot suffice: the goals need {} at least; allow more time, or give goals with shorter trials, \
                 smaller sums or larger widths",
                words(estimate.soonest())
            ),
        });
    }
    let needed = words(estimate.most);
    Ok(if estimate.least.traffic > allowed {
        Some(format!(
            "{time} will not suffice unless the maximum load is held: the goals need up to {needed}"
        ))
    } else {
        (estimate.most.traffic > allowed)
            .then(|| format!("{time} may not suffice: the goals can need {needed}, more on a noisy host"))
    })
}
