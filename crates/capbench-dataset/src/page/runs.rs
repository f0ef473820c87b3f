//! The table of runs.

use capbench_judge::comparison::hosts::Figures;
use capbench_report::model::{Cell, Table, Unit};

use super::{column, row};

/// Rows of the table of runs, the last ones.
const MOST_RUNS: usize = 5000;

pub(super) fn table_of_runs(figures: &Figures) -> Table {
    let mut runs: Vec<_> = figures.runs.iter().collect();
    runs.sort_by_key(|run| std::cmp::Reverse(run.started_us));
    let left_out = runs.len().saturating_sub(MOST_RUNS);
    let text = |text: &str| if text.is_empty() { Cell::Unknown } else { Cell::Text(text.into()) };
    let rows = runs.into_iter().take(MOST_RUNS).map(|run| {
        row([
            text(&run.date),
            text(&run.campaign),
            text(run.host.as_deref().unwrap_or_default()),
            text(&run.kernel_release),
            text(&run.command),
            Cell::Count(run.trials),
            Cell::Count(run.intended),
            Cell::Count(run.delivered),
            Cell::Count(run.noisy),
            text(&run.id),
        ])
    });
    Table {
        id: "runs".into(),
        caption: "Every run, the last first".into(),
        columns: vec![
            column("date", "day", Unit::None),
            column("campaign", "campaign", Unit::None),
            column("host_id", "host", Unit::None),
            column("kernel_release", "kernel", Unit::None),
            column("command", "command", Unit::None),
            column("trials", "trials", Unit::Count),
            column("intended", "intended", Unit::Count),
            column("delivered", "delivered", Unit::Count),
            column("noisy", "noisy trials", Unit::Count),
            column("run_id", "run", Unit::None),
        ],
        rows: rows.collect(),
        notes: (left_out > 0)
            .then(|| format!("{left_out} earlier runs are left out here."))
            .into_iter()
            .collect(),
        is_main: false,
    }
}
