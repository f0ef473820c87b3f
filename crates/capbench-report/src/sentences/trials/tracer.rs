//! Findings about the tracer: its cost, and events that it missed.
use crate::results::Finding;
use capbench_model::trial::TrialResult;

/// Adds the findings of traced trials.
pub(super) fn find(trials: &[TrialResult], findings: &mut Vec<Finding>) {
    let cost = |trial: &&TrialResult| trial.cpu.tracer_ns_per_packet;
    let traced: Vec<_> = trials.iter().filter(|trial| cost(trial).is_some()).collect();
    let costs = || traced.iter().filter_map(cost);
    let (Some(least), Some(most)) = (costs().min_by(f64::total_cmp), costs().max_by(f64::total_cmp)) else {
        return;
    };
    // The programs run on the CPU of the kernel's receive work while frames are sent.
    let share =
        |trial: &&TrialResult| trial.cpu.tracer_ns.unwrap_or(0) as f64 / (trial.sending_s * 1e9).max(1.0);
    let largest = traced.iter().map(share).fold(0.0, f64::max) * 100.0;
    findings.push(Finding {
        scene: None,
        text: format!(
            "The tracer itself took {least:.0} to {most:.0} ns per packet, at most {largest:.1} % of the time of the CPU that \
             does the kernel's receive work."
        ),
        trials: traced.iter().map(|trial| trial.number).collect(),
    });
}
