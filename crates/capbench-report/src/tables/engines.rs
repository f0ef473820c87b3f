//! The implementation that ran behind each method's name, as detected.

use crate::results::Results;
use capbench_model::trial::TrialResult;

use super::shape::Columns;
use crate::model::Table;
use crate::naming;
use capbench_model::statistics::by_key as grouped;

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let ran = results.trials.iter().filter(|trial| !trial.engine.is_empty());
    let rows = grouped(ran, |trial| (trial.profile.method.as_str(), trial.engine.as_str()));
    let columns = Columns::new()
        .words("method", "method", |((method, _), _): &((&str, &str), Vec<&TrialResult>)| *method)
        .words("engine", "what ran", |((_, engine), _)| *engine);
    let trials = |(_, trials): &(_, Vec<&TrialResult>)| naming::numbers(trials.iter().copied());
    let table = columns.table("engines", "Library, version and mode, by method", rows, trials);
    table.map(Table::main).into_iter().collect()
}
