//! Runs the trials of a search, or takes them from those of an earlier run, and keeps to the rules that make a trial
//! evidence.
//!
//! A strategy asks for trials as a pure function of those that it has seen. So a search that was interrupted asks for the
//! trials that it has, in their order, comes to where it was, and goes on. A trial that shows nothing is not among them: it
//! stays in the file, and is run again.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::observer::Observer;
use crate::error::MeasureError;
use crate::guards::line_rate;
use crate::trial::{Load, Phase, Profile, Trial, TrialResult, Verdict};

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum End {
    /// Every goal has what it can have.
    Complete,
    /// The user stopped it; or its process ended in its midst, and this is what it had shown by then.
    Stopped,
    /// The time allowed was used up.
    TimeUp,
    /// The traffic allowed was used up.
    TrafficUp,
    /// A trial shows nothing, and did not when it was repeated.
    Invalid {
        /// Its number.
        trials: Vec<u32>,
        /// Why; empty in results of early versions.
        #[serde(default)]
        because: String,
    },
    /// A rate above what the link can carry: counts or clock are wrong.
    AboveLineRate {
        /// The trial.
        trial: u32,
    },
    /// A trial could not be run.
    Failed {
        /// Why, in a line.
        reason: String,
    },
}

/// Why there is no trial.
#[derive(Debug)]
pub(super) enum Halt {
    /// The search is over.
    Ended(End),
    /// A trial could not be saved.
    Unsaved(MeasureError),
}

/// What trials are run with.
pub(super) struct Runner<'r> {
    /// The set-up, as trials are announced.
    pub(super) what: &'r str,
    /// Which of the searches of this set-up it is, where there are several.
    pub(super) nth: Option<u32>,
    pub(super) trial: &'r mut dyn Trial,
    pub(super) observer: &'r mut dyn Observer,
    pub(super) stored: Stored,
    pub(super) time_allowed: Option<Duration>,
    pub(super) traffic_allowed: Option<Duration>,
    /// Every trial so far.
    pub(super) trials: Vec<TrialResult>,
    /// Time that they took.
    pub(super) spent: Duration,
    /// Of that, sending.
    pub(super) traffic: Duration,
}

impl Runner<'_> {
    /// A trial that shows something. One that does not is repeated where trials are guarded and nowhere else
    /// ([`crate::guards`]).
    pub(super) fn measure(
        &mut self,
        load: Load,
        duration: Duration,
        phase: Phase,
    ) -> std::result::Result<TrialResult, Halt> {
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

    /// One trial, sound or not. It is not begun when it would take more time than is left.
    fn once(
        &mut self,
        load: Load,
        duration: Duration,
        phase: Phase,
    ) -> std::result::Result<TrialResult, Halt> {
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
            self.spent += took(&result);
            self.traffic += sent_for(&result);
            return Ok(result);
        }
        self.observer.starts(&format!("{}, {load} for {duration:?}", self.what));
        let begun = Instant::now();
        let run = self.trial.run(load, duration);
        if self.observer.stopping() {
            // A trial that the user cut short shows nothing.
            return Err(Halt::Ended(End::Stopped));
        }
        let mut result = run.map_err(|error| Halt::Ended(End::Failed { reason: error.to_string() }))?;
        result.phase = phase;
        result.search = self.nth;
        self.stored.agrees(&result).map_err(|reason| Halt::Ended(End::Failed { reason }))?;
        // A computed path takes no time; what it stands for counts.
        self.spent += begun.elapsed().max(took(&result));
        self.traffic += sent_for(&result);
        self.observer.ends(&result).map_err(Halt::Unsaved)?;
        Ok(result)
    }
}

/// Sending and drain of a trial, its probes and its attempts.
fn took(result: &TrialResult) -> Duration {
    Duration::try_from_secs_f64(result.spent_s()).unwrap_or_default()
}

/// Sending of a trial, its probes and its attempts.
fn sent_for(result: &TrialResult) -> Duration {
    Duration::try_from_secs_f64(result.traffic_s()).unwrap_or_default()
}

/// Numbers read from a file may be off in their last digit.
const ROUNDING: f64 = 1e-9;

/// Trials of an earlier run that a search takes instead of running them again, those that were not asked for yet.
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
