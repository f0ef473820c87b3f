//! Latency on the bed. Nothing here depends on how fast the host is, only on what comes after what.

use capbench_testing::network::privileges;
use capbench_testing::{HostLimit, HostLoad, busy, cannot_have};
use std::time::Duration;

use capbench_frames::Pps;
use capbench_lab::for_tests::{live, live_setup, virtual_link};
use capbench_lab::live::LiveLaboratory;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::latency::{Latency, Recording};
use capbench_model::loss_pattern::Clock;
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::{Load, TrialResult};

fn laboratory() -> LiveLaboratory {
    live(virtual_link())
}

fn setup(method: &str, retire_timeout: Duration) -> Setup {
    let mut setup = live_setup(method, 4 << 20, Duration::from_millis(200));
    setup.placement = PlacementChoice::Other;
    setup.capture.retire_timeout = retire_timeout;
    setup.latency = Some(Recording::default());
    setup
}

/// Long enough for several blocks of the longest timeout here.
const LONG: Duration = Duration::from_millis(350);
const SHORT: Duration = Duration::from_millis(120);

/// A trial during which nobody set the host's clock, or `None` where somebody sets it all the time: an agent of a virtual
/// machine moves it in small steps for minutes after a pause. A trial that says so has no legs, and the account of its clocks,
/// which is read by other code, knows of the step.
fn run(
    laboratory: &mut LiveLaboratory,
    setup: &Setup,
    load: Load,
    duration: Duration,
) -> Option<(TrialResult, Latency)> {
    const ATTEMPTS: usize = 5;
    for _ in 0..ATTEMPTS {
        let trial = laboratory.prepare(setup).unwrap().run(load, duration).unwrap();
        let latency = trial.latency.clone().unwrap();
        let reason = latency.absent_because.as_deref().unwrap_or_default();
        if !reason.contains("was set during the trial") {
            return Some((trial, latency));
        }
        assert_eq!((&latency.to_kernel, &latency.to_application), (&None, &None), "{reason}");
        assert_ne!(trial.disturbance.clocks.realtime_step_ns / 500, 0, "{reason}");
    }
    cannot_have(HostLimit::SteadyClock, "it was set during each of several trials");
    None
}

fn rate(pps: f64) -> Load {
    Load::Rate(Pps::new(pps).unwrap())
}

/// What a block waits for, frames wait for: on average half of the timeout, so eight times the timeout is eight times
/// the delay, give or take what else delays them. No timeout is a multiple of the time between two frames: in step with the
/// frames, a block's end would come at the same moment after each, right after it by chance.
#[test]
fn root_alone_the_latency_of_v3_follows_its_retire_timeout_and_v2_has_none_of_it() {
    let Some(()) = privileges() else { return };
    let mut laboratory = laboratory();
    for load in [rate(1_030.0), rate(10_300.0)] {
        let host = HostLoad::watch();
        let mut median_of = |method: &str, timeout_ms: u64| -> Option<i64> {
            let setup = setup(method, Duration::from_millis(timeout_ms));
            let (trial, latency) = run(&mut laboratory, &setup, load, LONG)?;
            assert_eq!(latency.absent_because, None);
            assert_eq!(latency.clock, Clock::PlannedSendTime);
            let (total, to_kernel) = (latency.total.unwrap(), latency.to_kernel.unwrap());
            let to_application = latency.to_application.unwrap();
            assert_eq!(total.frames, trial.delivered);
            assert_eq!((to_kernel.frames, to_application.frames), (total.frames, total.frames));
            let legs = to_kernel.mean_ns + to_application.mean_ns;
            let clocks = latency.clock_error_ns.unwrap() as f64;
            assert!((legs - total.mean_ns).abs() <= clocks + 1.0, "{legs} and {}", total.mean_ns);
            println!(
                "{method} {timeout_ms} ms, {load}: to kernel {} {} us, to application {} {} {} us, total {} {} us",
                to_kernel.p50_ns / 1000,
                to_kernel.p99_9_ns / 1000,
                to_application.min_ns / 1000,
                to_application.p50_ns / 1000,
                to_application.p99_9_ns / 1000,
                total.p50_ns / 1000,
                total.p99_9_ns / 1000,
            );
            Some(to_application.p50_ns)
        };
        let Some(v2) = median_of("packet-v2", 8) else { return };
        let mut v3 = [0; 3];
        for (median, timeout) in v3.iter_mut().zip([1, 8, 64]) {
            let Some(measured) = median_of("packet-v3", timeout) else { return };
            *median = measured;
        }
        // Threads that wait for their CPU make any delay longer than a short timeout does.
        if !(v2 < v3[0] && v3[0] < v3[1] && v3[1] < v3[2]) {
            let others = host.others().unwrap_or_else(|| panic!("V2 {v2}, V3 {v3:?}"));
            busy(format_args!("{load}: V2 {v2} ns, V3 {v3:?} ns; {others}"));
        }
    }
}

#[test]
fn root_alone_what_a_method_cannot_tell_is_absent_with_the_reason_and_never_zero() {
    let Some(()) = privileges() else { return };
    let mut laboratory = laboratory();
    let timeout = Duration::from_millis(10);
    for method in ["recv", "recvmmsg", "packet-v1", "packet-v2", "packet-v3", "libpcap"] {
        let trial = run(&mut laboratory, &setup(method, timeout), rate(5_000.0), SHORT);
        let Some((_, latency)) = trial else { return };
        let (to_kernel, to_application) = (latency.to_kernel.unwrap(), latency.to_application.unwrap());
        assert!(to_kernel.p50_ns > 0 && to_application.p50_ns > 0, "{method}");
        assert_eq!(latency.absent_because, None, "{method}");
    }
    let queued = Setup { work: "none+queue=64".parse().unwrap(), ..setup("packet-v2", timeout) };
    let Some((trial, latency)) = run(&mut laboratory, &queued, rate(1_000.0), SHORT) else { return };
    assert!(trial.delivered > 0 && latency.total.is_none());
    assert!(latency.absent_because.unwrap().contains("work queue"));
    // Time stamps are taken by another clock than planned times; an error of that would show here.
    let trial = run(&mut laboratory, &setup("packet-v2", timeout), Load::Maximum, SHORT);
    let Some((trial, latency)) = trial else { return };
    assert_eq!((latency.clock, trial.lateness), (Clock::GeneratorTime, None));
    assert!(latency.total.unwrap().frames > 0);
    let mut silent = setup("packet-v2", timeout);
    silent.latency = None;
    let trial = laboratory.prepare(&silent).unwrap().run(rate(1_000.0), Duration::from_millis(100)).unwrap();
    assert_eq!(trial.latency, None, "it was not asked for");
}

#[test]
fn root_the_latency_of_members_is_that_of_all_their_frames() {
    let Some(()) = privileges() else { return };
    let mut laboratory = laboratory();
    for method in
        ["recv+members=2+fanout=lb", "packet-v2+members=4+fanout=lb", "packet-v3+members=3+fanout=lb"]
    {
        let setup = setup(method, Duration::from_millis(10));
        let Some((trial, latency)) = run(&mut laboratory, &setup, rate(5_000.0), SHORT) else { return };
        let legs = [&latency.to_kernel, &latency.to_application, &latency.total];
        let frames = legs.map(|leg| leg.as_ref().unwrap().frames);
        assert_eq!((frames, &latency.absent_because), ([trial.delivered; 3], &None), "{method}");
        // Each member has a part of them.
        assert!(
            trial.members.iter().all(|member| (1..trial.delivered).contains(&member.delivered)),
            "{method}"
        );
    }
}

#[cfg(feature = "bpf")]
#[test]
fn root_methods_without_kernel_time_stamps_have_the_sum_only_or_nothing() {
    let Some(()) = privileges() else { return };
    let mut laboratory = laboratory();
    for (method, has_total) in [("af-xdp", true), ("xdp-count", false)] {
        let trial = run(&mut laboratory, &setup(method, Duration::from_millis(10)), rate(5_000.0), SHORT);
        let Some((trial, latency)) = trial else { return };
        assert!(trial.delivered > 0);
        assert_eq!((latency.to_kernel, latency.to_application), (None, None), "{method}");
        assert_eq!(latency.total.is_some(), has_total, "{method}");
        assert!(latency.absent_because.is_some(), "{method}");
    }
}
