//! The words of `QueuesAgainstCapture`: what stands against capture in the queues of an interface.

use capbench_judge::finding::queues::QueuesAgainstCapture;

/// The text of a fact.
pub(super) fn words(queues: &QueuesAgainstCapture) -> String {
    let against: Vec<String> = queues.against.iter().map(ToString::to_string).collect();
    format!("{}: {}.", queues.interface, against.join("; "))
}

#[cfg(test)]
mod tests {
    use capbench_model::environment::queues::QueueFinding;

    use super::{QueuesAgainstCapture, words};

    #[test]
    fn all_that_is_against_capture_is_one_sentence() {
        let same_core = QueueFinding::SameCore { cpus: vec![2, 3], queues: vec![2, 3], of: 4 };
        let unused = QueueFinding::UnusedQueues { used: 2, of: 4 };
        let sentence = format!("eth0: {same_core}; {unused}.");
        let against = vec![same_core, unused];
        assert_eq!(words(&QueuesAgainstCapture { interface: "eth0".into(), against }), sentence);
    }
}
