//! What packets cost.

use capbench_measure::results::Results;
use capbench_measure::trial::{CpuAccount, TrialResult};

use crate::groups::{self, Group};
use crate::model::{Cell, Column, Row, Table, Unit};

/// A column: its name, its heading, and where its number comes from.
type Figure = (&'static str, &'static str, fn(&CpuAccount) -> Option<f64>);

const FIGURES: [Figure; 9] = [
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

pub(super) fn tables(results: &Results) -> Vec<Table> {
    table(results).into_iter().collect()
}

fn table(results: &Results) -> Option<Table> {
    let groups = groups::of(results);
    let mut columns = Group::columns();
    columns.push(Column::named("delivered_pps", "delivered"));
    columns.extend(FIGURES.iter().map(|(key, heading, _)| Column::named(key, heading)));
    columns.push(Column::words("split", "how application and kernel divide"));
    columns.push(Column::new("involuntary_switches", "switches because others ran", Unit::Count));
    let rows = groups
        .iter()
        .map(|group| {
            let mut cells = group.cells();
            let median = |of: &dyn Fn(&TrialResult) -> Option<f64>| {
                Cell::median(group.trials.iter().map(|trial| of(trial)))
            };
            cells.push(median(&|trial| Some(trial.delivered_pps)));
            cells.extend(FIGURES.iter().map(|(_, _, of)| median(&|trial| of(&trial.cpu))));
            cells.push(split(&group.trials));
            cells.push(Cell::count(group.trials.iter().try_fold(0u64, |sum, trial| {
                trial.cpu.involuntary_switches.map(|switches| sum.saturating_add(switches))
            })));
            Row::new(cells, group.numbers())
        })
        .collect();
    let caption =
        "CPU time for each packet and what it went with; of several trials the median with its interval";
    let verified =
        groups.iter().flat_map(|group| &group.trials).any(|trial| trial.cpu.verify_ns_per_packet == 0.0);
    let note = if verified {
        "Where verifying takes 0 ns, frames were not verified one by one while they came.".into()
    } else {
        String::new()
    };
    Some(Table::of("cpu-cost", caption, columns, rows)?.with_notes([note]))
}

/// Whether the division of the sum is known, or only sampled.
fn split(trials: &[&TrialResult]) -> Cell {
    let sampled: Vec<&&TrialResult> = trials.iter().filter(|trial| trial.cpu.split_is_sampled).collect();
    if sampled.is_empty() {
        return Cell::Empty;
    }
    let most = sampled.iter().filter_map(|trial| trial.cpu.app_ns_per_packet_at_most).fold(0.0, f64::max);
    let most = crate::figures::number(most, Unit::NanosecondsPerPacket);
    Cell::text(format!("a range: the application takes up to {most} ns"))
}
