//! Runs an experiment: the available methods, each step, and the reports and saves after each.

use crate::conditions::Conditions;
use crate::publication::Publication;
use crate::step::{Action, Case, Step};
use capbench_judge::reproduction::measured::{Done, LeftOut, MeasuredSteps, StepFacts};
use capbench_judge::reproduction::{Reproduction, TrialConditions};
use capbench_judge::search::{End, SearchPlan};
use capbench_model::TrialError;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::method_spec::MethodSpec;
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::{Load, Phase};
use capbench_plan::order::Shuffle;
use capbench_plan::search::{self, Stored};
use capbench_plan::session::{Session, describe};
use capbench_plan::{Observer, Result};
use capbench_statistics::by_key;

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
        let steps: Vec<StepFacts> = self.steps.iter().map(|step| step.facts(conditions)).collect();
        let measured = MeasuredSteps { steps: &steps, done, left_out };
        let judged = self.claims.iter().flat_map(|claim| claim.judge(&measured));
        let mut findings: Vec<_> = judged.map(|judged| judged.concluded(done)).collect();
        findings.extend(self.not_testable());
        Reproduction {
            key: self.key.clone(),
            title: self.title.clone(),
            source: self.source.clone(),
            then: self.then.clone(),
            here: vec![self.here.clone()],
            conditions: Some(trial_conditions(conditions, done)),
            complete,
            tables: self.tables.iter().map(|table| table.make(&measured)).collect(),
            findings,
            trials: done.iter().flat_map(|done| &done.trials).map(|trial| trial.number).collect(),
        }
    }
}

fn trial_conditions(conditions: &Conditions, done: &[Done]) -> TrialConditions {
    let mut shortest_s = f64::INFINITY;
    let mut longest_s: f64 = 0.0;
    for trial in done.iter().flat_map(|done| &done.trials) {
        shortest_s = shortest_s.min(trial.duration_s);
        longest_s = longest_s.max(trial.duration_s);
    }
    TrialConditions {
        scale: conditions.scale.get(),
        length_range_s: if shortest_s.is_finite() { Some([shortest_s, longest_s]) } else { None },
        visits: conditions.visits,
        search_width: conditions.scale.width(),
        quiet_s: conditions.base.quiet.as_secs_f64(),
    }
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

/// Runs every case in each pass as often as it is to be visited, in random order. Failed cases are not tried again.
fn visit(cases: &[Case], visits: u32, seed: u64, session: &mut Session<'_>) -> Result<()> {
    let mut shuffle = Shuffle::new(seed);
    let mut failed = vec![false; cases.len()];
    for pass in 0..visits {
        let mut turns: Vec<usize> = Vec::new();
        for (nth, case) in cases.iter().enumerate() {
            turns.extend(vec![nth; case.frequency.times_in(pass) as usize]);
        }
        for turn in shuffle.pass(turns.len()) {
            if session.stopped {
                return Ok(());
            }
            let nth = turns[turn];
            let Case { setup, load, duration, .. } = &cases[nth];
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
            Ok(mut trial) => search::run(plan, &what, trial.as_mut(), Stored::default(), observer)?,
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
