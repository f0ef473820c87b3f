//! What disturbs a trial.

use super::tests::{MS, stolen};
use super::{CpuDisturbance, Disturbance, Pace, Standstill};
use capbench_model::disturbance::ClockDrift;

#[test]
fn what_spoils_a_trial_and_what_does_not() {
    // A window that is twice as long as frames were sent: shares are of the latter.
    let cpu = |steal_ns, foreign_ns| CpuDisturbance {
        window_ns: 2000 * MS,
        steal_ns,
        foreign_ns,
        ..CpuDisturbance::default()
    };
    let reasons = |cpu, clocks| {
        let (cpus, tick_ns, sending_ns) = (vec![cpu], 10 * MS, 1000 * MS);
        Disturbance { cpus, tick_ns, clocks, sending_ns, backlog_lasts_ns: None }.reasons().join("; ")
    };
    let still = ClockDrift::default();
    assert_eq!(reasons(cpu(10 * MS, 30 * MS), still), "", "a tick of steal, three of others");
    assert!(reasons(cpu(20 * MS, 0), still).contains("(steal)"));
    assert!(reasons(cpu(0, 60 * MS), still).contains("(foreign load)"));
    assert_eq!(reasons(cpu(0, 50 * MS), still), "", "not more than a twentieth");
    let stepped = |ns| reasons(cpu(0, 0), ClockDrift { realtime_step_ns: ns, ..still });
    assert!(stepped(-2_000_000).contains("clock was set") && stepped(20_000).is_empty());
    let slewed = |ppm| reasons(cpu(0, 0), ClockDrift { slew_ppm: ppm, ..still });
    assert!(slewed(-600.0).contains("another speed") && slewed(500.0).is_empty());
    let suspended = ClockDrift { suspended_ns: 3_000_000_000, ..still };
    assert!(reasons(cpu(0, 0), suspended).contains("suspended"));
    assert_eq!(Disturbance::default().reasons(), Vec::<&str>::new(), "nothing known, nothing said");
}

/// A CPU that stood still for 3 to 5 ms, while the backlog lasts so long.
fn stood_still(backlog_lasts_ns: Option<u64>) -> Disturbance {
    let stall = Standstill { until_ns: 500 * MS, at_least_ns: 3 * MS, at_most_ns: 5 * MS };
    let cpu = CpuDisturbance { cpu: 1, stalls: Some(vec![stall]), ..CpuDisturbance::default() };
    Disturbance { cpus: vec![cpu], backlog_lasts_ns, sending_ns: 1000 * MS, ..stolen(0) }
}

#[test]
fn a_standstill_disturbs_where_it_may_have_been_longer_than_the_backlog_lasts() {
    let reasons = |lasts: Option<u64>| stood_still(lasts).reasons();
    assert_eq!(reasons(Some(4 * MS)), ["one of its CPUs stood still for longer than the backlog lasts"]);
    assert!(reasons(Some(5 * MS)).is_empty() && reasons(None).is_empty());
    assert!(stood_still(Some(MS)).reasons_for_rates().is_empty(), "5 ms are no share of a second");
}

#[test]
fn a_cpu_that_took_longer_than_it_can_before_or_after_disturbs() {
    let paced = |before_ns: f64, after_ns: f64| {
        let pace = Pace { before_ns, after_ns, fastest_ns: 0.4 };
        let cpus = vec![CpuDisturbance { cpu: 1, pace: Some(pace), ..CpuDisturbance::default() }];
        Disturbance { cpus, ..stolen(0) }
    };
    assert!(paced(0.41, 0.45).reasons().is_empty(), "an eighth slower");
    for slow in [paced(0.47, 0.4), paced(0.4, 0.8)] {
        assert_eq!(slow.reasons_for_rates(), slow.reasons());
        assert!(slow.reasons()[0].contains("slower than it can"), "{:?}", slow.reasons());
        assert!(slow.beside_pace().reasons().is_empty());
    }
}
