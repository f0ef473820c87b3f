//! CPU time per packet at the load at which all methods of a set-up are compared.

use crate::sustained::is_delivered;
use crate::thresholds::{COST_RANGE_ERROR, SINGLE_TRIAL_COST_ERROR};

use capbench_model::statistics::interval::Estimate;
use capbench_model::trial::{Phase, TrialResult};

use super::{Cost, Entrant};

impl Cost {
    /// The cost of a method at a load. `None` if it did not sustain it, or was not measured there.
    pub(super) fn at(entrant: &Entrant<'_>, pps: f64) -> Option<Self> {
        let mut trials = entrant.trials.clone();
        trials.retain(|trial| {
            matches!(trial.phase, Phase::CommonLoad | Phase::FixedLoad)
                && trial.intended_pps == Some(pps)
                && is_delivered(trial)
        });
        if trials.is_empty() {
            return None;
        }
        let mut app_ns = Vec::new();
        let mut total_ns = Vec::new();
        let mut app_range = 0.0_f64;
        let mut total_range = 0.0_f64;
        for trial in &trials {
            if let Some((least, most)) = app_bounds(trial) {
                app_ns.push(f64::midpoint(least, most));
                app_range = app_range.max((most - least) / 2.0);
            }
            total_ns.extend(trial.total_ns_per_packet());
            total_range = total_range.max(trial.cpu_uncertainty_ns());
        }
        let app = Estimate::of(app_ns);
        let total = Estimate::of(total_ns);
        Some(Self {
            app_ns: app.map(|estimate| estimate.median),
            app_error_ns: app.map_or(0.0, |estimate| spread(&estimate)) + app_range,
            total_ns: total.map(|estimate| estimate.median),
            total_error_ns: total.map_or(0.0, |estimate| spread(&estimate)) + total_range,
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
