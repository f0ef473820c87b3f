//! Trials of an earlier run, which a search takes instead of running them again.
//!
//! A strategy asks for trials as a pure function of those that it has seen. So a search that was interrupted asks for the
//! trials that it has, in their order, comes to where it was, and goes on. A trial that shows nothing is not among them: it
//! stays in the file, and is run again.

use std::time::Duration;

use crate::guards::line_rate;
use crate::trial::{Load, Phase, Profile, TrialResult, Verdict};

/// Numbers read from a file may be off in their last digit.
const ROUNDING: f64 = 1e-9;

/// Trials that were not asked for yet.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    trials: Vec<TrialResult>,
    profile: Option<Profile>,
}

impl Stored {
    /// Those of a run's trials that are of one search and show something: `is_of_search` says which set-ups are.
    ///
    /// # Errors
    /// When set-ups of those differ: it would be no one search.
    pub fn new(run: &[TrialResult], is_of_search: impl Fn(&Profile) -> bool) -> Result<Self, String> {
        let is_ours = |trial: &&TrialResult| {
            matches!(trial.phase, Phase::Search | Phase::SelfTest) && is_of_search(&trial.profile)
        };
        let shows_something = |trial: &&TrialResult| {
            trial.verdict != Verdict::Invalid && line_rate::contradiction(trial).is_none()
        };
        let trials: Vec<_> = run.iter().filter(is_ours).filter(shows_something).cloned().collect();
        let profile = trials.first().map(|trial| trial.profile.clone());
        if let Some(other) = trials.iter().find(|trial| Some(&trial.profile) != profile.as_ref()) {
            return Err(format!("trial {} is of another set-up than those before it", other.number));
        }
        Ok(Self { trials, profile })
    }

    /// How many are left.
    pub fn left(&self) -> usize {
        self.trials.len()
    }

    /// The earliest trial of this load, duration and phase.
    pub(super) fn take(&mut self, load: Load, duration: Duration, phase: Phase) -> Option<TrialResult> {
        let is_same = |a: f64, b: f64| (a - b).abs() <= ROUNDING * b.abs();
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
    ///
    /// # Errors
    /// What differs, and what to do.
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
