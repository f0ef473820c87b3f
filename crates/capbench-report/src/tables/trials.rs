//! The table of all trials: one row each, with the columns of `trials.csv`.

use capbench_model::trial::TrialResult;
use capbench_results::Results;
use capbench_results::column::{self, Values};
use capbench_results::trial_columns::{self, lost_by_place, place_names};

use super::columns::{NOISE_KEY, unit_of, words_of};
use crate::model::{Cell, Column, Row, Table, Unit};
use crate::sentences::noise;

/// A column of `trials.csv`.
type TrialColumn = column::Column<'static, TrialResult>;

/// The names of the columns with the lower and the upper bound of the application's CPU time.
const APP: &str = "app_ns_per_packet";
const APP_AT_MOST: &str = "app_ns_per_packet_at_most";

/// Every trial, one row each, with the columns of `trials.csv`, and why a trial needs caution.
pub(crate) fn table(results: &Results) -> Table {
    let mut saved_columns = trial_columns::columns();
    // A report shows both bounds as a range in the lower bound's column.
    saved_columns.retain(|column| column.name != APP_AT_MOST);
    let mut columns: Vec<Column> = saved_columns.iter().map(shown_column).collect();
    for name in place_names() {
        let heading = name.replacen('_', ": ", 1).replace('_', " ");
        columns.push(Column::new(&name, &heading, Unit::Count));
    }
    columns.push(Column::words(NOISE_KEY, "noisy because"));
    let rows = results.trials.iter().map(|trial| row(&saved_columns, trial)).collect();
    let caption = "Every trial; names and units as in results.json and trials.csv".into();
    let table = Table { id: "trials".into(), caption, columns, rows, ..Table::default() };
    table.with_notes(note_of_discarded(results))
}

/// A trial's cells for these columns, for its losses by place, and for the reasons of caution.
fn row(columns: &[TrialColumn], trial: &TrialResult) -> Row {
    let mut cells = Vec::new();
    for column in columns {
        cells.push(match app_at_most(trial) {
            Some(high) if column.name == APP => range(trial.cpu.app_ns_per_packet, high),
            _ => cell(column, trial),
        });
    }
    cells.extend(lost_by_place(trial).into_iter().map(Cell::count_or_unknown));
    let mut reasons: Vec<String> = trial.noise.reasons.iter().map(noise::words).collect();
    reasons.extend(trial.invalid_because.clone());
    cells.push(if reasons.is_empty() { Cell::Empty } else { Cell::text(reasons.join("; ")) });
    Row::new(cells, vec![trial.number])
}

/// Says how many attempts are in the results besides the trials; nothing if there are none.
fn note_of_discarded(results: &Results) -> Option<String> {
    let mut discarded = 0;
    for guarding in results.trials.iter().filter_map(|trial| trial.guarding.as_ref()) {
        discarded += guarding.discarded.len();
    }
    match discarded {
        0 => None,
        1 => Some(
            "One attempt was discarded and is in results.json, inside the trial that it belongs to.".into(),
        ),
        many => Some(format!(
            "{many} attempts were discarded and are in results.json, inside the trials that they belong to."
        )),
    }
}

/// The trials of two runs in one table. The first column names the run.
pub(crate) fn table_of_two_runs(runs: [(&str, &Results); 2]) -> Table {
    let mut all = Table::default();
    for (name, results) in runs {
        let mut trials = table(results);
        trials.columns.insert(0, Column::words("run", "run"));
        for row in &mut trials.rows {
            row.cells.insert(0, name.into());
        }
        for note in &mut trials.notes {
            *note = format!("{name}: {note}");
        }
        trials.rows.splice(0..0, all.rows);
        trials.notes.splice(0..0, all.notes);
        all = trials;
    }
    all
}

/// How a report shows a column of `trials.csv`.
fn shown_column(column: &TrialColumn) -> Column {
    let key = column.name;
    let is_count = !matches!(column.values, Values::Text(_) | Values::Flag(_))
        && !key.ends_with("_cpu")
        && !matches!(key, "number" | "attempt");
    let unit = match unit_of(key) {
        Unit::None if is_count => Unit::Count,
        unit => unit,
    };
    Column::new(key, &words_of(key), unit)
}

/// A range up to `high`; one number if the lower end is no smaller.
fn range(low: Option<f64>, high: f64) -> Cell {
    match low {
        Some(low) if low < high => Cell::Range { low, high },
        _ => Cell::number_or_unknown(low),
    }
}

/// The value of a column in a trial.
fn cell(column: &TrialColumn, trial: &TrialResult) -> Cell {
    match &column.values {
        Values::Count(find) => Cell::count_or_unknown(find(trial)),
        Values::Signed(find) => find(trial).map_or(Cell::Unknown, Cell::Signed),
        Values::Number(find) => Cell::number_or_unknown(find(trial)),
        Values::Flag(find) => match find(trial) {
            Some(true) => Cell::text("yes"),
            Some(false) => Cell::text("no"),
            None => Cell::Unknown,
        },
        _ => Cell::text(column.csv_field(trial)),
    }
}

/// The upper bound of the application's CPU time per packet. The time is exact unless the kernel only samples how CPU time
/// splits between application and kernel.
pub(super) fn app_at_most(trial: &TrialResult) -> Option<f64> {
    let exact = trial.cpu.app_ns_per_packet;
    if trial.cpu.split_is_sampled { trial.cpu.app_ns_per_packet_at_most.or(exact) } else { exact }
}
