//! Runs the trials of a search, or reuses those of an earlier run. It applies the rules that make a trial evidence.
//!
//! A strategy requests trials as a pure function of the trials seen so far. So a resumed search requests its stored trials in
//! the same order, reaches the point of interruption, and continues. Invalid trials are not among them: they stay in the file
//! and are run again.

use std::time::{Duration, Instant};

use crate::Observer;
use crate::PlanError;
use crate::guards::line_rate;
use capbench_judge::search::End;
use capbench_judge::thresholds::RESUMED_VALUE_ROUNDING;
use capbench_model::trial::{Load, Phase, Profile, Trial, TrialResult, Verdict};

#[derive(Debug)]
pub(super) enum Halt {
    Ended(End),
    Unsaved(PlanError),
}

pub(super) struct Runner<'r> {
    pub(super) what: &'r str,
    /// The number of this search among those of this set-up, if there are several.
    pub(super) nth: Option<u32>,
    pub(super) trial: &'r mut dyn Trial,
    pub(super) observer: &'r mut dyn Observer,
    pub(super) stored: Stored,
    pub(super) time_allowed: Option<Duration>,
    pub(super) traffic_allowed: Option<Duration>,
    pub(super) trials: Vec<TrialResult>,
    /// Total time of the trials.
    pub(super) spent: Duration,
    /// The part of it spent sending.
    pub(super) traffic: Duration,
}

impl Runner<'_> {
    /// Runs one trial that must be valid. Only guarded trials are repeated when invalid ([`crate::guards`]).
    pub(super) fn measure(
        &mut self,
        load: Load,
        duration: Duration,
        phase: Phase,
    ) -> Result<TrialResult, Halt> {
        let result = self.once(load, duration, phase)?;
        self.trials.push(result.clone());
        if line_rate::contradiction(&result).is_some() {
            return Err(Halt::Ended(End::AboveLineRate { trial: result.number }));
        }
        if result.verdict == Verdict::Invalid {
            let because = result.why_invalid();
            return Err(Halt::Ended(End::Invalid { trials: vec![result.number], because }));
        }
        Ok(result)
    }

    /// Runs one trial, valid or not. It does not begin if it would take more time than is left.
    fn once(&mut self, load: Load, duration: Duration, phase: Phase) -> Result<TrialResult, Halt> {
        if self.observer.stopping() {
            return Err(Halt::Ended(End::Stopped));
        }
        if self.time_allowed.is_some_and(|allowed| self.spent + duration > allowed) {
            return Err(Halt::Ended(End::TimeUp));
        }
        if self.traffic_allowed.is_some_and(|allowed| self.traffic + duration > allowed) {
            return Err(Halt::Ended(End::TrafficUp));
        }
        if let Some(result) = self.stored.take(load, duration, phase) {
            return Ok(self.counted(result, Duration::ZERO));
        }
        self.observer.starts(&format!("{}, {load} for {duration:?}", self.what));
        let begun = Instant::now();
        let run = self.trial.run(load, duration);
        if self.observer.stopping() {
            // A trial that the user cut short is no evidence.
            return Err(Halt::Ended(End::Stopped));
        }
        let mut result = run.map_err(|error| Halt::Ended(End::Failed { reason: error.to_string() }))?;
        result.phase = phase;
        result.search = self.nth;
        self.stored.agrees(&result).map_err(|reason| Halt::Ended(End::Failed { reason }))?;
        let result = self.counted(result, begun.elapsed());
        self.observer.ends(&result).map_err(Halt::Unsaved)?;
        Ok(result)
    }

    /// Adds the time of a trial, its probes and its attempts. A computed path takes no time; its simulated time counts.
    fn counted(&mut self, result: TrialResult, elapsed: Duration) -> TrialResult {
        let simulated = Duration::try_from_secs_f64(result.spent_s()).unwrap_or_default();
        self.spent += elapsed.max(simulated);
        self.traffic += Duration::try_from_secs_f64(result.traffic_s()).unwrap_or_default();
        result
    }
}

/// Trials of an earlier run that a search reuses instead of running them again. Contains those not requested yet.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    trials: Vec<TrialResult>,
    profile: Option<Profile>,
}

impl Stored {
    /// Selects the valid trials of one search from a run, by its set-ups. Fails when these differ.
    pub fn new(run: &[TrialResult], is_of_search: impl Fn(&Profile) -> bool) -> Result<Self, String> {
        let mut trials = Vec::new();
        for trial in run {
            let is_step = matches!(trial.phase, Phase::Search | Phase::SelfTest);
            let is_sound = trial.verdict != Verdict::Invalid && line_rate::contradiction(trial).is_none();
            if is_step && is_sound && is_of_search(&trial.profile) {
                trials.push(trial.clone());
            }
        }
        let profile = trials.first().map(|trial| trial.profile.clone());
        if let Some(other) = trials.iter().find(|trial| Some(&trial.profile) != profile.as_ref()) {
            return Err(format!("trial {} is of another set-up than those before it", other.number));
        }
        Ok(Self { trials, profile })
    }

    /// Number of trials left.
    pub fn left(&self) -> usize {
        self.trials.len()
    }

    /// The earliest trial of this load, duration and phase.
    pub(super) fn take(&mut self, load: Load, duration: Duration, phase: Phase) -> Option<TrialResult> {
        let is_same = |a: f64, b: f64| (a - b).abs() <= RESUMED_VALUE_ROUNDING * b.abs();
        let position = self.trials.iter().position(|trial| {
            let load_is_same = match (load.pps(), trial.intended_pps) {
                (Some(asked), Some(had)) => is_same(had, asked),
                (None, None) => true,
                _ => false,
            };
            trial.phase == phase && load_is_same && is_same(trial.duration_s, duration.as_secs_f64())
        })?;
        Some(self.trials.remove(position))
    }

    /// Whether a new trial is of the same set-up as the stored ones.
    pub(super) fn agrees(&self, result: &TrialResult) -> Result<(), String> {
        match &self.profile {
            Some(profile) if *profile != result.profile => Err(format!(
                "the trials to go on from are of another set-up ({}) than this one ({}); begin a new search",
                words(profile),
                words(&result.profile)
            )),
            _ => Ok(()),
        }
    }
}

fn words(profile: &Profile) -> String {
    let Profile { method, frame_size, traffic, transmit, placement, work, cpus, .. } = profile;
    format!(
        "{method}, {frame_size} B, {traffic}, {transmit}, {placement} on CPUs {}, {}, {}, work {work}",
        cpus.generator,
        cpus.kernel.map_or_else(|| "any".into(), |cpu| cpu.to_string()),
        cpus.application
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use capbench_model::for_tests::{measured, profile};

    #[test]
    fn a_stored_trial_is_of_a_load_up_to_its_last_digit() {
        for (off, is_same) in [(0.9e-9, true), (1.1e-9, false)] {
            let load = Load::Rate("1M".parse().unwrap());
            let second = Duration::from_secs(1);
            let measured = measured(1_000_000, 1_000_000, 1_000_000, 0);
            let trial = measured.result(1, Phase::Search, &profile("recv"), load, second);
            let trial = TrialResult { intended_pps: Some(1e6 * (1.0 + off)), ..trial };
            let mut stored = Stored { trials: vec![trial], profile: None };
            assert_eq!(stored.take(load, second, Phase::Search).is_some(), is_same, "{off} off");
        }
    }
}
