//! The words for which hosts became worse.

use capbench_judge::comparison::hosts::{HostChange, HostsCompared, WorseHosts};
use capbench_judge::comparison::{Judgement, Measure, Scale};
use capbench_model::figures::{grouped, many, percent};
use capbench_report::model::{Cell, Row, Table, Unit};

use super::{column, row};

/// Rows of the table of hosts.
const MOST_HOSTS: usize = 50;

/// Hosts named in a sentence.
const NAMED_HOSTS: usize = 5;

/// Which hosts became worse in a figure.
pub(super) fn worse_words(hosts: &WorseHosts) -> String {
    let worse = hosts.worse.len();
    let names = hosts.worse[..worse.min(NAMED_HOSTS)].join(", ");
    let list = match worse.saturating_sub(NAMED_HOSTS) {
        _ if worse == 0 => String::new(),
        0 => format!(": {names}"),
        more => format!(": {names} and {more} more"),
    };
    let all = many(hosts.hosts as u64, "host", "hosts");
    format!("{worse} of {all} became worse by {} or more{list}.", percent(hosts.limit))
}

/// The hosts in the figures that changed, the worst first.
pub(super) fn table_of_hosts(compared: &HostsCompared) -> Option<Table> {
    let mut rows = Vec::new();
    for judgement in [Judgement::Regression, Judgement::Improvement] {
        for contrast in compared.comparison.judged(judgement) {
            if contrast.setups == 1 {
                rows.extend(compared.worst_first(contrast).into_iter().take(MOST_HOSTS).map(row_of_host));
            }
        }
    }
    if rows.is_empty() {
        return None;
    }
    Some(Table {
        id: "hosts".into(),
        caption:
            "Hosts in the figures that changed, the worst first; the change of a single host is not tested"
                .into(),
        columns: vec![
            column("measure", "figure", Unit::None),
            column("setup", "set-up", Unit::None),
            column("host_id", "host", Unit::None),
            column("then", "A", Unit::None),
            column("now", "B", Unit::None),
            column("change_ratio", "change", Unit::Ratio),
            column("runs_then", "runs of A", Unit::Count),
            column("runs_now", "runs of B", Unit::Count),
        ],
        rows,
        notes: Vec::new(),
        is_main: true,
    })
}

fn row_of_host(change: &HostChange) -> Row {
    row([
        Cell::Text(change.measure.words().into()),
        Cell::Text(change.setup.to_string()),
        Cell::Text(change.host.clone()),
        figure(change.measure, change.medians[0]),
        figure(change.measure, change.medians[1]),
        Cell::Number(change.change),
        Cell::Count(change.runs[0] as u64),
        Cell::Count(change.runs[1] as u64),
    ])
}

fn figure(measure: Measure, value: f64) -> Cell {
    match measure.scale() {
        Scale::Difference => Cell::Text(percent(value)),
        Scale::Ratio => Cell::Text(grouped(value)),
    }
}
