//! The plan of a search and its cost. The estimate runs the search itself, on paths of known capacity that lose nothing below
//! it.

use std::time::Duration;

use capbench_frames::rates::Pps;
use serde::{Deserialize, Serialize};

use super::database::{Database, Observation};
use super::goal::{Goal, Strategy, seconds};
use super::grid::Grid;
use super::maximum::UNPACED;
use super::mlr::Mlr;
use super::strategist::{Binary, Strategist, pursue};
use crate::cost::{Cost, Meter, SUPPOSED_MAXIMUM, Spread};
use crate::{PlanError, Result};
use capbench_model::figures::grouped;
use capbench_model::trial::{TrialResult, Verdict};

/// Divisions of the logarithmic range of loads. The estimate tries one capacity in each.
const CAPACITIES: u32 = 24;
/// Trials of the self-test, if the generator follows its plan at once.
const SELF_TEST_TRIALS: u32 = UNPACED + 1;
/// A search of more trials takes days in addition to its traffic.
const MOST_TRIALS: u32 = 100_000;

/// A search: its goals and its limits. All other properties of its trials are constant and not part of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SearchPlan {
    /// The goals, which share one set of trials.
    pub goals: Vec<Goal>,
    /// The minimum load of the search.
    pub least_pps: Pps,
    /// The maximum load of the search. If absent, the self-test determines the generator's maximum.
    pub maximum_pps: Option<Pps>,
    /// The maximum load of the link, if it has a speed.
    pub line_rate_pps: Option<Pps>,
    /// Length of the self-test's trials.
    #[serde(rename = "self_test_s", with = "seconds")]
    #[schemars(with = "f64")]
    pub self_test: Duration,
    /// Time allowed for trials, including drains. A trial does not begin if its sending alone would exceed the remaining time.
    #[serde(rename = "time_allowed_s", with = "seconds::optional")]
    #[schemars(with = "Option<f64>")]
    pub time_allowed: Option<Duration>,
    /// Sending time allowed for trials, without drains and other overhead. A trial does not begin if it would exceed the rest.
    #[serde(
        rename = "traffic_allowed_s",
        with = "seconds::optional",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<f64>")]
    pub traffic_allowed: Option<Duration>,
    /// Number of frames that the traffic sends at once; 1 if it is evenly spaced.
    pub burst_frames: u32,
    /// A trial at maximum load that ran before the search; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overload: Option<Overload>,
    /// The load of the first trial after that one; absent if it is the rate that the method delivered there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_at_pps: Option<Pps>,
    /// How long a trial waits for missing frames, as in its set-up. Only the estimate uses it.
    #[serde(rename = "quiet_s", with = "seconds", default)]
    #[schemars(with = "f64")]
    pub quiet: Duration,
}

/// A trial at maximum load of the same set-up. No self-test runs then: the generator's rate there is the maximum load of the
/// search, unless the user gives one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Overload {
    /// Its number.
    pub trial: u32,
    /// The offered load in frames per second.
    pub offered_pps: Pps,
    /// The rate at which the method read frames, in frames per second.
    pub read_pps: Pps,
    /// Whether the offered load depended on the receiver.
    pub load_depends: bool,
}

impl Overload {
    /// The overload that this trial was; `None` if it shows nothing.
    pub fn of(trial: &TrialResult) -> Option<Self> {
        let is_valid = trial.verdict != Verdict::Invalid;
        Some(Self {
            trial: trial.number,
            offered_pps: Pps::new(trial.offered_pps.floor()).ok().filter(|_| is_valid)?,
            read_pps: Pps::new(trial.read_pps().max(1.0)).ok()?,
            load_depends: trial.profile.load_depends_because.is_some(),
        })
    }
}

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

impl SearchPlan {
    /// A search for these goals with default limits.
    pub fn new(goals: Vec<Goal>) -> Self {
        Self {
            goals,
            least_pps: Pps::new(1000.0).expect("a legal rate"),
            maximum_pps: None,
            line_rate_pps: None,
            self_test: Duration::from_secs(1),
            time_allowed: None,
            traffic_allowed: None,
            burst_frames: 1,
            overload: None,
            starts_at_pps: None,
            quiet: Duration::ZERO,
        }
    }

    /// The same search on a link with this maximum rate; `None` if the link has no speed.
    #[must_use]
    pub fn on_link(&self, line_rate: Option<Pps>) -> Self {
        Self { line_rate_pps: line_rate, ..self.clone() }
    }

    /// Checks the plan, with warnings for doubtful settings. Fails with a contradiction, and if the allowed time cannot
    /// suffice.
    pub fn validate(&self) -> Result<Vec<String>> {
        let refuse = |reason: String| Err(PlanError::Search { reason });
        if self.goals.is_empty() {
            return refuse("there is no goal; give one, for example ndr".into());
        }
        for (position, goal) in self.goals.iter().enumerate() {
            goal.validate()?;
            if self.goals[..position].iter().any(|other| other.name == goal.name) {
                return refuse(format!("two goals are called {}; give one of them another name", goal.name));
            }
            let frames = self.least_pps.get() * goal.shortest_trial().as_secs_f64();
            if frames < f64::from(self.burst_frames.max(1)) {
                let (short, change) = match self.burst_frames {
                    0 | 1 => ("less than a frame".into(), ""),
                    burst => (
                        format!("{frames:.0} frames, which is shorter than a burst of {burst}"),
                        " or smaller bursts",
                    ),
                };
                return Err(PlanError::Goal {
                    goal: goal.name.clone(),
                    reason: format!(
                        "a trial of {:?} at the least load, {} packets/s, is {short}; give a longer duration, a higher least \
                         load{change}",
                        goal.shortest_trial(),
                        grouped(self.least_pps.get()),
                    ),
                });
            }
        }
        if self.self_test.is_zero() {
            return refuse("the self-test of the generator needs a duration above 0".into());
        }
        let least = grouped(self.least_pps.get());
        if let Some(line) = self.line_rate_pps.filter(|line| self.least_pps >= *line) {
            return refuse(format!(
                "the least load, {least} packets/s, is not below the line rate, {} packets/s of this size",
                grouped(line.get().floor())
            ));
        }
        if let Some(maximum) = self.maximum_pps {
            let given = grouped(maximum.get());
            if maximum <= self.least_pps {
                return refuse(format!(
                    "the maximum load, {given} packets/s, is not above the least, {least} packets/s"
                ));
            }
            if let Some(line) = self.line_rate_pps.filter(|line| maximum > *line) {
                return refuse(format!(
                    "the maximum load, {given} packets/s, is above the line rate, {} packets/s of this size; give \
                     at most that, or no maximum load",
                    grouped(line.get().floor())
                ));
            }
        }
        let mut warnings = self.doubts();
        warnings.extend(enough(self)?);
        Ok(warnings)
    }

    fn doubts(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let mlr = || self.goals.iter().filter(|goal| goal.strategy == Strategy::Mlr);
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
                "goals have different trial durations: they share fewer trials than they could (RFC 9971)"
                    .into(),
            );
        }
        for goal in self.goals.iter().filter(|goal| goal.final_duration < Duration::from_secs(60)) {
            warnings.push(format!(
                "goal {}: trials of {:?}; RFC 2544 section 24 asks for 60 s at least",
                goal.name, goal.final_duration
            ));
        }
        warnings
    }

    /// The strategies that choose the trials: one for all MLR goals, one for each other goal. Short trials come first.
    pub(super) fn strategists(&self, maximum: Pps) -> Result<Vec<Box<dyn Strategist>>> {
        let (mlr, others): (Vec<Goal>, Vec<Goal>) =
            self.goals.iter().cloned().partition(|goal| goal.strategy == Strategy::Mlr);
        let mut strategists: Vec<Box<dyn Strategist>> = Vec::new();
        if !mlr.is_empty() {
            let widths: Vec<_> = mlr.iter().map(|goal| goal.width.ratio()).collect();
            let grid = Grid::new(self.least_pps, maximum, &widths)?;
            let delivered = self.overload.map(|overload| self.starts_at_pps.unwrap_or(overload.read_pps));
            strategists.push(Box::new(Mlr::new(&mlr, grid, delivered)));
        }
        for goal in others {
            strategists.push(Box::new(Binary::new(goal, self.least_pps, maximum)));
        }
        Ok(strategists)
    }

    /// Estimates the cost of the search. Fails for goals that cannot be searched together, or that need too many trials.
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

    /// The maximum load, or its assumed value before it is known.
    pub(crate) fn supposed_maximum(&self) -> Result<Pps> {
        let supposed = self.line_rate_pps.map_or(SUPPOSED_MAXIMUM, Pps::get).max(self.least_pps.get() * 2.0);
        let known = self.maximum_pps.or(self.overload.map(|overload| overload.offered_pps));
        Ok(known.unwrap_or(Pps::new(supposed)?))
    }

    fn capacities(&self, maximum: Pps) -> impl Iterator<Item = Pps> {
        let (least, span) = (self.least_pps.get(), maximum.get() / self.least_pps.get());
        (1..CAPACITIES).filter_map(move |position| {
            Pps::new(least * span.powf(f64::from(position) / f64::from(CAPACITIES))).ok()
        })
    }

    /// The cost of the search on a path with this capacity.
    pub(crate) fn cost(&self, maximum: Pps, capacity: Pps) -> Result<Cost> {
        let mut meter = Meter::default();
        if self.maximum_pps.is_none() && self.overload.is_none() {
            let lost = loss_ratio(capacity, maximum);
            (0..SELF_TEST_TRIALS).for_each(|_| meter.trial(self.self_test_trial(), lost));
        }
        let mut strategists = self.strategists(maximum)?;
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
