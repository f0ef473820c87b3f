//! The words of `Crossing`: a method that keeps up with more than another one up to a point and with less from a later one on, and
//! the costs that explain it.

use capbench_judge::finding::sweep::crossing::{Crossing, CrossingCosts};
use capbench_model::figures::percent;

use super::{evidence_words, time_words};

/// One method overtakes another.
pub(super) fn crossing(fact: &Crossing) -> String {
    let costs = match &fact.costs {
        Some(costs) => costs_sentence(fact, costs),
        None => String::new(),
    };
    format!(
        "{} keeps up with more than {} up to {} ({}), and with less from {} on ({}), where up to {} of the frames are lost.{costs}",
        fact.series.method,
        fact.other,
        fact.ahead_up_to.label,
        evidence_words(fact.ahead_evidence),
        fact.behind_from.label,
        evidence_words(fact.behind_evidence),
        percent(fact.loss_ratio)
    )
}

/// The costs of both methods, which explain the crossing.
fn costs_sentence(fact: &Crossing, costs: &CrossingCosts) -> String {
    let both_costs = format!(
        "{}: {} of the kernel for every frame that arrives and {} of the application, work included, for every one delivered; {}: {} and {}",
        fact.series.method,
        time_words(costs.first.kernel_ns_per_packet),
        time_words(costs.first.app_ns_per_packet),
        fact.other,
        time_words(costs.other.kernel_ns_per_packet),
        time_words(costs.other.app_ns_per_packet)
    );
    if costs.kernel_pays_for_lost {
        format!(
            " It costs the application less and the kernel more, and the kernel pays for lost frames, too ({both_costs})."
        )
    } else {
        format!(" ({both_costs}.)")
    }
}
