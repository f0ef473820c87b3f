//! CPU time per packet at the load at which all methods of a set-up are compared.

use crate::sustained::is_delivered;
use crate::thresholds::{COST_RANGE_ERROR, SINGLE_TRIAL_COST_ERROR};

use capbench_model::statistics::interval::Estimate;
use capbench_model::trial::{Phase, TrialResult};

use super::{Cost, Entrant};

impl Cost {
    /// The cost of a method at a load. `None` if it did not sustain it, or was not measured there.
    pub(super) fn at(entrant: &Entrant<'_>, pps: f64) -> Option<Self> {
        let is_compared = |trial: &&&TrialResult| {
            matches!(trial.phase, Phase::CommonLoad | Phase::FixedLoad)
                && trial.intended_pps == Some(pps)
                && is_delivered(trial)
        };
        let trials: Vec<&TrialResult> = entrant.trials.iter().filter(is_compared).copied().collect();
        let estimate = |value: fn(&TrialResult) -> Option<f64>| {
            Estimate::of(trials.iter().filter_map(|trial| value(trial)))
        };
        let most =
            |value: fn(&TrialResult) -> f64| trials.iter().map(|trial| value(trial)).fold(0.0, f64::max);
        let (app, total) = (
            estimate(|trial| app_bounds(trial).map(|(least, most)| f64::midpoint(least, most))),
            estimate(TrialResult::total_ns_per_packet),
        );
        let app_range = most(|trial| app_bounds(trial).map_or(0.0, |(least, most)| (most - least) / 2.0));
        (!trials.is_empty()).then(|| Self {
            app_ns: app.map(|estimate| estimate.median),
            app_error_ns: app.map_or(0.0, |estimate| spread(&estimate)) + app_range,
            total_ns: total.map(|estimate| estimate.median),
            total_error_ns: total.map_or(0.0, |estimate| spread(&estimate))
                + most(TrialResult::cpu_uncertainty_ns),
            disturbed: trials.iter().any(|trial| !trial.noise.is_empty()),
            trials: trials.iter().map(|trial| trial.number).collect(),
        })
    }
}

impl Cost {
    /// Time of the application per packet: its lower and its upper bound, equal if the error is small. `None` if unknown.
    pub fn app_range(&self) -> Option<(f64, f64)> {
        let (ns, error) = (self.app_ns?, self.app_error_ns);
        let is_coarse = error > COST_RANGE_ERROR * ns;
        Some(if is_coarse { ((ns - error).max(0.0), ns + error) } else { (ns, ns) })
    }
}

/// Time of the application per packet in one trial: the bounds that its clock leaves, equal if it is exact.
fn app_bounds(trial: &TrialResult) -> Option<(f64, f64)> {
    let least = trial.cpu.app_ns_per_packet?;
    Some((least, trial.cpu.app_ns_per_packet_at_most.unwrap_or(least).max(least)))
}

/// Half the width of the interval of the visits.
fn spread(estimate: &Estimate) -> f64 {
    estimate.half_width().max(estimate.median * SINGLE_TRIAL_COST_ERROR)
}

/// The equal load of a set-up: the lowest common load, because a load that a method did not sustain was lowered.
pub(super) fn equal_load(entrants: &[Entrant<'_>]) -> Option<f64> {
    let trials = entrants.iter().flat_map(|entrant| &entrant.trials);
    let common = trials.filter(|trial| matches!(trial.phase, Phase::CommonLoad | Phase::FixedLoad));
    common.filter_map(|trial| trial.intended_pps).min_by(f64::total_cmp)
}
