//! Plain binary search over the rate for one goal (RFC 2544 section 26.1). Each load gets trials of full length until the
//! goal's criteria decide it: one where a trial is all that the goal asks for, more with loss verification (TST 009).

use capbench_traffic::rates::Pps;

use super::criteria::Class;
use super::database::{Database, Observation};
use super::goal::Goal;
use super::request::{Request, Strategist};

/// The search of one goal.
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

    fn learn(&mut self, _: &Observation) {}
}
