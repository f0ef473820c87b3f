//! CPU time per packet at the load at which all methods of a set-up are compared: one that all sustain, or the load at which they take
//! turns.

use capbench_model::statistics::interval::Estimate;
use capbench_model::trial::{Phase, TrialResult};

use super::{Cost, Entrant, Question};
use crate::sustained::is_delivered;
use crate::thresholds::{COST_RANGE_ERROR, LEAST_COST_ERROR};

/// The trials that compare the methods of a set-up by their CPU time.
#[derive(Clone, Copy, Debug)]
pub(super) enum ComparedAt {
    /// Longer trials at a load that all sustain, or that the user gave, frames per second.
    EqualLoad(f64),
    /// Trials in turns, where there are no such trials.
    Turns(f64),
}

impl ComparedAt {
    /// The load at which methods are compared. `turns_pps` is the load of turns, if these were judged.
    pub(super) fn from_entrants(
        question: Question,
        entrants: &[Entrant<'_>],
        turns_pps: Option<f64>,
    ) -> Option<Self> {
        if let Question::CheapestAt { pps } = question {
            return Some(Self::EqualLoad(pps));
        }
        equal_load(entrants).map(Self::EqualLoad).or(turns_pps.map(Self::Turns))
    }

    /// The load, frames per second.
    pub(super) fn pps(self) -> f64 {
        match self {
            Self::EqualLoad(pps) | Self::Turns(pps) => pps,
        }
    }
}

impl Cost {
    /// The cost of a method by these trials. `None` if it did not sustain the equal load, or was not measured.
    pub(super) fn of_entrant(entrant: &Entrant<'_>, compared_at: ComparedAt) -> Option<Self> {
        match compared_at {
            ComparedAt::EqualLoad(pps) => {
                let mut trials = entrant.trials.clone();
                trials.retain(|trial| {
                    is_for_costs(trial) && trial.intended_pps == Some(pps) && is_delivered(trial)
                });
                Self::from_trials(&trials)
            }
            ComparedAt::Turns(pps) => {
                let mut trials = entrant.in_turns.clone();
                trials.retain(|trial| trial.intended_pps == Some(pps));
                Self::from_trials(&cheaper_half(trials))
            }
        }
    }

    fn from_trials(trials: &[&TrialResult]) -> Option<Self> {
        if trials.is_empty() {
            return None;
        }
        let mut app_ns = Vec::new();
        let mut total_ns = Vec::new();
        // The largest errors by the clocks of a trial.
        let mut app_clock_error_ns = 0.0_f64;
        let mut total_clock_error_ns = 0.0_f64;
        for trial in trials {
            if let Some(least) = trial.cpu.app_ns_per_packet {
                let most = trial.cpu.app_ns_per_packet_at_most.unwrap_or(least).max(least);
                app_ns.push(f64::midpoint(least, most));
                app_clock_error_ns = app_clock_error_ns.max((most - least) / 2.0);
            }
            total_ns.extend(trial.total_ns_per_packet());
            total_clock_error_ns = total_clock_error_ns.max(trial.cpu_uncertainty_ns());
        }
        let app = Estimate::of(app_ns);
        let total = Estimate::of(total_ns);
        Some(Self {
            app_ns: app.map(|estimate| estimate.median),
            app_error_ns: app.map_or(0.0, |estimate| spread(&estimate)) + app_clock_error_ns,
            total_ns: total.map(|estimate| estimate.median),
            total_error_ns: total.map_or(0.0, |estimate| spread(&estimate)) + total_clock_error_ns,
            disturbed: trials.iter().any(|trial| !trial.noise.is_empty()),
            trials: trials.iter().map(|trial| trial.number).collect(),
        })
    }
}

/// The half of the trials with the lower CPU time per packet, in the order in which they ran. Noise of the host adds to the time of a
/// short trial and takes nothing from it, so these are the less disturbed ones. Trials without the time are left out.
fn cheaper_half(trials: Vec<&TrialResult>) -> Vec<&TrialResult> {
    let mut by_cost: Vec<&TrialResult> = trials;
    by_cost.retain(|trial| charged_ns(trial).is_some());
    by_cost.sort_by(|one, other| {
        charged_ns(one).unwrap_or(f64::INFINITY).total_cmp(&charged_ns(other).unwrap_or(f64::INFINITY))
    });
    by_cost.truncate(by_cost.len().div_ceil(2));
    by_cost.sort_by_key(|trial| trial.number);
    by_cost
}

/// The CPU time per packet of application and kernel; if that is unknown, of the application.
fn charged_ns(trial: &TrialResult) -> Option<f64> {
    trial.total_ns_per_packet().or(trial.cpu.app_ns_per_packet_at_most).or(trial.cpu.app_ns_per_packet)
}

impl Cost {
    /// Time of the application per packet: its lower and its upper bound, equal if the error is small. `None` if unknown.
    pub fn app_range(&self) -> Option<(f64, f64)> {
        let ns = self.app_ns?;
        let error_ns = self.app_error_ns;
        let is_coarse = error_ns > COST_RANGE_ERROR * ns;
        Some(if is_coarse { ((ns - error_ns).max(0.0), ns + error_ns) } else { (ns, ns) })
    }
}

/// Whether methods are compared by the CPU time of a trial.
fn is_for_costs(trial: &TrialResult) -> bool {
    matches!(trial.phase, Phase::CommonLoad | Phase::FixedLoad)
}

/// Half the width of the interval of the visits, at least what a single trial can differ from the next one.
fn spread(estimate: &Estimate) -> f64 {
    estimate.half_width().max(estimate.median * LEAST_COST_ERROR)
}

/// The equal load of a set-up: the lowest common load, because a load that a method did not sustain was lowered.
fn equal_load(entrants: &[Entrant<'_>]) -> Option<f64> {
    let trials = entrants.iter().flat_map(|entrant| &entrant.trials);
    let for_costs = trials.filter(|trial| is_for_costs(trial));
    for_costs.filter_map(|trial| trial.intended_pps).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::Load;

    use super::*;

    /// A trial at 100,000 packets/s with this application time per packet.
    fn trial(number: u32, phase: Phase, app_ns: f64) -> TrialResult {
        let load = Load::Rate("100k".parse().unwrap());
        let measured = measured(1000, 1000, 900, 100);
        let mut trial = measured.result(number, phase, &profile("recv"), load, Duration::from_secs(1));
        trial.cpu.app_ns_per_packet = Some(app_ns);
        trial.cpu.app_ns_per_packet_at_most = Some(app_ns);
        trial
    }

    #[test]
    fn of_trials_in_turns_the_half_that_costs_less_shows_the_cost() {
        let mut trials = Vec::new();
        for (number, app_ns) in [100.0, 3000.0, 120.0, 110.0, 130.0, 9000.0].into_iter().enumerate() {
            trials.push(trial(number as u32, Phase::Turns, app_ns));
        }
        let method = "recv".into();
        let in_turns = trials.iter().collect();
        let entrant = Entrant { method: &method, trials: Vec::new(), in_turns, searches: Vec::new() };
        let cost = Cost::of_entrant(&entrant, ComparedAt::Turns(100_000.0)).unwrap();
        assert_eq!((cost.app_ns, cost.app_error_ns), (Some(110.0), 10.0));
        assert_eq!(cost.trials, [0, 2, 3]);
        assert_eq!(Cost::of_entrant(&entrant, ComparedAt::Turns(90_000.0)), None);
    }

    #[test]
    fn turns_compare_costs_where_no_longer_trials_do() {
        let method = "recv".into();
        let common = trial(1, Phase::CommonLoad, 100.0);
        for (trials, expected_pps) in [(vec![&common], 100_000.0), (Vec::new(), 300_000.0)] {
            let entrant = Entrant { method: &method, trials, in_turns: Vec::new(), searches: Vec::new() };
            let compared_at = ComparedAt::from_entrants(Question::HighestRate, &[entrant], Some(300_000.0));
            assert_eq!(compared_at.map(ComparedAt::pps), Some(expected_pps));
        }
    }
}
