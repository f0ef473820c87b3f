//! Trials one after the other, for whatever plan asks for them: each is announced, handed over when it ends, and kept;
//! between them the user can stop.

use std::time::Duration;

use capbench_capture::MethodSpec;

use crate::error::Result;
use crate::laboratory::{Laboratory, Setup};
pub use crate::search::Observer;
use crate::trial::{Load, Phase, SizeLabel, TrialResult, Verdict};
use capbench_model::placement::PlacementChoice;

/// Why there is no trial that shows something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The user stopped it.
    Stopped,
    /// It could not be run; the observer was told why.
    NotRun,
    /// It shows nothing.
    Invalid {
        /// Its number.
        trial: u32,
        /// Why.
        because: String,
    },
}

/// The trials of one run.
pub(crate) struct Session<'s> {
    laboratory: &'s mut dyn Laboratory,
    observer: &'s mut dyn Observer,
    /// The trials so far, in the order in which they ran.
    pub(crate) trials: Vec<TrialResult>,
    /// Whether the user stopped it.
    pub(crate) stopped: bool,
}

impl<'s> Session<'s> {
    /// A run without trials yet.
    pub(crate) fn new(laboratory: &'s mut dyn Laboratory, observer: &'s mut dyn Observer) -> Self {
        Self { laboratory, observer, trials: Vec::new(), stopped: false }
    }

    /// One trial; `None` when it could not be run, which the observer is told, or the user stopped it.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub(crate) fn trial(
        &mut self,
        setup: &Setup,
        load: Load,
        duration: Duration,
        phase: Phase,
    ) -> Result<Option<TrialResult>> {
        let what = describe(&setup.method, &setup.label, setup.placement, load);
        self.announced(&what, setup, load, duration, phase)
    }

    /// The same, announced in other words.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub(crate) fn announced(
        &mut self,
        what: &str,
        setup: &Setup,
        load: Load,
        duration: Duration,
        phase: Phase,
    ) -> Result<Option<TrialResult>> {
        if self.is_stopping() {
            return Ok(None);
        }
        self.observer.starts(what);
        let run = self.laboratory.prepare(setup).and_then(|mut trial| trial.run(load, duration));
        if self.is_stopping() {
            // A trial that the user cut short shows nothing.
            return Ok(None);
        }
        match run {
            Ok(mut result) => {
                result.phase = phase;
                self.observer.ends(&result)?;
                self.trials.push(result.clone());
                Ok(Some(result))
            }
            Err(error) => {
                self.observer.skips(setup, load, &error);
                Ok(None)
            }
        }
    }

    /// One trial that shows something. One that does not is repeated where trials are guarded and nowhere else
    /// ([`crate::guards`]), so it is the end of what was to follow from it.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub(crate) fn sound(
        &mut self,
        setup: &Setup,
        load: Load,
        duration: Duration,
        phase: Phase,
    ) -> Result<std::result::Result<TrialResult, Missing>> {
        Ok(match self.trial(setup, load, duration, phase)? {
            None if self.stopped => Err(Missing::Stopped),
            None => Err(Missing::NotRun),
            Some(result) if result.verdict == Verdict::Invalid => Err(Missing::of(&result)),
            Some(result) => Ok(result),
        })
    }

    /// Leaves the path idle.
    pub(crate) fn rest(&mut self, while_idle: Duration) {
        self.laboratory.rest(while_idle);
    }

    fn is_stopping(&mut self) -> bool {
        self.stopped |= self.observer.stopping();
        self.stopped
    }
}

impl Missing {
    fn of(invalid: &TrialResult) -> Self {
        Self::Invalid { trial: invalid.number, because: invalid.why_invalid() }
    }
}

/// A trial as it is announced.
pub(crate) fn describe(
    method: &MethodSpec,
    size: &SizeLabel,
    placement: PlacementChoice,
    load: Load,
) -> String {
    format!("{method}, {size} B, {placement}, {load}")
}
