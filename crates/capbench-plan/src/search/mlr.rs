//! Multiple loss ratio search (RFC 9971): all its goals from one set of trials.
//!
//! It starts with a trial at maximum load. The rate delivered there shows where to search. Then the selector of each goal
//! nominates its next trial, and the lowest load is run: a low load that turns out lossy makes higher ones unnecessary.

use std::time::Duration;

use capbench_frames::rates::Pps;

use super::grid::{Grid, Step};
use super::selector::{Candidate, Interval, Selector, Target, middle, targets};
use super::strategist::{Request, Strategist};
use capbench_judge::search::database::Database;
use capbench_judge::search::{Goal, Ratio};
use capbench_judge::sustained::Observation;

#[derive(Debug)]
pub(super) struct Mlr {
    grid: Grid,
    stage: Stage,
    chains: Vec<Vec<Target>>,
    start: Start,
    selectors: Vec<Selector>,
    /// The current precision of the search.
    global_width: Step,
    /// The goal whose candidate was measured last.
    measured: Option<usize>,
}

/// The parameters of the first trials.
#[derive(Clone, Copy, Debug)]
struct Start {
    /// The smallest loss ratio of all goals.
    loss_ratio: Ratio,
    /// The longest of the coarsest targets' trials.
    duration: Duration,
    /// The widest of the coarsest targets.
    width: Step,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    AtMaximum,
    AtDelivered(Step),
    /// A trial on the other side of the sought load, so that there is an interval.
    Beside {
        delivered: Step,
        beside: Step,
    },
    Selecting,
}

impl Mlr {
    /// `delivered` is the rate that an earlier trial at maximum load delivered; without it the search begins with such a trial.
    pub(super) fn new(goals: &[Goal], grid: Grid, delivered: Option<Pps>) -> Self {
        let chains: Vec<_> = goals.iter().map(|goal| targets(goal, &grid)).collect();
        let coarsest: Vec<_> = chains.iter().filter_map(|chain| chain.first()).collect();
        let start = Start {
            loss_ratio: goals
                .iter()
                .map(|goal| goal.loss_ratio)
                .reduce(|a, b| if b < a { b } else { a })
                .unwrap_or_default(),
            duration: coarsest.iter().map(|target| target.duration).max().unwrap_or_default(),
            width: coarsest.iter().map(|target| target.width).max().unwrap_or(1),
        };
        let mut stage = Stage::AtMaximum;
        if let Some(rate) = delivered {
            stage = Stage::AtDelivered(grid.at_most(rate.get()).min(grid.top() - start.width).max(0));
        }
        Self { stage, grid, chains, start, selectors: Vec::new(), global_width: start.width, measured: None }
    }

    /// The rate that a trial would have delivered at its goal's loss, frames per second.
    fn delivered(&self, trial: &Observation) -> f64 {
        trial.forwarding_rate() / (1.0 - self.start.loss_ratio.get())
    }

    fn select(&mut self, initial: Interval) {
        if let (Some(low), Some(high)) = (initial.lower, initial.upper) {
            self.global_width = high - low;
        }
        self.selectors = self.chains.drain(..).map(|chain| Selector::new(chain, initial)).collect();
        self.stage = Stage::Selecting;
    }

    /// The winner of the candidates: the lowest load, then the longest trial, then the widest, then the earlier goal.
    fn winner(&mut self, seen: &Database) -> Option<Candidate> {
        let last = self.measured.take();
        if let Some(width) = last.and_then(|goal| self.selectors[goal].missed(&self.grid, seen)) {
            self.global_width = width;
        }
        let mut best: Option<(usize, Candidate)> = None;
        for (goal, selector) in self.selectors.iter_mut().enumerate() {
            let Some(candidate) = selector.nominate(&self.grid, seen, self.global_width) else { continue };
            if best.is_none_or(|(_, leading)| candidate.priority() > leading.priority()) {
                best = Some((goal, candidate));
            }
        }
        let (goal, candidate) = best?;
        self.global_width = self.selectors[goal].won(candidate);
        self.measured = Some(goal);
        Some(candidate)
    }
}

impl Strategist for Mlr {
    fn next(&mut self, seen: &Database) -> Option<Request> {
        let (step, duration) = match self.stage {
            Stage::AtMaximum => (self.grid.top(), self.start.duration),
            Stage::AtDelivered(step) => (step, self.start.duration),
            Stage::Beside { beside, .. } => (beside, self.start.duration),
            Stage::Selecting => self.winner(seen).map(|candidate| (candidate.step, candidate.duration))?,
        };
        Some(Request { load: self.grid.load(step), duration })
    }

    fn learn(&mut self, trial: &Observation) {
        let (top, width) = (self.grid.top(), self.start.width);
        let delivered = self.delivered(trial);
        match self.stage {
            Stage::AtMaximum if delivered >= self.grid.load(top).get() => {
                self.select(Interval { lower: Some(top), upper: None });
            }
            Stage::AtMaximum => {
                let step = self.grid.at_most(delivered).min(top - width).max(0);
                self.stage = Stage::AtDelivered(step);
            }
            Stage::AtDelivered(step) if trial.loss_ratio > self.start.loss_ratio.get() => {
                let below = self.grid.at_most(delivered).min(step - width).max(0);
                match step {
                    0 => self.select(Interval { lower: None, upper: Some(step) }),
                    _ => self.stage = Stage::Beside { delivered: step, beside: below },
                }
            }
            // The maximum load was already tried.
            Stage::AtDelivered(step) if top - step <= width => {
                self.select(Interval { lower: Some(step), upper: Some(top) });
            }
            Stage::AtDelivered(step) => {
                let has_room = top - step >= 2 * width;
                let above = if has_room { step + width } else { middle(step, top, 1) };
                self.stage = Stage::Beside { delivered: step, beside: above };
            }
            Stage::Beside { delivered, beside } => {
                self.select(Interval {
                    lower: Some(delivered.min(beside)),
                    upper: Some(delivered.max(beside)),
                });
            }
            Stage::Selecting => {}
        }
    }
}
