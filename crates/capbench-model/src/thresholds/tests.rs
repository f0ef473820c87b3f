//! Decisions on both sides of their threshold. Each side is within a factor of 1.5, so that another threshold fails a test.

use std::time::Duration;

use crate::clocks::is_accepted;
use crate::disturbance::{ClockDrift, CoreSpeed, CpuDisturbance, Disturbance};
use crate::environment::Environment;
use crate::for_tests::{measured, profile};
use crate::latency::{Began, OneWay, Sample, Samples};
use crate::trial::{Load, Phase, TrialResult};

/// A trial of a second at a million packets/s that lost nothing.
fn trial(sent: u64) -> TrialResult {
    let load = Load::Rate("1M".parse().unwrap());
    let measured = measured(1_000_000, sent, sent, 0);
    measured.result(1, Phase::FixedLoad, &profile("recv"), load, Duration::from_secs(1))
}

#[test]
fn unsent_frames_worth_ten_microseconds_are_rounding() {
    assert_eq!(trial(999_991).shortfall(), 0);
    assert_eq!(trial(999_987).shortfall(), 13);
}

#[test]
fn parts_that_exceed_their_sum_by_more_than_a_twentieth_contradict_it() {
    for (parts_ns, is_known) in [(1_000_000, true), (1_200_000, false)] {
        let mut trial = trial(1_000_000);
        trial.cpu.total_ns_per_packet = Some(1.0);
        trial.cpu.total_ns = Some(1_000_000);
        trial.cpu.app_ns = Some(parts_ns);
        assert_eq!(trial.total_ns_per_packet().is_some(), is_known, "{parts_ns}");
    }
}

#[test]
fn a_delay_is_stated_if_its_median_is_ten_times_the_error() {
    assert!(is_accepted(100, 0, 1250, None).is_ok());
    assert!(is_accepted(100, 0, 900, None).is_err());
}

#[test]
fn hosts_whose_memory_differs_by_a_hundredth_are_the_same() {
    let host = |bytes| Environment { memory_bytes: bytes, ..Environment::default() };
    assert!(host(100_000).differences(&host(100_900)).is_empty());
    assert_eq!(host(100_000).differences(&host(101_300)).len(), 1);
}

#[test]
fn a_slope_of_delays_is_a_clock_up_to_a_thousandth() {
    for (slope_ns, is_clock) in [(900, true), (1300, false)] {
        let mut samples = Samples::default();
        for nth in 0..500 {
            let planned_ns = nth * 1_000_000;
            let delivered_ns = (planned_ns + nth * slope_ns) as i64;
            samples.note(Sample { stream: 0, planned_ns, kernel_ns: Some(delivered_ns), delivered_ns });
        }
        let began = Began { realtime_ns: 1_000_000_000, error_ns: 40, set_by: None };
        let relative = OneWay::of(&samples, 1_000_000_000, &[(0, began)]).relative.unwrap();
        assert_eq!(relative.skew[0].removed, is_clock, "{slope_ns} ns a millisecond");
    }
}

/// A second of sending, with ticks of a millisecond.
fn disturbed(cpu: CpuDisturbance, clocks: ClockDrift) -> Disturbance {
    Disturbance {
        cpus: vec![cpu],
        tick_ns: 1_000_000,
        clocks,
        sending_ns: 1_000_000_000,
        ..Disturbance::default()
    }
}

fn is_spoilt(disturbance: &Disturbance) -> bool {
    !disturbance.reasons().is_empty()
}

#[test]
fn steal_spoils_a_trial_from_a_hundredth_and_two_ticks_on() {
    let steal =
        |steal_ns| disturbed(CpuDisturbance { steal_ns, ..CpuDisturbance::default() }, ClockDrift::default());
    assert!(!is_spoilt(&steal(9_000_000)));
    assert!(is_spoilt(&steal(13_000_000)));
    // A tick is a fiftieth of this trial.
    let short = |steal_ns| Disturbance { tick_ns: 20_000_000, ..steal(steal_ns) };
    assert!(!is_spoilt(&short(39_000_000)));
    assert!(is_spoilt(&short(41_000_000)));
}

#[test]
fn other_work_spoils_a_trial_from_a_twentieth_and_four_ticks_on() {
    let foreign = |foreign_ns| {
        disturbed(CpuDisturbance { foreign_ns, ..CpuDisturbance::default() }, ClockDrift::default())
    };
    assert!(!is_spoilt(&foreign(45_000_000)));
    assert!(is_spoilt(&foreign(60_000_000)));
    let short = |foreign_ns| Disturbance { tick_ns: 20_000_000, ..foreign(foreign_ns) };
    assert!(!is_spoilt(&short(75_000_000)));
    assert!(is_spoilt(&short(85_000_000)));
}

#[test]
fn clocks_that_step_slew_or_stand_still_spoil_a_trial() {
    let clocks = |clocks| disturbed(CpuDisturbance::default(), clocks);
    for (step_ns, spoils) in [(-900_000, false), (-1_300_000, true), (1_300_000, true)] {
        let step = clocks(ClockDrift { realtime_step_ns: step_ns, ..ClockDrift::default() });
        assert_eq!(is_spoilt(&step), spoils, "{step_ns}");
        let suspended_ns = u64::try_from(step_ns).unwrap_or(0);
        let suspended = clocks(ClockDrift { suspended_ns, ..ClockDrift::default() });
        assert_eq!(is_spoilt(&suspended), suspended_ns > 1_000_000, "{suspended_ns}");
    }
    // Over a second the error of reading is 50 ppm, over a tenth of it 500 ppm.
    for (sending_ns, slew_ppm, spoils) in [
        (1_000_000_000, 500.0, false),
        (1_000_000_000, 650.0, true),
        (100_000_000, 950.0, false),
        (100_000_000, 1050.0, true),
    ] {
        let slew = clocks(ClockDrift { slew_ppm, ..ClockDrift::default() });
        let slew = Disturbance { sending_ns, ..slew };
        assert_eq!(is_spoilt(&slew), spoils, "{slew_ppm} ppm over {sending_ns} ns");
    }
}

#[test]
fn a_cpu_is_slow_from_15_percent_on_and_generators_start_together_within_a_hundredth() {
    for (slowdown, spoils) in [(1.1, false), (1.3, true)] {
        let core_speed =
            Some(CoreSpeed { before_ns: 1.0, after_ns: slowdown, fastest_ns: 1.0, ..CoreSpeed::default() });
        let slow =
            disturbed(CpuDisturbance { core_speed, ..CpuDisturbance::default() }, ClockDrift::default());
        assert_eq!(slow.is_slow(), spoils, "{slowdown}");
    }
    for (spread_ns, spoils) in [(9_000_000, false), (13_000_000, true)] {
        let spread = disturbed(CpuDisturbance::default(), ClockDrift::default());
        let spread = Disturbance { start_spread_ns: Some(spread_ns), ..spread };
        assert_eq!(is_spoilt(&spread), spoils, "{spread_ns}");
    }
}
