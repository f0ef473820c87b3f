//! The cheapest of all rings and methods. Methods are compared at the same rings; of rings with equal cost the smallest wins.

use std::ptr;

use capbench_model::saved::SavedMethod;

use super::costs::{Candidate, Costs};
use super::{CheapestRing, RingCost};
use crate::finding::Found;
use crate::finding::sweep::point::SweepPoint;
use crate::finding::sweep::{SweepFinding, found};
use crate::sweep::contrasts::Evidence;
use crate::sweep::outcome::numbers;
use crate::thresholds::EQUAL_SWEEP_COSTS;

/// The cheapest pair of method and ring; `None` if no pair keeps up.
pub(super) fn cheapest_ring(costs: &Costs<'_, '_>) -> Option<Found> {
    let candidates = costs.candidates(|_| true);
    let first = candidates.first()?;
    let proof = proof(costs, &candidates, first);
    let alike = candidates
        .iter()
        .filter(|pair| pair.ns_per_packet - first.ns_per_packet <= EQUAL_SWEEP_COSTS * pair.ns_per_packet);
    let smallest = alike.min_by_key(|candidate| candidate.reading.point);
    let fact = CheapestRing {
        scene: costs.placement_and_load(),
        pairs: candidates.len(),
        cheapest: ring_cost(costs, first),
        evidence: proof.evidence,
        not_distinguished: proof.not_distinguished,
        smallest_alike: smallest
            .filter(|smallest| !ptr::eq(*smallest, first))
            .map(|smallest| ring_cost(costs, smallest)),
    };
    let trials = numbers(candidates.iter().map(|candidate| candidate.reading));
    Some(found(SweepFinding::CheapestRing(fact), trials))
}

/// Whether the method of the cheapest pair is cheaper than the other methods.
struct Proof {
    evidence: Option<Evidence>,
    not_distinguished: Vec<SavedMethod>,
}

fn proof<'r>(costs: &Costs<'_, 'r>, candidates: &[Candidate<'r>], first: &Candidate<'r>) -> Proof {
    let mut evidence: Option<Evidence> = None;
    let mut not_distinguished = Vec::new();
    for &series in costs.scene.iter().filter(|series| !ptr::eq(**series, first.series)) {
        let best_of_series = candidates.iter().find(|candidate| ptr::eq(candidate.series, series));
        let Some(compared) = best_of_series else { continue };
        match costs.cheaper(first, compared) {
            Some(found) => evidence = Some(evidence.map_or(found, |known| known.weaker(found))),
            None => not_distinguished.push(series.method.clone()),
        }
    }
    let evidence = evidence.filter(|_| not_distinguished.is_empty());
    Proof { evidence, not_distinguished }
}

fn ring_cost(costs: &Costs<'_, '_>, candidate: &Candidate<'_>) -> RingCost {
    RingCost {
        method: candidate.series.method.clone(),
        ring: SweepPoint::of_reading(costs.swept.outcome, candidate.reading),
        ns_per_packet: candidate.ns_per_packet,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Finding;
    use crate::sweep::for_tests::{at_load, outcome, reading, series};
    use crate::sweep::outcome::Swept;

    #[test]
    fn costs_of_rings_are_equal_within_a_twentieth_of_the_higher_one() {
        for (small_ring_ns, is_alike) in [(105.2, true), (105.4, false)] {
            let mut trials = [at_load(1, 1e5, 1e5, 0), at_load(2, 1e5, 1e5, 0)];
            for (trial, ns) in trials.iter_mut().zip([small_ring_ns, 100.0]) {
                trial.cpu.total_ns_per_packet = Some(ns);
            }
            let readings = vec![reading(0, &trials[..1]), reading(1, &trials[1..])];
            let sweep = outcome(&[8.0, 16.0], vec![series("recv", readings)]);
            let swept = Swept::new(&sweep, &trials);
            let costs = Costs { swept: &swept, scene: &[&sweep.series[0]], leads: &[] };
            let found = cheapest_ring(&costs).unwrap();
            let Finding::Sweep(fact) = found.fact else { panic!("{found:?}") };
            let SweepFinding::CheapestRing(fact) = *fact else { panic!("{fact:?}") };
            assert_eq!(fact.smallest_alike.is_some(), is_alike, "100 and {small_ring_ns} ns");
        }
    }
}
