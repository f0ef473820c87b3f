//! Each answer on both sides of its threshold.

use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_model::disturbance::{CpuDisturbance, Disturbance};
use capbench_model::for_tests::{measured, profile};
use capbench_model::trial::{Emptying, Load, Phase, TrialResult};

use super::*;

/// A trial of a second at 100,000 packets/s.
fn trial(sent: u64, lost: u64) -> TrialResult {
    let load = Load::Rate("100k".parse().unwrap());
    let measured = measured(100_000, sent, sent - lost, lost);
    let trial = measured.result(1, Phase::CommonLoad, &profile("packet-v3"), load, Duration::from_secs(1));
    TrialResult { loss_pattern: None, ..trial }
}

/// A trial that lost nothing, and whose application read for so long after sending ended.
fn behind(seconds: f64) -> TrialResult {
    let mut trial = trial(100_000, 0);
    trial.emptying = Some(Emptying { after_s: seconds, holds_s: 0.0 });
    trial.cpu.batches = 100_000;
    trial
}

/// The same trial while others took this share of its CPU.
fn disturbed(trial: TrialResult, taken: f64) -> TrialResult {
    let steal_ns = (taken * 1e9) as u64;
    let cpus = vec![CpuDisturbance { window_ns: 1_000_000_000, steal_ns, ..CpuDisturbance::default() }];
    let disturbance = Disturbance { cpus, sending_ns: 1_000_000_000, ..Disturbance::default() };
    TrialResult { disturbance, ..trial }
}

#[test]
fn a_load_is_sent_if_no_more_than_a_twentieth_is_missing() {
    for (sent, is_sent) in [(100_000, true), (95_100, true), (94_900, false)] {
        assert_eq!(is_load_sent(&trial(sent, 0)), is_sent, "{sent} of 100,000");
        assert_eq!(is_rate_sent(sent as f64, 100_000.0), is_sent, "{sent} of 100,000 packets/s");
        assert_eq!(is_sustained(&trial(sent, 0)), is_sent);
        assert_eq!(is_delivered(&trial(sent, 0)), is_sent);
    }
    assert!(is_published_load_sent(&trial(99_100, 0)) && !is_published_load_sent(&trial(98_900, 0)));
    // The clock's rounding: 10 us of a burst of ten frames.
    let burst = TrialResult { intended: 10, sent: 9, ..trial(100_000, 0) };
    assert!(is_load_sent(&burst));
}

#[test]
fn a_search_counts_each_unsent_frame_like_a_lost_one() {
    let trial = trial(97_000, 1000);
    assert!(is_load_sent(&trial));
    let load = Pps::new(1e5).unwrap();
    let seen = Observation::of_trial(&trial, load, Duration::from_secs(1), 1);
    assert_eq!((seen.loss_ratio, seen.path_loss_ratio), (0.04, 1000.0 / 97_000.0));
}

#[test]
fn a_trial_with_a_loss_sustains_its_load_up_to_an_allowed_share() {
    let lossy = trial(100_000, 100);
    assert!(!is_sustained(&lossy) && !is_delivered(&lossy) && !captures_all(&lossy));
    assert!(misses_up_to(&lossy, 0.001) && !misses_up_to(&lossy, 0.0009));
    assert!(!misses_up_to(&TrialResult { sent: 0, ..trial(100_000, 0) }, 0.5), "it shows nothing");
}

#[test]
fn frames_that_waited_count_like_lost_ones_unless_a_stall_explains_them() {
    // 0.5 % of the frames are read in 5 ms, but the tick of the receiver explains 10 ms. In a trial of 10 s it does not.
    let long = |seconds: f64| TrialResult { sending_s: 10.0, ..behind(seconds) };
    for (seconds, frames, is_captured) in [(0.048, 0, true), (0.053, 527, false)] {
        let trial = long(seconds);
        assert_eq!(buffered_frames(&trial, 1), frames, "{seconds} s");
        assert_eq!(captures_all(&trial), is_captured, "{seconds} s");
        assert_eq!(is_sustained(&trial), is_captured, "{seconds} s");
        assert!(is_delivered(&trial), "their cost is that of all frames");
    }
    assert_eq!(buffered_frames(&long(0.053), 5000), 0, "frames that were sent together wait for each other");
    assert_eq!(buffered_frames(&TrialResult { emptying: None, ..behind(0.5) }, 1), 0, "unknown");
}

#[test]
fn loads_of_one_rate_differ_by_less_than_a_thousandth() {
    assert!(is_as_high(99_910.0, 100_000.0) && !is_as_high(99_890.0, 100_000.0));
    assert!(!is_higher(100_090.0, 100_000.0) && is_higher(100_110.0, 100_000.0));
}

#[test]
fn a_loss_is_the_methods_own_if_it_is_twice_what_others_took() {
    for (lost, is_own) in [(18_000, false), (22_000, true)] {
        assert_eq!(is_of_method(&disturbed(trial(100_000, lost), 0.1)), is_own, "{lost} frames at 10 %");
        assert!(is_of_method(&trial(100_000, lost)), "undisturbed");
    }
    // Others left 40 % of the CPU, and the method read less than half of what that allows.
    for (lost, is_own) in [(78_000, false), (82_000, true)] {
        assert_eq!(is_of_method(&disturbed(trial(100_000, lost), 0.6)), is_own, "{lost} frames at 60 %");
    }
}

#[test]
fn repeats_decide_by_their_majority_and_a_single_trial_by_its_own_loss() {
    let held = trial(100_000, 0);
    let lossy = trial(100_000, 5_000);
    let stolen = disturbed(trial(100_000, 5_000), 0.5);
    let cases: [(&[&TrialResult], Class); 8] = [
        (&[], Class::Undecided),
        (&[&held], Class::Lower),
        (&[&lossy], Class::Upper),
        (&[&stolen], Class::Undecided),
        (&[&held, &lossy], Class::Lower),
        (&[&stolen, &stolen], Class::Upper),
        (&[&held, &held, &lossy], Class::Lower),
        (&[&held, &lossy, &lossy], Class::Upper),
    ];
    for (nth, (trials, class)) in cases.into_iter().enumerate() {
        assert_eq!(super::repeats::class_of_repeats(trials, 0.0), class, "case {nth}");
    }
    assert_eq!(super::repeats::class_of_repeats(&[&lossy], 0.05), Class::Lower, "an allowed loss");
    assert_eq!(super::repeats::class_of_repeats(&[&lossy], 1.0), Class::Lower, "any loss is allowed");
}

#[test]
fn visits_fall_short_if_most_lose_or_read_less_than_99_percent() {
    let visits =
        |read_pps| Visits { trials: 3, lossless: 2, loss_ratio: 0.0, read_pps, reached_pps: 100_000.0 };
    for (read_pps, is_saturated) in [(99_100.0, false), (98_900.0, true), (0.0, false)] {
        assert_eq!(visits(read_pps).is_saturated(), is_saturated, "{read_pps} packets/s");
        assert_eq!(visits(read_pps).falls_short(), is_saturated, "{read_pps} packets/s");
    }
    let lossy = Visits { loss_ratio: 1e-6, ..visits(100_000.0) };
    assert!(lossy.loses() && lossy.falls_short() && !lossy.is_saturated());
    assert!(!lossy.is_clean() && Visits { lossless: 3, ..lossy }.is_clean());
}

#[test]
fn a_goal_is_decided_to_a_nanosecond_of_trial_time() {
    let observation = |ns: u64, loss_ratio: f64| {
        let load = Pps::new(1e5).unwrap();
        let duration = Duration::from_nanos(ns);
        Observation { number: 1, load, duration, loss_ratio, path_loss_ratio: loss_ratio, achieved: load }
    };
    let criteria = Criteria {
        loss_ratio: Ratio::ZERO,
        exceed_ratio: Ratio::ZERO,
        full_length: Duration::from_nanos(10),
        duration_sum: Duration::from_nanos(10),
    };
    assert_eq!(criteria.classify(&[observation(10, 0.0)]), Class::Lower);
    assert_eq!(criteria.classify(&[observation(10, 0.1)]), Class::Upper);
    // Half a nanosecond more may be lost than the exceed ratio allows: it is rounding.
    let shared = |loss_ns, low_ns, exceed| {
        let exceed_ratio = Ratio::new(exceed).unwrap();
        let duration_sum = Duration::from_nanos(loss_ns + low_ns);
        let full_length = Duration::from_nanos(1);
        let criteria = Criteria { exceed_ratio, full_length, duration_sum, ..criteria };
        criteria.classify(&[observation(loss_ns, 0.1), observation(low_ns, 0.0)])
    };
    assert_eq!(shared(2, 1, 0.5), Class::Lower, "2 of 3 ns, where 1.5 are allowed");
    assert_eq!(shared(2, 3, 0.25), Class::Upper, "2 of 5 ns, where 1.25 are allowed");
    let longer = Criteria { duration_sum: Duration::from_nanos(11), ..criteria };
    assert_eq!(longer.classify(&[observation(10, 0.0)]), Class::Undecided, "a nanosecond is missing");
}

#[test]
fn a_published_load_is_out_of_reach_if_more_than_half_of_six_trials_lack_it() {
    for (short, trials, expected) in [(5, 10, false), (6, 10, true), (5, 5, false), (6, 6, true)] {
        assert_eq!(is_out_of_reach(short, trials), expected, "{short} of {trials}");
    }
}
