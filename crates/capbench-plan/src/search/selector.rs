//! The next load that one goal requests in a multiple loss ratio search.

use std::time::Duration;

use super::grid::{Grid, Step};
use capbench_judge::search::Goal;
use capbench_judge::search::database::Database;
use capbench_judge::sustained::Criteria;

/// A goal, or a coarser goal on the way to it: wider, with less trial time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) criteria: Criteria,
    pub(super) duration: Duration,
    pub(super) width: Step,
}

/// The targets of a goal, the coarsest first, the goal itself last.
pub(super) fn targets(goal: &Goal, grid: &Grid) -> Vec<Target> {
    let chain = goal.chain();
    let last = chain.len() - 1;
    let mut targets = Vec::new();
    for (nth, criteria) in chain.into_iter().enumerate() {
        let width = grid.steps(goal.width.ratio()) << (last - nth);
        targets.push(Target { criteria, duration: criteria.full_length, width });
    }
    targets
}

/// An interval of which one or both ends may be unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Interval {
    pub(super) lower: Option<Step>,
    pub(super) upper: Option<Step>,
}

impl Interval {
    fn span(self) -> Option<Step> {
        Some(self.upper? - self.lower?)
    }
}

/// A trial that a selector nominates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) step: Step,
    pub(super) duration: Duration,
    /// The intended precision of the load.
    pub(super) width: Step,
    /// Whether it steps outwards from a bound in search of the other bound.
    outwards: Option<Outwards>,
}

impl Candidate {
    /// Of several candidates the one with the highest of these is measured: the lowest load, then the longest trial, then the
    /// widest.
    pub(super) fn priority(&self) -> impl PartialOrd + use<> {
        (-self.step, self.duration, self.width)
    }
}

/// The direction of a step out of a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outwards {
    /// Below an upper bound, to a lower one. It missed if the load is also an upper bound.
    Down,
    /// Above a lower bound, to an upper one.
    Up,
}

/// Leads one goal from target to target.
#[derive(Debug)]
pub(super) struct Selector {
    targets: Vec<Target>,
    current: usize,
    /// Where the last target ended; the current one starts from it.
    initial: Interval,
    /// Minimum length of the next step out of a bound.
    next_width: Step,
    /// The trial that was run last for this goal. The selector keeps its load until it is decided.
    pending: Option<Candidate>,
}

impl Selector {
    pub(super) fn new(targets: Vec<Target>, initial: Interval) -> Self {
        let mut selector = Self { targets, current: 0, initial, next_width: 0, pending: None };
        selector.enter(0, initial);
        selector
    }

    fn enter(&mut self, target: usize, initial: Interval) {
        self.current = target;
        self.initial = initial;
        self.pending = None;
        self.next_width = 2 * self.targets[target].width.max(initial.span().unwrap_or(0));
    }

    /// The next trial; `None` if the goal is reached, or cannot be reached.
    pub(super) fn nominate(&mut self, grid: &Grid, seen: &Database, global_width: Step) -> Option<Candidate> {
        loop {
            let target = self.targets[self.current];
            let found = self.found(grid, seen);
            let room = Room { found, width: target.width, top: grid.top() };
            if let Some(candidate) = self.choose(room, global_width) {
                return Some(candidate);
            }
            if self.current + 1 == self.targets.len() {
                return None;
            }
            self.enter(self.current + 1, found);
        }
    }

    fn found(&self, grid: &Grid, seen: &Database) -> Interval {
        let bounds = seen.bounds(&self.targets[self.current].criteria);
        Interval {
            lower: bounds.lower.map(|load| grid.at_most(load.get())),
            upper: bounds.upper.map(|load| grid.at_least(load.get())),
        }
    }

    fn choose(&mut self, room: Room, global_width: Step) -> Option<Candidate> {
        if let Some(pending) = self.pending.take().filter(|pending| room.is_worth(pending.step)) {
            self.pending = Some(pending);
            return Some(pending);
        }
        if let Some(step) = self.step_of_initial(room) {
            return Some(self.inside(step, room.width));
        }
        let out = self.next_width.max(global_width).min(room.top);
        match (room.found.lower, room.found.upper) {
            (None, Some(upper)) => Some(self.candidate(room.limit(upper - out)?, out, Some(Outwards::Down))),
            (Some(lower), None) => Some(self.candidate(room.limit(lower + out)?, out, Some(Outwards::Up))),
            (Some(lower), Some(upper)) if room.is_wide() => {
                // Where the last target ended is the better guess if it is near: one step out of the bound on its side,
                // if that is nearer than the middle.
                let middle = middle(lower, upper, room.width);
                let is_below = self.initial.lower.is_some_and(|initial| initial >= upper);
                let is_above = self.initial.upper.is_some_and(|initial| initial <= lower);
                if is_below && upper - out > middle {
                    return Some(self.candidate(room.limit(upper - out)?, out, Some(Outwards::Down)));
                }
                if is_above && lower + out < middle {
                    return Some(self.candidate(room.limit(lower + out)?, out, Some(Outwards::Up)));
                }
                // The precision is that of the larger part: bisection of a wide interval continues with it.
                Some(self.inside(room.limit(middle)?, upper - middle))
            }
            _ => None,
        }
    }

    /// A load of the initial interval that can bring the bounds closer: its middle if it is up to two widths wide, or one of its ends.
    fn step_of_initial(&self, room: Room) -> Option<Step> {
        let Interval { lower, upper } = self.initial;
        if let (Some(low), Some(high)) = (lower, upper)
            && room.width < high - low
            && high - low <= 2 * room.width
        {
            let step = middle(low, high, room.width);
            if room.is_worth(step) {
                return Some(step);
            }
        }
        [lower, upper].into_iter().flatten().find(|&step| room.is_worth(step))
    }

    fn candidate(&self, step: Step, width: Step, outwards: Option<Outwards>) -> Candidate {
        Candidate { step, duration: self.targets[self.current].duration, width, outwards }
    }

    /// Nominates a load within `width` of known ones. This goal's later steps out of a bound then start at
    /// twice that; another goal that found the load too wide can still widen them (`global_width`).
    fn inside(&mut self, step: Step, width: Step) -> Candidate {
        self.next_width = width.saturating_mul(2);
        self.candidate(step, width, None)
    }

    /// Records that its candidate is measured. Returns the new width of the search.
    pub(super) fn won(&mut self, candidate: Candidate) -> Step {
        self.pending = Some(candidate);
        candidate.width
    }

    /// If a step out of a bound missed, the next one goes further, for any goal. Returns the width of the search then.
    pub(super) fn missed(&mut self, grid: &Grid, seen: &Database) -> Option<Step> {
        let candidate = self.pending?;
        let found = self.found(grid, seen);
        let is_missed = match candidate.outwards? {
            Outwards::Down => found.upper == Some(candidate.step),
            Outwards::Up => found.lower == Some(candidate.step),
        };
        is_missed.then(|| {
            self.next_width = candidate.width.saturating_mul(Goal::EXPANSION);
            self.next_width
        })
    }
}

/// The range of loads to nominate: between the known bounds, and within the search's own limits.
#[derive(Clone, Copy)]
struct Room {
    found: Interval,
    width: Step,
    top: Step,
}

impl Room {
    /// Whether the interval is wider than required, or open.
    fn is_wide(self) -> bool {
        self.found.span().is_none_or(|span| span > self.width)
    }

    /// Whether a trial at a load can bring the bounds closer. Loads outside the bounds are decided or irrelevant.
    fn is_worth(self, step: Step) -> bool {
        self.is_wide()
            && self.found.lower.is_none_or(|lower| lower < step)
            && self.found.upper.is_none_or(|upper| step < upper)
    }

    /// The load to nominate for a wish: a width away from both bounds, or a limit of the search if that is near.
    fn limit(self, wish: Step) -> Option<Step> {
        let (low, high) = (self.found.lower.unwrap_or(0), self.found.upper.unwrap_or(self.top));
        let (low_is_open, high_is_open) = (self.found.lower.is_none(), self.found.upper.is_none());
        let is_narrow = high - low <= self.width;
        if low_is_open && (is_narrow || wish - low < self.width) {
            return (low < high || high_is_open).then_some(low);
        }
        if high_is_open && (is_narrow || high - wish < self.width) {
            return (low < high).then_some(high);
        }
        if is_narrow {
            return None;
        }
        if high - low < 2 * self.width {
            return Some(middle(low, high, self.width));
        }
        Some(wish.clamp(low + self.width, high - self.width))
    }
}

/// A load inside an interval wider than `width`. One part is `width` times a power of two, the one nearest to the half. So
/// repeated halving needs as few steps as possible, and mostly ends exactly at the width. The lower part is the smaller one:
/// lower loads are more likely to be sustained.
pub(super) fn middle(low: Step, high: Step, width: Step) -> Step {
    let span = high - low;
    let mut part = width;
    // If a whole width would leave a narrow remainder, half of it may suit a finer target.
    while span < 2 * part && part % 2 == 0 {
        part /= 2;
    }
    if span < 2 * part {
        return low + span / 2;
    }
    while span > 3 * part {
        part *= 2;
    }
    low + part.min(span - part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Interval, Room, middle};

    proptest! {
        /// Halving ends in as few steps as halving can, and never outside.
        #[test]
        fn repeated_halving_meets_the_width(low in 0i64..1000, span in 2i64..5000, width in 1i64..100, seed: u64) {
            prop_assume!(span > width);
            let (mut low, mut high, mut steps) = (low, low + span, 0);
            while high - low > width {
                let step = middle(low, high, width);
                prop_assert!(low < step && step < high);
                prop_assert!(step - low <= high - step, "{low} {step} {high}");
                if seed >> (steps % 64) & 1 == 0 { low = step } else { high = step }
                steps += 1;
            }
            let least = ((span as f64) / (width as f64)).log2().ceil() as u32;
            prop_assert!(steps <= least, "{steps} steps for {span} in {width}");
        }

        /// Nothing is nominated that is decided already, or closer to a bound than a width.
        #[test]
        fn nominations_keep_a_width_from_bounds(
            lower in proptest::option::of(0i64..500), gap in 1i64..500, has_upper: bool, width in 1i64..50, wish in -100i64..1200,
        ) {
            let top = 1100;
            let upper = has_upper.then(|| lower.unwrap_or(0) + gap);
            let room = Room { found: Interval { lower, upper }, width, top };
            let Some(step) = room.limit(wish) else {
                prop_assert!(lower.is_none() && upper == Some(0) || lower == Some(top) || room.found.span().is_some_and(|span| span <= width));
                return Ok(());
            };
            prop_assert!((0..=top).contains(&step));
            prop_assert!(lower.is_none_or(|lower| step > lower) && upper.is_none_or(|upper| step < upper));
            if let (Some(low), Some(high)) = (lower, upper) {
                prop_assert!(high - low < 2 * width || (step - low >= width && high - step >= width));
            }
        }
    }
}
