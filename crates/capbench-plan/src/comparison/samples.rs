//! The figures of a trial, and why some trials have none.

use serde::{Deserialize, Serialize};

use super::measure::Measure;
use super::pace::Pace;
use super::setup::Setup;
use capbench_model::trial::{Phase, TrialResult, Verdict};

/// Trials that were not compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LeftOut {
    /// The set-up or method of these trials.
    pub of: String,
    /// Why.
    pub because: String,
    /// Number of trials.
    pub trials: u32,
}

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The set-up.
    pub setup: Setup,
    /// Which figure it is.
    pub measure: Measure,
    /// Its value, in the figure's unit.
    pub value: f64,
    /// Its trial; for a search, one of those at the lower bound.
    pub trial: u32,
    /// Whether the method may sustain more: it lost nothing at the generator's maximum.
    pub is_at_least: bool,
    /// The speed of its CPUs.
    pub pace: Pace,
}

const SHOWS_NOTHING: &str = "they show nothing";
const IS_STEP: &str = "steps of searches and probes: what they found is compared, where there is anything";
/// The delivered rate is then the rate of the generator.
pub const IS_OF_GENERATOR: &str = "delivered at maximum load: the side that delivered less lost nothing, so it is the generator that sent less";
const IS_SHORT: &str = "the generator did not reach their load";

/// Why a trial is not compared.
pub fn unusable(trial: &TrialResult) -> Option<&'static str> {
    let unsent = trial.intended.saturating_sub(trial.sent);
    match trial.phase {
        _ if trial.verdict == Verdict::Invalid => Some(SHOWS_NOTHING),
        Phase::Search
        | Phase::SelfTest
        | Phase::Soak
        | Phase::Probe
        | Phase::Retried
        | Phase::BackToBack
        | Phase::Recovery => Some(IS_STEP),
        _ if trial.intended_pps.is_some() && unsent * 20 > trial.intended => Some(IS_SHORT),
        _ => None,
    }
}

/// The figures of a trial.
pub fn of_trial(trial: &TrialResult, point: Option<&str>, pace: Pace) -> impl Iterator<Item = Sample> {
    let setup = Setup::of(trial, point);
    let number = trial.number;
    // If the receiver slows the generator, the sent rate is a property of the method.
    let is_at_least = trial.lost() == 0 && trial.profile.load_independent;
    let measured = Measure::OF_TRIALS
        .into_iter()
        .filter_map(|measure| Some((measure, measure.of(trial)?)))
        .collect::<Vec<_>>();
    measured.into_iter().map(move |(measure, value)| Sample {
        setup: setup.clone(),
        measure,
        value,
        trial: number,
        is_at_least: is_at_least && measure == Measure::DeliveredRate,
        pace,
    })
}
