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
use crate::thresholds::EQUAL_RING_COSTS;

/// The cheapest pair of method and ring; `None` if no pair keeps up.
pub(super) fn cheapest_ring(costs: &Costs<'_, '_>) -> Option<Found> {
    let candidates = costs.candidates(|_| true);
    let cheapest = candidates.first()?;
    let proof = proof(costs, &candidates, cheapest);
    // Points are in the order of the axis, the smallest ring first.
    let alike = candidates.iter().filter(|pair| is_equal_to_cheaper(pair, cheapest));
    let smallest = alike.min_by_key(|pair| pair.reading.point);
    let fact = CheapestRing {
        scene: costs.placement_and_load(),
        pairs: candidates.len(),
        cheapest: ring_cost(costs, cheapest),
        evidence: proof.evidence,
        not_distinguished: proof.not_distinguished,
        smallest_alike: smallest
            .filter(|smallest| !ptr::eq(*smallest, cheapest))
            .map(|smallest| ring_cost(costs, smallest)),
    };
    let trials = numbers(candidates.iter().map(|candidate| candidate.reading));
    Some(found(SweepFinding::CheapestRing(fact), trials))
}

/// Whether a pair costs the same as the cheapest one.
fn is_equal_to_cheaper(pair: &Candidate<'_>, cheapest: &Candidate<'_>) -> bool {
    pair.ns_per_packet - cheapest.ns_per_packet <= EQUAL_RING_COSTS * pair.ns_per_packet
}

/// Whether the method of the cheapest pair is cheaper than the other methods.
struct Proof {
    /// The weakest evidence of all comparisons; `None` if one method cannot be distinguished.
    evidence: Option<Evidence>,
    not_distinguished: Vec<SavedMethod>,
}

/// Compares the cheapest pair with the cheapest pair of every other method. The candidates are sorted, the cheapest first.
fn proof<'r>(costs: &Costs<'_, 'r>, candidates: &[Candidate<'r>], cheapest: &Candidate<'r>) -> Proof {
    let mut evidence: Option<Evidence> = None;
    let mut not_distinguished = Vec::new();
    for &series in costs.scene {
        if ptr::eq(series, cheapest.series) {
            continue;
        }
        let cheapest_of_series = candidates.iter().find(|candidate| ptr::eq(candidate.series, series));
        let Some(compared) = cheapest_of_series else { continue };
        match costs.evidence_at_any_point(cheapest, compared) {
            Some(found) => evidence = Some(evidence.map_or(found, |known| known.weaker(found))),
            None => not_distinguished.push(series.method.clone()),
        }
    }
    if !not_distinguished.is_empty() {
        evidence = None;
    }
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
    use super::{CheapestRing, Costs, cheapest_ring};
    use crate::finding::Finding;
    use crate::finding::sweep::SweepFinding;
    use crate::sweep::contrasts::{Evidence, Lead};
    use crate::sweep::for_tests::{LoadTrial, reading_of_each, series, sweep_of_loads};
    use crate::sweep::outcome::Swept;

    #[test]
    fn costs_of_rings_are_equal_within_a_twentieth_of_the_higher_one() {
        // The large ring costs 100 ns. A twentieth less than 105.26 ns is 100 ns.
        for (small_ring_ns, is_alike) in [(105.2, true), (105.4, false)] {
            let mut trials = [LoadTrial::lossless(1).result(), LoadTrial::lossless(2).result()];
            trials[0].cpu.total_ns_per_packet = Some(small_ring_ns);
            trials[1].cpu.total_ns_per_packet = Some(100.0);
            let sweep = sweep_of_loads(&[8.0, 16.0], vec![series("recv", reading_of_each(&trials))]);
            let swept = Swept::new(&sweep, &trials);
            let costs = Costs { swept: &swept, scene: &[&sweep.series[0]], leads: &[] };
            assert_eq!(found(&costs).smallest_alike.is_some(), is_alike, "100 and {small_ring_ns} ns");
        }
    }

    fn found(costs: &Costs<'_, '_>) -> CheapestRing {
        let found = cheapest_ring(costs).unwrap();
        let Finding::Sweep(fact) = found.fact else { panic!("{found:?}") };
        let SweepFinding::CheapestRing(fact) = *fact else { panic!("{fact:?}") };
        fact
    }

    #[test]
    fn a_method_that_costs_up_to_a_twentieth_more_is_not_distinguished_although_chance_does_not_explain_it() {
        // A twentieth less than 105.26 ns is 100 ns.
        for (dearer_ns, is_distinguished) in [(105.2, false), (105.4, true)] {
            let mut trials = [LoadTrial::lossless(1).result(), LoadTrial::lossless(2).result()];
            trials[0].cpu.total_ns_per_packet = Some(100.0);
            trials[1].cpu.total_ns_per_packet = Some(dearer_ns);
            let cheaper = series("packet-v3", reading_of_each(&trials[..1]));
            let dearer = series("recv", reading_of_each(&trials[1..]));
            let sweep = sweep_of_loads(&[8.0], vec![cheaper, dearer]);
            let [cheaper, dearer] = &sweep.series[..] else { panic!("two") };
            let evidence = Evidence { by_chance: 0.001, comparisons: 1 };
            let lead =
                Lead { ahead: cheaper, behind: dearer, points: Vec::new(), gain: 5.0, most: 105.0, evidence };
            let costs =
                Costs { swept: &Swept::new(&sweep, &trials), scene: &[cheaper, dearer], leads: &[lead] };
            let fact = found(&costs);
            assert_eq!(fact.evidence.is_some(), is_distinguished, "100 and {dearer_ns} ns: {fact:?}");
            assert_eq!(fact.not_distinguished.is_empty(), is_distinguished);
        }
    }
}
