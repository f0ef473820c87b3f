//! CPU time per packet at the load at which all methods of a set-up are compared.

use capbench_model::saved::SavedMethod;
use capbench_model::trial::TrialResult;
use capbench_statistics::interval::Estimate;

use super::{Cost, Entrant, Ranking, is_short, turns};
use crate::sustained::is_delivered;
use crate::thresholds::{COST_RANGE_ERROR, LEAST_COST_ERROR, LEAST_DISTURBED_VISITS, TURNS_EQUAL};

impl Cost {
    /// The cost of a method at a load. `None` if it did not sustain it, or was not measured there.
    pub(super) fn at(entrant: &Entrant<'_>, pps: f64) -> Option<Self> {
        let mut trials = entrant.for_costs.clone();
        let is_short = |trial: &TrialResult| entrant.takes_turns && is_short(trial);
        trials.retain(|trial| {
            trial.intended_pps == Some(pps)
                && (is_delivered(trial) || is_short(trial) && turns::captures_all(trial))
        });
        if trials.is_empty() {
            return None;
        }
        let mut app_ns = Vec::new();
        let mut total_ns = Vec::new();
        // The largest errors by the clocks of a trial.
        let mut app_clock_error_ns = 0.0_f64;
        let mut total_clock_error_ns = 0.0_f64;
        for trial in &trials {
            if let Some(least) = trial.cpu.app_ns_per_packet {
                let most = trial.cpu.app_ns_per_packet_at_most.unwrap_or(least).max(least);
                app_ns.push(f64::midpoint(least, most));
                app_clock_error_ns = app_clock_error_ns.max((most - least) / 2.0);
            }
            total_ns.extend(trial.total_ns_per_packet());
            total_clock_error_ns = total_clock_error_ns.max(trial.cpu_uncertainty_ns());
        }
        if trials.iter().all(|trial| is_short(trial)) {
            keep_least_disturbed(&mut app_ns);
            keep_least_disturbed(&mut total_ns);
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

impl Cost {
    /// Time of the application per packet: its lower and its upper bound, equal if the error is small. `None` if unknown.
    pub fn app_range(&self) -> Option<(f64, f64)> {
        let ns = self.app_ns?;
        let error_ns = self.app_error_ns;
        let is_coarse = error_ns > COST_RANGE_ERROR * ns;
        Some(if is_coarse { ((ns - error_ns).max(0.0), ns + error_ns) } else { (ns, ns) })
    }
}

impl Ranking {
    /// How many times the CPU time per packet of the first method in turns another one takes: the ratio of the costs, as the table has them,
    /// if these agree with the rounds about which is higher, and differ by enough to be reported. A method that is worse runs in few rounds,
    /// in which noise may have met the first one. `None` if the rounds do not know it.
    pub(crate) fn cost_ratio(&self, method: &SavedMethod) -> Option<f64> {
        let turns = self.turns.as_ref()?;
        let in_rounds = turns.find(method)?.relative_cost?.middle;
        let total_ns = |method: &SavedMethod| self.find(method)?.cost.as_ref()?.total_ns;
        let first_ns = total_ns(&turns.methods.first()?.method);
        let ratio = total_ns(method).zip(first_ns).map(|(total_ns, first_ns)| total_ns / first_ns);
        let least = if in_rounds > 1.0 { 1.0 + TURNS_EQUAL } else { 0.0 };
        let most = if in_rounds > 1.0 { f64::INFINITY } else { 1.0 };
        Some(ratio.filter(|ratio| (least..most).contains(ratio)).unwrap_or(in_rounds))
    }
}

/// Keeps the lowest times of short trials: noise adds to a time, and never takes from it.
fn keep_least_disturbed(times_ns: &mut Vec<f64>) {
    times_ns.sort_by(f64::total_cmp);
    times_ns.truncate((LEAST_DISTURBED_VISITS * times_ns.len() as f64).ceil() as usize);
}

/// Half the width of the interval of the visits, at least what a single trial can differ from the next one.
fn spread(estimate: &Estimate) -> f64 {
    estimate.half_width().max(estimate.median * LEAST_COST_ERROR)
}

/// The equal load of a set-up: the lowest common load, because a load that a method did not sustain was lowered.
pub(super) fn equal_load(entrants: &[Entrant<'_>]) -> Option<f64> {
    let for_costs = entrants.iter().flat_map(|entrant| &entrant.for_costs);
    for_costs.filter_map(|trial| trial.intended_pps).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::keep_least_disturbed;

    #[test]
    fn the_quarter_of_the_short_trials_with_the_lowest_times_says_what_a_packet_costs() {
        let kept_of = |mut times_ns: Vec<f64>| {
            keep_least_disturbed(&mut times_ns);
            times_ns
        };
        assert_eq!(kept_of(vec![400.0, 100.0, 300.0, 200.0]), [100.0]);
        assert_eq!(kept_of(vec![400.0, 100.0, 300.0, 200.0, 500.0]), [100.0, 200.0]);
    }
}
