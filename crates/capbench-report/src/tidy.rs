//! The rows of tidy files: one per trial and place of its ledger, with the names of results files.
//!
//! In each trial `intended` = the sum of `count` over its rows, if every place is known: delivered and unexplained frames have
//! rows, too. Discarded attempts and probes have separate rows, marked in `kept`. Only rows with `kept` = `result` are results.

use capbench_model::trial::TrialResult;

use crate::naming::key;
use crate::read::Run;

/// A row of a trial at a place of its ledger, `delivered` or `unexplained`.
pub(crate) struct TidyRow<'r> {
    run: &'r str,
    trial: &'r TrialResult,
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

/// The type of a column, and the function that returns its value in a row. `None` is unknown; text and flags are always known.
pub(crate) enum Of {
    Text(fn(&TidyRow<'_>) -> String),
    Count(fn(&TidyRow<'_>) -> Option<u64>),
    Signed(fn(&TidyRow<'_>) -> Option<i64>),
    Number(fn(&TidyRow<'_>) -> Option<f64>),
    Flag(fn(&TidyRow<'_>) -> bool),
}
use Of::{Count, Flag, Number, Signed, Text};

/// All columns, in order, by their names.
#[rustfmt::skip]
pub(crate) const COLUMNS: [(&str, Of); 32] = [
    ("run", Text(|row| row.run.into())),
    ("number", Count(|row| Some(row.trial.number.into()))),
    ("kept", Text(|row| row.kept.into())),
    ("belongs_to", Count(|row| Some(row.belongs_to.into()))),
    ("phase", Text(|row| key(row.trial.phase))),
    ("method", Text(|row| row.trial.profile.method.clone())),
    ("engine", Text(|row| row.trial.engine.clone())),
    ("frame_size", Text(|row| row.trial.profile.frame_size.to_string())),
    ("mean_frame_size", Number(|row| Some(row.trial.profile.mean_frame_size))),
    ("placement", Text(|row| row.trial.profile.placement.clone())),
    ("generator_cpu", Count(|row| Some(row.trial.profile.cpus.generator.into()))),
    ("kernel_cpu", Count(|row| row.trial.profile.cpus.kernel.map(u64::from))),
    ("application_cpu", Count(|row| Some(row.trial.profile.cpus.application.into()))),
    ("load_independent", Flag(|row| row.trial.profile.load_independent)),
    ("work", Text(|row| row.trial.profile.work.clone())),
    ("intended_pps", Number(|row| row.trial.intended_pps)),
    ("duration_s", Number(|row| Some(row.trial.duration_s))),
    ("sending_s", Number(|row| Some(row.trial.sending_s))),
    ("intended", Count(|row| Some(row.trial.intended))),
    ("sent", Count(|row| Some(row.trial.sent))),
    ("delivered", Count(|row| Some(row.trial.delivered))),
    ("duplicates", Count(|row| Some(row.trial.duplicates))),
    ("reordered", Count(|row| Some(row.trial.reordered))),
    ("foreign", Count(|row| Some(row.trial.foreign))),
    ("truncated", Count(|row| Some(row.trial.truncated))),
    ("corrupt", Count(|row| Some(row.trial.corrupt))),
    ("loss_ratio", Number(|row| Some(row.trial.loss_ratio))),
    ("total_ns_per_packet", Number(|row| row.trial.total_ns_per_packet())),
    ("verdict", Text(|row| key(row.trial.verdict))),
    ("place", Text(|row| row.place.clone())),
    ("count", Signed(|row| row.count)),
    ("source", Text(|row| row.source.into())),
];

/// The rows of a run.
pub(crate) fn rows(run: &Run) -> Vec<TidyRow<'_>> {
    let mut rows = Vec::new();
    for trial in &run.results.trials {
        let mut add = |own, kept| of_trial(&mut rows, &run.name, own, kept, trial.number);
        add(trial, "result");
        if let Some(guarding) = &trial.guarding {
            guarding.discarded.iter().for_each(|aside| add(&aside.trial, "set_aside"));
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
