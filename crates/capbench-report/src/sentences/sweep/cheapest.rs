//! The words of `CheapestAtPoints` and `CheapestRing`: which method, and which ring, costs least of those that keep up without loss.

use super::evidence_words;
use capbench_judge::finding::sweep::cheapest::{CheapestAtPoints, CheapestRing, MethodCost, RingCost};
use capbench_judge::sweep::contrasts::Evidence;
use capbench_judge::thresholds::EQUAL_RING_COSTS;
use capbench_model::saved::SavedMethod;

use super::time_words;
use crate::naming::percent;

/// The cheapest method at points in a row.
pub(super) fn cheapest_at_points(fact: &CheapestAtPoints) -> String {
    let range = match fact.from.index == fact.to.index {
        true => fact.from.label.clone(),
        false => format!("{} to {}", fact.from.label, fact.to.label),
    };
    let words = match fact.cheapest.as_slice() {
        [only] if fact.is_only_one => {
            format!(
                "only {} keeps up without loss, at {} of CPU time per packet",
                only.method,
                cost_range(only)
            )
        }
        [cheapest] => format!(
            "of the methods that keep up without loss, {} costs least, {} of CPU time per packet{}",
            cheapest.method,
            cost_range(cheapest),
            in_brackets(fact.evidence)
        ),
        not_distinguished => {
            let mut costs = Vec::new();
            for method in not_distinguished {
                costs.push(format!("{} ({})", method.method, cost_range(method)));
            }
            format!(
                "of the methods that keep up without loss, the cheapest by CPU time per packet cannot be distinguished from each \
                 other: {}",
                costs.join(", ")
            )
        }
    };
    format!("{range}: {words}.")
}

/// The cost of a method at the points; both ends of the range if they differ by a nanosecond or more.
fn cost_range(method: &MethodCost) -> String {
    let most = time_words(method.most_ns_per_packet);
    if method.most_ns_per_packet - method.least_ns_per_packet < 1.0 {
        return most;
    }
    format!("{} to {most}", time_words(method.least_ns_per_packet))
}

/// The cheapest pair of method and ring.
pub(super) fn cheapest_ring(fact: &CheapestRing) -> String {
    let cost = format!("{} of CPU time per packet", time_words(fact.cheapest.ns_per_packet));
    if fact.pairs == 1 {
        return format!("only {} keeps up without loss, at {cost}.", method_and_ring(&fact.cheapest));
    }
    let evidence = match fact.not_distinguished.as_slice() {
        [] => in_brackets(fact.evidence),
        methods => {
            let names: Vec<String> = methods.iter().map(SavedMethod::to_string).collect();
            format!(", from which {} cannot be distinguished", names.join(", "))
        }
    };
    let smallest = match &fact.smallest_alike {
        None => "its own".into(),
        Some(smallest) => {
            format!("that of {}, at {}", method_and_ring(smallest), time_words(smallest.ns_per_packet))
        }
    };
    format!(
        "of {} pairs of method and ring that keep up without loss, {} costs least, {cost}{evidence}; of those that cost the same \
         within {}, the smallest ring is {smallest}.",
        fact.pairs,
        method_and_ring(&fact.cheapest),
        percent(EQUAL_RING_COSTS)
    )
}

fn method_and_ring(pair: &RingCost) -> String {
    format!("{} with {}", pair.method, pair.ring.label)
}

/// The evidence in brackets; empty without any.
fn in_brackets(evidence: Option<Evidence>) -> String {
    match evidence {
        Some(evidence) => format!(" ({})", evidence_words(evidence)),
        None => String::new(),
    }
}
