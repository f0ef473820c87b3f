//! The cheapest method at each point; neighbouring points with the same result share a fact.

use std::ptr;

use capbench_model::saved::SavedMethod;

use super::costs::{Candidate, Costs};
use super::{CheapestAtPoints, MethodCost};
use crate::finding::Found;
use crate::finding::sweep::point::SweepPoint;
use crate::finding::sweep::{SweepFinding, found};
use crate::sweep::contrasts::Evidence;
use crate::sweep::keeps_up::sustains_its_load;
use crate::sweep::outcome::{Reading, numbers};

/// The result at one point.
#[derive(PartialEq)]
struct Cheapest<'r> {
    /// Methods that are not proven more expensive than another one, in the order of the scene.
    methods: Vec<&'r SavedMethod>,
    /// Whether no other method keeps up.
    is_only_one: bool,
}

/// Points in a row with the same result, of an axis with an order.
struct Run<'r> {
    cheapest: Cheapest<'r>,
    /// Index of the first point.
    first: usize,
    /// Index of the last point.
    last: usize,
    /// The methods with known cost at these points.
    candidates: Vec<Candidate<'r>>,
}

/// A fact for each run of points with the same result.
pub(super) fn cheapest_at_points(costs: &Costs<'_, '_>) -> Vec<Found> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    let has_order = !costs.swept.outcome.has_named_points();
    for point in 0..costs.swept.outcome.points.len() {
        let candidates = costs.candidates(|reading| reading.point == point);
        let Some(cheapest) = cheapest_at(costs, &candidates, point) else { continue };
        let goes_on = |run: &&mut Run<'_>| has_order && run.last + 1 == point && run.cheapest == cheapest;
        match runs.last_mut().filter(goes_on) {
            Some(run) => {
                run.last = point;
                run.candidates.extend(candidates);
            }
            None => runs.push(Run { cheapest, first: point, last: point, candidates }),
        }
    }
    runs.iter().map(|run| fact(costs, run)).collect()
}

/// The result at one point; `None` if no method keeps up, or if the cost of one is unknown, which may be the cheapest. The candidates are
/// sorted, the cheapest first.
fn cheapest_at<'r>(
    costs: &Costs<'_, 'r>,
    candidates: &[Candidate<'r>],
    point: usize,
) -> Option<Cheapest<'r>> {
    let cheapest = candidates.first()?;
    if methods_that_keep_up(costs, point) > candidates.len() {
        return None;
    }
    if candidates.len() == 1 {
        return Some(Cheapest { methods: vec![&cheapest.series.method], is_only_one: true });
    }
    let mut methods = Vec::new();
    for &series in costs.scene {
        let mut of_series = candidates.iter().filter(|candidate| ptr::eq(candidate.series, series));
        // Without evidence that it is dearer, it may be as cheap.
        if of_series.any(|candidate| costs.evidence_at_point(cheapest, candidate).is_none()) {
            methods.push(&series.method);
        }
    }
    Some(Cheapest { methods, is_only_one: false })
}

fn methods_that_keep_up(costs: &Costs<'_, '_>, point: usize) -> usize {
    let readings = costs.scene.iter().flat_map(|series| &series.readings);
    readings.filter(|reading| reading.point == point && sustains_its_load(costs.swept, reading)).count()
}

fn fact(costs: &Costs<'_, '_>, run: &Run<'_>) -> Found {
    let evidence = match run.cheapest.methods.as_slice() {
        [cheapest] if !run.cheapest.is_only_one => weakest_evidence(costs, &run.candidates, cheapest),
        _ => None,
    };
    let outcome = costs.swept.outcome;
    let cheapest = run.cheapest.methods.iter().map(|method| method_cost(&run.candidates, method));
    let fact = CheapestAtPoints {
        scene: costs.placement_and_load(),
        from: SweepPoint::with_index(outcome, run.first),
        to: SweepPoint::with_index(outcome, run.last),
        cheapest: cheapest.collect(),
        is_only_one: run.cheapest.is_only_one,
        evidence,
    };
    let mut readings: Vec<&Reading> = Vec::new();
    for candidate in &run.candidates {
        readings.push(candidate.reading);
    }
    found(SweepFinding::CheapestAtPoints(fact), numbers(readings))
}

/// The weakest evidence that a method is cheaper than the others.
fn weakest_evidence(
    costs: &Costs<'_, '_>,
    candidates: &[Candidate<'_>],
    cheapest: &SavedMethod,
) -> Option<Evidence> {
    let mut weakest: Option<Evidence> = None;
    for best in candidates.iter().filter(|candidate| candidate.series.method == *cheapest) {
        for compared in candidates.iter().filter(|compared| compared.reading.point == best.reading.point) {
            let Some(evidence) = costs.evidence_at_point(best, compared) else { continue };
            weakest = Some(weakest.map_or(evidence, |known| known.weaker(evidence)));
        }
    }
    weakest
}

/// The cost range of a method at these points.
fn method_cost(candidates: &[Candidate<'_>], method: &SavedMethod) -> MethodCost {
    let mut cost =
        MethodCost { method: method.clone(), least_ns_per_packet: f64::INFINITY, most_ns_per_packet: 0.0 };
    for candidate in candidates.iter().filter(|candidate| candidate.series.method == *method) {
        cost.least_ns_per_packet = cost.least_ns_per_packet.min(candidate.ns_per_packet);
        cost.most_ns_per_packet = cost.most_ns_per_packet.max(candidate.ns_per_packet);
    }
    cost
}
