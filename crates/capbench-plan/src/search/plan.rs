//! Checks the plan of a search and estimates its cost. The estimate runs the search itself, on paths of known capacity that lose nothing below
//! it.

use std::time::Duration;

use capbench_frames::rates::Pps;

use super::grid::Grid;
use super::mlr::Mlr;
use super::strategist::{Binary, Strategist, pursue};
use crate::cost::{Cost, Meter, SUPPOSED_MAXIMUM, Spread};
use crate::{PlanError, Result};
use capbench_judge::JudgeError;
use capbench_judge::search::database::Database;
use capbench_judge::search::{Goal, SearchPlan, Strategy};
use capbench_judge::sustained::Observation;
use capbench_judge::thresholds::{SHORT_FINAL_TRIAL, UNPACED_TRIALS};
use capbench_model::figures::grouped;

/// Divisions of the logarithmic range of loads. The estimate tries one capacity in each.
const CAPACITIES: u32 = 24;
/// A search of more trials takes days in addition to its traffic.
const MOST_TRIALS: u32 = 100_000;

/// The cost of a search on a path without noise. With noise it costs more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// If the maximum load is sustained.
    pub at_maximum: Cost,
    /// If it is not, by the level of the capacity.
    pub below: Spread,
    /// The case with the least sending.
    pub least_traffic: Cost,
}

/// Checks the plan, with warnings for doubtful settings. Fails with a contradiction, and if the allowed time cannot
/// suffice.
pub fn validate(plan: &SearchPlan) -> Result<Vec<String>> {
    let refuse = |reason: String| Err(PlanError::Search { reason });
    if plan.goals.is_empty() {
        return refuse("there is no goal; give one, for example ndr".into());
    }
    for (position, goal) in plan.goals.iter().enumerate() {
        goal.validate()?;
        if plan.goals[..position].iter().any(|other| other.name == goal.name) {
            return refuse(format!("two goals are called {}; give one of them another name", goal.name));
        }
        let frames = plan.least_pps.get() * goal.shortest_trial().as_secs_f64();
        if frames < f64::from(plan.burst_frames.max(1)) {
            let (short, change) = match plan.burst_frames {
                0 | 1 => ("less than a frame".into(), ""),
                burst => (
                    format!("{frames:.0} frames, which is shorter than a burst of {burst}"),
                    " or smaller bursts",
                ),
            };
            return Err(JudgeError::Goal {
                goal: goal.name.clone(),
                reason: format!(
                    "a trial of {:?} at the least load, {} packets/s, is {short}; give a longer duration, a higher least \
                     load{change}",
                    goal.shortest_trial(),
                    grouped(plan.least_pps.get()),
                ),
            }
            .into());
        }
    }
    if plan.self_test.is_zero() {
        return refuse("the self-test of the generator needs a duration above 0".into());
    }
    let least = grouped(plan.least_pps.get());
    if let Some(line) = plan.line_rate_pps.filter(|line| plan.least_pps >= *line) {
        return refuse(format!(
            "the least load, {least} packets/s, is not below the line rate, {} packets/s of this size",
            grouped(line.get().floor())
        ));
    }
    if let Some(maximum) = plan.maximum_pps {
        let given = grouped(maximum.get());
        if maximum <= plan.least_pps {
            return refuse(format!(
                "the maximum load, {given} packets/s, is not above the least, {least} packets/s"
            ));
        }
        if let Some(line) = plan.line_rate_pps.filter(|line| maximum > *line) {
            return refuse(format!(
                "the maximum load, {given} packets/s, is above the line rate, {} packets/s of this size; give \
                 at most that, or no maximum load",
                grouped(line.get().floor())
            ));
        }
    }
    let mut warnings = doubts(plan);
    warnings.extend(enough(plan)?);
    Ok(warnings)
}

fn doubts(plan: &SearchPlan) -> Vec<String> {
    let mut warnings = Vec::new();
    let mlr = || plan.goals.iter().filter(|goal| goal.strategy == Strategy::Mlr);
    let most_loss = mlr().map(|goal| goal.loss_ratio).reduce(|a, b| if b > a { b } else { a });
    for goal in mlr() {
        if let Some(loss) = most_loss.filter(|loss| goal.width.ratio() < *loss) {
            warnings.push(format!(
                "goal {}: its width {} is below the loss ratio {loss} of another goal, which RFC 9971 advises against",
                goal.name, goal.width
            ));
        }
    }
    if mlr().any(|goal| Some(goal.final_duration) != mlr().next().map(|first| first.final_duration)) {
        warnings.push(
            "goals have different trial durations: they share fewer trials than they could (RFC 9971)".into(),
        );
    }
    for goal in plan.goals.iter().filter(|goal| goal.final_duration < SHORT_FINAL_TRIAL) {
        warnings.push(format!(
            "goal {}: trials of {:?}; RFC 2544 section 24 asks for {} s at least",
            goal.name,
            goal.final_duration,
            SHORT_FINAL_TRIAL.as_secs()
        ));
    }
    warnings
}

/// The strategies that choose the trials: one for all MLR goals, one for each other goal. Short trials come first.
pub(super) fn strategists(plan: &SearchPlan, maximum: Pps) -> Result<Vec<Box<dyn Strategist>>> {
    let (mlr, others): (Vec<Goal>, Vec<Goal>) =
        plan.goals.iter().cloned().partition(|goal| goal.strategy == Strategy::Mlr);
    let mut strategists: Vec<Box<dyn Strategist>> = Vec::new();
    if !mlr.is_empty() {
        let widths: Vec<_> = mlr.iter().map(|goal| goal.width.ratio()).collect();
        let grid = Grid::new(plan.least_pps, maximum, &widths)?;
        let delivered = plan.overload.map(|overload| plan.starts_at_pps.unwrap_or(overload.read_pps));
        strategists.push(Box::new(Mlr::new(&mlr, grid, delivered)));
    }
    for goal in others {
        strategists.push(Box::new(Binary::new(goal, plan.least_pps, maximum)));
    }
    Ok(strategists)
}

/// Estimates the cost of the search. Fails for goals that cannot be searched together, or that need too many trials.
pub fn estimate(plan: &SearchPlan) -> Result<Estimate> {
    let maximum = supposed_maximum(plan)?;
    let at_maximum = cost(plan, maximum, maximum)?;
    let costs: Result<Vec<_>> =
        capacities(plan, maximum).map(|capacity| cost(plan, maximum, capacity)).collect();
    let costs = costs?;
    let all = costs.iter().copied().chain([at_maximum]);
    let least_traffic = all.min_by_key(|cost| cost.traffic).unwrap_or(at_maximum);
    Ok(Estimate { at_maximum, below: Spread::from_costs(costs, plan.quiet), least_traffic })
}

/// The maximum load, or its assumed value before it is known.
pub(crate) fn supposed_maximum(plan: &SearchPlan) -> Result<Pps> {
    let supposed = plan.line_rate_pps.map_or(SUPPOSED_MAXIMUM, Pps::get).max(plan.least_pps.get() * 2.0);
    let known = plan.maximum_pps.or(plan.overload.map(|overload| overload.offered_pps));
    Ok(known.unwrap_or(Pps::new(supposed)?))
}

fn capacities(plan: &SearchPlan, maximum: Pps) -> impl Iterator<Item = Pps> {
    let (least, span) = (plan.least_pps.get(), maximum.get() / plan.least_pps.get());
    (1..CAPACITIES).filter_map(move |position| {
        Pps::new(least * span.powf(f64::from(position) / f64::from(CAPACITIES))).ok()
    })
}

/// The cost of the search on a path with this capacity.
pub(crate) fn cost(plan: &SearchPlan, maximum: Pps, capacity: Pps) -> Result<Cost> {
    let mut meter = Meter::default();
    if plan.maximum_pps.is_none() && plan.overload.is_none() {
        let lost = loss_ratio(capacity, maximum);
        // The generator follows its plan at once.
        (0..=UNPACED_TRIALS).for_each(|_| meter.trial(plan.self_test_trial(), lost));
    }
    let mut strategists = strategists(plan, maximum)?;
    pursue(&mut strategists, &mut Database::default(), |request, _| {
        let lost = loss_ratio(capacity, request.load);
        meter.trial(request.duration, lost);
        if meter.cost().trials > MOST_TRIALS {
            return Err(PlanError::Search {
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
        })
    })?;
    Ok(meter.cost())
}

/// The loss of a path that delivers its capacity and no more.
fn loss_ratio(capacity: Pps, load: Pps) -> f64 {
    (1.0 - capacity.get() / load.get()).max(0.0)
}

/// Checks whether the allowed time and traffic suffice, by the certain minimum of traffic; the overhead is a guess.
pub(super) fn enough(plan: &SearchPlan) -> Result<Vec<String>> {
    type Uses = fn(Cost, Duration) -> Duration;
    let limits: [(_, _, Uses); 2] = [
        (plan.time_allowed, "", |cost, quiet| cost.time(quiet)),
        (plan.traffic_allowed, " of traffic", |cost, _| cost.traffic),
    ];
    // After an overload trial the search is part of a plan that shares out its time: what it has shown by then is its result.
    if plan.overload.is_some() || limits.iter().all(|(allowed, ..)| allowed.is_none()) {
        return Ok(Vec::new());
    }
    let Estimate { at_maximum, below: Spread { least, most, .. }, least_traffic } = estimate(plan)?;
    let words = |cost: Cost| {
        let (traffic, time) = (cost.traffic.as_secs_f64(), cost.time(plan.quiet).as_secs_f64());
        format!("{} trials, {traffic:.0} s of traffic and about {time:.0} s in all", cost.trials)
    };
    let mut warnings = Vec::new();
    for (allowed, of, uses) in limits {
        let Some(allowed) = allowed else { continue };
        let given = format!("{}{of}", humantime::format_duration(allowed));
        if least_traffic.traffic > allowed {
            return Err(PlanError::Search {
                reason: format!(
                    "{given} is too short: the goals need at least {}; allow more time, or give goals with shorter \
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
                "{given} will hardly suffice unless the maximum load is sustained: the goals can need {words}, or more on a noisy \
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
