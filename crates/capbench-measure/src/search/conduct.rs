//! A search from its first trial to its outcome.

use std::time::Duration;

use capbench_traffic::rates::Pps;

use super::database::{Database, Observation};
use super::maximum::{self, MaximumLoad};
use super::numbers::LossNumbers;
use super::outcome::{GoalResult, SearchOutcome};
use super::plan::SearchPlan;
use super::request::{Request, Strategist};
use super::runner::{End, Halt, Observer, Runner};
use super::stored::Stored;
use crate::error::Result;
use crate::trial::{Load, Phase, Trial, TrialResult};

/// A search that is over.
#[derive(Debug)]
pub struct Finished {
    /// What is saved beside the trials.
    pub outcome: SearchOutcome,
    /// Its trials, those of the earlier run that were used among them, in the order in which it asked for them.
    pub trials: Vec<TrialResult>,
}

impl SearchPlan {
    /// Runs the search. Whatever ends it, its trials are in the outcome, with what they show.
    ///
    /// `stored` are trials of an earlier run of the same search; what they took counts as time spent.
    ///
    /// # Errors
    /// A plan that contradicts itself, and a trial that cannot be saved.
    pub fn run(
        &self,
        trial: &mut dyn Trial,
        stored: Stored,
        observer: &mut dyn Observer,
    ) -> Result<Finished> {
        let warnings = self.validate()?;
        let mut runner = Runner {
            trial,
            observer,
            stored,
            line_rate: self.line_rate_pps,
            time_allowed: self.time_allowed,
            trials: Vec::new(),
            spent: Duration::ZERO,
        };
        let mut seen = Database::default();
        let mut maximum = None;
        let ended = match self.search(&mut runner, &mut seen, &mut maximum) {
            Ok(()) => End::Complete,
            Err(Halt::Ended(end)) => end,
            Err(Halt::Unsaved(error)) => return Err(error),
        };
        let outcome = self.outcome(&runner, &seen, maximum, ended, warnings);
        Ok(Finished { outcome, trials: runner.trials })
    }

    fn search(
        &self,
        runner: &mut Runner<'_>,
        seen: &mut Database,
        found: &mut Option<MaximumLoad>,
    ) -> std::result::Result<(), Halt> {
        let maximum = match self.given_maximum() {
            Some(given) => given,
            None => maximum::self_test(self, runner)?,
        };
        let load = maximum.load_pps;
        *found = Some(maximum);
        let failed = |error: crate::MeasureError| Halt::Ended(End::Failed { reason: error.to_string() });
        let mut strategists = self.strategists(load).map_err(failed)?;
        pursue(&mut strategists, seen, |request| {
            let result = runner.measure(Load::Rate(request.load), request.duration, Phase::Search)?;
            Ok(observation(&result, request))
        })
    }

    fn outcome(
        &self,
        runner: &Runner<'_>,
        seen: &Database,
        maximum: Option<MaximumLoad>,
        ended: End,
        mut warnings: Vec<String>,
    ) -> SearchOutcome {
        let trials = &runner.trials;
        let profile = trials.first().map(|trial| &trial.profile);
        warnings.extend(doubts(trials, runner.stored.left()));
        SearchOutcome {
            method: profile.map(|profile| profile.method.clone()),
            placement: profile.map(|profile| profile.placement.clone()),
            frame_size: profile.map(|profile| profile.frame_size.clone()),
            work: profile.map(|profile| profile.work.clone()),
            goals: self
                .goals
                .iter()
                .map(|goal| GoalResult::new(goal, seen, maximum.as_ref(), &ended))
                .collect(),
            numbers: LossNumbers::new(&self.goals, seen),
            plan: self.clone(),
            maximum,
            ended,
            warnings,
            trials: trials.iter().map(|trial| trial.number).collect(),
            sending_s: trials.iter().map(|trial| trial.sending_s).sum(),
            spent_s: runner.spent.as_secs_f64(),
        }
    }
}

/// What the trials themselves leave open.
fn doubts(trials: &[TrialResult], not_used: usize) -> Vec<String> {
    let mut doubts = Vec::new();
    if not_used > 0 {
        doubts
            .push(format!("{not_used} stored trials are of no use to this search: it asked for other ones"));
    }
    let dependence = trials.iter().find_map(|trial| trial.profile.load_depends_because.as_ref());
    doubts.extend(dependence.map(|why| {
        format!("the offered load depends on the receiver, so loss is not that of a wire: {why}")
    }));
    let of_search = trials.iter().filter(|trial| trial.phase == Phase::Search);
    let short: Vec<_> = of_search.filter(|trial| trial.shortfall() > 0).map(|trial| trial.number).collect();
    if !short.is_empty() {
        doubts.push(format!(
            "the generator left frames unsent, which count as lost, in {} of {} trials: {short:?}",
            short.len(),
            trials.len()
        ));
    }
    doubts
}

/// Runs what strategies ask for until none asks for more. Trials for one may unsettle what another has found, so all are
/// asked again.
pub(super) fn pursue<E>(
    strategists: &mut [Box<dyn Strategist>],
    seen: &mut Database,
    mut measure: impl FnMut(Request) -> std::result::Result<Observation, E>,
) -> std::result::Result<(), E> {
    loop {
        let mut has_asked = false;
        for strategist in strategists.iter_mut() {
            while let Some(request) = strategist.next(seen) {
                has_asked = true;
                let trial = measure(request)?;
                seen.add(trial.clone());
                strategist.learn(&trial);
            }
        }
        if !has_asked {
            return Ok(());
        }
    }
}

/// What a search takes from a trial. Unsent frames count as lost; the load is not what was asked for but what was sent.
fn observation(result: &TrialResult, request: Request) -> Observation {
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let lost = result.lost();
    let offered = result.offered_pps.min(request.load.get());
    Observation {
        number: result.number,
        load: request.load,
        duration: request.duration,
        loss_ratio: share(lost + result.shortfall(), result.intended),
        path_loss_ratio: share(lost, result.sent),
        achieved: Pps::new(offered).unwrap_or(request.load),
        loss_events: result.loss_shape.as_ref().map(|shape| shape.bursts.count).or((lost == 0).then_some(0)),
    }
}
