//! The words of `QueuesAgainstCapture` and of `QueueFinding`: what is known of the receive queues of an interface, and which of
//! it makes capture slower or its results harder to explain.

use capbench_judge::finding::queues::QueuesAgainstCapture;
use capbench_model::environment::queues::QueueFinding;

/// The text of a fact.
pub(super) fn words(queues: &QueuesAgainstCapture) -> String {
    let against: Vec<String> = queues.against.iter().map(queue_words).collect();
    format!("{}: {}.", queues.interface, against.join("; "))
}

/// What is known of the queues of an interface.
pub fn queue_words(finding: &QueueFinding) -> String {
    match finding {
        QueueFinding::SameCpu { cpu, queues, of } => {
            let count = queues.len();
            format!("{count} of {of} queues interrupt the same CPU {cpu}: queues {}", listed(queues))
        }
        QueueFinding::SameCore { cpus, queues, of } => format!(
            "{} of {of} queues interrupt the same core: CPUs {} are threads of one core",
            queues.len(),
            listed(cpus)
        ),
        QueueFinding::RemoteNode { queue, cpu, node, card_node } => format!(
            "queue {queue} interrupts CPU {cpu} on NUMA node {node}, and the card is on node {card_node}"
        ),
        QueueFinding::UnusedQueues { used, of } => {
            format!("the RSS table distributes frames to {used} of {of} queues")
        }
        QueueFinding::Preferred { queue, entries, of } => {
            format!("queue {queue} has {entries} of {of} entries of the RSS table")
        }
        QueueFinding::NoTable { queues } => format!(
            "the driver reports no RSS table: how it distributes frames to {queues} queues is unknown"
        ),
        QueueFinding::AsymmetricKey => {
            "the RSS key is not symmetric: the two directions of a connection can come to different queues"
                .into()
        }
        QueueFinding::UnknownInterrupts { queues } => {
            let word = if queues.len() == 1 { "queue" } else { "queues" };
            format!("the CPUs of the interrupts of {word} {} are unknown", listed(queues))
        }
    }
}

/// `0, 1 and 3`.
fn listed(numbers: &[u32]) -> String {
    let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
    match &words[..] {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::{QueueFinding, QueuesAgainstCapture, queue_words, words};

    #[test]
    fn all_that_is_against_capture_is_one_sentence() {
        let same_core = QueueFinding::SameCore { cpus: vec![2, 3], queues: vec![2, 3], of: 4 };
        let unused = QueueFinding::UnusedQueues { used: 2, of: 4 };
        let queues = QueuesAgainstCapture { interface: "eth0".into(), against: vec![same_core, unused] };
        assert_eq!(
            words(&queues),
            "eth0: 2 of 4 queues interrupt the same core: CPUs 2 and 3 are threads of one core; the RSS table distributes frames \
             to 2 of 4 queues."
        );
    }

    #[test]
    fn each_finding_has_words() {
        for (finding, words) in [
            (
                QueueFinding::SameCpu { cpu: 5, queues: vec![0, 1, 2], of: 4 },
                "3 of 4 queues interrupt the same CPU 5: queues 0, 1 and 2",
            ),
            (
                QueueFinding::RemoteNode { queue: 3, cpu: 9, node: 1, card_node: 0 },
                "queue 3 interrupts CPU 9 on NUMA node 1, and the card is on node 0",
            ),
            (
                QueueFinding::Preferred { queue: 0, entries: 100, of: 128 },
                "queue 0 has 100 of 128 entries of the RSS table",
            ),
            (
                QueueFinding::NoTable { queues: 4 },
                "the driver reports no RSS table: how it distributes frames to 4 queues is unknown",
            ),
            (
                QueueFinding::AsymmetricKey,
                "the RSS key is not symmetric: the two directions of a connection can come to different queues",
            ),
            (
                QueueFinding::UnknownInterrupts { queues: vec![7] },
                "the CPUs of the interrupts of queue 7 are unknown",
            ),
        ] {
            assert_eq!(queue_words(&finding), words);
        }
    }
}
