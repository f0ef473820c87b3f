//! Comparisons of runs, of methods that took turns, and of hosts.

use capbench_model::trial::{Phase, TrialResult};

use super::trial;
use crate::JudgeError;
use crate::comparison::hosts::{DatasetRun, Figure, Figures, HostsCompared, of_figures};
use crate::comparison::runs::of_runs;
use crate::comparison::setup::COMMON_LOAD;
use crate::comparison::{Comparison, Judgement, Measure, Pair, Setup, Thresholds, of_pairs};
use crate::run::RunFacts;
use crate::thresholds::REPORTED_CHANGE_OF_HOSTS;

/// The judgement of a figure by ten pairs of trials. The second of each pair is of another method. `now` makes it from the noise of
/// the pair: a share of up to 9 millionths, so that repeats are not equal.
fn judgement_of_pairs(measure: Measure, then: &TrialResult, now: impl Fn(f64) -> TrialResult) -> Judgement {
    let mut trials = Vec::new();
    let mut pairs = Vec::new();
    for nth in 0..10 {
        let then = TrialResult { number: 2 * nth + 1, ..then.clone() };
        let mut now = TrialResult { number: 2 * nth + 2, ..now(f64::from(nth) * 1e-6) };
        now.profile.method = "recv".into();
        pairs.push(Pair { then: then.number, now: now.number });
        trials.extend([then, now]);
    }
    let compared = of_pairs(&trials, &pairs, Thresholds::default());
    let mut contrasts = compared[0].contrasts.iter();
    contrasts.find(|contrast| contrast.measure == measure).expect("it is compared").judgement
}

#[test]
fn a_change_of_a_rate_is_reported_from_a_twentieth_on() {
    let then = TrialResult { intended_pps: None, delivered_pps: 1e5, ..trial(100_000, 1000) };
    for (slower, judgement) in [(0.048, Judgement::BelowThreshold), (0.052, Judgement::Regression)] {
        let found = judgement_of_pairs(Measure::DeliveredRate, &then, |noise| TrialResult {
            delivered_pps: 1e5 * (1.0 - slower - noise),
            ..then.clone()
        });
        assert_eq!(found, judgement, "{slower} less");
    }
}

#[test]
fn a_change_of_a_loss_is_reported_from_a_thousandth_on() {
    let then = trial(100_000, 1000);
    for (more, judgement) in [(95, Judgement::BelowThreshold), (105, Judgement::Regression)] {
        // The noise is less than a frame.
        let found = judgement_of_pairs(Measure::LossRatio, &then, |_| trial(100_000, 1000 + more));
        assert_eq!(found, judgement, "{more} of 100,000 frames more");
    }
}

/// Compares two runs of these trials on one host.
pub(super) fn compared_runs(then: &[TrialResult], now: &[TrialResult]) -> Comparison {
    let then = RunFacts::of_trials(then);
    let now = RunFacts { started_unix_s: 2, trials: now, ..then };
    of_runs(&then, &now, &[], Thresholds::default()).unwrap()
}

#[test]
fn costs_at_common_loads_that_differ_by_more_than_a_tenth_are_not_compared() {
    // A trial at a fixed load is compared in any case, so that the runs have something in common.
    let fixed = TrialResult { number: 1, phase: Phase::FixedLoad, ..trial(100_000, 0) };
    let then = TrialResult { number: 2, ..trial(100_000, 0) };
    // A trial of each run is left out. A tenth of the higher load of 113,000 packets/s is 11,300.
    for (pps, left_out) in [(109_000.0, 0), (113_000.0, 2)] {
        let now = TrialResult { intended_pps: Some(pps), ..then.clone() };
        let compared = compared_runs(&[fixed.clone(), then.clone()], &[fixed.clone(), now]);
        let trials: u32 = compared.left_out.iter().map(|left_out| left_out.trials).sum();
        assert_eq!(trials, left_out, "{pps} packets/s: {:?}", compared.left_out);
    }
}

#[test]
fn a_host_whose_cpu_or_work_differs_by_a_twentieth_is_noted() {
    for (factor, notes) in [(1.048, 0), (1.052, 1)] {
        let mut then = trial(100_000, 0);
        then.cpu.verify_ns_per_packet = 100.0;
        let mut now = then.clone();
        now.cpu.verify_ns_per_packet = 100.0 * factor;
        assert_eq!(compared_runs(&[then.clone()], &[now]).note_facts.len(), notes, "{factor}: verification");
        then.profile.work = "ns:1000".into();
        then.cpu.wait_ns_per_iteration = Some(factor);
        let mut now = then.clone();
        now.cpu.wait_ns_per_iteration = Some(1.0);
        assert_eq!(compared_runs(&[then], &[now]).note_facts.len(), notes, "{factor}: work");
    }
}

/// Compares two kernels on eight hosts with four runs of each: the second one costs more by this share. The runs of the kernels have
/// these common loads.
fn hosts(more_cost: f64, common_pps: [f64; 2]) -> Result<HostsCompared, JudgeError> {
    let load = Some(COMMON_LOAD.into());
    let setup = Setup { method: Some("recv".into()), load, ..Setup::default() };
    let values = vec!["6.1".into(), "6.2".into()];
    let mut figures = Figures { setups: vec![setup], values, ..Figures::default() };
    for host in 0..8 {
        for run in 0..8 {
            let kernel = run / 4;
            figures.all.push(Figure {
                run: figures.runs.len(),
                setup: 0,
                value_of: Some(kernel),
                measure: Measure::TotalCost,
                // Runs differ by up to 49 millionths.
                value: 100.0 * (1.0 + kernel as f64 * more_cost) * (1.0 + 1e-6 * (host * run) as f64),
                intended_pps: Some(common_pps[kernel]),
                is_at_least: false,
            });
            figures.runs.push(DatasetRun {
                id: format!("{host}-{run}"),
                host: Some(format!("host{host}")),
                started_us: run as i64,
                trials: 4,
                ..DatasetRun::default()
            });
        }
    }
    let thresholds = Thresholds { relative: REPORTED_CHANGE_OF_HOSTS, ..Thresholds::default() };
    of_figures(&figures, "kernel_release", None, thresholds)
}

#[test]
fn a_change_of_hosts_is_reported_from_half_a_percent_on() {
    for (more_cost, judgement) in [(0.0048, Judgement::BelowThreshold), (0.0052, Judgement::Regression)] {
        let compared = hosts(more_cost, [1e5, 1e5]).unwrap().comparison;
        assert_eq!(compared.contrasts[0].judgement, judgement, "{more_cost}");
    }
}

#[test]
fn hosts_whose_common_loads_differ_by_more_than_a_tenth_are_not_compared() {
    // A tenth is one of the higher load: 11,000 and 11,200 packets/s.
    assert!(hosts(0.1, [1e5, 1.1e5]).is_ok());
    assert!(hosts(0.1, [1e5, 1.12e5]).is_err());
}
