//! The words of `LimitedByKernel`, `PacketCost` and `NoCost`: what a packet costs besides the work, in a sweep of work.

use capbench_judge::finding::sweep::cost::{
    BeforeAndAfter, CostChange, CostRegime, KernelWork, LimitedByKernel, NoCost, PacketCost, SlowedWork,
};
use capbench_model::figures::{grouped, percent};

use super::{evidence_words, time_words};
use crate::naming::many;
use crate::sentences::places;

/// Points where the kernel is the limit.
pub(super) fn limited_by_kernel(fact: &LimitedByKernel) -> String {
    let at = match fact.points {
        1 => format!("at {}", fact.first.label),
        several => format!("at {several} points, from {} to {}", fact.first.label, fact.last.label),
    };
    let place = fact.place.map_or("before the method", places::words);
    let kernel_work = match &fact.kernel {
        Some(KernelWork { ns_per_packet, busy_ratio }) => format!(
            " Its receive work takes {} for every frame that it lets through, {} of a CPU.",
            time_words(*ns_per_packet),
            percent(*busy_ratio)
        ),
        None => String::new(),
    };
    format!(
        "{}: kernel-limited {at}: up to {} of the frames are lost {place}, and the application reads those that are left, {} \
         packets/s.{kernel_work} That is not a cost of the application, so no cost regime is computed there.",
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
            time_words(fact.first.cost_ns),
            fact.first.point.label,
            time_words(fact.last.cost_ns),
            fact.last.point.label
        ),
        [only] => format!("one cost regime: besides the work a packet costs {}.", regime_words(only)),
        several => {
            let regimes: Vec<String> = several.iter().map(regime_words).collect();
            format!(
                "{} cost regimes: besides the work a packet costs {}.",
                several.len(),
                regimes.join(", then ")
            )
        }
    };
    let changes: String = fact.changes.iter().map(change_sentence).collect();
    let slowed_work = match &fact.slowed_work {
        Some(slowed) => slowed_work_sentence(slowed),
        None => String::new(),
    };
    let noise = match fact.is_upper_limit {
        true => {
            " These are upper limits: others used the CPUs of most of these trials, and the time that they took is in the costs."
        }
        false => "",
    };
    format!("{}: {costs}{changes}{slowed_work}{noise}", fact.series.method)
}

/// The cost in a regime, and its points.
fn regime_words(regime: &CostRegime) -> String {
    format!(
        "{} ({} to {}) from {} to {}",
        time_words(regime.cost_ns),
        time_words(regime.least_ns),
        time_words(regime.most_ns),
        regime.from.label,
        regime.to.label
    )
}

/// Where the cost changes, and what changes with it.
fn change_sentence(change: &CostChange) -> String {
    format!(
        " Between {} and {} {}; the costs differ by more than chance explains ({}).",
        change.from.label,
        change.to.label,
        changes_with_cost(change),
        evidence_words(change.evidence)
    )
}

/// Quantities that change together with the cost.
fn changes_with_cost(change: &CostChange) -> String {
    let mut quantities = Vec::new();
    if let Some(wakeups) = change.wakeups_per_packet {
        quantities.push(format!("wake-ups per packet from {:.3} to {:.3}", wakeups.before, wakeups.after));
    }
    if let Some(batch) = change.frames_per_batch {
        quantities.push(format!("frames per batch from {:.1} to {:.1}", batch.before, batch.after));
    }
    if let Some(share) = change.backlog_share {
        quantities.push(share_of_loss("the backlog", share));
    }
    if let Some(share) = change.ring_share {
        quantities.push(share_of_loss("the ring or socket queue", share));
    }
    if quantities.is_empty() {
        return "no counter here changes with it: neither wake-ups, batches, backlog nor ring".into();
    }
    format!("these change: {}", quantities.join(", "))
}

/// How the share of a place in the loss changes.
fn share_of_loss(place: &str, share: BeforeAndAfter) -> String {
    format!("the share of {place} in the loss from {} to {}", percent(share.before), percent(share.after))
}

/// How much longer work takes than requested, and why.
fn slowed_work_sentence(slowed: &SlowedWork) -> String {
    let Some(part) = &slowed.of_alone else {
        return format!(
            " An iteration takes {:.3} ns there, the kernel's share of the CPU included.",
            slowed.unit_ns
        );
    };
    let costs: Vec<String> = part.costs_ns.iter().map(|cost| time_words(*cost)).collect();
    format!(
        " The work takes {:.2} times as long there as alone: the application has {} of its CPU, and of its own time a packet costs \
         it {}.",
        1.0 / part.cpu_share,
        percent(part.cpu_share),
        costs.join(", then ")
    )
}
