//! After an overload the path may still be busy: a full queue, a driver that recovers, a sender that did not stop. The 2008
//! report excluded such trials by hand. Here a probe must be clean first.

use capbench_judge::thresholds::{FIRST_PROBE_LOAD, LEFTOVERS_SHARE, OVERLOADED_PATH_LOSS, PROBE_LENGTH};

use std::time::Duration;

use capbench_frames::rates::Pps;

use super::{Policy, Recovery};
use capbench_model::Result;
use capbench_model::trial::{Load, Phase, Trial, TrialResult, Verdict};

/// Whether trials after one that lost this share of the sent frames need a clean probe first.
pub(crate) fn is_overload(loss_ratio: f64) -> bool {
    loss_ratio > OVERLOADED_PATH_LOSS
}

/// Whether a probe shows that the path is ready: all that was sent arrived. What the generator left unsent says
/// nothing of it.
fn is_clean(probe: &TrialResult) -> bool {
    matches!(probe.verdict, Verdict::Lossless | Verdict::GeneratorLimited)
        && probe.foreign as f64 <= probe.delivered as f64 * LEFTOVERS_SHARE
}

/// Probes with pauses until one is clean, up to the policy's number. Each next one asks less of the path and watches it for longer, up to
/// four times: what still arrives from the overload is then a smaller part. `rest` waits and returns whether to go on.
pub(super) fn recover(
    after: u32,
    trial: &mut dyn Trial,
    policy: &Policy,
    rest: &mut dyn FnMut(Duration) -> bool,
) -> Result<Recovery> {
    let mut recovery = Recovery { after, recovered: policy.probes == 0, probes: Vec::new() };
    for number in 0..policy.probes {
        let load = Load::Rate(Pps::new(FIRST_PROBE_LOAD / 2_f64.powi(number as i32))?);
        let mut probe = trial.run(load, PROBE_LENGTH * 2_u32.pow(number.min(2)))?;
        probe.phase = Phase::Probe;
        recovery.recovered = is_clean(&probe);
        recovery.probes.push(probe);
        if recovery.recovered || !rest(policy.pause * 2_u32.pow(number)) {
            break;
        }
    }
    Ok(recovery)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{SimulatedLaboratory, SimulatedMethod};
    use capbench_model::for_tests::{measured, profile, setup};
    use capbench_model::laboratory::Laboratory;

    fn trial(lost: u64, foreign: u64) -> TrialResult {
        let measured = measured(100_000, 100_000, 100_000 - lost, lost);
        let load = Load::Rate("100k".parse().unwrap());
        let trial = measured.result(1, Phase::Probe, &profile("packet-v3"), load, PROBE_LENGTH);
        TrialResult { foreign, ..trial }
    }

    #[test]
    fn a_pause_of_a_tenth_of_a_second_follows_a_probe_that_is_not_clean_and_then_twice_as_long_ones() {
        let mut path = SimulatedLaboratory::new(1e6, vec![SimulatedMethod::new("packet-v3", 1.0)]);
        let mut trial = path.prepare(&setup(64)).unwrap();
        let mut pauses_ms = Vec::new();
        let mut rest = |pause: Duration| {
            pauses_ms.push(pause.as_millis());
            true
        };
        let recovery = recover(1, trial.as_mut(), &Policy::default(), &mut rest).unwrap();
        assert!(!recovery.recovered);
        assert_eq!(pauses_ms, [100, 200, 400, 800, 1600]);
    }

    #[test]
    fn single_losses_are_no_overload() {
        assert!(!is_overload(trial(80, 0).sent_loss_ratio()));
        assert!(is_overload(trial(125, 0).sent_loss_ratio()));
    }

    #[test]
    fn a_probe_with_leftovers_is_not_clean() {
        assert!(is_clean(&trial(0, 8000)));
        assert!(!is_clean(&trial(0, 12_500)));
    }
}
