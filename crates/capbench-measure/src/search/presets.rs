//! Goals that have a name, after the documents and tools that they come from.

use std::time::Duration;

use super::goal::Goal;
use super::notation;

/// What the user asks for, the goal's name in results, where its attributes come from, and those as users write them. In the
/// order in which they are listed.
#[rustfmt::skip]
const PRESETS: [[&str; 4]; 10] = [
    ["rfc2544", "rfc2544", "RFC 2544 26.1: throughput",
        "strategy=binary,loss=0,exceed=0,width=0.5%,duration=60s,sum=60s"],
    ["tst009", "tst009", "ETSI GS NFV-TST 009 12.3.3: binary search with loss verification, max(r) = 2",
        "strategy=binary,loss=0,exceed=0.5,width=0.5%,duration=60s,sum=120s"],
    ["ndr", "ndr", "FD.io CSIT: no-drop rate",
        "strategy=mlr,loss=0,exceed=0.5,width=0.5%,duration=1s,sum=21s"],
    ["pdr", "pdr", "FD.io CSIT: partial-drop rate, half a per cent",
        "strategy=mlr,loss=0.5%,exceed=0.5,width=0.5%,duration=1s,sum=21s"],
    ["strict-capture", "strict-capture", "capbench: 60 s a load without a single loss",
        "strategy=mlr,loss=0,exceed=0,width=0.5%,duration=10s,sum=60s"],
    ["quick", "quick-ndr", "capbench: a first look",
        "strategy=mlr,loss=0,exceed=0.2,width=2%,duration=1s,sum=5s"],
    ["quick", "quick-pdr", "capbench: a first look",
        "strategy=mlr,loss=0.1%,exceed=0.2,width=2%,duration=1s,sum=5s"],
    ["trex-like", "trex-like", "attributes of TRex's NDR benchmark",
        "strategy=mlr,loss=0.1%,exceed=0,width=1%,duration=20s,sum=20s"],
    ["nfvbench-ndr", "nfvbench-ndr", "attributes of OPNFV NFVbench: NDR",
        "strategy=binary,loss=0.001%,exceed=0,width=0.1%max,duration=60s,sum=60s"],
    ["nfvbench-pdr", "nfvbench-pdr", "attributes of OPNFV NFVbench: PDR",
        "strategy=binary,loss=0.1%,exceed=0,width=0.1%max,duration=60s,sum=60s"],
];

/// The first trials of a multiple loss ratio search, and coarser targets before each goal (CSIT).
pub(super) const INITIAL: Duration = Duration::from_secs(1);
pub(super) const PRECEDING_TARGETS: u32 = 2;

/// The goals of a preset, or nothing where there is no such preset.
pub fn goals(name: &str) -> Option<Vec<Goal>> {
    let named = PRESETS.into_iter().filter(|[preset, ..]| *preset == name);
    let goals: Vec<_> = named.map(|row| listed(row).goal).collect();
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
    PRESETS.into_iter().map(listed).collect()
}

fn listed([preset, name, source, attributes]: [&'static str; 4]) -> Listed {
    let goal = notation::pairs(attributes).and_then(|pairs| notation::goal(name, &pairs));
    Listed { preset, source, goal: goal.expect("the attributes of a preset") }
}

/// All names, each once, for messages.
pub(super) fn names() -> String {
    let mut names = PRESETS.map(|[preset, ..]| preset).to_vec();
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
