//! The words of facts about what a packet costs besides the work.

use capbench_judge::finding::sweep::cost::{
    CostChange, CostRegime, LimitedByKernel, NoCost, PacketCost, SlowedWork,
};
use capbench_model::figures::grouped;

use crate::naming::many;
use crate::sentences::{percent, time};

/// Points where the kernel is the limit.
pub(super) fn limited_by_kernel(fact: &LimitedByKernel) -> String {
    let at = match fact.points {
        1 => format!("at {}", fact.first.label),
        several => format!("at {several} points, from {} to {}", fact.first.label, fact.last.label),
    };
    let place = fact.place.map_or("before the method", |place| place.words());
    let kernel = fact.kernel.as_ref().map_or_else(String::new, |kernel| {
        format!(
            " Its receive work takes {} for every frame that it lets through, {} of a CPU.",
            time(kernel.ns_per_packet),
            percent(kernel.busy_ratio)
        )
    });
    format!(
        "{}: kernel-limited {at}: up to {} of the frames are lost {place}, and the application reads those that are left, {} \
         packets/s.{kernel} That is not a cost of the application, so no cost regime is computed there.",
        fact.series.method,
        percent(fact.loss_ratio),
        grouped(fact.read_pps)
    )
}

/// Points that show no cost.
pub(super) fn no_cost(fact: &NoCost) -> String {
    format!(
        "{}: the application is the limit at {}: too few points, or too uneven a line, to compute what a packet costs.",
        fact.series.method,
        many(fact.points as u64, "point", "points")
    )
}

/// What a packet costs, and where that changes.
pub(super) fn packet_cost(fact: &PacketCost) -> String {
    let costs = match fact.regimes.as_slice() {
        [] => format!(
            "besides the work a packet costs {} at {} and {} at {}, without a plateau.",
            time(fact.first.cost_ns),
            fact.first.point.label,
            time(fact.last.cost_ns),
            fact.last.point.label
        ),
        [one] => format!("one cost regime: besides the work a packet costs {}.", regime(one)),
        several => {
            let list: Vec<String> = several.iter().map(regime).collect();
            format!(
                "{} cost regimes: besides the work a packet costs {}.",
                several.len(),
                list.join(", then ")
            )
        }
    };
    let changes: String = fact.changes.iter().map(change).collect();
    let slowed = fact.slowed_work.as_ref().map_or_else(String::new, slowed_work);
    format!("{}: {costs}{changes}{slowed}", fact.series.method)
}

fn regime(regime: &CostRegime) -> String {
    format!(
        "{} ({} to {}) from {} to {}",
        time(regime.cost_ns),
        time(regime.least_ns),
        time(regime.most_ns),
        regime.from.label,
        regime.to.label
    )
}

fn change(change: &CostChange) -> String {
    format!(
        " Between {} and {} {}; the costs differ by more than chance explains ({}).",
        change.from.label,
        change.to.label,
        goes_with(change),
        change.evidence
    )
}

/// Quantities that change together with the cost.
fn goes_with(change: &CostChange) -> String {
    let mut list = Vec::new();
    if let Some(wakeups) = change.wakeups_per_packet {
        list.push(format!("wake-ups per packet go from {:.3} to {:.3}", wakeups.before, wakeups.after));
    }
    if let Some(batch) = change.frames_per_batch {
        list.push(format!("frames per batch from {:.1} to {:.1}", batch.before, batch.after));
    }
    for (share, place) in
        [(change.backlog_share, "the backlog"), (change.ring_share, "the ring or socket queue")]
    {
        let Some(share) = share else { continue };
        list.push(format!(
            "the share of {place} in the loss from {} to {}",
            percent(share.before),
            percent(share.after)
        ));
    }
    if list.is_empty() {
        return "no counter here changes with it: neither wake-ups, batches, backlog nor ring".into();
    }
    list.join(", ")
}

fn slowed_work(slowed: &SlowedWork) -> String {
    let Some(part) = &slowed.of_alone else {
        return format!(
            " An iteration takes {:.3} ns there, the kernel's share of the CPU included.",
            slowed.unit_ns
        );
    };
    let costs: Vec<String> = part.costs_ns.iter().map(|cost| time(*cost)).collect();
    format!(
        " The work takes {:.2} times as long there as alone: the application has {} of its CPU, and of its own time a packet costs \
         it {}.",
        1.0 / part.cpu_share,
        percent(part.cpu_share),
        costs.join(", then ")
    )
}
