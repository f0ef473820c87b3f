//! Trials that guards repeated or marked, and why.

use crate::results::Results;
use capbench_model::trial::TrialResult;

use super::shape::Columns;
use crate::model::Table;
use crate::naming::{self, key};

pub(super) fn tables(results: &Results) -> Vec<Table> {
    [attempts(results), marks(results)].into_iter().flatten().collect()
}

/// A trial that is no result: the trial that it belongs to, the trial itself, its kind and the reason.
type Kept<'r> = (&'r TrialResult, &'r TrialResult, &'static str, String);

/// Discarded attempts, and probes, with the trial that they belong to.
fn attempts(results: &Results) -> Option<Table> {
    let mut rows: Vec<Kept<'_>> = Vec::new();
    for trial in &results.trials {
        let Some(guarding) = &trial.guarding else { continue };
        let aside = guarding.set_aside.iter();
        rows.extend(aside.map(|aside| (trial, &aside.trial, "set aside", aside.because.join("; "))));
        if let Some(recovery) = &guarding.recovery {
            let had = if recovery.recovered { "had" } else { "had not" };
            let why = format!("after the overload of trial {}; the path {had} recovered", recovery.after);
            rows.extend(recovery.probes.iter().map(|probe| (trial, probe, "probe", why.clone())));
        }
    }
    let columns = Columns::new()
        .words("number", "number", |(_, kept, ..): &Kept<'_>| kept.number)
        .words("belongs_to", "belongs to trial", |(trial, ..)| trial.number)
        .words("what", "what", |(_, _, what, _)| *what)
        .words("because", "because", |(.., because)| because.clone())
        .words("method", "method", |(_, kept, ..)| kept.profile.method.as_str())
        .words("load", "load", |(_, kept, ..)| naming::load(kept))
        .count("sent", "sent", |(_, kept, ..)| kept.sent)
        .count("delivered", "delivered", |(_, kept, ..)| kept.delivered)
        .words("lost_where", "lost", |(_, kept, ..)| naming::places(&kept.losses(), kept.unexplained))
        .words("verdict", "verdict", |(_, kept, ..)| key(kept.verdict));
    let caption = "Attempts set aside and probes: kept with their trial, and no results";
    columns.table("guards-attempts", caption, rows, |(trial, ..)| vec![trial.number])
}

/// Why a valid trial needs caution; empty if it does not.
fn care(trial: &TrialResult) -> String {
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
    care.join("; ")
}

/// Valid trials that need caution.
fn marks(results: &Results) -> Option<Table> {
    let columns = Columns::new()
        .words("trial", "trial", |trial: &&TrialResult| trial.number)
        .words("method", "method", |trial| trial.profile.method.as_str())
        .words("phase", "run for", |trial| naming::phase(trial.phase))
        .words("load", "load", |trial| naming::load(trial))
        .words("care", "to be taken with care because", |trial| care(trial));
    let rows = results.trials.iter().filter(|trial| !care(trial).is_empty());
    let caption = "Trials that stand and are to be taken with care";
    columns.table("guards-marks", caption, rows, |trial| vec![trial.number])
}
