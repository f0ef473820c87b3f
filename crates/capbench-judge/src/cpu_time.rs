//! CPU time per packet: who spent it, and which trials of a set-up compare methods by it.

use capbench_model::trial::{Phase, TrialResult};
use capbench_statistics::by_key;

use crate::sustained::is_delivered;
use crate::thresholds::UNATTRIBUTED_TIME_NS;

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
        let unattributed = if rest >= UNATTRIBUTED_TIME_NS { Some(rest) } else { None };
        Self { application, kernel, unattributed, ..Self::default() }
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
        self.application.is_some() == other.application.is_some()
            && self.either.is_some() == other.either.is_some()
            && self.kernel.is_some() == other.kernel.is_some()
            && self.both.is_some() == other.both.is_some()
    }

    /// The parts of the trial whose sum is the median, or their means over the two in the middle: so they add up to the median of
    /// the sums. Two that do not know the same parts have only a sum. Nothing is known if a trial has no sum.
    pub fn median(trials: &[&TrialResult]) -> Self {
        let mut all = Vec::new();
        for trial in trials {
            let parts = Self::of_trial(trial);
            let Some(sum_ns) = parts.sum() else { return Self::default() };
            all.push(Summed { sum_ns, parts });
        }
        all.sort_by(|one, other| one.sum_ns.total_cmp(&other.sum_ns));
        let Some(last) = all.len().checked_sub(1) else { return Self::default() };
        // Of an odd number of trials these two are the same.
        let lower = &all[last / 2];
        let upper = &all[all.len() / 2];
        let below = &lower.parts;
        let above = &upper.parts;
        if !below.knows_the_same(above) {
            return Self { both: Some(f64::midpoint(lower.sum_ns, upper.sum_ns)), ..Self::default() };
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

/// The parts of a trial, with their sum.
struct Summed {
    sum_ns: f64,
    parts: CpuParts,
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
    /// The trials that delivered the whole load; all of them if none did.
    pub trials: Vec<&'t TrialResult>,
    /// Whether they delivered it. If not, the times include the cost of lost packets.
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
    for (_, trials) in by_key(trials.iter().copied(), |trial| (trial.intended_pps, trial.load)) {
        compared.push(AtLoad::of_trials(trials));
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
    use capbench_model::trial::{CpuAccount, Load, Phase, TrialResult};

    use super::{AtLoad, CpuParts, compared};

    /// A trial of a second at this load, which loses so many of 100 frames.
    fn trial(number: u32, phase: Phase, pps: &str, lost: u64) -> TrialResult {
        let load = Load::Rate(pps.parse().unwrap());
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
        // Application, either of both, kernel, both together, unattributed.
        assert_eq!(parts(cpu.clone()).in_order(), [Some(100.0), Some(160.0), Some(340.0), None, None]);
        let disturbed = CpuAccount { total_ns_per_packet: None, ..cpu.clone() };
        assert_eq!(parts(disturbed).in_order(), [Some(100.0), None, Some(400.0), None, None]);
        let exact = CpuAccount { split_is_sampled: false, ..cpu.clone() };
        assert_eq!(parts(exact).in_order(), [Some(100.0), None, Some(400.0), None, Some(100.0)]);
        let sum_only = CpuAccount { app_ns_per_packet: None, ..cpu };
        assert_eq!(parts(sum_only).in_order(), [None, None, None, Some(600.0), None]);
        assert_eq!(parts(CpuAccount::default()), CpuParts::default());
    }

    #[test]
    fn a_rest_of_less_than_half_a_nanosecond_is_rounding() {
        for (total_ns, unattributed) in [(500.375, None), (500.625, Some(0.625))] {
            let cpu = CpuAccount {
                app_ns_per_packet: Some(100.0),
                kernel_ns_per_packet: Some(400.0),
                total_ns_per_packet: Some(total_ns),
                ..CpuAccount::default()
            };
            assert_eq!(parts(cpu).unattributed, unattributed, "{total_ns} ns");
        }
    }

    fn with_times(application: f64, kernel: Option<f64>) -> TrialResult {
        let mut trial = trial(1, Phase::CommonLoad, "100", 0);
        trial.cpu.app_ns_per_packet = Some(application);
        trial.cpu.kernel_ns_per_packet = kernel;
        trial
    }

    fn median_of(trials: &[&TrialResult]) -> [Option<f64>; 5] {
        CpuParts::median(trials).in_order()
    }

    #[test]
    fn parts_of_repeats_sum_up_to_their_median() {
        let trials =
            [with_times(100.0, Some(400.0)), with_times(120.0, Some(440.0)), with_times(900.0, Some(0.0))];
        let [low, middle, high] = &trials;
        assert_eq!(median_of(&[low, middle, high]), [Some(120.0), None, Some(440.0), None, None]);
        assert_eq!(median_of(&[low, middle]), [Some(110.0), None, Some(420.0), None, None]);
        let unlike = with_times(560.0, None);
        assert_eq!(median_of(&[low, &unlike]), [None, None, None, Some(530.0), None]);
    }

    fn numbers(at_load: &AtLoad<'_>) -> Vec<u32> {
        at_load.trials.iter().map(|trial| trial.number).collect()
    }

    #[test]
    fn methods_are_compared_at_the_lowest_common_load_else_at_each_load() {
        let common = [
            trial(1, Phase::FixedLoad, "50", 0),
            trial(2, Phase::CommonLoad, "200", 10),
            trial(3, Phase::CommonLoad, "100", 0),
            trial(4, Phase::CommonLoad, "100", 10),
        ];
        let [at_lowest] = &compared(&common.each_ref())[..] else { panic!("one load") };
        assert_eq!((numbers(at_lowest), at_lowest.is_sustained), (vec![3], true));
        let each = [
            trial(1, Phase::FixedLoad, "50", 10),
            trial(2, Phase::FixedLoad, "100", 0),
            trial(3, Phase::FixedLoad, "50", 20),
        ];
        let [lossy, sustained] = &compared(&each.each_ref())[..] else { panic!("two loads") };
        assert_eq!((numbers(lossy), lossy.is_sustained), (vec![1, 3], false));
        assert_eq!((numbers(sustained), sustained.is_sustained), (vec![2], true));
    }
}
