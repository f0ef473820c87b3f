//! Goals that have a name, after the documents and tools that they come from.

use std::time::Duration;

use super::goal::{Goal, Strategy, Width};
use super::ratio::Ratio;

/// A row of the table: one goal of a preset.
struct Preset {
    /// What the user asks for.
    name: &'static str,
    /// The goal's name in results.
    goal: &'static str,
    source: &'static str,
    strategy: Strategy,
    loss: f64,
    exceed: f64,
    width: Width,
    trial_s: u64,
    sum_s: u64,
}

const fn relative(width: f64) -> Width {
    Width::Relative(Ratio::fixed(width))
}

const fn of_maximum(width: f64) -> Width {
    Width::OfMaximum(Ratio::fixed(width))
}

/// Rows in the order in which they are listed.
#[rustfmt::skip]
const PRESETS: [Preset; 10] = [
    Preset { name: "rfc2544", goal: "rfc2544", source: "RFC 2544 26.1: throughput",
        strategy: Strategy::Binary, loss: 0.0, exceed: 0.0, width: relative(0.005), trial_s: 60, sum_s: 60 },
    Preset { name: "tst009", goal: "tst009", source: "ETSI GS NFV-TST 009 12.3.3: binary search with loss verification, max(r) = 2",
        strategy: Strategy::Binary, loss: 0.0, exceed: 0.5, width: relative(0.005), trial_s: 60, sum_s: 120 },
    Preset { name: "ndr", goal: "ndr", source: "FD.io CSIT: no-drop rate",
        strategy: Strategy::Mlr, loss: 0.0, exceed: 0.5, width: relative(0.005), trial_s: 1, sum_s: 21 },
    Preset { name: "pdr", goal: "pdr", source: "FD.io CSIT: partial-drop rate, half a per cent",
        strategy: Strategy::Mlr, loss: 0.005, exceed: 0.5, width: relative(0.005), trial_s: 1, sum_s: 21 },
    Preset { name: "strict-capture", goal: "strict-capture", source: "capbench: 60 s a load without a single loss",
        strategy: Strategy::Mlr, loss: 0.0, exceed: 0.0, width: relative(0.005), trial_s: 10, sum_s: 60 },
    Preset { name: "quick", goal: "quick-ndr", source: "capbench: a first look",
        strategy: Strategy::Mlr, loss: 0.0, exceed: 0.2, width: relative(0.02), trial_s: 1, sum_s: 5 },
    Preset { name: "quick", goal: "quick-pdr", source: "capbench: a first look",
        strategy: Strategy::Mlr, loss: 0.001, exceed: 0.2, width: relative(0.02), trial_s: 1, sum_s: 5 },
    Preset { name: "trex-like", goal: "trex-like", source: "attributes of TRex's NDR benchmark",
        strategy: Strategy::Mlr, loss: 0.001, exceed: 0.0, width: relative(0.01), trial_s: 20, sum_s: 20 },
    Preset { name: "nfvbench-ndr", goal: "nfvbench-ndr", source: "attributes of OPNFV NFVbench: NDR",
        strategy: Strategy::Binary, loss: 1e-5, exceed: 0.0, width: of_maximum(0.001), trial_s: 60, sum_s: 60 },
    Preset { name: "nfvbench-pdr", goal: "nfvbench-pdr", source: "attributes of OPNFV NFVbench: PDR",
        strategy: Strategy::Binary, loss: 1e-3, exceed: 0.0, width: of_maximum(0.001), trial_s: 60, sum_s: 60 },
];

/// The first trials of a multiple loss ratio search, and coarser targets before each goal (CSIT).
pub(super) const INITIAL: Duration = Duration::from_secs(1);
pub(super) const PRECEDING_TARGETS: u32 = 2;

impl Preset {
    fn goal(&self) -> Goal {
        let final_duration = Duration::from_secs(self.trial_s);
        Goal {
            name: self.goal.into(),
            strategy: self.strategy,
            loss_ratio: Ratio::fixed(self.loss),
            exceed_ratio: Ratio::fixed(self.exceed),
            width: self.width,
            final_duration,
            duration_sum: Duration::from_secs(self.sum_s),
            initial_duration: INITIAL.min(final_duration),
            preceding_targets: PRECEDING_TARGETS,
        }
    }
}

/// The goals of a preset, or nothing where there is no such preset.
pub fn goals(name: &str) -> Option<Vec<Goal>> {
    let goals: Vec<_> = PRESETS.iter().filter(|preset| preset.name == name).map(Preset::goal).collect();
    (!goals.is_empty()).then_some(goals)
}

/// A row of the list of presets.
#[derive(Clone, Debug)]
pub struct Listed {
    /// What to ask for.
    pub preset: &'static str,
    /// Where its attributes come from.
    pub source: &'static str,
    /// The goal.
    pub goal: Goal,
}

/// All presets with their goals.
pub fn list() -> Vec<Listed> {
    let listed = |preset: &Preset| Listed { preset: preset.name, source: preset.source, goal: preset.goal() };
    PRESETS.iter().map(listed).collect()
}

/// All names, each once, for messages.
pub(super) fn names() -> String {
    let mut names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
    names.dedup();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{goals, list};

    #[test]
    fn every_preset_is_a_valid_goal_of_its_own_name() {
        for row in list() {
            row.goal.validate().unwrap();
        }
        let names: BTreeSet<_> = list().into_iter().map(|row| row.goal.name).collect();
        assert_eq!(names.len(), list().len());
        assert_eq!(goals("quick").unwrap().len(), 2);
        assert!(goals("Quick").is_none());
    }

    #[test]
    fn presets_are_as_their_documents_have_them() {
        let table: Vec<_> = list().iter().map(|row| format!("{:14} {}", row.preset, row.goal)).collect();
        insta::assert_snapshot!(table.join("\n"));
    }
}
