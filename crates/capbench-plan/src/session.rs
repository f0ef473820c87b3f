//! Runs trials one after the other for any plan. The session announces each trial, passes it to the observer when it ends, and
//! keeps it. Between trials the user can stop.

use std::time::{Duration, Instant};

use crate::search::{self, Stored};
use crate::{Observer, Result};
use capbench_judge::search::{End, SearchOutcome, SearchPlan};
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::trial::{Load, Phase, TrialResult, Verdict};

/// Why there is no valid trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The user stopped it.
    Stopped,
    /// The trial could not run; the observer got the reason.
    NotRun,
    /// The trial is invalid.
    Invalid {
        /// Its number.
        trial: u32,
        /// Why.
        because: String,
    },
}

/// The trials of one run.
pub struct Session<'s> {
    laboratory: &'s mut dyn Laboratory,
    observer: &'s mut dyn Observer,
    /// The trials so far, in the order in which they ran.
    pub trials: Vec<TrialResult>,
    /// The outcomes of its searches.
    pub searches: Vec<SearchOutcome>,
    /// Time since its beginning until the end of the last trial: of trials with their preparation, drains, probes and retried attempts,
    /// of saving them, and of judging them in between. A computed path takes no time; its simulated time counts.
    pub spent: Duration,
    /// Until when `spent` counts.
    counted_until: Instant,
    /// Whether the user stopped it.
    pub stopped: bool,
}

impl<'s> Session<'s> {
    /// A run without trials.
    pub fn new(laboratory: &'s mut dyn Laboratory, observer: &'s mut dyn Observer) -> Self {
        let (trials, searches) = (Vec::new(), Vec::new());
        let (spent, counted_until) = (Duration::ZERO, Instant::now());
        Self { laboratory, observer, trials, searches, spent, counted_until, stopped: false }
    }

    /// Counts the time until now, or this simulated time if it is more.
    fn count_time(&mut self, simulated_s: f64) {
        let now = Instant::now();
        let simulated = Duration::try_from_secs_f64(simulated_s).unwrap_or_default();
        self.spent += (now - self.counted_until).max(simulated);
        self.counted_until = now;
    }

    /// Runs one trial. Returns `None` if the trial could not run, which the observer is informed of, or if the user stopped it.
    pub fn trial(
        &mut self,
        setup: &Setup,
        load: Load,
        duration: Duration,
        phase: Phase,
    ) -> Result<Option<TrialResult>> {
        self.announced(&describe(setup, load), setup, load, duration, phase)
    }

    /// Runs one trial, with the announcement `what`.
    pub fn announced(
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
            // A trial that the user cut short is no evidence.
            return Ok(None);
        }
        match run {
            Ok(mut result) => {
                result.phase = phase;
                self.observer.ends(&result)?;
                self.count_time(result.spent_s());
                self.trials.push(result.clone());
                Ok(Some(result))
            }
            Err(error) => {
                self.observer.skips(setup, load, &error);
                Ok(None)
            }
        }
    }

    /// Runs one trial that must be valid. Guards have repeated an invalid one already, so it ends the steps that depend on it.
    pub fn valid_trial(
        &mut self,
        setup: &Setup,
        load: Load,
        duration: Duration,
        phase: Phase,
    ) -> Result<std::result::Result<TrialResult, Missing>> {
        Ok(match self.trial(setup, load, duration, phase)? {
            None if self.stopped => Err(Missing::Stopped),
            None => Err(Missing::NotRun),
            Some(result) if result.verdict == Verdict::Invalid => {
                Err(Missing::Invalid { trial: result.number, because: result.why_invalid() })
            }
            Some(result) => Ok(result),
        })
    }

    /// Runs one search, the `nth` of its set-up if there are several. Returns `None` if it could not begin, which the observer is
    /// informed of.
    pub fn search(
        &mut self,
        setup: &Setup,
        plan: &SearchPlan,
        nth: Option<u32>,
    ) -> Result<Option<SearchOutcome>> {
        if self.is_stopping() {
            return Ok(None);
        }
        let mut trial = match self.laboratory.prepare(setup) {
            Ok(trial) => trial,
            Err(error) => {
                self.observer.skips(setup, Load::Maximum, &error);
                return Ok(None);
            }
        };
        let what = format!("{}, {} B, {}", setup.method, setup.label(), setup.placement);
        let finished = search::run_nth(plan, nth, &what, trial.as_mut(), Stored::default(), self.observer)?;
        drop(trial);
        let outcome = finished.outcome;
        self.count_time(outcome.spent_s);
        self.stopped |= outcome.ended == End::Stopped;
        self.trials.extend(finished.trials);
        self.searches.push(outcome.clone());
        self.observer.searched(outcome.clone())?;
        Ok(Some(outcome))
    }

    /// Says whether the next trials are short ones in turns.
    pub fn take_turns(&mut self, are_in_turns: bool) {
        self.laboratory.take_turns(are_in_turns);
    }

    /// Leaves the path idle.
    pub fn rest(&mut self, while_idle: Duration) {
        self.laboratory.rest(while_idle);
    }

    fn is_stopping(&mut self) -> bool {
        self.stopped |= self.observer.stopping();
        self.stopped
    }
}

/// The announcement of a trial.
pub fn describe(setup: &Setup, load: Load) -> String {
    format!("{}, {} B, {}, {load}", setup.method, setup.label(), setup.placement)
}
