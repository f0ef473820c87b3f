//! The rows of tidy files: one per trial and place of its ledger, with the names of results files.
//!
//! In each trial `intended` = the sum of `count` over its rows, if every place is known: delivered and unexplained frames have
//! rows, too. Discarded attempts and probes have separate rows, marked in `kept`. Only rows with `kept` = `result` are results.

use capbench_model::trial::TrialResult;

use crate::read::Run;
use crate::trial_columns::{COLUMNS, Of, key};

/// A row of a trial at a place of its ledger, `delivered` or `unexplained`.
pub(crate) struct TidyRow<'r> {
    run: &'r str,
    pub(crate) trial: &'r TrialResult,
    /// `result`, `set_aside` or `probe`.
    kept: &'static str,
    /// The trial that this one belongs to; itself if it is a result.
    belongs_to: u32,
    place: String,
    /// Frames there; `None` if unknown.
    count: Option<i64>,
    /// The counter behind `count`, or why there is none.
    source: &'r str,
}

/// A column of tidy rows: of the row itself, or of its trial.
pub(crate) enum Column<'r> {
    Row(Of<TidyRow<'r>>),
    Trial(&'static Of<TrialResult>),
}
use Column::{Row, Trial};

impl<'r> Column<'r> {
    /// The value in a CSV file; empty if it is unknown.
    pub(crate) fn field(&self, row: &TidyRow<'r>) -> String {
        match self {
            Row(of) => of.field(row),
            Trial(of) => of.field(row.trial),
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
pub(crate) fn columns<'r>() -> Vec<(&'static str, Column<'r>)> {
    let of = |wanted: &str| COLUMNS.iter().find(|(key, _)| *key == wanted).map(|(key, of)| (*key, Trial(of)));
    let mut columns: Vec<(&str, Column<'r>)> = vec![("run", Row(Of::Text(|row| row.run.into())))];
    columns.extend(of("number"));
    columns.push(("kept", Row(Of::Text(|row| row.kept.into()))));
    columns.push(("belongs_to", Row(Of::Count(|row| Some(row.belongs_to.into())))));
    columns.extend(["phase", "method"].into_iter().filter_map(of));
    columns.push(("engine", Row(Of::Text(|row| row.trial.engine.clone()))));
    columns.extend(OF_TRIAL.into_iter().filter_map(of));
    columns.push(("place", Row(Of::Text(|row| row.place.clone()))));
    columns.push(("count", Row(Of::Signed(|row| row.count))));
    columns.push(("source", Row(Of::Text(|row| row.source.into()))));
    columns
}

/// The rows of runs.
pub(crate) fn rows(runs: &[Run]) -> Vec<TidyRow<'_>> {
    let mut rows = Vec::new();
    for (run, trial) in runs.iter().flat_map(|run| run.results.trials.iter().map(move |trial| (run, trial))) {
        let mut add = |own, kept| of_trial(&mut rows, &run.name, own, kept, trial.number);
        add(trial, "result");
        if let Some(guarding) = &trial.guarding {
            guarding.discarded.iter().for_each(|attempt| add(&attempt.trial, "set_aside"));
            let probes = guarding.recovery.iter().flat_map(|recovery| &recovery.probes);
            probes.for_each(|probe| add(probe, "probe"));
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
    // Counts are signed in this column because of one place; a larger count saturates.
    let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let known = trial.ledger.iter().map(|entry| (key(entry.place), entry.count.map(signed), &*entry.source));
    let rest = [
        ("delivered".into(), Some(signed(trial.delivered)), "the application, frame by frame"),
        ("unexplained".into(), Some(trial.unexplained), "sent, less delivered and what places have"),
    ];
    let row = |(place, count, source)| TidyRow { run, trial, kept, belongs_to, place, count, source };
    rows.extend(known.chain(rest).map(row));
}
