//! Which hosts became worse.

use capbench_judge::comparison::hosts::{HostChange, HostsCompared};
use capbench_judge::comparison::{Contrast, Judgement, Scale as Compared};
use capbench_model::figures::{grouped, many, percent};
use capbench_report::model::{Cell, Table, Unit};

use super::{column, row};

/// Rows of the table of hosts.
const MOST_HOSTS: usize = 50;

/// A change of a host that is named in a sentence.
const NAMED_CHANGE: f64 = 0.02;
/// Hosts named in a sentence.
const NAMED_HOSTS: usize = 5;

/// Which hosts became worse in the figure of a regression.
pub(super) fn which_hosts(contrast: &Contrast, compared: &HostsCompared) -> Option<String> {
    if contrast.setups > 1 {
        return None;
    }
    let limit = match contrast.measure.scale() {
        Compared::Ratio => NAMED_CHANGE,
        Compared::Difference => compared.comparison.thresholds.loss,
    };
    let own: Vec<&HostChange> = worst_first(compared, contrast).collect();
    let worse: Vec<&&HostChange> = own.iter().filter(|change| change.worse() >= limit).collect();
    let names: Vec<&str> = worse.iter().take(NAMED_HOSTS).map(|change| change.host.as_str()).collect();
    let list = match worse.len() - names.len() {
        _ if names.is_empty() => String::new(),
        0 => format!(": {}", names.join(", ")),
        others => format!(": {} and {others} more", names.join(", ")),
    };
    let hosts = many(own.len() as u64, "host", "hosts");
    Some(format!("{} of {hosts} became worse by {} or more{list}.", worse.len(), percent(limit)))
}

fn worst_first<'c>(
    compared: &'c HostsCompared,
    contrast: &'c Contrast,
) -> impl Iterator<Item = &'c HostChange> {
    let is_own = |change: &&HostChange| change.setup == contrast.setup && change.measure == contrast.measure;
    let mut own: Vec<&HostChange> = compared.changes.iter().filter(is_own).collect();
    own.sort_by(|a, b| b.worse().total_cmp(&a.worse()).then_with(|| a.host.cmp(&b.host)));
    own.into_iter()
}

/// The hosts in the figures that changed, the worst first.
pub(super) fn table_of_hosts(compared: &HostsCompared) -> Option<Table> {
    let shown = [Judgement::Regression, Judgement::Improvement];
    let contrasts = shown.into_iter().flat_map(|judgement| compared.comparison.judged(judgement));
    let mut rows = Vec::new();
    for contrast in contrasts.filter(|contrast| contrast.setups == 1) {
        for change in worst_first(compared, contrast).take(MOST_HOSTS) {
            let figure = |value: f64| match change.measure.scale() {
                Compared::Difference => Cell::Text(percent(value)),
                Compared::Ratio => Cell::Text(grouped(value)),
            };
            let runs = |side: usize| Cell::Count(change.runs[side] as u64);
            rows.push(row([
                Cell::Text(change.measure.words().into()),
                Cell::Text(change.setup.to_string()),
                Cell::Text(change.host.clone()),
                figure(change.medians[0]),
                figure(change.medians[1]),
                Cell::Number(change.change),
                runs(0),
                runs(1),
            ]));
        }
    }
    (!rows.is_empty()).then(|| Table {
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
