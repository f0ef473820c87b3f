//! After an overload the path may still be busy: a full queue, a driver that recovers, a sender that did not stop. The 2008
//! report excluded such trials by hand. Here a probe must be clean first.

use std::time::Duration;

use capbench_frames::rates::Pps;

use super::{Policy, Recovery};
use capbench_model::Result;
use capbench_model::trial::{Load, Phase, Trial, TrialResult, Verdict};

/// A trial overloaded the path if it lost more than this share of the sent frames; smaller losses are single losses.
pub(crate) const OVERLOAD: f64 = 1e-3;
/// Load of the first probe, packets/s. Each further one has half of it: the fifth leaves a slow set-up 16 ms per packet.
const PROBE_PPS: f64 = 1000.0;
/// Length of a probe.
pub(crate) const PROBE: Duration = Duration::from_millis(100);
/// Share of foreign frames in a probe above which they are leftovers of an overload, not other traffic of the link.
const LEFTOVERS: f64 = 0.1;

/// Whether trials after this one need a clean probe first.
pub(super) fn is_overload(trial: &TrialResult) -> bool {
    trial.lost() as f64 > trial.sent as f64 * OVERLOAD
}

/// Whether a probe shows that the path is ready.
fn is_clean(probe: &TrialResult) -> bool {
    matches!(probe.verdict, Verdict::Lossless | Verdict::GeneratorLimited)
        && probe.foreign as f64 <= probe.delivered as f64 * LEFTOVERS
}

/// Probes with pauses until one is clean, up to the policy's number. `rest` waits and returns whether to go on.
pub(super) fn recover(
    after: u32,
    trial: &mut dyn Trial,
    policy: &Policy,
    rest: &mut dyn FnMut(Duration) -> bool,
) -> Result<Recovery> {
    let mut recovery = Recovery { after, recovered: policy.probes == 0, probes: Vec::new() };
    for number in 0..policy.probes {
        let load = Load::Rate(Pps::new(PROBE_PPS / 2_f64.powi(number as i32))?);
        let mut probe = trial.run(load, PROBE * 2_u32.pow(number.min(2)))?;
        probe.phase = Phase::Probe;
        recovery.recovered = is_clean(&probe);
        recovery.probes.push(probe);
        if recovery.recovered || !rest(policy.pause * 2_u32.pow(number)) {
            break;
        }
    }
    Ok(recovery)
}
