//! Runs the trials of a search, or takes them from those of an earlier run, and keeps to the rules that make a trial
//! evidence.

use std::time::{Duration, Instant};

use capbench_traffic::rates::Pps;
use serde::{Deserialize, Serialize};

use super::stored::Stored;
use crate::error::{MeasureError, Result};
use crate::trial::{Load, Phase, Trial, TrialResult, Verdict};

/// Clocks of two ends of a link differ by up to 100 ppm each, so a rate above the line rate by this share is no error yet.
const CLOCKS: f64 = 2e-4;

/// Follows a search while it runs, and can stop it.
pub trait Observer {
    /// A trial begins.
    fn starts(&mut self, load: Load, duration: Duration);
    /// A trial ended; saving it is the observer's business. Trials of an earlier run are not told again.
    ///
    /// # Errors
    /// When it cannot be saved, which ends the search.
    fn ends(&mut self, result: &TrialResult) -> Result<()>;
    /// Whether the user wants to stop.
    fn stopping(&self) -> bool;
}

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum End {
    /// Every goal has what it can have.
    Complete,
    /// The user stopped it.
    Stopped,
    /// The time allowed was used up.
    TimeUp,
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
    pub(super) trial: &'r mut dyn Trial,
    pub(super) observer: &'r mut dyn Observer,
    pub(super) stored: Stored,
    pub(super) line_rate: Option<Pps>,
    pub(super) time_allowed: Option<Duration>,
    /// Every trial so far.
    pub(super) trials: Vec<TrialResult>,
    /// Time that they took.
    pub(super) spent: Duration,
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
        if self.is_above_line_rate(&result) {
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
        if let Some(result) = self.stored.take(load, duration, phase) {
            self.spent += took(&result);
            return Ok(result);
        }
        self.observer.starts(load, duration);
        let begun = Instant::now();
        let run = self.trial.run(load, duration);
        if self.observer.stopping() {
            // A trial that the user cut short shows nothing.
            return Err(Halt::Ended(End::Stopped));
        }
        let mut result = run.map_err(|error| Halt::Ended(End::Failed { reason: error.to_string() }))?;
        result.phase = phase;
        result.number += self.stored.numbered_to();
        self.stored.agrees(&result).map_err(|reason| Halt::Ended(End::Failed { reason }))?;
        // A computed path takes no time; what it stands for counts.
        self.spent += begun.elapsed().max(took(&result));
        self.observer.ends(&result).map_err(Halt::Unsaved)?;
        Ok(result)
    }

    /// The first frame of a trial is sent at its very start, so one frame is not counted.
    fn is_above_line_rate(&self, result: &TrialResult) -> bool {
        let Some(line) = self.line_rate else { return false };
        let frames = result.sent.max(result.delivered).saturating_sub(1);
        frames as f64 > line.get() * (1.0 + CLOCKS) * result.sending_s
    }
}

/// Sending and drain.
pub(super) fn took(result: &TrialResult) -> Duration {
    Duration::try_from_secs_f64(result.sending_s.max(result.duration_s) + result.drain_s).unwrap_or_default()
}
