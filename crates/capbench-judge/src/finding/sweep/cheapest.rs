//! Facts about the cheapest method and ring that keep up without loss. A method counts as cheaper only if chance does not explain
//! the difference.

mod costs;
mod points;
mod rings;

use capbench_model::saved::SavedMethod;
use serde::Serialize;

use super::point::SweepPoint;
use crate::finding::Found;
use crate::sweep::Analysis;
use crate::sweep::contrasts::{Evidence, Leads};
use crate::sweep::outcome::{SweepScene, Swept};
use costs::Costs;

/// The cheapest method at points in a row.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CheapestAtPoints {
    /// Placement and load of the compared methods.
    pub scene: SweepScene,
    /// The first of the points.
    pub from: SweepPoint,
    /// The last of the points.
    pub to: SweepPoint,
    /// The cheapest, of those that keep up without loss. More than one if they cannot be distinguished.
    pub cheapest: Vec<MethodCost>,
    /// Whether it is the only method that keeps up.
    pub is_only_one: bool,
    /// The weakest evidence that it is cheaper than the other methods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

/// A method and its CPU time per packet.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MethodCost {
    /// The method.
    pub method: SavedMethod,
    /// The least of the points, nanoseconds.
    pub least_ns_per_packet: f64,
    /// The most, nanoseconds.
    pub most_ns_per_packet: f64,
}

/// The cheapest pair of method and ring.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CheapestRing {
    /// Placement and load of the compared methods.
    pub scene: SweepScene,
    /// Number of pairs that keep up without loss.
    pub pairs: usize,
    /// The cheapest of them.
    pub cheapest: RingCost,
    /// The weakest evidence that its method is cheaper than the others; absent if one cannot be distinguished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Methods that cannot be distinguished from it.
    pub not_distinguished: Vec<SavedMethod>,
    /// The pair with the smallest ring of those that cost the same; absent if it is the cheapest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_alike: Option<RingCost>,
}

/// A method with a ring, and its CPU time per packet.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct RingCost {
    /// The method.
    pub method: SavedMethod,
    /// The ring.
    pub ring: SweepPoint,
    /// CPU time of application and kernel per packet, nanoseconds.
    pub ns_per_packet: f64,
}

/// The cheapest method at each point, or the cheapest ring.
pub(super) fn cheapest(swept: &Swept<'_>) -> Vec<Found> {
    let mut all = Vec::new();
    for scene in swept.scenes() {
        // A user chooses the ring, so all rings are compared. Points of other axes are given: at each, the methods are compared.
        let is_chosen = swept.outcome.axis.shows(Analysis::Buffers);
        if !is_chosen && scene.len() < 2 {
            continue;
        }
        // A lead is of the higher value. With the sign reversed the cheaper method leads.
        let leads = Leads::find(&scene, |reading| {
            let costs = costs::ns_per_packet(swept, reading).unwrap_or_default();
            costs.into_iter().map(|cost| -cost).collect()
        });
        let costs = Costs { swept, scene: &scene, leads: &leads.proven };
        if is_chosen {
            all.extend(rings::cheapest_ring(&costs));
        } else {
            all.extend(points::cheapest_at_points(&costs));
        }
    }
    all
}
