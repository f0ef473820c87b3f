//! Which trials are compared, and by what, on both sides of each condition.

use std::time::Duration;

use capbench_model::for_tests::{measured, profile};
use capbench_model::trial::{Load, LoadShape, Phase, Verdict};

use super::{CommonLoads, SampledTrial, Unusable};
use crate::comparison::Measure;

/// Frames that a trial should send.
const INTENDED: u64 = 100_000;

/// What a trial of a second sent of [`INTENDED`] frames, and how many of these it lost.
#[derive(Clone, Copy)]
struct Frames {
    sent: u64,
    lost: u64,
}

/// All frames are sent and delivered.
const WHOLE: Frames = Frames { sent: INTENDED, lost: 0 };
/// 1 % of the frames is lost.
const LOSSY: Frames = Frames { lost: 1000, ..WHOLE };
/// So many frames are unsent that the load is not sent: more than a twentieth.
const TOO_FEW: Frames = Frames { sent: 93_800, lost: 0 };

fn trial(phase: Phase, load: Load, Frames { sent, lost }: Frames) -> SampledTrial {
    let measured = measured(INTENDED, sent, sent - lost, lost);
    let mut trial = measured.result(1, phase, &profile("packet-v3"), load, Duration::from_secs(1));
    trial.cpu.total_ns_per_packet = Some(500.0);
    SampledTrial::from_result(&trial, None)
}

fn rate(pps: &str) -> Load {
    Load::Rate(pps.parse().unwrap())
}

fn measures(trial: &SampledTrial) -> Vec<Measure> {
    trial.figures().iter().map(|figure| figure.measure).collect()
}

#[test]
fn a_trial_that_left_a_twentieth_unsent_is_not_compared() {
    assert_eq!(trial(Phase::FixedLoad, rate("100k"), Frames { sent: 96_000, lost: 0 }).unusable(), None);
    assert_eq!(trial(Phase::FixedLoad, rate("100k"), TOO_FEW).unusable(), Some(Unusable::LoadNotSent));
    assert_eq!(trial(Phase::BestEffort, Load::Maximum, TOO_FEW).unusable(), None, "it has no load");
}

#[test]
fn steps_of_searches_and_unknown_points_of_sweeps_are_not_compared() {
    assert_eq!(trial(Phase::Search, rate("100k"), WHOLE).unusable(), Some(Unusable::Step));
    let point = trial(Phase::Sweep, rate("100k"), WHOLE);
    assert_eq!(point.unusable(), None);
    let unknown = SampledTrial { is_unknown_point: true, ..point };
    assert_eq!(unknown.unusable(), Some(Unusable::UnknownPoint));
    let invalid = SampledTrial { verdict: Verdict::Invalid, ..unknown };
    assert_eq!(invalid.unusable(), Some(Unusable::Invalid));
}

#[test]
fn only_the_lowest_common_load_is_compared() {
    let high = trial(Phase::CommonLoad, rate("100k"), LOSSY);
    let low = trial(Phase::CommonLoad, rate("60k"), Frames { sent: 60_000, lost: 0 });
    let low = SampledTrial { intended: 60_000, ..low };
    // The load was lowered after a method lost frames at the higher one.
    let common = CommonLoads::of_trials([&high, &low]);
    assert_eq!((high.left_out(&common), low.left_out(&common)), (Some(Unusable::LoweredLoad), None));
    let fixed = trial(Phase::FixedLoad, rate("100k"), WHOLE);
    assert_eq!(fixed.left_out(&common), None);
    assert_eq!(common.scenes().map(|(_, pps)| pps).collect::<Vec<_>>(), [60_000.0]);
}

#[test]
fn maximum_load_shows_a_rate_and_a_set_load_its_loss() {
    let maximum = trial(Phase::BestEffort, Load::Maximum, LOSSY);
    assert_eq!(measures(&maximum), [Measure::DeliveredRate]);
    assert!(!maximum.figures()[0].is_at_least, "it lost frames");
    let lossless = trial(Phase::BestEffort, Load::Maximum, WHOLE);
    assert!(lossless.figures()[0].is_at_least);
    let slowed = SampledTrial { load_independent: false, ..lossless };
    assert!(!slowed.figures()[0].is_at_least, "the receiver slows the generator");
    let set = trial(Phase::FixedLoad, rate("100k"), LOSSY);
    assert_eq!(measures(&set), [Measure::LossRatio]);
    assert!((set.figures()[0].value - 0.01).abs() < 1e-12 && !set.figures()[0].is_at_least);
}

#[test]
fn a_load_with_a_shape_is_no_maximum_load() {
    let step = LoadShape::Step { before_pps: 1e5, at_s: 0.5, after_pps: 5e4 };
    let step = SampledTrial { load: Some(step), ..trial(Phase::BestEffort, Load::Maximum, WHOLE) };
    assert_eq!(measures(&step)[0], Measure::LossRatio);
}

#[test]
fn cpu_time_is_compared_at_a_load_that_was_delivered() {
    let has_cost = |trial: &SampledTrial| measures(trial).contains(&Measure::TotalCost);
    assert!(has_cost(&trial(Phase::FixedLoad, rate("100k"), WHOLE)));
    assert!(has_cost(&trial(Phase::FixedLoad, rate("100k"), Frames { sent: 96_000, lost: 0 })));
    assert!(!has_cost(&trial(Phase::FixedLoad, rate("100k"), TOO_FEW)));
    assert!(!has_cost(&trial(Phase::FixedLoad, rate("100k"), Frames { lost: 1, ..WHOLE })));
}
