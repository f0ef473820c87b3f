//! What disturbed trials: stalled CPUs and what was lost meanwhile, noise by its reason, attempts that guards discarded, and
//! the CPU time of the tracer.

use std::collections::BTreeMap;

use capbench_model::disturbance::Stall;
use capbench_model::noise::Noise;
use capbench_model::places::Place;
use capbench_model::trial::TrialResult;

use super::{Attempt, LostMeanwhile, StalledCpu, TrialFinding, found, methods, numbers};
use crate::disturbed::is_noisy;
use crate::finding::Found;
use crate::thresholds::STALLED_BACKLOG_LOSS;

/// A trial in which a CPU stalled.
struct StalledTrial<'r> {
    trial: &'r TrialResult,
    stalls: &'r [Stall],
}

/// Stalled CPUs, and frames of the longest loss bursts that were sent meanwhile.
pub(super) fn stalls(trials: &[TrialResult]) -> Vec<Found> {
    let mut by_cpu: BTreeMap<u32, Vec<StalledTrial<'_>>> = BTreeMap::new();
    for trial in trials {
        for cpu in &trial.disturbance.cpus {
            let stalls = cpu.stalls.as_deref().unwrap_or_default();
            if !stalls.is_empty() {
                by_cpu.entry(cpu.cpu).or_default().push(StalledTrial { trial, stalls });
            }
        }
    }
    let mut all = Vec::new();
    for (cpu, stalled_trials) in by_cpu {
        let stalls: Vec<&Stall> = stalled_trials.iter().flat_map(|stalled| stalled.stalls).collect();
        let stalled = StalledCpu {
            cpu,
            stalls: stalls.len() as u64,
            trials: stalled_trials.len() as u32,
            at_most_ns: stalls.iter().map(|stall| stall.at_most_ns).max().unwrap_or(0),
            at_least_ns: stalls.iter().map(|stall| stall.at_least_ns).max().unwrap_or(0),
            lost_meanwhile: lost_meanwhile(&stalled_trials),
        };
        all.push(found(
            TrialFinding::Stalled(stalled),
            stalled_trials.iter().map(|stalled| stalled.trial.number),
        ));
    }
    all
}

/// Losses while the CPU stalled, of the trials that lost most of their frames in the softirq backlog; `None` if there were none. A
/// stalled CPU does not empty the backlog.
fn lost_meanwhile(stalled_trials: &[StalledTrial<'_>]) -> Option<LostMeanwhile> {
    let mut sums = LostMeanwhile { lost_frames: 0, while_stalled_frames: 0 };
    for StalledTrial { trial, stalls } in stalled_trials {
        if is_lost_in_backlog(trial) {
            sums.lost_frames += trial.lost();
            sums.while_stalled_frames += lost_while_stalled(trial, stalls);
        }
    }
    (sums.while_stalled_frames > 0).then_some(sums)
}

/// Whether the softirq backlog lost most of the trial's losses.
fn is_lost_in_backlog(trial: &TrialResult) -> bool {
    let losses = trial.losses().into_iter();
    let backlog: u64 = losses.filter(|(place, _)| *place == Place::Backlog).map(|(_, count)| count).sum();
    backlog > 0 && backlog as f64 >= STALLED_BACKLOG_LOSS * trial.lost() as f64
}

/// Frames of the trial's longest loss bursts that were sent while the CPU stalled.
fn lost_while_stalled(trial: &TrialResult, stalls: &[Stall]) -> u64 {
    let mut frames = 0;
    for burst in trial.loss_pattern.iter().flat_map(|shape| &shape.longest) {
        if stalls.iter().any(|stall| stall.overlaps(burst.from_ns, burst.to_ns)) {
            frames += burst.frames;
        }
    }
    frames
}

/// Discarded attempts, by what disturbed them.
pub(super) fn retried(trials: &[TrialResult]) -> Vec<Found> {
    let mut by_reason: BTreeMap<&Noise, Vec<&TrialResult>> = BTreeMap::new();
    let guards = trials.iter().filter_map(|trial| trial.guarding.as_ref());
    for attempt in guards.flat_map(|guard| &guard.discarded) {
        for noise in &attempt.because.reasons {
            by_reason.entry(noise).or_default().push(&attempt.trial);
        }
    }
    let mut all = Vec::new();
    for (noise, discarded) in by_reason {
        let mut attempts = Vec::new();
        for trial in &discarded {
            attempts.push(Attempt { trial: trial.number, method: trial.profile.method.clone() });
        }
        let fact = TrialFinding::Retried { noise: noise.clone(), attempts };
        all.push(found(fact, numbers(&discarded)));
    }
    all
}

/// The largest time that the tracer took in a trial; `None` if it ran in none. Its programs run on the CPU of the kernel's receive work while frames are sent.
pub(super) fn tracer_cost(trials: &[TrialResult]) -> Option<Found> {
    let mut traced = Vec::new();
    let mut largest_ns: f64 = 0.0;
    let mut cpu_ratio: f64 = 0.0;
    for trial in trials {
        let Some(ns_per_packet) = trial.cpu.tracer_ns_per_packet else { continue };
        traced.push(trial.number);
        largest_ns = largest_ns.max(ns_per_packet);
        let sending_ns = (trial.sending_s * 1e9).max(1.0);
        cpu_ratio = cpu_ratio.max(trial.cpu.tracer_ns.unwrap_or(0) as f64 / sending_ns);
    }
    if traced.is_empty() {
        return None;
    }
    Some(found(TrialFinding::TracerCost { ns_per_packet: largest_ns, cpu_ratio }, traced))
}

/// Noisy trials, by reason.
pub(super) fn noise(trials: &[TrialResult]) -> Vec<Found> {
    let mut by_reason: BTreeMap<&Noise, Vec<&TrialResult>> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| is_noisy(trial)) {
        for noise in &trial.noise.reasons {
            by_reason.entry(noise).or_default().push(trial);
        }
    }
    let mut all = Vec::new();
    for (noise, noisy) in by_reason {
        let fact = TrialFinding::Noisy {
            noise: noise.clone(),
            noisy_trials: noisy.len() as u32,
            all_trials: trials.len() as u32,
            methods: methods(&noisy),
        };
        all.push(found(fact, numbers(&noisy)));
    }
    all
}
