//! The laboratory that guards the trials of another one: it lets the path recover after an overload, repeats disturbed and
//! invalid attempts within the policy, accepts the first good one, and stores the others with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use capbench_frames::rates::Pps;

use super::{Guarding, Policy, Recovery, Retried, line_rate, saturation};
use capbench_model::Result;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::noise::{Noise, NoiseOfAttempt};
use capbench_model::statement::{GuardCounts, Statement};
use capbench_model::trial::{Load, Phase, Trial, TrialResult, Verdict};

/// Interval at which a pause checks whether the user wants to stop.
const GLANCE: Duration = Duration::from_millis(20);

/// A laboratory whose trials are guarded.
#[derive(Debug)]
pub struct Guarded<L> {
    inner: L,
    policy: Policy,
    stop: Arc<AtomicBool>,
    memory: Memory,
}

/// State from one trial to the next, for all set-ups: they share the path.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    /// Number of the trial that overloaded the path, until a probe was clean.
    overloaded_by: Option<u32>,
    /// Sending time of first attempts, and of their repeats.
    first: Duration,
    repeated: Duration,
    probes: u32,
    repeats: u32,
    /// Whether trials run in turns. Noise meets all methods alike there, so only invalid trials are repeated, and nothing is probed.
    are_in_turns: bool,
}

impl<L> Guarded<L> {
    /// Guards trials of `inner`. Once `stop` is true, it repeats nothing and waits for nothing.
    pub fn new(inner: L, policy: Policy, stop: Arc<AtomicBool>) -> Self {
        Self { inner, policy, stop, memory: Memory::default() }
    }

    /// The laboratory without guards.
    pub fn inner(&self) -> &L {
        &self.inner
    }
}

#[cfg(test)]
impl<L> Guarded<L> {
    /// Behaves as if trials with this total length had run before.
    pub(super) fn after_trials_of(&mut self, first: Duration) {
        self.memory.first = first;
    }
}

impl<L: Laboratory> Laboratory for Guarded<L> {
    fn prepare(&mut self, setup: &Setup) -> Result<Box<dyn Trial + '_>> {
        Ok(Box::new(GuardedTrial {
            trial: self.inner.prepare(setup)?,
            policy: self.policy,
            stop: &self.stop,
            memory: &mut self.memory,
        }))
    }

    fn rest(&mut self, while_idle: Duration) {
        self.inner.rest(while_idle);
    }

    fn take_turns(&mut self, are_in_turns: bool) {
        self.memory.are_in_turns = are_in_turns;
        self.inner.take_turns(are_in_turns);
    }

    fn number_after(&mut self, last: u32) {
        self.inner.number_after(last);
    }

    fn statements(&self) -> Vec<Statement> {
        let mut statements = self.inner.statements();
        statements.push(Statement::Guards(GuardCounts {
            repeats: self.memory.repeats,
            most_repeats: self.policy.repeats,
            repeat_ratio: self.policy.repeat_share,
            probes: self.memory.probes,
            most_probes: self.policy.probes,
        }));
        statements
    }
}

struct GuardedTrial<'l> {
    trial: Box<dyn Trial + 'l>,
    policy: Policy,
    stop: &'l AtomicBool,
    memory: &'l mut Memory,
}

impl Trial for GuardedTrial<'_> {
    fn run(&mut self, load: Load, duration: Duration) -> Result<TrialResult> {
        let mut discarded: Vec<Retried> = Vec::new();
        let mut recovery = None;
        let last = loop {
            let (recovered, trial) = match self.attempt(load, duration) {
                Ok(attempt) => attempt,
                // A later error must not lose the earlier measurement.
                Err(error) => match discarded.pop() {
                    Some(earlier) => break earlier.trial,
                    None => return Err(error),
                },
            };
            let failure = recovered.as_ref().and_then(Recovery::failure);
            recovery = merged(recovery, recovered);
            let mut trial = self.memory.judged(trial);
            let because = disturbances(&trial);
            self.memory.count(duration, discarded.is_empty());
            if let Some(failure) = failure {
                trial.invalidate(&failure);
                break trial;
            }
            if because.reasons.is_empty() || !self.may_repeat(&trial, duration, discarded.len()) {
                break trial;
            }
            self.memory.repeats += 1;
            discarded.push(Retried { because, trial });
        };
        let mut accepted = best(last, &mut discarded);
        if recovery.is_some() || !discarded.is_empty() {
            for attempt in &mut discarded {
                attempt.trial.phase = Phase::Retried;
            }
            let before = discarded.iter().filter(|attempt| attempt.trial.number < accepted.number).count();
            accepted.guarding = Some(Box::new(Guarding { attempt: before as u32 + 1, discarded, recovery }));
        }
        Ok(accepted)
    }

    fn line_rate(&self) -> Option<Pps> {
        self.trial.line_rate()
    }

    /// A soak goes on: no segment is repeated or delayed, but all are judged and marked.
    fn keep_open(&mut self) -> Result<Box<dyn Trial + '_>> {
        Ok(Box::new(GuardedSegments { trial: self.trial.keep_open()?, memory: self.memory }))
    }
}

/// A capture that stays open. Its trials are judged, and not repeated.
struct GuardedSegments<'l> {
    trial: Box<dyn Trial + 'l>,
    memory: &'l mut Memory,
}

impl Trial for GuardedSegments<'_> {
    fn run(&mut self, load: Load, duration: Duration) -> Result<TrialResult> {
        Ok(self.memory.judged(self.trial.run(load, duration)?))
    }

    fn line_rate(&self) -> Option<Pps> {
        self.trial.line_rate()
    }
}

impl GuardedTrial<'_> {
    /// One attempt, after recovery of the path if possible.
    fn attempt(&mut self, load: Load, duration: Duration) -> Result<(Option<Recovery>, TrialResult)> {
        let recovery = self.recover()?;
        Ok((recovery, self.trial.run(load, duration)?))
    }

    /// Lets the path recover from an overload, if there was one.
    fn recover(&mut self) -> Result<Option<Recovery>> {
        let Some(after) = self.memory.overloaded_by.filter(|_| !self.memory.are_in_turns) else {
            return Ok(None);
        };
        let stop = self.stop;
        let recovery =
            saturation::recover(after, self.trial.as_mut(), &self.policy, &mut |pause| rest(pause, stop))?;
        self.memory.probes += recovery.probes.len() as u32;
        if recovery.recovered {
            self.memory.overloaded_by = None;
        }
        Ok(Some(recovery))
    }

    /// Whether another attempt is allowed after `before` attempts.
    fn may_repeat(&self, last: &TrialResult, duration: Duration, before: usize) -> bool {
        let Memory { first, repeated, are_in_turns, .. } = *self.memory;
        // The first repeat of a run is always within the budget: a run may be a single trial. The same holds for the repeat of an
        // invalid trial, since nobody repeats it later.
        let budget = first.mul_f64(self.policy.repeat_share).max(duration);
        before < self.policy.repeats as usize
            && (last.verdict == Verdict::Invalid || !are_in_turns && repeated + duration <= budget)
            && !self.stop.load(Ordering::Relaxed)
    }
}

impl Memory {
    /// The trial, invalid if it contradicts the link. Remembers whether it overloaded the path.
    fn judged(&mut self, mut trial: TrialResult) -> TrialResult {
        if let Some(contradiction) = line_rate::contradiction(&trial) {
            trial.invalidate(&contradiction);
        }
        if saturation::is_overload(trial.sent_loss_ratio()) {
            self.overloaded_by = Some(trial.number);
        }
        trial
    }

    /// Counts the time of an attempt.
    fn count(&mut self, duration: Duration, is_first: bool) {
        if is_first {
            self.first += duration;
        } else {
            self.repeated += duration;
        }
    }
}

/// Why an attempt is discarded if another is possible. Slow CPUs and busy processes stay for many trials, which are only marked.
fn disturbances(trial: &TrialResult) -> NoiseOfAttempt {
    let mut reasons = trial.disturbance.reasons_besides_sharing();
    if let Some(because) = &trial.invalid_because {
        reasons.push(Noise::Invalid { because: because.clone() });
    }
    NoiseOfAttempt { words: Vec::new(), reasons }
}

/// The accepted attempt: the last one, unless it is invalid and an earlier one is valid.
fn best(last: TrialResult, discarded: &mut Vec<Retried>) -> TrialResult {
    if last.verdict != Verdict::Invalid {
        return last;
    }
    match discarded.iter().rposition(|attempt| attempt.trial.verdict != Verdict::Invalid) {
        Some(place) => {
            let accepted = discarded.remove(place).trial;
            discarded.push(Retried { because: disturbances(&last), trial: last });
            accepted
        }
        None => last,
    }
}

/// Combines the recoveries before the attempts of one trial.
fn merged(before: Option<Recovery>, next: Option<Recovery>) -> Option<Recovery> {
    match (before, next) {
        (Some(mut before), Some(next)) => {
            before.probes.extend(next.probes);
            Some(Recovery { after: next.after, recovered: next.recovered, ..before })
        }
        (before, next) => next.or(before),
    }
}

/// Waits. Returns false if the user wants to stop.
fn rest(pause: Duration, stop: &AtomicBool) -> bool {
    let end = Instant::now() + pause;
    while !stop.load(Ordering::Relaxed) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        thread::sleep(left.min(GLANCE));
    }
    false
}
