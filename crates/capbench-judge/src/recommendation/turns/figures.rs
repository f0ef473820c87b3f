//! Which figures of one trial in turns are compared, the captured share and the CPU time per packet, and which trials have them. Which
//! unsent frames count as missed in the captured share.

use capbench_model::trial::{TrialResult, Verdict};

use crate::sustained::missing_share;
use crate::thresholds::TURNS_KNOWN_TIME;

/// Whether the figures of a trial count.
pub(super) fn is_evidence(trial: &TrialResult) -> bool {
    trial.verdict != Verdict::Invalid && trial.sent > 0
}

/// The share of the frames that the method captured, in a longer trial, too. Unsent frames count as missed where the receiver can hold the
/// generator up. Else they are the generator's: it also has to wake an idle CPU, so that it sends less to a method that needs less time.
pub(super) fn captured_share(trial: &TrialResult) -> f64 {
    if trial.profile.load_independent { 1.0 - missing_share(trial) } else { read_share(trial) }
}

/// The share of the load that the method read, in a longer trial, too: unsent frames count as missed.
pub(super) fn read_share(trial: &TrialResult) -> f64 {
    (1.0 - missing_share(trial)) * sent_share(trial)
}

/// The share of the load that the generator sent.
pub(super) fn sent_share(trial: &TrialResult) -> f64 {
    1.0 - trial.shortfall() as f64 / trial.intended.max(1) as f64
}

/// Whether enough trials know the kernel's time. Costs with and without it are not compared: the others tell nothing of costs then.
pub(super) fn know_kernel<'r>(trials: impl Iterator<Item = &'r &'r TrialResult>) -> bool {
    let trials: Vec<_> = trials.filter(|trial| is_evidence(trial)).collect();
    let known = trials.iter().filter(|trial| trial.cpu.kernel_ns_per_packet.is_some()).count();
    known as f64 > TURNS_KNOWN_TIME * trials.len() as f64
}

/// CPU time per packet: what the scheduler charged to the application, and the kernel's receive work unless nothing is known of it.
/// Receive work that interrupted the application counts twice.
pub(super) fn cost_ns(trial: &TrialResult, knows_kernel: bool) -> Option<f64> {
    Some(charged_ns(trial)? + kernel_ns(trial, knows_kernel)?)
}

/// The same, in which receive work counts once. `None` if the application's own time is only sampled.
pub(super) fn exact_cost_ns(trial: &TrialResult, knows_kernel: bool) -> Option<f64> {
    let own_ns = trial.cpu.app_ns_per_packet.filter(|_| !trial.cpu.split_is_sampled)?;
    Some(own_ns + kernel_ns(trial, knows_kernel)?)
}

fn kernel_ns(trial: &TrialResult, knows_kernel: bool) -> Option<f64> {
    if knows_kernel { trial.cpu.kernel_ns_per_packet } else { Some(0.0) }
}

/// What the scheduler charged to the application, per packet.
pub(super) fn charged_ns(trial: &TrialResult) -> Option<f64> {
    trial.cpu.app_ns_per_packet_at_most.or(trial.cpu.app_ns_per_packet)
}
