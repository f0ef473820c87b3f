//! What of the queues of the interfaces that captured stood against capture: the judgement of `capbench tune check`.

use capbench_model::environment::Environment;
use capbench_model::environment::interface::Role;
use capbench_model::environment::queues::against_capture;
use capbench_model::environment::topology::Topology;

use super::finding;
use capbench_results::Finding;

pub(super) fn find(environment: &Environment) -> Vec<Finding> {
    let host = Topology::of(environment);
    let captured = environment.interfaces.iter().flatten().filter(|one| one.role == Role::Receive);
    let mut texts: Vec<String> = Vec::new();
    for interface in captured {
        let against = against_capture(&interface.facts, &host);
        let against: Vec<String> = against.iter().map(ToString::to_string).collect();
        let text = format!("{}: {}.", interface.name, against.join("; "));
        // An interface is listed for each placement for which its settings were others.
        if !against.is_empty() && !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts.into_iter().map(|text| finding(text, [])).collect()
}

#[cfg(test)]
mod tests {
    use capbench_model::environment::interface::PathInterface;
    use capbench_model::for_tests::{card_with_queues, cores_and_nodes, rss_table};

    use super::*;

    #[test]
    fn queues_of_the_interface_that_captured_are_judged_once() {
        let (cpu, memory) = cores_and_nodes(&["2-3"], &["0-7"]);
        let on = |role, placement: &str, cpus| PathInterface {
            role,
            name: "eth0".into(),
            made_by_capbench: false,
            placements: vec![placement.into()],
            facts: card_with_queues(cpus, rss_table(vec![64, 64])),
        };
        let shared = ["0", "1", "2", "3"];
        let mut environment = Environment {
            cpu: Some(cpu),
            memory: Some(memory),
            interfaces: Some(vec![
                on(Role::Transmit, "same", ["0", "0", "0", "0"]),
                on(Role::Receive, "same", shared),
                on(Role::Receive, "other", shared),
            ]),
            ..Environment::default()
        };
        let texts: Vec<String> = find(&environment).into_iter().map(|finding| finding.text).collect();
        assert_eq!(
            texts,
            [
                "eth0: 2 of 4 queues interrupt the same core: CPUs 2 and 3 are threads of one core; the RSS table distributes \
                 frames to 2 of 4 queues."
            ]
        );
        environment.interfaces = None;
        assert!(find(&environment).is_empty());
    }
}
