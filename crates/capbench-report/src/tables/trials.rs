//! Every trial, one row each, with the columns of `trials.csv`, so that a new column there appears here, and why a trial needs
//! caution.

use crate::results::{Results, trial_fields, trial_heads};

use crate::model::{Cell, Column, Row, Table, Unit};

use super::shape::{unit_of, words_of};

/// Text columns, even if values look like numbers.
const WORDS: [&str; 6] = ["phase", "method", "frame_size", "placement", "work", "verdict"];
/// Columns of numbers that can be negative.
const SIGNED: [&str; 1] = ["unexplained"];

/// The table.
pub(crate) fn table(results: &Results) -> Table {
    let head = trial_heads();
    let mut columns: Vec<Column> = head.iter().map(|key| column(key)).collect();
    columns.push(Column::words("care", "to be taken with care because"));
    let mut rows = Vec::with_capacity(results.trials.len());
    for trial in &results.trials {
        let fields = trial_fields(trial);
        let mut cells: Vec<Cell> = head.iter().zip(&fields).map(|(key, field)| cell(key, field)).collect();
        let mut care = trial.noise.clone();
        care.extend(trial.invalid_because.clone());
        cells.push(if care.is_empty() { Cell::Empty } else { Cell::text(care.join("; ")) });
        rows.push(Row::new(cells, vec![trial.number]));
    }
    let aside: usize = results
        .trials
        .iter()
        .filter_map(|trial| trial.guarding.as_ref())
        .map(|guarding| guarding.set_aside.len())
        .sum();
    let note = match aside {
        0 => String::new(),
        1 => "One attempt was set aside and is in results.json, inside the trial that it belongs to.".into(),
        many => format!(
            "{many} attempts were set aside and are in results.json, inside the trials that they belong to."
        ),
    };
    Table {
        id: "trials".into(),
        caption: "Every trial; names and units as in results.json and trials.csv".into(),
        columns,
        rows,
        notes: Vec::new(),
        is_main: false,
    }
    .with_notes([note])
}

fn column(key: &str) -> Column {
    let heading = match key.strip_prefix("lost_") {
        Some(place) => format!("lost: {}", place.replace('_', " ")),
        None => words_of(key),
    };
    let is_count =
        WORDS.iter().all(|words| *words != key) && unit_of(key) == Unit::None && !key.ends_with("_cpu");
    let unit = match unit_of(key) {
        Unit::None if is_count && !matches!(key, "number" | "attempt" | "load_independent") => Unit::Count,
        unit => unit,
    };
    Column::new(key, &heading, unit)
}

/// A cell by the type of its content; empty is unknown, as in the file.
fn cell(key: &str, field: &str) -> Cell {
    if field.is_empty() {
        return Cell::Unknown;
    }
    if WORDS.contains(&key) {
        return Cell::text(field);
    }
    let number = || field.parse().ok().filter(|number: &f64| number.is_finite()).map(Cell::Number);
    let exact = match unit_of(key) {
        _ if SIGNED.contains(&key) => field.parse().ok().map(Cell::Signed),
        Unit::None | Unit::Count | Unit::Nanoseconds => field.parse().ok().map(Cell::Count),
        _ => None,
    };
    match field {
        "true" => Cell::text("yes"),
        "false" => Cell::text("no"),
        _ => exact.or_else(number).unwrap_or_else(|| Cell::text(field)),
    }
}
