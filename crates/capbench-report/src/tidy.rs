//! The rows of tidy files: one per trial and place of its ledger, with the names of results files.
//!
//! In each trial `intended` = the sum of `count` over its rows, if every place is known: delivered and unexplained frames have
//! rows, too. Discarded attempts and probes have separate rows, marked in `kept`. Only rows with `kept` = `result` are results.

use capbench_model::trial::TrialResult;

use crate::naming::key;
use crate::read::Run;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Text; never unknown.
    Text,
    /// Unsigned integers.
    Count,
    /// Signed integers.
    Signed,
    /// Floating-point numbers.
    Number,
    /// Yes or no; never unknown.
    Flag,
}

/// A field.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// Of [`Holds::Text`].
    Text(String),
    /// Of [`Holds::Count`]; `None` is unknown.
    Count(Option<u64>),
    /// Of [`Holds::Signed`]; `None` is unknown.
    Signed(Option<i64>),
    /// Of [`Holds::Number`]; `None` is unknown.
    Number(Option<f64>),
    /// Of [`Holds::Flag`].
    Flag(bool),
}

/// A row.
#[derive(Clone, Debug)]
pub struct TidyRow<'r> {
    /// The run.
    pub run: &'r str,
    /// The trial.
    pub trial: &'r TrialResult,
    /// `result`, `set_aside` or `probe`.
    pub kept: &'static str,
    /// The trial that this one belongs to; itself if it is a result.
    pub belongs_to: u32,
    /// The place: one of the ledger's, `delivered` or `unexplained`.
    pub place: String,
    /// Frames there; `None` if unknown.
    pub count: Option<i64>,
    /// The counter behind `count`, or why there is none.
    pub source: &'r str,
}

/// A column.
pub struct TidyColumn {
    /// Its name.
    pub key: &'static str,
    /// Its type.
    pub holds: Holds,
    /// Returns its field of a row.
    pub of: fn(&TidyRow<'_>) -> Field,
}

fn text(text: &str) -> Field {
    Field::Text(text.into())
}

/// All columns, in order.
#[rustfmt::skip]
pub const COLUMNS: [TidyColumn; 32] = [
    TidyColumn { key: "run", holds: Holds::Text, of: |row| text(row.run) },
    TidyColumn { key: "number", holds: Holds::Count, of: |row| Field::Count(Some(row.trial.number.into())) },
    TidyColumn { key: "kept", holds: Holds::Text, of: |row| text(row.kept) },
    TidyColumn { key: "belongs_to", holds: Holds::Count, of: |row| Field::Count(Some(row.belongs_to.into())) },
    TidyColumn { key: "phase", holds: Holds::Text, of: |row| Field::Text(key(row.trial.phase)) },
    TidyColumn { key: "method", holds: Holds::Text, of: |row| text(&row.trial.profile.method) },
    TidyColumn { key: "engine", holds: Holds::Text, of: |row| text(&row.trial.engine) },
    TidyColumn { key: "frame_size", holds: Holds::Text, of: |row| Field::Text(row.trial.profile.frame_size.to_string()) },
    TidyColumn { key: "mean_frame_size", holds: Holds::Number, of: |row| Field::Number(Some(row.trial.profile.mean_frame_size)) },
    TidyColumn { key: "placement", holds: Holds::Text, of: |row| text(&row.trial.profile.placement) },
    TidyColumn { key: "generator_cpu", holds: Holds::Count, of: |row| Field::Count(Some(row.trial.profile.cpus.generator.into())) },
    TidyColumn { key: "kernel_cpu", holds: Holds::Count, of: |row| Field::Count(row.trial.profile.cpus.kernel.map(u64::from)) },
    TidyColumn { key: "application_cpu", holds: Holds::Count, of: |row| Field::Count(Some(row.trial.profile.cpus.application.into())) },
    TidyColumn { key: "load_independent", holds: Holds::Flag, of: |row| Field::Flag(row.trial.profile.load_independent) },
    TidyColumn { key: "work", holds: Holds::Text, of: |row| text(&row.trial.profile.work) },
    TidyColumn { key: "intended_pps", holds: Holds::Number, of: |row| Field::Number(row.trial.intended_pps) },
    TidyColumn { key: "duration_s", holds: Holds::Number, of: |row| Field::Number(Some(row.trial.duration_s)) },
    TidyColumn { key: "sending_s", holds: Holds::Number, of: |row| Field::Number(Some(row.trial.sending_s)) },
    TidyColumn { key: "intended", holds: Holds::Count, of: |row| Field::Count(Some(row.trial.intended)) },
    TidyColumn { key: "sent", holds: Holds::Count, of: |row| Field::Count(Some(row.trial.sent)) },
    TidyColumn { key: "delivered", holds: Holds::Count, of: |row| Field::Count(Some(row.trial.delivered)) },
    TidyColumn { key: "duplicates", holds: Holds::Count, of: |row| Field::Count(Some(row.trial.duplicates)) },
    TidyColumn { key: "reordered", holds: Holds::Count, of: |row| Field::Count(Some(row.trial.reordered)) },
    TidyColumn { key: "foreign", holds: Holds::Count, of: |row| Field::Count(Some(row.trial.foreign)) },
    TidyColumn { key: "truncated", holds: Holds::Count, of: |row| Field::Count(Some(row.trial.truncated)) },
    TidyColumn { key: "corrupt", holds: Holds::Count, of: |row| Field::Count(Some(row.trial.corrupt)) },
    TidyColumn { key: "loss_ratio", holds: Holds::Number, of: |row| Field::Number(Some(row.trial.loss_ratio)) },
    TidyColumn { key: "total_ns_per_packet", holds: Holds::Number, of: |row| Field::Number(row.trial.cpu.total_ns_per_packet) },
    TidyColumn { key: "verdict", holds: Holds::Text, of: |row| Field::Text(key(row.trial.verdict)) },
    TidyColumn { key: "place", holds: Holds::Text, of: |row| text(&row.place) },
    TidyColumn { key: "count", holds: Holds::Signed, of: |row| Field::Signed(row.count) },
    TidyColumn { key: "source", holds: Holds::Text, of: |row| text(row.source) },
];

/// The rows of a run.
pub fn rows(run: &Run) -> Vec<TidyRow<'_>> {
    let mut rows = Vec::new();
    for trial in &run.results.trials {
        of_trial(&mut rows, &run.name, trial, "result", trial.number);
        if let Some(guarding) = &trial.guarding {
            for aside in &guarding.set_aside {
                of_trial(&mut rows, &run.name, &aside.trial, "set_aside", trial.number);
            }
            for probe in guarding.recovery.iter().flat_map(|recovery| &recovery.probes) {
                of_trial(&mut rows, &run.name, probe, "probe", trial.number);
            }
        }
    }
    rows
}

fn of_trial<'r>(
    rows: &mut Vec<TidyRow<'r>>,
    run: &'r str,
    trial: &'r TrialResult,
    kept: &'static str,
    belongs_to: u32,
) {
    let row = |place: String, count: Option<i64>, source: &'r str| TidyRow {
        run,
        trial,
        kept,
        belongs_to,
        place,
        count,
        source,
    };
    rows.extend(
        trial.ledger.iter().map(|entry| row(key(entry.place), entry.count.map(signed), &entry.source)),
    );
    rows.push(row("delivered".into(), Some(signed(trial.delivered)), "the application, frame by frame"));
    rows.push(row(
        "unexplained".into(),
        Some(trial.unexplained),
        "sent, less delivered and what places have",
    ));
}

/// Counts are signed in this column because of one place; a larger count saturates.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
