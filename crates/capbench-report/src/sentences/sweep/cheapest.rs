//! The words of facts about the cheapest method and ring that keep up without loss.

use capbench_judge::finding::sweep::cheapest::{CheapestAtPoints, CheapestRing, MethodCost, RingCost};
use capbench_judge::sweep::contrasts::Evidence;
use capbench_model::saved::SavedMethod;

use crate::sentences::time;

/// The cheapest method at points in a row.
pub(super) fn at_points(fact: &CheapestAtPoints) -> String {
    let range = match fact.from.index == fact.to.index {
        true => fact.from.label.clone(),
        false => format!("{} to {}", fact.from.label, fact.to.label),
    };
    let words = match fact.cheapest.as_slice() {
        [only] if fact.is_only_one => {
            format!("only {} keeps up without loss, at {} of CPU time per packet", only.method, cost(only))
        }
        [cheapest] => format!(
            "of the methods that keep up without loss, {} costs least, {} of CPU time per packet{}",
            cheapest.method,
            cost(cheapest),
            in_brackets(fact.evidence)
        ),
        alike => {
            let list: Vec<String> =
                alike.iter().map(|one| format!("{} ({})", one.method, cost(one))).collect();
            format!(
                "of the methods that keep up without loss, the cheapest by CPU time per packet cannot be distinguished from each \
                 other: {}",
                list.join(", ")
            )
        }
    };
    format!("{range}: {words}.")
}

fn cost(method: &MethodCost) -> String {
    let most = time(method.most_ns_per_packet);
    if method.most_ns_per_packet - method.least_ns_per_packet < 1.0 {
        return most;
    }
    format!("{} to {most}", time(method.least_ns_per_packet))
}

/// The cheapest pair of method and ring.
pub(super) fn ring(fact: &CheapestRing) -> String {
    let cost = format!("{} of CPU time per packet", time(fact.cheapest.ns_per_packet));
    if fact.pairs == 1 {
        return format!("only {} keeps up without loss, at {cost}.", pair(&fact.cheapest));
    }
    let proof = match fact.not_distinguished.as_slice() {
        [] => in_brackets(fact.evidence),
        methods => {
            let names: Vec<String> = methods.iter().map(SavedMethod::to_string).collect();
            format!(", from which {} cannot be distinguished", names.join(", "))
        }
    };
    let smallest = match &fact.smallest_alike {
        None => "its own".into(),
        Some(smallest) => format!("that of {}, at {}", pair(smallest), time(smallest.ns_per_packet)),
    };
    format!(
        "of {} pairs of method and ring that keep up without loss, {} costs least, {cost}{proof}; of those that cost the same \
         within 5 %, the smallest ring is {smallest}.",
        fact.pairs,
        pair(&fact.cheapest)
    )
}

fn pair(pair: &RingCost) -> String {
    format!("{} with {}", pair.method, pair.ring.label)
}

fn in_brackets(evidence: Option<Evidence>) -> String {
    evidence.map_or_else(String::new, |evidence| format!(" ({evidence})"))
}
