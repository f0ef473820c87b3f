//! The rows of tidy files: one per trial and place of its ledger, with the names of results files.
//!
//! In each trial `intended` = the sum of `count` over its rows, if every place is known: delivered and unexplained frames have
//! rows, too. Discarded attempts and probes have separate rows, marked in `kept`. Only rows with `kept` = `result` are results.

use capbench_model::trial::TrialResult;

use crate::read::Run;
use crate::results::Results;
use crate::trial_columns::{COLUMNS, Of, key};

/// A trial that a run saved, and why.
#[derive(Clone, Copy, Debug)]
pub struct SavedTrial<'r> {
    /// The trial.
    pub trial: &'r TrialResult,
    /// `result`, `set_aside` or `probe`.
    pub kept: &'static str,
    /// The trial that this one belongs to; itself if it is a result.
    pub belongs_to: u32,
}

/// Every trial of a run, each result before its discarded attempts and its probes.
pub fn saved(results: &Results) -> Vec<SavedTrial<'_>> {
    let mut all = Vec::new();
    for result in &results.trials {
        let mut add = |trial, kept| all.push(SavedTrial { trial, kept, belongs_to: result.number });
        add(result, "result");
        if let Some(guarding) = &result.guarding {
            guarding.discarded.iter().for_each(|attempt| add(&attempt.trial, "set_aside"));
            let probes = guarding.recovery.iter().flat_map(|recovery| &recovery.probes);
            probes.for_each(|probe| add(probe, "probe"));
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
pub fn booked(trial: &TrialResult) -> impl Iterator<Item = Booked<'_>> {
    // Counts are signed in this column because of one place; a larger count saturates.
    let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let known = trial.ledger.iter().map(move |entry| Booked {
        place: key(entry.place),
        count: entry.count.map(signed),
        source: &entry.source,
    });
    let rest = |place: &str, count, source| Booked { place: place.into(), count: Some(count), source };
    known.chain([
        rest("delivered", signed(trial.delivered), "the application, frame by frame"),
        rest("unexplained", trial.unexplained, "sent, less delivered and what places have"),
    ])
}

/// A row of a trial at a place.
#[derive(Debug)]
pub struct TidyRow<'r> {
    run: &'r str,
    saved: SavedTrial<'r>,
    booked: Booked<'r>,
}

impl<'r> TidyRow<'r> {
    /// The trial.
    pub fn trial(&self) -> &'r TrialResult {
        self.saved.trial
    }
}

/// A column of tidy rows: of the row itself, or of its trial.
pub enum Column<'r> {
    /// Of the row itself.
    Row(Of<TidyRow<'r>>),
    /// Of its trial.
    Trial(&'static Of<TrialResult>),
}
use Column::{Row, Trial};

impl<'r> Column<'r> {
    /// The value in a CSV file; empty if it is unknown.
    pub fn field(&self, row: &TidyRow<'r>) -> String {
        match self {
            Row(of) => of.field(row),
            Trial(of) => of.field(row.trial()),
        }
    }
}

/// The columns of a trial that are between those of the row, in order.
const OF_TRIAL: [&str; 22] = [
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

/// All columns, in order, by their names.
pub fn columns<'r>() -> Vec<(&'static str, Column<'r>)> {
    let trial_column =
        |wanted: &str| COLUMNS.iter().find(|(key, _)| *key == wanted).map(|(key, of)| (*key, Trial(of)));
    let mut columns: Vec<(&str, Column<'r>)> = vec![("run", Row(Of::Text(|row| row.run.into())))];
    columns.extend(trial_column("number"));
    columns.push(("kept", Row(Of::Text(|row| row.saved.kept.into()))));
    columns.push(("belongs_to", Row(Of::Count(|row| Some(row.saved.belongs_to.into())))));
    columns.extend(["phase", "method"].into_iter().filter_map(trial_column));
    columns.push(("engine", Row(Of::Text(|row| row.trial().engine()))));
    columns.extend(OF_TRIAL.into_iter().filter_map(trial_column));
    columns.push(("place", Row(Of::Text(|row| row.booked.place.clone()))));
    columns.push(("count", Row(Of::Signed(|row| row.booked.count))));
    columns.push(("source", Row(Of::Text(|row| row.booked.source.into()))));
    columns
}

/// The rows of runs.
pub fn rows(runs: &[Run]) -> Vec<TidyRow<'_>> {
    let mut rows = Vec::new();
    for run in runs {
        for saved in saved(&run.results) {
            rows.extend(booked(saved.trial).map(|booked| TidyRow { run: &run.name, saved, booked }));
        }
    }
    rows
}
