//! Where one method of a sweep overtakes another, by the leads in the rates that both sustain, and the costs that explain it.

use std::ptr;

use capbench_model::saved::SavedMethod;
use capbench_model::trial::TrialResult;
use serde::Serialize;

use super::point::{SweepPoint, SweepSeries};
use super::{SweepFinding, found};
use crate::finding::Found;
use crate::sweep::contrasts::{Evidence, Lead, LeadPoint, Leads};
use crate::sweep::outcome::{Reading, Series, Swept, numbers};

/// A method that keeps up with more than another one, and further on with less.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Crossing {
    /// The method that is ahead first.
    pub series: SweepSeries,
    /// The other one.
    pub other: SavedMethod,
    /// Up to this point the first one is ahead.
    pub ahead_up_to: SweepPoint,
    /// Whether chance explains that.
    pub ahead_evidence: Evidence,
    /// From this point on the other one is ahead.
    pub behind_from: SweepPoint,
    /// Whether chance explains that.
    pub behind_evidence: Evidence,
    /// The larger share of sent frames that one of them lost at this point.
    pub loss_ratio: f64,
    /// The costs of both at this point; absent if one is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<CrossingCosts>,
}

/// The costs of two methods at the point at which one overtakes the other.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CrossingCosts {
    /// Of the method that was ahead first.
    pub first: CostParts,
    /// Of the other one.
    pub other: CostParts,
    /// Whether they explain the crossing: the first one costs the application less and the kernel more, and the kernel pays for
    /// lost frames, too.
    pub kernel_pays_for_lost: bool,
}

/// The two deciding costs: the kernel's, for every frame that arrives, and the application's, only for delivered frames. A ring
/// reduces the latter and can raise the former.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CostParts {
    /// The kernel's time for a frame that arrives, nanoseconds.
    pub kernel_ns_per_packet: f64,
    /// The application's time for a delivered frame, work included, nanoseconds.
    pub app_ns_per_packet: f64,
}

/// Where one method of a sweep overtakes another one.
pub(super) fn crossings(swept: &Swept<'_>) -> Vec<Found> {
    let mut all = Vec::new();
    if swept.outcome.has_named_points() {
        return all;
    }
    for scene in swept.scenes() {
        let leads = Leads::find_in_rates(swept, &scene).proven;
        for (nth, first) in scene.iter().enumerate() {
            for second in &scene[nth + 1..] {
                let mut leads_of_both = Vec::new();
                for lead in &leads {
                    if lead.is_notable() && is_of_both(lead, first, second) {
                        leads_of_both.push(lead);
                    }
                }
                all.extend(crossings_of_two(swept, &leads_of_both));
            }
        }
    }
    all
}

/// Whether a lead is one of these two methods over the other.
fn is_of_both(lead: &Lead<'_>, first: &Series, second: &Series) -> bool {
    let is_of_first = ptr::eq(lead.ahead, first) && ptr::eq(lead.behind, second);
    let is_of_second = ptr::eq(lead.ahead, second) && ptr::eq(lead.behind, first);
    is_of_first || is_of_second
}

/// Whether all points of a lead are before those of a later one.
fn is_before(before: &Lead<'_>, after: &Lead<'_>) -> bool {
    last_point(before).ahead.point < after.points[0].ahead.point
}

/// Changes of the leader, by the leads of two methods in the order of the points. Leads of both methods can overlap, because blocks
/// of points are compared: a lead changes nothing if it overlaps one of the other method.
fn crossings_of_two(swept: &Swept<'_>, leads: &[&Lead<'_>]) -> Vec<Found> {
    let mut all = Vec::new();
    let Some((mut before, later)) = leads.split_first() else { return all };
    for after in later {
        if ptr::eq(before.ahead, after.ahead) {
            before = after;
        } else if is_before(before, after) {
            all.push(crossing(swept, before, after));
            before = after;
        }
    }
    all
}

/// A lead has at least one point.
fn last_point<'r>(lead: &Lead<'r>) -> LeadPoint<'r> {
    lead.points[lead.points.len() - 1]
}

/// The fact that the method that is behind in one lead is ahead in a later one.
fn crossing(swept: &Swept<'_>, before: &Lead<'_>, after: &Lead<'_>) -> Found {
    // The first method led before, so it is the one behind after the crossing.
    let LeadPoint { ahead: other, behind: first } = after.points[0];
    let fact = Crossing {
        series: SweepSeries::new(before.ahead),
        other: before.behind.method.clone(),
        ahead_up_to: SweepPoint::of_reading(swept.outcome, last_point(before).ahead),
        ahead_evidence: before.evidence,
        behind_from: SweepPoint::of_reading(swept.outcome, first),
        behind_evidence: after.evidence,
        loss_ratio: first.sent_loss_ratio.median.max(other.sent_loss_ratio.median),
        costs: crossing_costs(swept, first, other),
    };
    let mut readings = Vec::new();
    for at in before.points.iter().chain(&after.points) {
        readings.extend([at.ahead, at.behind]);
    }
    found(SweepFinding::Crossing(fact), numbers(readings))
}

fn crossing_costs(swept: &Swept<'_>, first: &Reading, other: &Reading) -> Option<CrossingCosts> {
    let first = cost_parts(swept, first)?;
    let other = cost_parts(swept, other)?;
    let kernel_pays_for_lost = first.kernel_ns_per_packet > other.kernel_ns_per_packet
        && first.app_ns_per_packet < other.app_ns_per_packet;
    Some(CrossingCosts { first, other, kernel_pays_for_lost })
}

fn cost_parts(swept: &Swept<'_>, reading: &Reading) -> Option<CostParts> {
    Some(CostParts {
        kernel_ns_per_packet: swept.median(reading, |trial| trial.cpu.kernel_ns_per_packet)?,
        app_ns_per_packet: swept.median(reading, exact_app_ns_per_packet)?,
    })
}

/// The application's time per packet; `None` if it is unknown, or if only samples divide the CPU time between application and kernel.
fn exact_app_ns_per_packet(trial: &TrialResult) -> Option<f64> {
    if trial.cpu.split_is_sampled {
        return None;
    }
    trial.cpu.app_ns_per_packet
}
