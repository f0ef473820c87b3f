//! Which settings of queues speak against capture, for each interface that captured: the judgement of `capbench tune check`, by
//! the saved environment.

use capbench_model::environment::Environment;
use capbench_model::environment::interface::Role;
use capbench_model::environment::queues::{QueueFinding, against_capture};
use capbench_model::environment::topology::Topology;
use serde::Serialize;

use super::{Finding, Found};

/// What speaks against capture in the queues of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct QueuesAgainstCapture {
    /// The interface.
    pub interface: String,
    /// What speaks against capture.
    pub against: Vec<QueueFinding>,
}

/// The facts about each interface that captured.
pub fn find(environment: &Environment) -> Vec<Found> {
    let host = Topology::of(environment);
    let mut all: Vec<Found> = Vec::new();
    for interface in environment.interfaces.iter().flatten() {
        let against = against_capture(&interface.facts, &host);
        if interface.role != Role::Receive || against.is_empty() {
            continue;
        }
        let queues = QueuesAgainstCapture { interface: interface.name.clone(), against };
        let found = Found::new(Finding::Queues(queues), []);
        // The environment lists an interface once for each placement with other settings. The judgement can be the same.
        if !all.contains(&found) {
            all.push(found);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use capbench_model::environment::interface::PathInterface;
    use capbench_model::for_tests::{card_with_queues, cores_and_nodes, rss_table};

    use capbench_model::environment::Environment;
    use capbench_model::environment::interface::Role;
    use capbench_model::environment::queues::QueueFinding;

    use super::{QueuesAgainstCapture, find};
    use crate::finding::{Finding, Found};

    /// A card with four queues, whose interrupts these CPUs serve. The card's table sends frames to the first two queues only.
    fn interface(role: Role, placement: &str, cpus: [&str; 4]) -> PathInterface {
        PathInterface {
            role,
            name: "eth0".into(),
            made_by_capbench: false,
            placements: vec![placement.into()],
            facts: card_with_queues(cpus, rss_table(vec![64, 64])),
        }
    }

    #[test]
    fn queues_of_the_interface_that_captured_are_judged_once() {
        // CPUs 2 and 3 share a core, and all are on one node.
        let (cpu, memory) = cores_and_nodes(&["2-3"], &["0-7"]);
        let mut environment = Environment {
            cpu: Some(cpu),
            memory: Some(memory),
            interfaces: Some(vec![
                interface(Role::Transmit, "same", ["0", "0", "0", "0"]),
                interface(Role::Receive, "same", ["0", "1", "2", "3"]),
                interface(Role::Receive, "other", ["0", "1", "2", "3"]),
            ]),
            ..Environment::default()
        };
        let against = vec![
            QueueFinding::SameCore { cpus: vec![2, 3], queues: vec![2, 3], of: 4 },
            QueueFinding::UnusedQueues { used: 2, of: 4 },
        ];
        let queues = QueuesAgainstCapture { interface: "eth0".into(), against };
        assert_eq!(find(&environment), [Found::new(Finding::Queues(queues), [])]);
        environment.interfaces = None;
        assert!(find(&environment).is_empty());
    }
}
