//! What a search will cost, before it starts: the search itself, run on paths of known capacity that lose nothing below it.

use std::time::Duration;

use capbench_frames::rates::Pps;

use super::database::{Database, Observation};
use super::maximum::UNPACED;
use super::plan::SearchPlan;
use super::strategist::pursue;
use crate::cost::{Cost, Meter, Spread};
use crate::error::{MeasureError, Result};

/// Parts of the range of loads, by its logarithm; a capacity between any two is tried.
const CAPACITIES: u32 = 24;
/// The maximum load that stands for one that only the self-test will tell. The count of trials depends on its logarithm.
const SUPPOSED_MAXIMUM: f64 = 1e6;
/// Trials of the self-test, where the generator keeps to its plan at once.
const SELF_TEST_TRIALS: u32 = UNPACED + 1;
/// A search of more trials takes days beside its traffic.
const MOST_TRIALS: u32 = 100_000;

/// What a search costs on a path without noise. With noise it takes more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Where the maximum load is held.
    pub at_maximum: Cost,
    /// Where it is not, by how high a load is.
    pub below: Spread,
    /// Where it sends least of all.
    pub least_traffic: Cost,
}

impl SearchPlan {
    /// What the search will cost.
    ///
    /// # Errors
    /// Goals that cannot be searched together, and those that need too many trials.
    pub fn estimate(&self) -> Result<Estimate> {
        let maximum = self.supposed_maximum()?;
        let at_maximum = self.cost(maximum, maximum)?;
        let costs: Result<Vec<_>> =
            self.capacities(maximum).map(|capacity| self.cost(maximum, capacity)).collect();
        let costs = costs?;
        let all = costs.iter().copied().chain([at_maximum]);
        let least_traffic = all.min_by_key(|cost| cost.traffic).unwrap_or(at_maximum);
        Ok(Estimate { at_maximum, below: Spread::of(costs, self.quiet), least_traffic })
    }

    /// The maximum load, or what stands for it before it is known.
    pub(crate) fn supposed_maximum(&self) -> Result<Pps> {
        let supposed = self.line_rate_pps.map_or(SUPPOSED_MAXIMUM, Pps::get).max(self.least_pps.get() * 2.0);
        Ok(self.maximum_pps.unwrap_or(Pps::new(supposed)?))
    }

    /// Capacities over the range of loads.
    fn capacities(&self, maximum: Pps) -> impl Iterator<Item = Pps> {
        let (least, span) = (self.least_pps.get(), maximum.get() / self.least_pps.get());
        (1..CAPACITIES).filter_map(move |position| {
            Pps::new(least * span.powf(f64::from(position) / f64::from(CAPACITIES))).ok()
        })
    }

    /// What the search costs on a path that holds so much.
    ///
    /// # Errors
    /// As [`Self::estimate`].
    pub(crate) fn cost(&self, maximum: Pps, capacity: Pps) -> Result<Cost> {
        let mut meter = Meter::default();
        if self.maximum_pps.is_none() {
            let lost = loss_ratio(capacity, maximum);
            (0..SELF_TEST_TRIALS).for_each(|_| meter.trial(self.self_test_trial(), lost));
        }
        let mut strategists = self.strategists(maximum)?;
        pursue(&mut strategists, &mut Database::default(), |request, _| {
            let lost = loss_ratio(capacity, request.load);
            meter.trial(request.duration, lost);
            if meter.cost().trials > MOST_TRIALS {
                return Err(MeasureError::Search {
                    reason: format!(
                        "the goals can need more than {MOST_TRIALS} trials; give smaller sums, longer trials or larger widths"
                    ),
                });
            }
            Ok(Observation {
                number: meter.cost().trials,
                load: request.load,
                duration: request.duration,
                loss_ratio: lost,
                path_loss_ratio: lost,
                achieved: request.load,
                loss_events: None,
            })
        })?;
        Ok(meter.cost())
    }
}

/// What a path loses that takes what it holds, and no more.
fn loss_ratio(capacity: Pps, load: Pps) -> f64 {
    (1.0 - capacity.get() / load.get()).max(0.0)
}

/// Whether the time and the traffic allowed can suffice; warnings where they need not. What surely takes longer is traffic;
/// what trials take beside it is a guess, and refuses nothing.
pub(super) fn enough(plan: &SearchPlan) -> Result<Vec<String>> {
    type Uses = fn(Cost, Duration) -> Duration;
    let limits: [(_, _, Uses); 2] = [
        (plan.time_allowed, "", |cost, quiet| cost.time(quiet)),
        (plan.traffic_allowed, " of traffic", |cost, _| cost.traffic),
    ];
    if limits.iter().all(|(allowed, ..)| allowed.is_none()) {
        return Ok(Vec::new());
    }
    let Estimate { at_maximum, below: Spread { least, most, .. }, least_traffic } = plan.estimate()?;
    let words = |cost: Cost| {
        let (traffic, time) = (cost.traffic.as_secs_f64(), cost.time(plan.quiet).as_secs_f64());
        format!("{} trials, {traffic:.0} s of traffic and about {time:.0} s in all", cost.trials)
    };
    let mut warnings = Vec::new();
    for (allowed, of, uses) in limits {
        let Some(allowed) = allowed else { continue };
        let given = format!("{}{of}", humantime::format_duration(allowed));
        if least_traffic.traffic > allowed {
            return Err(MeasureError::Search {
                reason: format!(
                    "{given} cannot suffice: the goals need at least {}; allow more time, or give goals with shorter \
                     trials, smaller sums or larger widths",
                    words(least_traffic)
                ),
            });
        }
        let takes_longer = |cost: Cost| uses(cost, plan.quiet) > allowed;
        let words = words(most);
        warnings.extend(match (takes_longer(least), takes_longer(most)) {
            (true, _) if takes_longer(at_maximum) => {
                Some(format!("{given} will hardly suffice: the goals need {words}, or more"))
            }
            (true, _) => Some(format!(
                "{given} will hardly suffice unless the maximum load is held: the goals can need {words}, or more on a noisy \
                 host"
            )),
            (false, true) => {
                Some(format!("{given} may not suffice: the goals can need {words}, or more on a noisy host"))
            }
            (false, false) => None,
        });
    }
    Ok(warnings)
}
