//! Which method a bench recommends.

use super::*;
use crate::recommendation::{Conclusion, Ranked, SustainedStatus, recommend};

/// A trial of this method at maximum load.
fn at_maximum(number: u32, method: &str, sent: u64, lost: u64) -> TrialResult {
    let mut trial =
        TrialResult { loss_pattern: None, number, phase: Phase::BestEffort, ..trial(100_000, lost) };
    trial.intended_pps = None;
    trial.profile.method = method.into();
    trial.intended = sent;
    trial.sent = sent;
    trial.delivered = sent - lost;
    trial.offered_pps = sent as f64;
    trial
}

fn first(trials: &[TrialResult]) -> Ranked {
    recommend(trials, &[]).unwrap().rankings[0].methods[0].clone()
}

#[test]
fn a_thousandth_may_be_lost_of_a_load_that_is_nearly_lossless() {
    for (lost, status) in [(95, SustainedStatus::AtLeast), (105, SustainedStatus::NotReached)] {
        let found = first(&[at_maximum(1, "recv", 100_000, lost)]);
        assert_eq!(found.nearly_lossless.status, status, "{lost} of 100,000");
    }
}

#[test]
fn trials_at_maximum_load_are_of_one_load_up_to_a_twentieth_more() {
    for (sent, status) in [(104_800, SustainedStatus::AtLeast), (105_200, SustainedStatus::Between)] {
        let found = first(&[at_maximum(1, "recv", 100_000, 0), at_maximum(2, "recv", sent, 2000)]);
        assert_eq!(found.lossless.status, status, "{sent} after 100,000 packets/s");
    }
}

#[test]
fn the_costs_of_single_trials_are_equal_within_a_twentieth_of_each() {
    let at_load = |number, method: &str, app_ns| {
        let mut trial = TrialResult { number, phase: Phase::FixedLoad, ..trial(100_000, 0) };
        trial.profile.method = method.into();
        trial.cpu.app_ns_per_packet = Some(app_ns);
        trial
    };
    // The intervals of 100 and 110.5 ns touch each other.
    for (app_ns, equal_methods) in [(110.0, 1), (111.0, 0)] {
        let trials = [at_load(1, "recv", 100.0), at_load(2, "packet-v3", app_ns)];
        let known = recommend(&trials, &[]).unwrap();
        let Conclusion::Use { equal, .. } = &known.rankings[0].conclusion else { panic!("{known:?}") };
        assert_eq!(equal.len(), equal_methods, "100 and {app_ns} ns");
    }
}
