//! How a strategy requests trials and learns from them; the plain binary search.

use std::time::Duration;

use capbench_frames::rates::Pps;

use capbench_judge::search::Goal;
use capbench_judge::search::database::Database;
use capbench_judge::sustained::{Class, Observation};

/// A trial that a strategy requests (RFC 9971, Trial Input: only load and duration).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Intended load.
    pub load: Pps,
    /// Intended duration.
    pub duration: Duration,
}

/// Chooses trials and runs none. So it works with the path, with stored trials and with a model for an estimate.
pub(super) trait Strategist {
    /// The next trial; `None` if the strategy has its result or cannot improve it.
    fn next(&mut self, seen: &Database) -> Option<Request>;

    /// Reports the last requested trial, which is then also in the database.
    fn learn(&mut self, _trial: &Observation) {}
}

/// Runs the trials that strategies request until none requests more: trials of one may change the result of another.
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

/// Plain binary search for one goal (RFC 2544 26.1): full-length trials until its criteria decide a load (TST 009).
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

    /// The next load to decide: the maximum, then the middle between the bounds, of which the lower is at first the minimum.
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
        // Bounds are outside of it, so only noise could have decided it; then the bounds have moved.
        debug_assert_eq!(seen.classify(load, &self.goal.criteria()), Class::Undecided);
        Some(Request { load, duration: self.goal.final_duration })
    }
}
