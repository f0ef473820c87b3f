//! Parts of an experiment: a sweep, separate trials, or searches; their cost, and their run.

use std::time::Duration;

use capbench_model::method_spec::MethodSpec;

use super::conditions::Conditions;
use super::measured::{Done, LeftOut, MeasuredSteps};
use super::outcome::Reproduction;
use super::publication::Publication;
use capbench_model::TrialError;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::placement::PlacementChoice;
use capbench_model::statistics::by_key;
use capbench_model::trial::{Load, Phase};
use capbench_plan::Result;
use capbench_plan::cost::{Cost, Spread};
use capbench_plan::order::Shuffle;
use capbench_plan::rehearsal::Rehearsal;
use capbench_plan::search::{End, SearchPlan, Stored};
use capbench_plan::session::{Session, describe};
use capbench_plan::simulated::{SimulatedLaboratory, SimulatedMethod};
use capbench_plan::sweep::{self, SweepPlan};

/// A requested trial, repeated for each visit.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its set-up.
    pub setup: Setup,
    /// The load.
    pub load: Load,
    /// Length of the trial.
    pub duration: Duration,
}

/// The action of a step.
#[derive(Clone, Debug)]
pub enum Action {
    /// A sweep of one parameter.
    Sweep(Box<SweepPlan>),
    /// Trials that differ in more than one parameter, in random order.
    Trials {
        /// Each once per visit.
        cases: Vec<Case>,
        /// Number of visits.
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
const TAKEN: [f64; 3] = [1e5, 6e5, 1e7];
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
    pub(super) fn without(mut self, left_out: &[(PlacementChoice, MethodSpec)]) -> Self {
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
            Action::Trials { cases, visits, .. } => cases.len() * *visits as usize,
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
                    TAKEN.into_iter().map(|taken| rehearsed(cases, taken)).collect();
                Ok(Spread::of(costs?.into_iter().map(|cost| cost.times(*visits)).collect(), quiet))
            }
            Action::Searches(searches) => searches.iter().try_fold(Spread::default(), |sum, (_, plan)| {
                let estimate = plan.estimate()?;
                Ok(sum.and(Spread { least: estimate.at_maximum, ..estimate.below }))
            }),
        }
    }
}

/// The cost of the trials if every method reads frames at the rate `taken`.
fn rehearsed(cases: &[Case], taken: f64) -> Result<Cost> {
    let mut cost = Cost::default();
    for case in cases {
        let pps = case.load.pps().unwrap_or(SUPPOSED_MAXIMUM);
        let method = SimulatedMethod::new(&case.setup.method.to_string(), taken);
        let mut path = Rehearsal::on(SimulatedLaboratory::new(pps, vec![method]));
        let mut unwatched = ();
        let mut session = Session::new(&mut path, &mut unwatched);
        session.trial(&case.setup, case.load, case.duration, Phase::FixedLoad)?;
        // Each is tried on a separate path, so the cost does not include the probe after an overload.
        cost = cost.and(Cost { probes: u32::from(taken < pps), ..path.cost() });
    }
    Ok(cost)
}

/// Follows a reproduction.
pub trait Observer: sweep::Observer {
    /// A method is unavailable here; the others continue.
    fn leaves_out(&mut self, left: &LeftOut);

    /// The outcome so far. It replaces the previous outcome of this publication.
    fn reproduced(&mut self, so_far: Reproduction) -> Result<()>;
}

impl Publication {
    /// Repeats the experiment, keeps partial measurements, and returns whether the user stopped it. Fails when none of its
    /// methods is available here, and when a trial cannot be saved.
    pub fn run(
        &self,
        conditions: &Conditions,
        laboratory: &mut dyn Laboratory,
        observer: &mut dyn Observer,
    ) -> Result<bool> {
        let steps = self.plan(conditions)?;
        let left_out = missing(&steps, laboratory, observer)?;
        let out: Vec<(PlacementChoice, MethodSpec)> =
            left_out.iter().map(|left| (left.placement, left.method.clone())).collect();
        let last = steps.len();
        let mut done = Vec::new();
        for (nth, step) in steps.into_iter().enumerate() {
            let ended = step.without(&out).run(laboratory, observer)?;
            let stopped = ended.stopped;
            done.push(ended);
            let is_whole = !stopped && nth + 1 == last;
            observer.reproduced(self.reproduction(conditions, &done, &left_out, is_whole))?;
            if stopped {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn reproduction(
        &self,
        conditions: &Conditions,
        done: &[Done],
        left_out: &[LeftOut],
        complete: bool,
    ) -> Reproduction {
        let measured = MeasuredSteps { conditions, plans: &self.steps, done, left_out };
        let mut findings: Vec<_> = self.claims.iter().flat_map(|claim| claim.judge(&measured)).collect();
        for judgement in &mut findings {
            judgement.heed_disturbance(done);
            judgement.tell_chance();
        }
        findings.extend(self.not_testable());
        Reproduction {
            key: self.key.clone(),
            title: self.title.clone(),
            source: self.source.clone(),
            then: self.then.clone(),
            here: vec![self.here.clone(), lengths(conditions, done)],
            complete,
            tables: self.tables.iter().map(|table| table.make(&measured)).collect(),
            findings,
            trials: done.iter().flat_map(|done| &done.trials).map(|trial| trial.number).collect(),
        }
    }
}

/// The length of trials compared with that of the publication.
fn lengths(conditions: &Conditions, done: &[Done]) -> String {
    let trials = || done.iter().flat_map(|done| &done.trials).map(|trial| trial.duration_s);
    let (least, most) = (trials().fold(f64::INFINITY, f64::min), trials().fold(0.0, f64::max));
    let times = if !least.is_finite() {
        "none".into()
    } else if least == most {
        format!("{least:.2} s")
    } else {
        format!("{least:.2} to {most:.2} s")
    };
    format!(
        "Scale {}: trials of {times}, {} visit{} of each point where nothing else is said, searches to {} %; {:?} of waiting for missing frames.",
        conditions.scale,
        conditions.visits,
        if conditions.visits == 1 { "" } else { "s" },
        conditions.scale.width() * 100.0,
        conditions.base.quiet,
    )
}

/// The unavailable methods.
fn missing(
    steps: &[Step],
    laboratory: &mut dyn Laboratory,
    observer: &mut dyn Observer,
) -> Result<Vec<LeftOut>> {
    let of_method = |setup: &Setup| (setup.method.clone(), setup.placement);
    let wanted = by_key(steps.iter().flat_map(Step::setups), of_method);
    let mut first: Option<TrialError> = None;
    let mut left_out = Vec::new();
    for ((method, placement), setups) in &wanted {
        if let Err(error) = laboratory.prepare(&setups[0]).map(drop) {
            let reason = match &error {
                TrialError::Unsupported { reason, .. } => reason.clone(),
                other => other.to_string(),
            };
            left_out.push(LeftOut { method: method.clone(), placement: *placement, reason });
            first.get_or_insert(error);
        }
    }
    match first {
        Some(error) if left_out.len() == wanted.len() => Err(error.into()),
        _ => {
            left_out.iter().for_each(|left| observer.leaves_out(left));
            Ok(left_out)
        }
    }
}

impl Step {
    fn run(self, laboratory: &mut dyn Laboratory, observer: &mut dyn Observer) -> Result<Done> {
        let done = Done { name: self.name, ..Done::default() };
        match self.action {
            Action::Sweep(plan) => {
                let run = plan.run(laboratory, observer)?;
                let stopped = run.outcome.stopped;
                Ok(Done { trials: run.trials, sweep: Some(run.outcome), stopped, ..done })
            }
            Action::Trials { cases, visits, seed } => {
                let mut session = Session::new(laboratory, observer);
                visit(&cases, visits, seed, &mut session)?;
                Ok(Done { trials: session.trials, stopped: session.stopped, ..done })
            }
            Action::Searches(searches) => search(done, &searches, laboratory, observer),
        }
    }
}

/// Runs every case once per pass, in random order. Failed cases are not tried again.
fn visit(cases: &[Case], visits: u32, seed: u64, session: &mut Session<'_>) -> Result<()> {
    let mut shuffle = Shuffle::new(seed);
    let mut failed = vec![false; cases.len()];
    for _ in 0..visits {
        for nth in shuffle.pass(cases.len()) {
            if session.stopped {
                return Ok(());
            }
            let Case { setup, load, duration } = &cases[nth];
            if failed[nth] {
                continue;
            }
            let phase = if *load == Load::Maximum { Phase::BestEffort } else { Phase::FixedLoad };
            failed[nth] = session.trial(setup, *load, *duration, phase)?.is_none();
        }
    }
    Ok(())
}

fn search(
    mut done: Done,
    searches: &[(Setup, SearchPlan)],
    laboratory: &mut dyn Laboratory,
    observer: &mut dyn Observer,
) -> Result<Done> {
    for (setup, plan) in searches {
        done.stopped |= observer.stopping();
        if done.stopped {
            break;
        }
        let highest = plan.maximum_pps.map_or(Load::Maximum, Load::Rate);
        let what = format!("search, {}", describe(setup, highest));
        let finished = match laboratory.prepare(setup) {
            Ok(mut trial) => plan.run(&what, trial.as_mut(), Stored::default(), observer)?,
            Err(error) => {
                observer.skips(setup, Load::Maximum, &error);
                continue;
            }
        };
        done.stopped = finished.outcome.ended == End::Stopped;
        done.trials.extend(finished.trials);
        done.searches.push(finished.outcome.clone());
        observer.searched(finished.outcome)?;
    }
    Ok(done)
}
