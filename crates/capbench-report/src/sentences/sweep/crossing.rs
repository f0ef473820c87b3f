//! The words of facts about methods of which one overtakes another, and why a ring can hurt once it drops.

use capbench_judge::finding::sweep::crossing::{Crossing, CrossingCosts};

use crate::sentences::{percent, time};

/// One method overtakes another.
pub(super) fn crossing(fact: &Crossing) -> String {
    format!(
        "{} keeps up with more than {} up to {} ({}), and with less from {} on ({}), where up to {} of the frames are lost.{}",
        fact.series.method,
        fact.other,
        fact.ahead_up_to.label,
        fact.ahead_evidence,
        fact.behind_from.label,
        fact.behind_evidence,
        percent(fact.loss_ratio),
        fact.costs.as_ref().map_or_else(String::new, |costs| why(fact, costs)),
    )
}

/// The costs that decide.
fn why(fact: &Crossing, costs: &CrossingCosts) -> String {
    let list = format!(
        "{}: {} of the kernel for every frame that arrives and {} of the application, work included, for every one delivered; {}: {} and {}",
        fact.series.method,
        time(costs.first.kernel_ns_per_packet),
        time(costs.first.app_ns_per_packet),
        fact.other,
        time(costs.other.kernel_ns_per_packet),
        time(costs.other.app_ns_per_packet)
    );
    if costs.kernel_pays_for_lost {
        format!(
            " It costs the application less and the kernel more, and the kernel pays for lost frames, too ({list})."
        )
    } else {
        format!(" ({list}.)")
    }
}
