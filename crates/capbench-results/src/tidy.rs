//! The rows of tidy files: one per trial and place of its ledger, with the names of results files.
//!
//! In each trial `intended` = the sum of `count` over its rows, if every place is known: delivered and unexplained frames have
//! rows, too. Discarded attempts and probes have separate rows, marked in `kept`. Only rows with `kept` = `result` are results.

use capbench_model::trial::TrialResult;

use crate::column::Column;
use crate::read::Run;
use crate::results::Results;
use crate::trial_columns::{column, key};

/// [`SavedTrial::kept`] of a result.
pub const RESULT: &str = "result";

/// A trial that a run saved, and why.
#[derive(Clone, Copy, Debug)]
pub struct SavedTrial<'r> {
    /// The trial.
    pub trial: &'r TrialResult,
    /// Why it is saved: `result`, `set_aside` for a discarded attempt, or `probe`.
    pub kept: &'static str,
    /// The trial that this one belongs to; itself if it is a result.
    pub belongs_to: u32,
}

/// Every trial of a run, each result before its discarded attempts and its probes.
pub fn saved(results: &Results) -> Vec<SavedTrial<'_>> {
    let mut all = Vec::new();
    for result in &results.trials {
        let belongs_to = result.number;
        all.push(SavedTrial { trial: result, kept: RESULT, belongs_to });
        let Some(guarding) = &result.guarding else { continue };
        for attempt in &guarding.discarded {
            all.push(SavedTrial { trial: &attempt.trial, kept: "set_aside", belongs_to });
        }
        let Some(recovery) = &guarding.recovery else { continue };
        for probe in &recovery.probes {
            all.push(SavedTrial { trial: probe, kept: "probe", belongs_to });
        }
    }
    all
}

/// Where frames of a trial went: a place of its ledger, `delivered` or `unexplained`.
#[derive(Clone, Debug)]
pub struct Booked<'r> {
    /// The place.
    pub place: String,
    /// Frames there; `None` if unknown.
    pub count: Option<i64>,
    /// The counter behind `count`, or why there is none.
    pub source: &'r str,
}

/// All places of a trial.
pub fn booked(trial: &TrialResult) -> Vec<Booked<'_>> {
    let mut all = Vec::new();
    for entry in &trial.ledger {
        all.push(Booked { place: key(entry.place), count: entry.count.map(signed), source: &entry.source });
    }
    all.push(Booked {
        place: "delivered".into(),
        count: Some(signed(trial.delivered)),
        source: "the application, frame by frame",
    });
    all.push(Booked {
        place: "unexplained".into(),
        count: Some(trial.unexplained),
        source: "sent, less delivered and what places have",
    });
    all
}

/// A count as a signed number: unexplained frames, in the same column, can be negative. A larger count saturates.
pub fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A row of a trial at a place.
#[derive(Debug)]
pub struct TidyRow<'r> {
    run: &'r str,
    saved: SavedTrial<'r>,
    booked: Booked<'r>,
}

impl TidyRow<'_> {
    /// The trial.
    pub fn trial(&self) -> &TrialResult {
        self.saved.trial
    }
}

/// The columns of `trials.csv` between `engine` and `place`, in order.
const TRIAL_COLUMNS: [&str; 22] = [
    "frame_size",
    "mean_frame_size",
    "placement",
    "generator_cpu",
    "kernel_cpu",
    "application_cpu",
    "load_independent",
    "work",
    "intended_pps",
    "duration_s",
    "sending_s",
    "intended",
    "sent",
    "delivered",
    "duplicates",
    "reordered",
    "foreign",
    "truncated",
    "corrupt",
    "loss_ratio",
    "total_ns_per_packet",
    "verdict",
];

/// A column of tidy rows.
type TidyColumn<'r> = Column<'r, TidyRow<'r>>;

/// All columns, in order.
pub fn columns<'r>() -> Vec<TidyColumn<'r>> {
    let mut columns = vec![
        TidyColumn::text("run", "the name of the run's folder", |row| Some(row.run.into())),
        trial_column("number"),
        TidyColumn::text("kept", "`result`; `set_aside` and `probe` are no results", |row| {
            Some(row.saved.kept.into())
        }),
        TidyColumn::count(
            "belongs_to",
            "the `number` of the result that an attempt or a probe belongs to",
            |row| Some(row.saved.belongs_to.into()),
        ),
        trial_column("phase"),
        trial_column("method"),
        TidyColumn::text("engine", "`trials[].capture.engine`", |row| Some(row.trial().engine())),
    ];
    for name in TRIAL_COLUMNS {
        columns.push(trial_column(name));
    }
    columns
        .push(TidyColumn::text("place", "`trials[].ledger[].place`", |row| Some(row.booked.place.clone())));
    columns.push(TidyColumn::signed("count", "`trials[].ledger[].count`", |row| row.booked.count));
    columns
        .push(TidyColumn::text("source", "`trials[].ledger[].source`", |row| Some(row.booked.source.into())));
    columns
}

/// A column of `trials.csv`, in tidy rows.
fn trial_column<'r>(name: &str) -> TidyColumn<'r> {
    column(name).in_rows(TidyRow::trial)
}

/// The rows of runs.
pub fn rows(runs: &[Run]) -> Vec<TidyRow<'_>> {
    let mut rows = Vec::new();
    for run in runs {
        for saved in saved(&run.results) {
            for booked in booked(saved.trial) {
                rows.push(TidyRow { run: &run.name, saved, booked });
            }
        }
    }
    rows
}
