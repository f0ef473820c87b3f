//! Parts of an experiment: a sweep, trials of their own, or searches.

use std::time::Duration;

use capbench_capture::MethodSpec;

use crate::cost::{Cost, Spread};
use crate::error::Result;
use crate::laboratory::Setup;
use crate::rehearsal::Rehearsal;
use crate::search::SearchPlan;
use crate::session::Session;
use crate::simulated::{SimulatedLaboratory, SimulatedMethod};
use crate::sweep::SweepPlan;
use crate::trial::{Load, Phase};
use capbench_model::placement::PlacementChoice;

/// A trial that is wanted, as often as there are visits.
#[derive(Clone, Debug)]
pub struct Case {
    /// What is measured.
    pub setup: Setup,
    /// The load.
    pub load: Load,
    /// Length of the trial.
    pub duration: Duration,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Action {
    /// One thing varied.
    Sweep(Box<SweepPlan>),
    /// Trials that differ in more than one thing, in random order, so many times.
    Trials {
        /// Each once.
        cases: Vec<Case>,
        /// How often.
        visits: u32,
        /// Names the order.
        seed: u64,
    },
    /// One search for each of these; the maximum load is that of the set-up's size.
    Searches(Vec<(Setup, SearchPlan)>),
}

/// A part of an experiment.
#[derive(Clone, Debug)]
pub struct Step {
    /// What comparisons find it by.
    pub name: String,
    /// What it is, in a line.
    pub summary: String,
    /// What is done.
    pub action: Action,
}

/// What hosts take, packets/s: a slow one, one as many are, and one that loses nothing.
const TAKEN: [f64; 3] = [1e5, 6e5, 1e7];
/// What stands for the rate that a generator reaches.
const SUPPOSED_MAXIMUM: f64 = 1e6;

impl Step {
    /// Its set-ups; those of a sweep in every placement with every method.
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

    /// The same without what cannot be had.
    #[must_use]
    pub(super) fn without(mut self, left_out: &[(PlacementChoice, MethodSpec)]) -> Self {
        let is_had = |setup: &Setup| !left_out.contains(&(setup.placement, setup.method.clone()));
        match &mut self.action {
            Action::Sweep(plan) => plan.left_out = left_out.to_vec(),
            Action::Trials { cases, .. } => cases.retain(|case| is_had(&case.setup)),
            Action::Searches(searches) => searches.retain(|(setup, _)| is_had(setup)),
        }
        self
    }

    /// How many trials, about.
    ///
    /// # Errors
    /// A plan that contradicts itself.
    pub fn trials(&self) -> Result<usize> {
        Ok(match &self.action {
            Action::Sweep(plan) => plan.trials(),
            Action::Trials { cases, visits, .. } => cases.len() * *visits as usize,
            Action::Searches(_) => self.estimate()?.median.trials as usize,
        })
    }

    /// What it costs on paths without noise.
    ///
    /// # Errors
    /// A plan that contradicts itself.
    pub fn estimate(&self) -> Result<Spread> {
        match &self.action {
            Action::Sweep(plan) => plan.estimate(),
            Action::Trials { cases, visits, .. } => {
                let quiet = cases.first().map_or(Duration::ZERO, |case| case.setup.quiet);
                let costs: Result<Vec<Cost>> =
                    TAKEN.into_iter().map(|taken| rehearsed(cases, taken)).collect();
                Ok(Spread::of(costs?.into_iter().map(|cost| cost.times(*visits)).collect(), quiet))
            }
            Action::Searches(searches) => searches.iter().try_fold(Spread::default(), |sum, (_, plan)| {
                let estimate = plan.estimate()?;
                let Spread { median, most, .. } = estimate.below;
                Ok(Spread {
                    least: sum.least.and(estimate.at_maximum),
                    median: sum.median.and(median),
                    most: sum.most.and(most),
                })
            }),
        }
    }
}

/// What the trials cost where each is of a method that takes so many packets a second.
fn rehearsed(cases: &[Case], taken: f64) -> Result<Cost> {
    let mut cost = Cost::default();
    for case in cases {
        let pps = case.load.pps().unwrap_or(SUPPOSED_MAXIMUM);
        let method = SimulatedMethod::new(&case.setup.method.to_string(), taken);
        let mut path = Rehearsal::on(SimulatedLaboratory::new(pps, vec![method]));
        let mut unwatched = ();
        let mut session = Session::new(&mut path, &mut unwatched);
        session.trial(&case.setup, case.load, case.duration, Phase::FixedLoad)?;
        // Each is tried on a path of its own, so the probe after an overload is not in it.
        cost = cost.and(Cost { probes: u32::from(taken < pps), ..path.cost() });
    }
    Ok(cost)
}
