//! Which method a bench recommends.

use capbench_model::trial::{Phase, TrialResult};

use super::trial;
use crate::recommendation::{Conclusion, Ranked, SustainedStatus, recommend};

/// A trial of a second at maximum load, at which the generator sent so many frames.
fn at_maximum(number: u32, sent: u64, lost: u64) -> TrialResult {
    let mut trial =
        TrialResult { loss_pattern: None, number, phase: Phase::BestEffort, ..trial(100_000, lost) };
    trial.intended_pps = None;
    trial.intended = sent;
    trial.sent = sent;
    trial.delivered = sent - lost;
    trial.offered_pps = sent as f64;
    trial
}

/// The figures of the only method of these trials.
fn ranked(trials: &[TrialResult]) -> Ranked {
    recommend(trials, &[]).unwrap().rankings[0].methods[0].clone()
}

#[test]
fn a_thousandth_may_be_lost_of_a_load_that_is_nearly_lossless() {
    for (lost, status) in [(95, SustainedStatus::AtLeast), (105, SustainedStatus::NotReached)] {
        let found = ranked(&[at_maximum(1, 100_000, lost)]);
        assert_eq!(found.nearly_lossless.status, status, "{lost} of 100,000");
    }
}

#[test]
fn trials_at_maximum_load_are_of_one_load_up_to_a_twentieth_more() {
    for (sent, status) in [(104_800, SustainedStatus::AtLeast), (105_200, SustainedStatus::Between)] {
        // Half of the trials of a load may lose frames. At a higher load, the lossy trial is an upper bound.
        let found = ranked(&[at_maximum(1, 100_000, 0), at_maximum(2, sent, 2000)]);
        assert_eq!(found.lossless.status, status, "{sent} after 100,000 packets/s");
    }
}

#[test]
fn a_longer_trial_lowers_a_limit_by_up_to_a_twentieth_and_denies_it_if_it_misses_more() {
    for (lost, lower_pps) in [(4500, Some(95_500.0)), (5500, None)] {
        let longer = TrialResult { phase: Phase::Confirmation, ..at_maximum(2, 100_000, lost) };
        let found = ranked(&[at_maximum(1, 100_000, 0), longer]);
        assert_eq!(found.lossless.lower_pps, lower_pps, "{lost} of 100,000 frames");
    }
}

/// A lossless trial at the load of the question.
fn with_cost(number: u32, method: &str, app_ns: f64) -> TrialResult {
    let mut trial = TrialResult { number, phase: Phase::FixedLoad, ..trial(100_000, 0) };
    trial.profile.method = method.into();
    trial.cpu.app_ns_per_packet = Some(app_ns);
    trial
}

#[test]
fn the_costs_of_single_trials_are_equal_within_a_twentieth_of_each() {
    // The intervals of both costs touch each other at 105 ns: 100 ns and a twentieth, or 110.5 ns less a twentieth.
    for (app_ns, equal_methods) in [(110.0, 1), (111.0, 0)] {
        let trials = [with_cost(1, "recv", 100.0), with_cost(2, "packet-v3", app_ns)];
        let known = recommend(&trials, &[]).unwrap();
        let Conclusion::Use { equal, .. } = &known.rankings[0].conclusion else { panic!("{known:?}") };
        assert_eq!(equal.len(), equal_methods, "100 and {app_ns} ns");
    }
}
