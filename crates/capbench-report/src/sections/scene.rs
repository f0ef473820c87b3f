//! Set-ups: what trials that are drawn together have in common, and their numbers.

use std::collections::BTreeMap;

use capbench_measure::results::Results;
use capbench_measure::trial::{SizeLabel, TrialResult, Verdict};

use crate::figures;
use crate::model::Trials;

/// Everything but the method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scene<'r> {
    pub(super) frame_size: &'r SizeLabel,
    pub(super) placement: &'r str,
    pub(super) work: &'r str,
}

impl<'r> Scene<'r> {
    pub(super) fn of(trial: &'r TrialResult) -> Self {
        let profile = &trial.profile;
        Self { frame_size: &profile.frame_size, placement: &profile.placement, work: &profile.work }
    }

    /// As titles have it.
    pub(super) fn words(&self) -> String {
        format!("{}, placement {}, {}", frames(self.frame_size), self.placement, work(self.work))
    }
}

/// `64-byte frames`, and of mixes their name.
pub(super) fn frames(size: &SizeLabel) -> String {
    match size {
        SizeLabel::Octets(octets) => format!("{octets}-byte frames"),
        SizeLabel::Named(name) => format!("frames of {name}"),
    }
}

pub(super) fn work(work: &str) -> String {
    if work == "none" { "no work".into() } else { format!("work {work}") }
}

/// Whether a trial shows anything.
pub(super) fn is_sound(trial: &TrialResult) -> bool {
    trial.verdict != Verdict::Invalid
}

/// The load in words.
pub(super) fn load(trial: &TrialResult) -> String {
    match trial.intended_pps {
        Some(pps) => format!("{} packets/s", figures::number(pps, crate::model::Unit::PacketsPerSecond)),
        None => "maximum load".into(),
    }
}

/// Where a trial lies on an axis of loads: at maximum load what was offered is what was asked for.
pub(super) fn intended_or_offered(trial: &TrialResult) -> f64 {
    trial.intended_pps.unwrap_or(trial.offered_pps)
}

pub(super) fn numbers<'r>(trials: impl IntoIterator<Item = &'r TrialResult>) -> Trials {
    trials.into_iter().map(|trial| trial.number).collect()
}

/// Trials by their numbers.
pub(super) struct Numbered<'r>(BTreeMap<u32, &'r TrialResult>);

impl<'r> Numbered<'r> {
    pub(super) fn of(results: &'r Results) -> Self {
        Self(results.trials.iter().map(|trial| (trial.number, trial)).collect())
    }

    /// Those of these numbers that show something.
    pub(super) fn sound(&self, numbers: &[u32]) -> Vec<&'r TrialResult> {
        numbers
            .iter()
            .filter_map(|number| self.0.get(number).copied())
            .filter(|trial| is_sound(trial))
            .collect()
    }
}
