//! Attempts that guards discarded, probes that they sent, and trials that are noisy or invalid.

use capbench_model::trial::TrialResult;
use capbench_results::Results;
use capbench_results::trial_columns::key;

use super::columns::NOISE_KEY;
use super::rows::{Fields, Rows};
use crate::model::Table;
use crate::naming;
use crate::sentences::noise;

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let mut tables = Vec::new();
    tables.extend(attempts(results));
    tables.extend(noisy_and_invalid(results));
    tables
}

/// Discarded attempts, and probes, with the trial that they belong to.
fn attempts(results: &Results) -> Option<Table> {
    let mut rows = Rows::new();
    for trial in &results.trials {
        let Some(guarding) = &trial.guarding else { continue };
        for attempt in &guarding.discarded {
            let reasons = noise::joined(&attempt.because.reasons);
            let attempt = Attempt { result: &attempt.trial, kind: "discarded", because: &reasons };
            rows.add(attempt.fields(trial), vec![trial.number]);
        }
        let Some(recovery) = &guarding.recovery else { continue };
        let had = if recovery.recovered { "had" } else { "had not" };
        let because = format!("after the overload of trial {}; the path {had} recovered", recovery.after);
        for probe in &recovery.probes {
            let attempt = Attempt { result: probe, kind: "probe", because: &because };
            rows.add(attempt.fields(trial), vec![trial.number]);
        }
    }
    rows.table("guards-attempts", "Discarded attempts and probes: stored with their trial, no results")
}

/// A discarded attempt or a probe.
struct Attempt<'r> {
    result: &'r TrialResult,
    /// `discarded` or `probe`.
    kind: &'static str,
    /// Why it was discarded or sent.
    because: &'r str,
}

impl Attempt<'_> {
    /// The fields of an attempt that belongs to `trial`.
    fn fields(&self, trial: &TrialResult) -> Fields {
        let result = self.result;
        Fields::new()
            .words("number", "number", result.number)
            .words("belongs_to", "belongs to trial", trial.number)
            .words("what", "what", self.kind)
            .words("because", "because", self.because)
            .words("method", "method", result.profile.method.to_string())
            .words("load", "load", naming::load(result))
            .count("sent", "sent", result.sent)
            .count("delivered", "delivered", result.delivered)
            .words("lost_where", "lost", naming::losses_by_place(&result.losses(), result.unexplained))
            .words("verdict", "verdict", key(result.verdict))
    }
}

/// A row per trial that is noisy, invalid or in livelock.
fn noisy_and_invalid(results: &Results) -> Option<Table> {
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
            .words(NOISE_KEY, "noisy because", reasons.join("; "));
        rows.add(fields, vec![trial.number]);
    }
    rows.table("guards-marks", "Noisy and invalid trials")
}

/// Why a trial needs caution, each reason once; empty if it does not.
fn reasons_for_caution(trial: &TrialResult) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    // The noise of a trial that just ran includes its disturbances. A saved trial may have a disturbance without its noise: a
    // file of an earlier version, or one whose noise could not be read.
    for reason in trial.noise.reasons.iter().chain(&trial.disturbance.reasons()) {
        let words = noise::words(reason);
        if !reasons.contains(&words) {
            reasons.push(words);
        }
    }
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
    reasons
}

#[cfg(test)]
mod tests {
    use capbench_model::disturbance::{CpuDisturbance, Disturbance};
    use capbench_model::for_tests::{measured, profile};

    use capbench_model::noise::Noise;
    use capbench_model::trial::{Load, Phase};
    use std::time::Duration;

    use super::{TrialResult, noise, reasons_for_caution};

    /// A trial whose CPU other work and the hypervisor took away.
    fn disturbed_trial() -> TrialResult {
        let mut measured = measured(10, 10, 10, 0);
        let taken_away =
            CpuDisturbance { steal_ns: 500_000_000, foreign_ns: 500_000_000, ..CpuDisturbance::default() };
        measured.trial.disturbance =
            Disturbance { cpus: vec![taken_away], sending_ns: 1_000_000_000, ..Disturbance::default() };
        measured.result(1, Phase::FixedLoad, &profile("recv"), Load::Maximum, Duration::from_secs(1))
    }

    #[test]
    fn each_reason_is_listed_once() {
        let both = [noise::words(&Noise::Steal), noise::words(&Noise::ForeignLoad)];
        let mut trial = disturbed_trial();
        assert_eq!(trial.noise.reasons, [Noise::Steal, Noise::ForeignLoad]);
        assert_eq!(reasons_for_caution(&trial), both);
        // A file of an earlier version has the disturbance only.
        trial.noise.reasons.clear();
        assert_eq!(reasons_for_caution(&trial), both);
    }
}
