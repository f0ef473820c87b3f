//! CPU cost of packets.

use crate::results::Results;
use capbench_model::trial::{CpuAccount, TrialResult};

use super::shape::group;
use crate::groups;
use crate::model::{Cell, Table, Unit};

pub(super) fn tables(results: &Results) -> Vec<Table> {
    table(results).into_iter().collect()
}

fn table(results: &Results) -> Option<Table> {
    let groups = groups::of(results);
    type Figure = fn(&CpuAccount) -> Option<f64>;
    let figures: [(&str, &str, Figure); 9] = [
        ("app_ns_per_packet", "application", |cpu| cpu.app_ns_per_packet),
        ("kernel_ns_per_packet", "kernel", |cpu| cpu.kernel_ns_per_packet),
        ("total_ns_per_packet", "together", |cpu| cpu.total_ns_per_packet),
        ("verify_ns_per_packet", "of it verifying", |cpu| Some(cpu.verify_ns_per_packet)),
        ("tracer_ns_per_packet", "of it the tracer", |cpu| cpu.tracer_ns_per_packet),
        ("busy_cores", "busy", |cpu| cpu.busy_cores),
        ("frames_per_batch", "frames a batch", |cpu| cpu.frames_per_batch),
        ("frames_per_wakeup", "frames a wake-up", |cpu| cpu.frames_per_wakeup),
        ("steal_ratio", "stolen", |cpu| cpu.steal_ratio),
    ];
    let columns = group().named("delivered_pps", "delivered", |group| {
        Cell::median(group.trials.iter().map(|trial| Some(trial.delivered_pps)))
    });
    let columns = figures.into_iter().fold(columns, |columns, (key, heading, of)| {
        columns
            .named(key, heading, move |group| Cell::median(group.trials.iter().map(|trial| of(&trial.cpu))))
    });
    let columns = columns
        .words("split", "how application and kernel divide", |group| split(&group.trials))
        .count("involuntary_switches", "switches because others ran", |group| {
            Cell::count(group.trials.iter().try_fold(0u64, |sum, trial| {
                trial.cpu.involuntary_switches.map(|switches| sum.saturating_add(switches))
            }))
        });
    let is_unverified = |trial: &&TrialResult| trial.cpu.verify_ns_per_packet == 0.0;
    let note = groups.iter().flat_map(|group| &group.trials).any(is_unverified).then(|| {
        "Where verifying takes 0 ns, frames were not verified one by one while they came.".to_string()
    });
    let caption =
        "CPU time for each packet and what it went with; of several trials the median with its interval";
    Some(columns.table("cpu-cost", caption, &groups, |group| group.numbers())?.with_notes(note))
}

/// Whether the split of the sum is known exactly, or only sampled.
fn split(trials: &[&TrialResult]) -> Cell {
    let sampled: Vec<&&TrialResult> = trials.iter().filter(|trial| trial.cpu.split_is_sampled).collect();
    if sampled.is_empty() {
        return Cell::Empty;
    }
    let most = sampled.iter().filter_map(|trial| trial.cpu.app_ns_per_packet_at_most).fold(0.0, f64::max);
    let most = crate::figures::number(most, Unit::NanosecondsPerPacket);
    Cell::text(format!("a range: the application takes up to {most} ns"))
}
