//! What a strategy asks for and how it learns; the plain binary search.

use std::time::Duration;

use capbench_frames::rates::Pps;

use super::criteria::Class;
use super::database::{Database, Observation};
use super::goal::Goal;

/// A trial that a strategy wants (RFC 9971, Trial Input: load and duration and nothing else).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Intended load.
    pub load: Pps,
    /// Intended duration.
    pub duration: Duration,
}

/// Chooses trials. It runs none, so it can be tried on anything: the path, stored trials, a model for an estimate.
pub(super) trait Strategist {
    /// The next trial, or nothing when it has what it wants or can get no more.
    fn next(&mut self, seen: &Database) -> Option<Request>;

    /// Shows it the trial that it asked for last, once it is in the database, too.
    fn learn(&mut self, _trial: &Observation) {}
}

/// Runs what strategies ask for until none asks for more. Trials for one may unsettle what another has found, so all are
/// asked again.
pub(super) fn pursue<E>(
    strategists: &mut [Box<dyn Strategist>],
    seen: &mut Database,
    mut measure: impl FnMut(Request, &Database) -> std::result::Result<Observation, E>,
) -> std::result::Result<(), E> {
    loop {
        let mut has_asked = false;
        for strategist in strategists.iter_mut() {
            while let Some(request) = strategist.next(seen) {
                has_asked = true;
                let trial = measure(request, seen)?;
                seen.add(trial.clone());
                strategist.learn(&trial);
            }
        }
        if !has_asked {
            return Ok(());
        }
    }
}

/// Plain binary search over the rate for one goal (RFC 2544 section 26.1). Each load gets trials of full length until the goal's
/// criteria decide it: one where a trial is all that the goal asks for, more with loss verification (TST 009).
#[derive(Debug)]
pub(super) struct Binary {
    goal: Goal,
    least: Pps,
    maximum: Pps,
}

impl Binary {
    pub(super) fn new(goal: Goal, least: Pps, maximum: Pps) -> Self {
        Self { goal, least, maximum }
    }

    /// The load to be decided next: the maximum, then the middle between the bounds; the least load stands for a lower
    /// bound until the bounds are so close that it must be one.
    fn load(&self, seen: &Database) -> Option<Pps> {
        let bounds = seen.bounds(&self.goal.criteria());
        let is_close =
            |lower: Pps, upper: Pps| self.goal.width.is_met(lower.get(), upper.get(), self.maximum.get());
        match (bounds.lower, bounds.upper) {
            (Some(lower), None) if lower >= self.maximum => None,
            (_, None) => Some(self.maximum),
            (Some(lower), Some(upper)) => (!is_close(lower, upper)).then(|| middle(lower, upper)),
            (None, Some(upper)) if upper <= self.least => None,
            (None, Some(upper)) if is_close(self.least, upper) => Some(self.least),
            (None, Some(upper)) => Some(middle(self.least, upper)),
        }
    }
}

fn middle(lower: Pps, upper: Pps) -> Pps {
    Pps::new(f64::midpoint(lower.get(), upper.get())).expect("a rate between two rates")
}

impl Strategist for Binary {
    fn next(&mut self, seen: &Database) -> Option<Request> {
        let load = self.load(seen)?;
        // Bounds lie outside of it, so nothing but noise could have decided it; then the bounds have moved.
        debug_assert_eq!(seen.classify(load, &self.goal.criteria()), Class::Undecided);
        Some(Request { load, duration: self.goal.final_duration })
    }
}
