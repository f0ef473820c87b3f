//! Whether noise may have changed what one trial shows, and from which share on the host disturbed so many of some trials that they are no
//! evidence together. What follows of the latter is decided where it is asked: a ranking is not certain (`recommendation/rank.rs`), a comparison is in doubt (`comparison/runs.rs`), a claim of a publication
//! remains open (`reproduction/judging.rs`), costs of a sweep are not compared (`finding/sweep/cost.rs`).

use capbench_model::noise::Noise;
use capbench_model::trial::TrialResult;

use crate::sustained::{is_explained_by_disturbance, missing_share};
use crate::thresholds::{DISTURBED_TRIALS, EXPLAINED_LOSSES};

/// Whether so many of these trials are disturbed that none of them counts.
pub(crate) fn are_disturbed(disturbed: usize, trials: usize) -> bool {
    disturbed as f64 > DISTURBED_TRIALS * trials as f64
}

/// Whether the host explains so many of some losses that they are its own, and not those of the method.
pub(crate) fn are_explained(explained: usize, lossy: usize) -> bool {
    explained as f64 > EXPLAINED_LOSSES * lossy as f64
}

/// Whether other work on the host or its hardware disturbed a trial, besides what is usual on a shared host: there every second trial is slow,
/// and comparisons are of trials whose CPUs were equally slow.
pub(crate) fn is_disturbed_besides_speed(trial: &TrialResult) -> bool {
    !trial.disturbance.reasons_besides_sharing().is_empty()
}

/// Whether noise may have changed what a trial shows. What takes CPU time changes nothing of a load that was sent and captured, nor of a
/// loss that it clearly does not explain. On a shared host most trials have some: a mark that all carry tells nothing.
pub(crate) fn is_noisy(trial: &TrialResult) -> bool {
    if !trial.noise.reasons.iter().all(Noise::takes_cpu_time) {
        return true;
    }
    let is_loss_explained = missing_share(trial) > 0.0 && is_explained_by_disturbance(trial);
    !trial.noise.is_empty() && (trial.shortfall() > 0 || is_loss_explained)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::disturbance::{CoreSpeed, CpuDisturbance};
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::noise::{Noise, NoiseOfTrial};
    use capbench_model::trial::{Load, Phase, TrialResult};

    use super::is_noisy;

    /// A trial that captured so many of 1,000 frames while a core was a third slower than its best.
    fn on_slow_core(intended: u64, captured: u64) -> TrialResult {
        let load = Load::Rate("10k".parse().unwrap());
        let mut measured = measured(intended, 1000, captured, 1000 - captured);
        let speed = CoreSpeed { before_ns: 1.5, after_ns: 1.5, fastest_ns: 1.0, ..CoreSpeed::default() };
        let cpu = CpuDisturbance { core_speed: Some(speed), ..CpuDisturbance::default() };
        measured.trial.disturbance.cpus.push(cpu);
        measured.result(1, Phase::Turns, &profile("recv"), load, Duration::from_millis(100))
    }

    #[test]
    fn a_slow_core_makes_a_trial_noisy_if_it_can_explain_what_is_missing() {
        let is_noisy_with = |intended, captured| is_noisy(&on_slow_core(intended, captured));
        assert!(!is_noisy_with(1000, 1000), "all was sent and captured");
        assert!(is_noisy_with(1000, 700), "a third less time, and of the frames");
        assert!(!is_noisy_with(1000, 10), "a slow core takes no such part");
        assert!(is_noisy_with(1500, 1000), "it may have kept the generator from its load");
    }

    #[test]
    fn a_clock_that_was_set_makes_any_trial_noisy() {
        let mut trial = on_slow_core(1000, 1000);
        trial.noise = NoiseOfTrial::new(vec![Noise::SharedCore, Noise::ClockSet]);
        assert!(is_noisy(&trial));
    }
}
