//! Checks the plan of a search and estimates its cost. The estimate runs the search itself, on paths of known capacity that lose nothing below
//! it, and on the same paths with noise that takes capacity and costs frames at any load.

use capbench_judge::search::warning::{Allowance, ChanceToSuffice, SearchNeed, SearchWarning};
use std::time::Duration;

use capbench_frames::rates::Pps;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::grid::Grid;
use super::mlr::Mlr;
use super::self_test;
use super::strategist::{Binary, Strategist, pursue};
use crate::cost::{Cost, Meter, SUPPOSED_MAXIMUM, Spread};
use crate::{PlanError, Result};
use capbench_judge::JudgeError;
use capbench_judge::durations::{Planned, PlannedTime, whole_run};
use capbench_judge::search::database::Database;
use capbench_judge::search::{Goal, SearchPlan, Strategy};
use capbench_judge::sustained::Observation;
use capbench_judge::thresholds::{MAXIMUM_RATE_TRIALS, NOISY_TRIAL_LOSS, NOISY_TRIALS, SHORT_FINAL_TRIAL};
use capbench_model::figures::grouped;

/// Divisions of the logarithmic range of loads. The estimate tries one capacity in each.
const CAPACITIES: u32 = 24;
/// A search of more trials takes days in addition to its traffic.
const MOST_TRIALS: u32 = 100_000;

/// Seed of the noise of an estimate: the same plan has the same estimate.
const SEED: u64 = 7;

/// The cost of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// If the maximum load is sustained.
    pub at_maximum: Cost,
    /// If it is not, by the level of the capacity, on a path without noise.
    pub below: Spread,
    /// The same on a path with noise: it can need many more trials.
    pub noisy: Spread,
    /// The case with the least sending.
    pub least_traffic: Cost,
}

/// Checks the plan, with warnings for doubtful settings. Fails with a contradiction, and if the allowed time cannot
/// suffice.
pub fn validate(plan: &SearchPlan) -> Result<Vec<SearchWarning>> {
    if plan.goals.is_empty() {
        return Err(refused("there is no goal; give one, for example ndr".into()));
    }
    for (position, goal) in plan.goals.iter().enumerate() {
        goal.validate()?;
        if plan.goals[..position].iter().any(|earlier| earlier.name == goal.name) {
            let name = &goal.name;
            return Err(refused(format!("two goals are called {name}; give one of them another name")));
        }
        check_shortest_trial(goal, plan)?;
    }
    if plan.self_test.is_zero() {
        return Err(refused("the self-test of the generator needs a duration above 0".into()));
    }
    check_loads(plan)?;
    let mut warnings = doubts(plan);
    warnings.extend(enough(plan)?);
    Ok(warnings)
}

fn refused(reason: String) -> PlanError {
    PlanError::Search { reason }
}

/// Fails if the shortest trial of a goal has less than a frame or a burst at the least load.
fn check_shortest_trial(goal: &Goal, plan: &SearchPlan) -> Result<()> {
    let trial = goal.shortest_trial();
    let frames = plan.least_pps.get() * trial.as_secs_f64();
    let burst = plan.burst_frames.max(1);
    if frames >= f64::from(burst) {
        return Ok(());
    }
    let least = grouped(plan.least_pps.get());
    if burst == 1 {
        return Err(refused_goal(
            goal,
            format!(
                "a trial of {trial:?} at the least load, {least} packets/s, is less than a frame; give a longer duration, a higher \
                 least load"
            ),
        ));
    }
    Err(refused_goal(
        goal,
        format!(
            "a trial of {trial:?} at the least load, {least} packets/s, is {frames:.0} frames, which is shorter than a burst of \
             {burst}; give a longer duration, a higher least load or smaller bursts"
        ),
    ))
}

fn refused_goal(goal: &Goal, reason: String) -> PlanError {
    JudgeError::Goal { goal: goal.name.clone(), reason }.into()
}

/// Fails if the least load, the maximum load and the line rate contradict each other.
fn check_loads(plan: &SearchPlan) -> Result<()> {
    let least = grouped(plan.least_pps.get());
    if let Some(line) = plan.line_rate_pps.filter(|line| plan.least_pps >= *line) {
        return Err(refused(format!(
            "the least load, {least} packets/s, is not below the line rate, {} packets/s of this size",
            grouped(line.get().floor())
        )));
    }
    let Some(maximum_pps) = plan.maximum_pps else { return Ok(()) };
    let maximum = grouped(maximum_pps.get());
    if maximum_pps <= plan.least_pps {
        return Err(refused(format!(
            "the maximum load, {maximum} packets/s, is not above the least, {least} packets/s"
        )));
    }
    if let Some(line) = plan.line_rate_pps.filter(|line| maximum_pps > *line) {
        return Err(refused(format!(
            "the maximum load, {maximum} packets/s, is above the line rate, {} packets/s of this size; give at most that, or no \
             maximum load",
            grouped(line.get().floor())
        )));
    }
    Ok(())
}

fn doubts(plan: &SearchPlan) -> Vec<SearchWarning> {
    let mut warnings = Vec::new();
    let mlr: Vec<&Goal> = plan.goals.iter().filter(|goal| goal.strategy == Strategy::Mlr).collect();
    let most_loss = mlr.iter().map(|goal| goal.loss_ratio).reduce(|a, b| if b > a { b } else { a });
    for goal in &mlr {
        if let Some(loss_ratio) = most_loss.filter(|loss| goal.width.ratio() < *loss) {
            let goal_name = goal.name.clone();
            warnings.push(SearchWarning::WidthBelowLoss { goal: goal_name, width: goal.width, loss_ratio });
        }
    }
    if mlr.iter().any(|goal| goal.final_duration != mlr[0].final_duration) {
        warnings.push(SearchWarning::UnequalDurations);
    }
    for goal in plan.goals.iter().filter(|goal| goal.final_duration < SHORT_FINAL_TRIAL) {
        let duration_ns = goal.final_duration.as_nanos() as u64;
        warnings.push(SearchWarning::ShortTrials { goal: goal.name.clone(), duration_ns });
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
    let mut noisy = Vec::new();
    for capacity in capacities(plan, maximum) {
        let mut noise = TrialNoise::new();
        let lossy = |load| noise.loss_ratio(capacity, load);
        noisy.push(cost_with(plan, maximum, MAXIMUM_RATE_TRIALS as u32, lossy)?);
    }
    let all = costs.iter().copied().chain([at_maximum]);
    let least_traffic = all.min_by_key(|cost| cost.traffic).unwrap_or(at_maximum);
    Ok(Estimate {
        at_maximum,
        below: Spread::from_costs(costs, plan.quiet),
        noisy: Spread::from_costs(noisy, plan.quiet),
        least_traffic,
    })
}

impl Estimate {
    /// The time of a run of `searches` searches, whose trials wait for `quiet`.
    pub fn time(&self, quiet: Duration, searches: u32) -> PlannedTime {
        let [without_noise, with_noise] =
            [self.below, self.noisy].map(|of| whole_run(of.median.times(searches).least_time(quiet)));
        PlannedTime { quiet: without_noise, disturbed: with_noise.max(without_noise) }
    }

    /// The likely number of trials, where it is not known how noisy the host is.
    pub fn trials(&self) -> usize {
        let without_noise = f64::from(self.below.median.trials);
        let with_noise = f64::from(self.noisy.median.trials);
        (without_noise * with_noise).sqrt().round() as usize
    }

    /// The whole run of `searches` searches.
    pub fn planned(&self, quiet: Duration, searches: u32) -> Planned {
        let without_noise = self.below.median.traffic.as_secs_f64();
        let sending_s = (without_noise * self.noisy.median.traffic.as_secs_f64()).sqrt();
        Planned {
            trials: self.trials() * searches as usize,
            sending: Duration::try_from_secs_f64(sending_s).unwrap_or(Duration::MAX).saturating_mul(searches),
            time: Some(self.time(quiet, searches)),
            rounds: 0,
        }
    }
}

/// Noise that costs frames in some trials at any load, and takes a part of the capacity in these.
struct TrialNoise {
    random: Xoshiro256PlusPlus,
}

impl TrialNoise {
    fn new() -> Self {
        Self { random: Xoshiro256PlusPlus::seed_from_u64(SEED) }
    }

    /// What the next trial loses on a path with this capacity.
    fn loss_ratio(&mut self, capacity: Pps, load: Pps) -> f64 {
        if self.draw() >= NOISY_TRIALS {
            return loss_ratio(capacity, load);
        }
        let kept = capacity.get() * self.draw();
        (1.0 - kept / load.get()).max(NOISY_TRIAL_LOSS)
    }

    /// A number from 0 to 1.
    fn draw(&mut self) -> f64 {
        self.random.next_u64() as f64 / u64::MAX as f64
    }
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
    cost_with(plan, maximum, self_test::fewest_trials(), |load| loss_ratio(capacity, load))
}

/// The cost of the search, and of a self-test of so many trials if it has one, if a trial loses this share of the frames of its load.
fn cost_with(
    plan: &SearchPlan,
    maximum: Pps,
    self_tests: u32,
    mut lost_share: impl FnMut(Pps) -> f64,
) -> Result<Cost> {
    let mut meter = Meter::default();
    if plan.maximum_pps.is_none() && plan.overload.is_none() {
        (0..self_tests).for_each(|_| meter.trial(plan.self_test_trial(), lost_share(maximum)));
    }
    let mut strategists = strategists(plan, maximum)?;
    pursue(&mut strategists, &mut Database::default(), |request, _| {
        let lost = lost_share(request.load);
        meter.trial(request.duration, lost);
        if meter.cost().trials > MOST_TRIALS {
            return Err(refused(format!(
                "the goals can need more than {MOST_TRIALS} trials; give smaller sums, longer trials or larger widths"
            )));
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
pub(super) fn enough(plan: &SearchPlan) -> Result<Vec<SearchWarning>> {
    let limits = [(plan.time_allowed, Allowance::Time), (plan.traffic_allowed, Allowance::Traffic)];
    // After an overload trial the search is part of a plan that shares out its time: what it has shown by then is its result.
    if plan.overload.is_some() || limits.iter().all(|(allowed, _)| allowed.is_none()) {
        return Ok(Vec::new());
    }
    let Estimate { at_maximum, below: Spread { least, most, .. }, least_traffic, .. } = estimate(plan)?;
    let mut warnings = Vec::new();
    for (allowed, allowance) in limits {
        let Some(allowed) = allowed else { continue };
        if least_traffic.traffic > allowed {
            return Err(PlanError::TooShort { allowed, allowance, need: need(least_traffic, plan.quiet) });
        }
        let takes_longer = |cost: Cost| match allowance {
            Allowance::Time => cost.least_time(plan.quiet) > allowed,
            Allowance::Traffic => cost.traffic > allowed,
        };
        let chance = if takes_longer(least) && takes_longer(at_maximum) {
            ChanceToSuffice::Hardly
        } else if takes_longer(least) {
            ChanceToSuffice::HardlyBelowMaximum
        } else if takes_longer(most) {
            ChanceToSuffice::Perhaps
        } else {
            continue;
        };
        let need = need(most, plan.quiet);
        warnings.push(SearchWarning::MayNotSuffice {
            allowed_s: allowed.as_secs_f64(),
            allowance,
            chance,
            need,
        });
    }
    Ok(warnings)
}

fn need(cost: Cost, quiet: Duration) -> SearchNeed {
    SearchNeed {
        trials: cost.trials,
        traffic_s: cost.traffic.as_secs_f64(),
        time_s: cost.least_time(quiet).as_secs_f64(),
    }
}
