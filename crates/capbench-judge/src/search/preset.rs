//! The presets: goals with names. The report has their sources.

use std::time::Duration;

use super::goal::Strategy::{self, Binary, Mlr};
use super::goal::{Goal, Width};
use crate::ratio::Ratio;

/// Length of the first trials of a multiple loss ratio search, and number of coarser targets before each goal (CSIT).
pub(super) const INITIAL: Duration = Duration::from_secs(1);
pub(super) const PRECEDING_TARGETS: u32 = 2;

/// A goal of a preset. A preset of several goals has a row for each.
struct Row {
    preset: &'static str,
    /// The goal's name in results.
    goal: &'static str,
    strategy: Strategy,
    loss: Ratio,
    exceed: Ratio,
    width: Width,
    /// Length of full-length trials, and the maximum trial time that decides a load, in seconds.
    trial_s: u64,
    sum_s: u64,
}

const LOSSLESS: Ratio = Ratio::ZERO;
const NEVER: Ratio = Ratio::ZERO;
const HALF: Ratio = Ratio::fixed(0.5);
const FIFTH: Ratio = Ratio::fixed(0.2);

/// A width as a share of the upper bound.
const fn width(percent: f64) -> Width {
    Width::Relative(Ratio::fixed(percent / 100.0))
}

/// A width as a share of the maximum load.
const fn width_of_maximum(percent: f64) -> Width {
    Width::OfMaximum(Ratio::fixed(percent / 100.0))
}

const fn loss(percent: f64) -> Ratio {
    Ratio::fixed(percent / 100.0)
}

#[rustfmt::skip]
const ROWS: [Row; 10] = [
    Row {
        preset: "rfc2544", goal: "rfc2544", strategy: Binary, trial_s: 60, sum_s: 60,
        loss: LOSSLESS, exceed: NEVER, width: width(0.5),
    },
    Row {
        preset: "tst009", goal: "tst009", strategy: Binary, trial_s: 60, sum_s: 120,
        loss: LOSSLESS, exceed: HALF, width: width(0.5),
    },
    Row {
        preset: "ndr", goal: "ndr", strategy: Mlr, trial_s: 1, sum_s: 21,
        loss: LOSSLESS, exceed: HALF, width: width(0.5),
    },
    Row {
        preset: "pdr", goal: "pdr", strategy: Mlr, trial_s: 1, sum_s: 21,
        loss: loss(0.5), exceed: HALF, width: width(0.5),
    },
    Row {
        preset: "strict-capture", goal: "strict-capture", strategy: Mlr, trial_s: 10, sum_s: 60,
        loss: LOSSLESS, exceed: NEVER, width: width(0.5),
    },
    Row {
        preset: "quick", goal: "quick-ndr", strategy: Mlr, trial_s: 1, sum_s: 5,
        loss: LOSSLESS, exceed: FIFTH, width: width(2.0),
    },
    Row {
        preset: "quick", goal: "quick-pdr", strategy: Mlr, trial_s: 1, sum_s: 5,
        loss: loss(0.1), exceed: FIFTH, width: width(2.0),
    },
    Row {
        preset: "trex-like", goal: "trex-like", strategy: Mlr, trial_s: 20, sum_s: 20,
        loss: loss(0.1), exceed: NEVER, width: width(1.0),
    },
    Row {
        preset: "nfvbench-ndr", goal: "nfvbench-ndr", strategy: Binary, trial_s: 60, sum_s: 60,
        loss: loss(0.001), exceed: NEVER, width: width_of_maximum(0.1),
    },
    Row {
        preset: "nfvbench-pdr", goal: "nfvbench-pdr", strategy: Binary, trial_s: 60, sum_s: 60,
        loss: loss(0.1), exceed: NEVER, width: width_of_maximum(0.1),
    },
];

impl Row {
    fn goal(&self) -> Goal {
        Goal {
            name: self.goal.into(),
            strategy: self.strategy,
            loss_ratio: self.loss,
            exceed_ratio: self.exceed,
            width: self.width,
            final_duration: Duration::from_secs(self.trial_s),
            duration_sum: Duration::from_secs(self.sum_s),
            initial_duration: INITIAL,
            preceding_targets: PRECEDING_TARGETS,
        }
    }
}

/// A goal of a preset.
#[derive(Clone, Debug)]
pub struct PresetGoal {
    /// The preset's name.
    pub preset: &'static str,
    /// The goal.
    pub goal: Goal,
}

/// All presets with their goals.
pub fn presets() -> Vec<PresetGoal> {
    let mut goals = Vec::new();
    for row in &ROWS {
        goals.push(PresetGoal { preset: row.preset, goal: row.goal() });
    }
    goals
}

/// The goals of a preset; `None` if there is no such preset.
pub fn goals_of_preset(name: &str) -> Option<Vec<Goal>> {
    let goals: Vec<Goal> = ROWS.iter().filter(|row| row.preset == name).map(Row::goal).collect();
    (!goals.is_empty()).then_some(goals)
}

/// The names of all presets, each once.
pub(super) fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = ROWS.iter().map(|row| row.preset).collect();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{goals_of_preset, presets};

    #[test]
    fn every_preset_is_a_valid_goal_of_its_own_name() {
        for row in presets() {
            row.goal.validate().unwrap();
        }
        let names: BTreeSet<_> = presets().into_iter().map(|row| row.goal.name).collect();
        assert_eq!(names.len(), presets().len());
        assert_eq!(goals_of_preset("quick").unwrap().len(), 2);
        assert!(goals_of_preset("Quick").is_none());
    }

    #[test]
    fn a_preset_in_the_notation_of_users_is_the_same_goal() {
        for row in presets() {
            let goal = &row.goal;
            let text = format!(
                "{}:strategy={},loss={},exceed={},width={},duration={:?},sum={:?}",
                goal.name,
                goal.strategy,
                goal.loss_ratio,
                goal.exceed_ratio,
                goal.width,
                goal.final_duration,
                goal.duration_sum
            );
            assert_eq!(crate::search::parse(&text).unwrap(), [row.goal], "{text}");
        }
    }
}
