//! What a run's findings say about the tracer: its own cost, and what it did not see.

use crate::findings::Finding;
use crate::trial::TrialResult;

/// Adds what the traced trials show.
pub fn find(trials: &[TrialResult], findings: &mut Vec<Finding>) {
    let cost = |trial: &&TrialResult| trial.cpu.tracer_ns_per_packet;
    let traced: Vec<_> = trials.iter().filter(|trial| cost(trial).is_some()).collect();
    let costs = || traced.iter().filter_map(cost);
    let (Some(least), Some(most)) = (costs().min_by(f64::total_cmp), costs().max_by(f64::total_cmp)) else {
        return;
    };
    // The programs run on the CPU that does the kernel's receive work, while frames are sent.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::find;
    use crate::trial::tests::{measured, profile};
    use crate::trial::{Load, Phase, TrialResult};

    fn trial(number: u32, tracer_ns: Option<u64>) -> TrialResult {
        let mut measured = measured(1000, 1000, 1000, 0);
        measured.cpu.tracer_ns = tracer_ns;
        measured.sending = Duration::from_millis(1);
        let (load, duration) = (Load::Maximum, Duration::from_millis(1));
        measured.result(number, Phase::BestEffort, &profile("recv"), load, duration)
    }

    #[test]
    fn the_cost_of_the_tracer_is_told_with_its_trials() {
        let mut findings = Vec::new();
        find(&[trial(1, Some(50_000)), trial(2, None), trial(3, Some(80_000))], &mut findings);
        let text = "The tracer itself took 50 to 80 ns per packet, at most 8.0 % of the time of the CPU that does the \
                    kernel's receive work.";
        assert_eq!((findings[0].text.as_str(), findings[0].trials.as_slice()), (text, &[1, 3][..]));
    }

    #[test]
    fn without_a_tracer_there_is_nothing_to_tell() {
        let mut findings = Vec::new();
        find(&[trial(1, None)], &mut findings);
        assert!(findings.is_empty());
    }
}
