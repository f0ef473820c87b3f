//! The implementation that ran behind each method's name, as detected.

use capbench_results::Results;

use super::rows::{Fields, Rows};
use crate::groups::by_key;
use crate::model::Table;
use crate::naming::numbers;

/// A row per method and engine that ran.
pub(super) fn tables(results: &Results) -> Vec<Table> {
    let with_engine = results.trials.iter().filter(|trial| trial.capture.is_some());
    let by_engine = by_key(with_engine, |trial| (&trial.profile.method, trial.engine()));
    let mut rows = Rows::new();
    for ((method, engine), trials) in by_engine {
        let fields =
            Fields::new().words("method", "method", method.to_string()).words("engine", "what ran", engine);
        rows.add(fields, numbers(trials));
    }
    let table = rows.table("engines", "Library, version and mode, by method");
    Vec::from_iter(table.map(Table::main))
}
