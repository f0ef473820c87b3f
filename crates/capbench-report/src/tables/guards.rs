//! What guards repeated or marked: discarded attempts and probes, and trials that need caution.

use capbench_model::trial::TrialResult;
use capbench_results::Results;
use capbench_results::trial_columns::key;

use super::rows::{Fields, Rows};
use crate::model::Table;
use crate::naming;
use crate::sentences::noise;

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let mut tables = Vec::new();
    tables.extend(attempts(results));
    tables.extend(marks(results));
    tables
}

/// Discarded attempts, and probes, with the trial that they belong to.
fn attempts(results: &Results) -> Option<Table> {
    let mut rows = Rows::new();
    for trial in &results.trials {
        let Some(guarding) = &trial.guarding else { continue };
        for attempt in &guarding.discarded {
            let reasons = noise::joined(&attempt.because.reasons);
            rows.add(attempt_fields(trial, &attempt.trial, "discarded", &reasons), vec![trial.number]);
        }
        let Some(recovery) = &guarding.recovery else { continue };
        let had = if recovery.recovered { "had" } else { "had not" };
        let reason = format!("after the overload of trial {}; the path {had} recovered", recovery.after);
        for probe in &recovery.probes {
            rows.add(attempt_fields(trial, probe, "probe", &reason), vec![trial.number]);
        }
    }
    rows.table("guards-attempts", "Discarded attempts and probes: stored with their trial, no results")
}

/// The fields of an attempt or a probe; `trial` is the one that it belongs to.
fn attempt_fields(trial: &TrialResult, attempt: &TrialResult, kind: &str, reason: &str) -> Fields {
    Fields::new()
        .words("number", "number", attempt.number)
        .words("belongs_to", "belongs to trial", trial.number)
        .words("what", "what", kind)
        .words("because", "because", reason)
        .words("method", "method", attempt.profile.method.to_string())
        .words("load", "load", naming::load(attempt))
        .count("sent", "sent", attempt.sent)
        .count("delivered", "delivered", attempt.delivered)
        .words("lost_where", "lost", naming::losses_by_place(&attempt.losses(), attempt.unexplained))
        .words("verdict", "verdict", key(attempt.verdict))
}

/// Noisy and invalid trials.
fn marks(results: &Results) -> Option<Table> {
    let mut rows = Rows::new();
    for trial in &results.trials {
        let reasons = reasons_for_caution(trial);
        if reasons.is_empty() {
            continue;
        }
        let fields = Fields::new()
            .words("trial", "trial", trial.number)
            .words("method", "method", trial.profile.method.to_string())
            .words("phase", "run for", naming::phase(trial.phase))
            .words("load", "load", naming::load(trial))
            .words("care", "noisy because", reasons);
        rows.add(fields, vec![trial.number]);
    }
    rows.table("guards-marks", "Noisy and invalid trials")
}

/// Why a trial needs caution; empty if it does not.
fn reasons_for_caution(trial: &TrialResult) -> String {
    let mut reasons: Vec<String> = trial.noise.reasons.iter().map(noise::words).collect();
    reasons.extend(trial.disturbance.reasons().iter().map(noise::words));
    if let Some(reason) = &trial.invalid_because {
        reasons.push(format!("invalid: {reason}"));
    }
    if let Some(livelock) = &trial.livelock {
        reasons.push(format!(
            "livelock: trial {} delivered {} of {}",
            livelock.against,
            naming::rate(livelock.delivered_pps),
            naming::rate(livelock.offered_pps)
        ));
    }
    reasons.dedup();
    reasons.join("; ")
}
