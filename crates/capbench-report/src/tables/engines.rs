//! What did the work behind each method's name, as it was found out.

use capbench_measure::results::Results;

use crate::model::{Cell, Column, Row, Table};

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let mut rows: Vec<Row> = Vec::new();
    for trial in results.trials.iter().filter(|trial| !trial.engine.is_empty()) {
        let cells = vec![Cell::text(trial.profile.method.as_str()), Cell::text(trial.engine.as_str())];
        match rows.iter_mut().find(|row| row.cells == cells) {
            Some(row) => row.trials.push(trial.number),
            None => rows.push(Row::new(cells, vec![trial.number])),
        }
    }
    let columns = vec![Column::words("method", "method"), Column::words("engine", "what ran")];
    Table::of("engines", "Library, version and mode, by method", columns, rows)
        .map(Table::main)
        .into_iter()
        .collect()
}
