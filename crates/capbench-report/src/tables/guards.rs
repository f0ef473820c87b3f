//! What guards repeated and marked, and why.

use capbench_measure::results::Results;
use capbench_measure::trial::TrialResult;

use crate::model::{Cell, Column, Row, Table, Unit};
use crate::naming::{self, key};

pub(super) fn tables(results: &Results) -> Vec<Table> {
    [attempts(results), marks(results)].into_iter().flatten().collect()
}

/// Attempts that do not stand, and probes, with the trial that they belong to.
fn attempts(results: &Results) -> Option<Table> {
    let mut rows = Vec::new();
    for trial in &results.trials {
        let Some(guarding) = &trial.guarding else { continue };
        for aside in &guarding.set_aside {
            rows.push(row(trial, &aside.trial, "set aside", aside.because.join("; ")));
        }
        if let Some(recovery) = &guarding.recovery {
            let outcome =
                if recovery.recovered { "the path had recovered" } else { "the path had not recovered" };
            let why = format!("after the overload of trial {}; {outcome}", recovery.after);
            rows.extend(recovery.probes.iter().map(|probe| row(trial, probe, "probe", why.clone())));
        }
    }
    let columns = vec![
        Column::new("number", "number", Unit::None),
        Column::new("belongs_to", "belongs to trial", Unit::None),
        Column::words("what", "what"),
        Column::words("because", "because"),
        Column::words("method", "method"),
        Column::words("load", "load"),
        Column::new("sent", "sent", Unit::Count),
        Column::new("delivered", "delivered", Unit::Count),
        Column::words("lost_where", "lost"),
        Column::words("verdict", "verdict"),
    ];
    Table::of(
        "guards-attempts",
        "Attempts set aside and probes: kept with their trial, and no results",
        columns,
        rows,
    )
}

fn row(trial: &TrialResult, kept: &TrialResult, what: &str, because: String) -> Row {
    let cells = vec![
        Cell::Count(kept.number.into()),
        Cell::Count(trial.number.into()),
        Cell::text(what),
        Cell::text(because),
        Cell::text(kept.profile.method.as_str()),
        Cell::text(naming::load(kept)),
        Cell::Count(kept.sent),
        Cell::Count(kept.delivered),
        Cell::text(naming::places(&kept.losses(), kept.unexplained)),
        Cell::text(key(kept.verdict)),
    ];
    Row::new(cells, vec![trial.number])
}

/// Trials that stand and are to be taken with care.
fn marks(results: &Results) -> Option<Table> {
    let rows = results
        .trials
        .iter()
        .filter_map(|trial| {
            let mut care: Vec<String> = trial.noise.clone();
            care.extend(trial.disturbance.reasons().into_iter().map(String::from));
            care.extend(trial.invalid_because.iter().map(|why| format!("shows nothing: {why}")));
            care.extend(trial.livelock.as_ref().map(|livelock| {
                format!(
                    "livelock: trial {} delivered {} of {}",
                    livelock.against,
                    naming::rate(livelock.delivered_pps),
                    naming::rate(livelock.offered_pps)
                )
            }));
            care.dedup();
            let cells = vec![
                Cell::Count(trial.number.into()),
                Cell::text(trial.profile.method.as_str()),
                Cell::text(naming::phase(trial.phase)),
                Cell::text(naming::load(trial)),
                Cell::text(care.join("; ")),
            ];
            (!care.is_empty()).then(|| Row::new(cells, vec![trial.number]))
        })
        .collect();
    let columns = vec![
        Column::new("trial", "trial", Unit::None),
        Column::words("method", "method"),
        Column::words("phase", "run for"),
        Column::words("load", "load"),
        Column::words("care", "to be taken with care because"),
    ];
    Table::of("guards-marks", "Trials that stand and are to be taken with care", columns, rows)
}
