//! CPU time per packet: who spent it, and which trials of a set-up compare methods by it.

use capbench_model::statistics::by_key;
use capbench_model::trial::{Phase, TrialResult};

use crate::sustained::is_delivered;

/// CPU time per packet by who spent it, nanoseconds. The known parts sum up to the total of the trial, if that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuParts {
    /// Certainly the application.
    pub application: Option<f64>,
    /// The application or the kernel: where they share a CPU, the kernel may only sample at its timer tick which of them runs.
    pub either: Option<f64>,
    /// Certainly the kernel.
    pub kernel: Option<f64>,
    /// Both together: only their sum is known.
    pub both: Option<f64>,
    /// No clock says whose it is.
    pub unattributed: Option<f64>,
}

impl CpuParts {
    /// The parts of a trial.
    pub fn of_trial(trial: &TrialResult) -> Self {
        let cpu = &trial.cpu;
        let application = cpu.app_ns_per_packet;
        let kernel = cpu.kernel_ns_per_packet;
        let total = trial.total_ns_per_packet();
        let Some(total) = total else { return Self { application, kernel, ..Self::default() } };
        if cpu.split_is_sampled {
            return match (application, cpu.app_ns_per_packet_at_most) {
                (Some(least), Some(most)) => Self::within_total(total, least, most),
                _ => Self { both: Some(total), ..Self::default() },
            };
        }
        if application.is_none() && kernel.is_none() {
            return Self { both: Some(total), ..Self::default() };
        }
        let rest = total - application.unwrap_or(0.0) - kernel.unwrap_or(0.0);
        // Less than half a nanosecond is rounding.
        Self { application, kernel, unattributed: Some(rest).filter(|rest| *rest >= 0.5), ..Self::default() }
    }

    /// The parts of a total of which only a range is the application's.
    fn within_total(total: f64, least: f64, most: f64) -> Self {
        let most = most.clamp(least, total.max(least));
        Self {
            application: Some(least),
            either: Some(most - least),
            kernel: Some((total - most).max(0.0)),
            ..Self::default()
        }
    }

    /// The parts, in the order of the members.
    pub fn in_order(&self) -> [Option<f64>; 5] {
        [self.application, self.either, self.kernel, self.both, self.unattributed]
    }

    /// The certain sum of all parts; `None` if nothing is known.
    pub fn sum(&self) -> Option<f64> {
        self.in_order().into_iter().flatten().reduce(|sum, part| sum + part)
    }

    /// Whether the same parts are known, but for time that no clock attributes: only some trials have that.
    fn knows_the_same(&self, other: &Self) -> bool {
        let known = |parts: &Self| {
            let [application, either, kernel, both, _] = parts.in_order().map(|part| part.is_some());
            [application, either, kernel, both]
        };
        known(self) == known(other)
    }

    /// The parts of the trial whose sum is the median, or their means over the two in the middle: so they add up to the median of
    /// the sums. Two that do not know the same parts have only a sum. Nothing is known if a trial has no sum.
    pub fn median(trials: &[&TrialResult]) -> Self {
        let mut all = Vec::new();
        for trial in trials {
            let parts = Self::of_trial(trial);
            let Some(sum) = parts.sum() else { return Self::default() };
            all.push((sum, parts));
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let Some(last) = all.len().checked_sub(1) else { return Self::default() };
        let (low, below) = all[last / 2];
        let (high, above) = all[all.len() / 2];
        if !below.knows_the_same(&above) {
            return Self { both: Some(f64::midpoint(low, high)), ..Self::default() };
        }
        Self {
            application: mean(below.application, above.application),
            either: mean(below.either, above.either),
            kernel: mean(below.kernel, above.kernel),
            both: mean(below.both, above.both),
            unattributed: mean(below.unattributed, above.unattributed),
        }
    }
}

/// The mean of two parts; an absent one is 0 if the other is known.
fn mean(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    if one.is_none() && other.is_none() {
        return None;
    }
    Some(f64::midpoint(one.unwrap_or(0.0), other.unwrap_or(0.0)))
}

/// Trials of one set-up that compare its methods at one load.
#[derive(Clone, Debug)]
pub struct AtLoad<'t> {
    /// Those that sustained the load; all of them if none did.
    pub trials: Vec<&'t TrialResult>,
    /// Whether they sustained it. If not, the times include the cost of lost packets.
    pub is_sustained: bool,
}

/// The trials of a set-up that compare its methods: those at the lowest common load, because a load that a method did not sustain
/// was lowered. Without a common load, those of each load.
pub fn compared<'t>(trials: &[&'t TrialResult]) -> Vec<AtLoad<'t>> {
    let mut common_pps: Option<f64> = None;
    for trial in trials {
        if let (Phase::CommonLoad, Some(pps)) = (trial.phase, trial.intended_pps) {
            common_pps = Some(common_pps.map_or(pps, |least| least.min(pps)));
        }
    }
    if common_pps.is_some() {
        let at_common = trials.iter().filter(|trial| trial.intended_pps == common_pps);
        return vec![AtLoad::of_trials(at_common.copied().collect())];
    }
    let mut compared = Vec::new();
    for (_, of_load) in by_key(trials.iter().copied(), |trial| (trial.intended_pps, trial.load)) {
        compared.push(AtLoad::of_trials(of_load));
    }
    compared
}

impl<'t> AtLoad<'t> {
    fn of_trials(trials: Vec<&'t TrialResult>) -> Self {
        let sustained: Vec<&TrialResult> =
            trials.iter().copied().filter(|trial| is_delivered(trial)).collect();
        if sustained.is_empty() {
            return Self { trials, is_sustained: false };
        }
        Self { trials: sustained, is_sustained: true }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{CpuAccount, Load};

    use super::*;

    fn trial(number: u32, phase: Phase, load: &str, lost: u64) -> TrialResult {
        let load = Load::Rate(load.parse().unwrap());
        let measured = measured(100, 100, 100 - lost, lost);
        measured.result(number, phase, &profile("recv"), load, Duration::from_secs(1))
    }

    fn parts(cpu: CpuAccount) -> CpuParts {
        CpuParts::of_trial(&TrialResult { cpu, ..trial(1, Phase::CommonLoad, "100", 0) })
    }

    #[test]
    fn parts_of_a_sampled_split_sum_up_to_what_is_certain() {
        let cpu = CpuAccount {
            app_ns_per_packet: Some(100.0),
            app_ns_per_packet_at_most: Some(260.0),
            kernel_ns_per_packet: Some(400.0),
            total_ns_per_packet: Some(600.0),
            split_is_sampled: true,
            ..CpuAccount::default()
        };
        assert_eq!(parts(cpu.clone()).in_order(), [Some(100.0), Some(160.0), Some(340.0), None, None]);
        let disturbed = CpuAccount { total_ns_per_packet: None, ..cpu.clone() };
        assert_eq!(parts(disturbed).in_order(), [Some(100.0), None, Some(400.0), None, None]);
        let apart = CpuAccount { split_is_sampled: false, ..cpu.clone() };
        assert_eq!(parts(apart).in_order(), [Some(100.0), None, Some(400.0), None, Some(100.0)]);
        let sum_only = CpuAccount { app_ns_per_packet: None, ..cpu };
        assert_eq!(parts(sum_only).in_order(), [None, None, None, Some(600.0), None]);
        assert_eq!(parts(CpuAccount::default()), CpuParts::default());
    }

    fn with_times(application: f64, kernel: Option<f64>) -> TrialResult {
        let mut trial = trial(1, Phase::CommonLoad, "100", 0);
        trial.cpu.app_ns_per_packet = Some(application);
        trial.cpu.kernel_ns_per_packet = kernel;
        trial
    }

    #[test]
    fn parts_of_repeats_sum_up_to_their_median() {
        let trials =
            [with_times(100.0, Some(400.0)), with_times(120.0, Some(440.0)), with_times(900.0, Some(0.0))];
        let of = |trials: &[&TrialResult]| CpuParts::median(trials).in_order();
        assert_eq!(of(&[&trials[0], &trials[1], &trials[2]]), [Some(120.0), None, Some(440.0), None, None]);
        assert_eq!(of(&[&trials[0], &trials[1]]), [Some(110.0), None, Some(420.0), None, None]);
        let unlike = with_times(560.0, None);
        assert_eq!(of(&[&trials[0], &unlike]), [None, None, None, Some(530.0), None]);
    }

    #[test]
    fn methods_are_compared_at_the_lowest_common_load_else_at_each_load() {
        let numbers = |trials: &[TrialResult]| {
            let trials: Vec<&TrialResult> = trials.iter().collect();
            let mut all = Vec::new();
            for at_load in compared(&trials) {
                let numbers: Vec<u32> = at_load.trials.iter().map(|trial| trial.number).collect();
                all.push((numbers, at_load.is_sustained));
            }
            all
        };
        let common = [
            trial(1, Phase::FixedLoad, "50", 0),
            trial(2, Phase::CommonLoad, "200", 10),
            trial(3, Phase::CommonLoad, "100", 0),
            trial(4, Phase::CommonLoad, "100", 10),
        ];
        assert_eq!(numbers(&common), [(vec![3], true)]);
        let each = [
            trial(1, Phase::FixedLoad, "50", 10),
            trial(2, Phase::FixedLoad, "100", 0),
            trial(3, Phase::FixedLoad, "50", 20),
        ];
        assert_eq!(numbers(&each), [(vec![1, 3], false), (vec![2], true)]);
    }
}
