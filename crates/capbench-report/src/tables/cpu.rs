//! CPU cost of packets, for each group of trials.

use capbench_model::trial::TrialResult;
use capbench_results::Results;

use super::rows::{Rows, group_fields};
use super::trials::app_at_most;
use crate::figures::number;
use crate::groups::groups_in_run;
use crate::model::{Cell, Column, Table, Unit};

/// A column of a figure that trials have.
struct Figure {
    key: &'static str,
    heading: &'static str,
    value: fn(&TrialResult) -> Option<f64>,
}

#[rustfmt::skip]
const FIGURES: [Figure; 11] = [
    Figure { key: "delivered_pps", heading: "delivered", value: |trial| Some(trial.delivered_pps) },
    Figure { key: "app_ns_per_packet", heading: "application at least", value: |trial| trial.cpu.app_ns_per_packet },
    Figure { key: "app_ns_per_packet_at_most", heading: "at most", value: app_at_most },
    Figure { key: "kernel_ns_per_packet", heading: "kernel", value: |trial| trial.cpu.kernel_ns_per_packet },
    Figure { key: "total_ns_per_packet", heading: "together", value: TrialResult::total_ns_per_packet },
    Figure { key: "verify_ns_per_packet", heading: "of it verifying", value: |trial| Some(trial.cpu.verify_ns_per_packet) },
    Figure { key: "tracer_ns_per_packet", heading: "of it the tracer", value: |trial| trial.cpu.tracer_ns_per_packet },
    Figure { key: "busy_cores", heading: "busy", value: |trial| trial.cpu.busy_cores },
    Figure { key: "frames_per_batch", heading: "frames a batch", value: |trial| trial.cpu.frames_per_batch },
    Figure { key: "frames_per_wakeup", heading: "frames a wake-up", value: |trial| trial.cpu.frames_per_wakeup },
    Figure { key: "steal_ratio", heading: "stolen", value: |trial| trial.cpu.steal_ratio },
];

/// A row per group of trials, with the medians of [`FIGURES`].
pub(super) fn tables(results: &Results) -> Vec<Table> {
    let mut rows = Rows::new();
    let mut has_unverified = false;
    for group in groups_in_run(results) {
        let mut fields = group_fields(&group);
        for figure in &FIGURES {
            let median = Cell::median(group.trials.iter().map(|trial| (figure.value)(trial)));
            fields = fields.with(Column::figure(figure.key, figure.heading), median);
        }
        let fields = fields.words("split", "how application and kernel divide", split(&group.trials));
        let switches = involuntary_switches(&group.trials);
        let fields = fields.count("involuntary_switches", "switches because others ran", switches);
        rows.add(fields, group.numbers());
        has_unverified |= group.trials.iter().any(|trial| trial.cpu.verify_ns_per_packet == 0.0);
    }
    let caption =
        "CPU time for each packet and what it went with; of several trials the median with its interval";
    let Some(mut table) = rows.table("cpu-cost", caption) else { return Vec::new() };
    if has_unverified {
        table
            .notes
            .push("Where verifying takes 0 ns, frames were not verified one by one while they came.".into());
    }
    vec![table]
}

/// The upper bound of the application's part of the CPU time, if the kernel only samples how it splits between application and
/// kernel: of all trials, so that the application uses no more in any; unknown if no trial has one, and empty if the split is exact.
fn split(trials: &[&TrialResult]) -> Cell {
    let mut is_sampled = false;
    let mut most: Option<f64> = None;
    for trial in trials.iter().filter(|trial| trial.cpu.split_is_sampled) {
        is_sampled = true;
        most = most.into_iter().chain(trial.cpu.app_ns_per_packet_at_most).reduce(f64::max);
    }
    let Some(most) = most else { return if is_sampled { Cell::Unknown } else { Cell::Empty } };
    let most = number(most, Unit::NanosecondsPerPacket);
    Cell::text(format!("a range: the application uses up to {most} ns"))
}

/// Involuntary context switches of all trials together; unknown if one trial does not know them.
fn involuntary_switches(trials: &[&TrialResult]) -> Cell {
    let mut sum = 0_u64;
    for trial in trials {
        let Some(switches) = trial.cpu.involuntary_switches else { return Cell::Unknown };
        sum = sum.saturating_add(switches);
    }
    Cell::Count(sum)
}
