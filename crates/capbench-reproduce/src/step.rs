//! Parts of an experiment: a sweep, separate trials, or searches; their cost, and their run.

use capbench_judge::search::SearchPlan;
use capbench_model::laboratory::Setup;
use capbench_model::method_spec::MethodSpec;
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::{Load, Phase};
use capbench_plan::Result;
use capbench_plan::cost::{Cost, Spread};
use capbench_plan::rehearsal::Rehearsal;
use capbench_plan::search;
use capbench_plan::session::Session;
use capbench_plan::simulated::{SimulatedLaboratory, SimulatedMethod};
use capbench_plan::sweep::SweepPlan;
use std::time::Duration;

/// How often a trial is repeated. Seldom is a third of the visits, and often three times as many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frequency {
    /// In every third pass.
    Seldom,
    /// Once in each pass.
    Usual,
    /// Three times in each pass.
    Often,
}

impl Frequency {
    /// How many times the trial is in a pass, counted from 0.
    pub fn times_in(self, pass: u32) -> u32 {
        match self {
            Self::Seldom => u32::from(pass.is_multiple_of(3)),
            Self::Usual => 1,
            Self::Often => 3,
        }
    }

    /// Its number in so many passes.
    pub fn visits(self, passes: u32) -> u32 {
        match self {
            Self::Seldom => passes.div_ceil(3),
            Self::Usual => passes,
            Self::Often => 3 * passes,
        }
    }
}

/// A requested trial, repeated for each visit.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its set-up.
    pub setup: Setup,
    /// The load.
    pub load: Load,
    /// Length of the trial.
    pub duration: Duration,
    /// How often it is repeated.
    pub frequency: Frequency,
}

/// The action of a step.
#[derive(Clone, Debug)]
pub enum Action {
    /// A sweep of one parameter.
    Sweep(Box<SweepPlan>),
    /// Trials that differ in more than one parameter, in random order.
    Trials {
        /// Each once per visit, or more seldom or often.
        cases: Vec<Case>,
        /// Number of visits, each a pass over the cases.
        visits: u32,
        /// Seed of the order.
        seed: u64,
    },
    /// One search for each of these. The maximum load depends on the frame size of the set-up.
    Searches(Vec<(Setup, SearchPlan)>),
}

/// A part of an experiment.
#[derive(Clone, Debug)]
pub struct Step {
    /// The name by which comparisons refer to it.
    pub name: String,
    /// Its description, in one line.
    pub summary: String,
    /// Its action.
    pub action: Action,
}

/// Rates at which hosts read frames, packets/s: a slow host, a typical one, and one that loses nothing.
const TAKEN: [f64; 3] = [1e5, TYPICAL, 1e7];
const TYPICAL: f64 = 6e5;
/// The assumed maximum rate of the generator.
const SUPPOSED_MAXIMUM: f64 = 1e6;

impl Step {
    /// Its set-ups. A sweep has one for every placement with every method.
    pub fn setups(&self) -> Vec<Setup> {
        match &self.action {
            Action::Sweep(plan) => {
                let own = [plan.base.placement];
                let placements = if plan.placements.is_empty() { &own[..] } else { &plan.placements };
                let of = |placement: &PlacementChoice| {
                    let placement = *placement;
                    let methods = plan.methods.iter().cloned();
                    methods.map(move |method| Setup { method, placement, ..plan.base.clone() })
                };
                placements.iter().flat_map(of).collect()
            }
            Action::Trials { cases, .. } => cases.iter().map(|case| case.setup.clone()).collect(),
            Action::Searches(searches) => searches.iter().map(|(setup, _)| setup.clone()).collect(),
        }
    }

    /// The step without unavailable methods.
    #[must_use]
    pub(crate) fn without(mut self, left_out: &[(PlacementChoice, MethodSpec)]) -> Self {
        let is_had = |setup: &Setup| !left_out.contains(&(setup.placement, setup.method.clone()));
        match &mut self.action {
            Action::Sweep(plan) => plan.left_out = left_out.to_vec(),
            Action::Trials { cases, .. } => cases.retain(|case| is_had(&case.setup)),
            Action::Searches(searches) => searches.retain(|(setup, _)| is_had(setup)),
        }
        self
    }

    /// Approximate number of trials. Fails for a plan that contradicts itself.
    pub fn trials(&self) -> Result<usize> {
        Ok(match &self.action {
            Action::Sweep(plan) => plan.trials(),
            Action::Trials { cases, visits, .. } => {
                cases.iter().map(|case| case.frequency.visits(*visits) as usize).sum()
            }
            Action::Searches(_) => self.estimate()?.median.trials as usize,
        })
    }

    /// Its cost on paths without noise. Fails for a plan that contradicts itself.
    pub fn estimate(&self) -> Result<Spread> {
        match &self.action {
            Action::Sweep(plan) => plan.estimate(),
            Action::Trials { cases, visits, .. } => {
                let quiet = cases.first().map_or(Duration::ZERO, |case| case.setup.quiet);
                let costs: Result<Vec<Cost>> =
                    TAKEN.into_iter().map(|read_pps| rehearsed(cases, *visits, read_pps)).collect();
                Ok(Spread::from_costs(costs?, quiet))
            }
            Action::Searches(searches) => {
                let mut sum = Spread::default();
                for (_, plan) in searches {
                    let estimate = search::estimate(plan)?;
                    let median = if plan.maximum_pps.is_some_and(|most| most.get() <= TYPICAL) {
                        estimate.at_maximum
                    } else {
                        estimate.below.median
                    };
                    sum = sum.and(Spread { least: estimate.at_maximum, median, ..estimate.below });
                }
                Ok(sum)
            }
        }
    }
}

/// The cost of all visits if every method reads frames at the rate `read_pps`.
fn rehearsed(cases: &[Case], visits: u32, read_pps: f64) -> Result<Cost> {
    let mut cost = Cost::default();
    for case in cases {
        let pps = case.load.pps().unwrap_or(SUPPOSED_MAXIMUM);
        let method = SimulatedMethod::new(&case.setup.method.to_string(), read_pps);
        let mut path = Rehearsal::on(SimulatedLaboratory::new(pps, vec![method]));
        let mut unwatched = ();
        let mut session = Session::new(&mut path, &mut unwatched);
        session.trial(&case.setup, case.load, case.duration, Phase::FixedLoad)?;
        // Each is tried on a separate path, so the cost does not include the probe after an overload.
        let of_visit = Cost { probes: u32::from(read_pps < pps), ..path.cost() };
        cost = cost.and(of_visit.times(case.frequency.visits(visits)));
    }
    Ok(cost)
}

#[cfg(test)]
mod tests {
    use super::Frequency;

    #[test]
    fn the_passes_of_a_step_have_as_many_visits_as_are_counted() {
        for frequency in [Frequency::Seldom, Frequency::Usual, Frequency::Often] {
            for passes in 1..10 {
                let visits: u32 = (0..passes).map(|pass| frequency.times_in(pass)).sum();
                assert_eq!(frequency.visits(passes), visits, "{frequency:?} in {passes} passes");
            }
        }
    }
}
