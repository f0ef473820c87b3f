//! Decisions on both sides of their threshold. Each side is within a factor of 1.5, so that another threshold fails a test.
//!
//! [`trial`] makes the trials of all files here.

mod chance;
mod comparisons;
mod findings;
mod majorities;
mod members;
mod recommendations;
mod regimes;
mod turns;

use std::time::Duration;

use capbench_frames::schedule::Step;
use capbench_model::disturbance::{CoreSpeed, CpuDisturbance};
use capbench_model::for_tests::{measured, profile};
use capbench_model::loss_pattern::LossPattern;
use capbench_model::trial::{Load, Phase, TrialResult};

use crate::comparison::samples::Fastest;
use crate::recommendation::Cost;
use crate::rfc2544::recovery::{Recovery, recovery};
use crate::search::maximum::{SelfTest, Try};
use crate::search::warning::{SearchWarning, SelfTestCause};
use crate::sweep::contrasts::{Evidence, Lead};
use crate::sweep::outcome::Series;
use crate::sweep::regimes::{Saturated, find};

/// A trial of a second at 100,000 packets/s.
fn trial(sent: u64, lost: u64) -> TrialResult {
    let load = Load::Rate("100k".parse().unwrap());
    let measured = measured(100_000, sent, sent - lost, lost);
    measured.result(1, Phase::CommonLoad, &profile("packet-v3"), load, Duration::from_secs(1))
}

/// The self-test of a generator that sends 1000 packets/s by plan and without one.
fn self_test(tries: &[Try]) -> SelfTest {
    SelfTest { unpaced_pps: 1000.0, paced_pps: 1000.0, held: true, tries: tries.to_vec() }
}

fn unpaced(offered_pps: f64) -> Try {
    Try { trial: 1, asked_pps: None, offered_pps, held: true }
}

/// A try by a plan of 1000 packets/s, of which the generator sent less.
fn paced(offered_pps: f64) -> Try {
    Try { trial: 1, asked_pps: Some(1000.0), offered_pps, held: false }
}

#[test]
fn a_generator_needs_attention_if_it_is_slower_by_a_fifth() {
    for (slower_pps, doubts) in [(840.0, 0), (750.0, 1)] {
        let by_plan = SelfTest { paced_pps: slower_pps, ..self_test(&[]) };
        assert_eq!(by_plan.doubts().len(), doubts, "{slower_pps} packets/s by plan");
        let without_plan = self_test(&[unpaced(1000.0), unpaced(slower_pps)]);
        assert_eq!(without_plan.doubts().len(), doubts, "{slower_pps} packets/s without a plan");
    }
}

fn blames_the_host(doubt: &SearchWarning) -> bool {
    matches!(doubt, SearchWarning::SelfTestRate { cause: SelfTestCause::Host, .. })
}

#[test]
fn tries_that_differ_by_more_than_a_twentieth_show_the_host() {
    for (second_pps, is_host) in [(945.0, false), (920.0, true)] {
        let doubts = self_test(&[paced(985.0), paced(second_pps)]).doubts();
        assert_eq!(doubts.iter().any(blames_the_host), is_host, "{doubts:?}");
    }
}

#[test]
fn a_cost_with_a_large_error_is_a_range() {
    // A quarter of 100 ns is 25 ns.
    for (app_error_ns, range) in [(20.0, (100.0, 100.0)), (31.0, (69.0, 131.0))] {
        let cost = Cost {
            app_ns: Some(100.0),
            app_error_ns,
            total_ns: None,
            total_error_ns: 0.0,
            trials: vec![1],
            disturbed: false,
        };
        assert_eq!(cost.app_range(), Some(range));
    }
}

#[test]
fn a_cpu_has_one_of_four_paces() {
    // Between two neighbours is a bound: 1.05, 1.15 and 1.3.
    for (slowdown, pace) in [(1.0, 0), (1.1, 1), (1.2, 2), (1.4, 3)] {
        let mut trial = trial(100_000, 0);
        let speed =
            CoreSpeed { before_ns: slowdown, after_ns: slowdown, fastest_ns: 1.0, ..CoreSpeed::default() };
        let cpu = trial.profile.cpus.application;
        trial.disturbance.cpus =
            vec![CpuDisturbance { cpu, core_speed: Some(speed), ..CpuDisturbance::default() }];
        assert_eq!(Fastest::from_trials([&trial]).pace(&trial).number(), pace, "{slowdown} times as long");
    }
}

#[test]
fn a_path_recovered_if_a_tenth_of_the_time_is_quiet() {
    let rate = "1k".parse().unwrap();
    // At 1000 packets/s, the change is at frame 1000 of 2000. After frame 1875 the last eighth of the time is quiet, after 1920 the
    // last twelfth.
    let step = Step { before: rate, at: Duration::from_secs(1), after: rate };
    for (last_lost, is_recovered) in [(1875, true), (1920, false)] {
        let trial = TrialResult {
            sent: 2000,
            loss_pattern: Some(LossPattern {
                last_lost: Some(last_lost),
                ..LossPattern::in_windows(2000, 10, 20, 1)
            }),
            ..trial(2000, 10)
        };
        let found = recovery(&trial, &step);
        assert_eq!(matches!(found, Recovery::Recovered { .. }), is_recovered, "{found:?}");
    }
}

#[test]
fn rates_that_differ_by_a_hundredth_are_equal() {
    let series: Series =
        serde_json::from_value(serde_json::json!({"method": "recv", "readings": []})).unwrap();
    for (gain, is_notable) in [(8.0, false), (12.5, true)] {
        let evidence = Evidence { by_chance: 0.001, comparisons: 1 };
        let lead = Lead { ahead: &series, behind: &series, points: Vec::new(), gain, most: 1000.0, evidence };
        assert_eq!(lead.is_notable(), is_notable, "{gain} of 1000");
    }
}

/// Eleven points of a sweep of work without noise, whose time rises with the work.
struct Rising {
    /// Work from point to point.
    work_step: f64,
    /// Nanoseconds for a unit of work; 1 ns is requested.
    slope_ns: f64,
}

impl Rising {
    /// Whether the slope shows that work takes longer than requested.
    fn is_fitted(&self) -> bool {
        let mut points = Vec::new();
        for nth in 0..11 {
            let work = self.work_step * f64::from(nth);
            points.push(Saturated { work, time_ns: 1000.0 + self.slope_ns * work, spread_ns: 0.0 });
        }
        find(&points, Some(1.0)).unwrap().unit.is_fitted
    }
}

#[test]
fn work_is_slower_than_requested_from_a_twentieth_or_four_errors_on() {
    // Each point has an assumed error of 0.5 % of its time. With 1000 units of work at the last point, the error of the slope is less
    // than a hundredth of it, so that the twentieth decides.
    assert!(!Rising { work_step: 100.0, slope_ns: 1.04 }.is_fitted());
    assert!(Rising { work_step: 100.0, slope_ns: 1.0625 }.is_fitted());
    // With 100 units it is a twentieth of the slope, so that four of these errors decide.
    assert!(!Rising { work_step: 10.0, slope_ns: 1.16 }.is_fitted());
    assert!(Rising { work_step: 10.0, slope_ns: 1.25 }.is_fitted());
}
