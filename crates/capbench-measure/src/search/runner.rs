//! Runs the trials of a search, or takes them from those of an earlier run, and keeps to the rules that make a trial
//! evidence.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::observer::Observer;
use super::stored::Stored;
use crate::error::MeasureError;
use crate::guards::line_rate;
use crate::trial::{Load, Phase, Trial, TrialResult, Verdict};

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
