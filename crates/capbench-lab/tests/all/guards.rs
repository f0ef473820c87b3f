//! Guards on a real path: what they are for is done to it on purpose.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use crate::excuse::excuse;
use capbench_frames::Pps;
use capbench_judge::livelock;
use capbench_lab::for_tests::{live, live_setup, live_stopped_by, virtual_link};
use capbench_lab::live::Path;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::noise::Noise;
use capbench_model::trial::{Load, Phase, Retried, TrialResult, Verdict};
use capbench_model::work::WorkModel;
use capbench_plan::guards::{Guarded, Policy};
use capbench_sys::host::{CpuId, affinity};
use capbench_testing::network::{Place, eventually, privileges, program};
use capbench_testing::{HostLimit, HostLoad, busy, cannot_have};

fn setup(method: &str) -> Setup {
    live_setup(method, 1 << 20, Duration::from_millis(100))
}

fn run(laboratory: &mut dyn Laboratory, setup: &Setup, load: Load, duration: Duration) -> TrialResult {
    laboratory.prepare(setup).unwrap().run(load, duration).unwrap()
}

/// Keeps a CPU busy for as long as `work` takes.
fn beside_a_busy_thread<T>(cpu: CpuId, work: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let busy = scope.spawn(|| {
            affinity::pin_current_thread(cpu).unwrap();
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let done = work();
        stop.store(true, Ordering::Relaxed);
        busy.join().unwrap();
        done
    })
}

#[test]
fn root_alone_a_trial_beside_other_work_on_its_cpu_is_repeated_and_marked() {
    let Some(()) = privileges() else { return };
    let mut guarded = Guarded::new(live(virtual_link()), Policy::default(), Arc::default());
    let rate = Load::Rate(Pps::new(1000.0).unwrap());
    let length = Duration::from_millis(500);
    let cpu = run(&mut guarded, &setup("packet-v3"), rate, length).profile.cpus.application;
    let mut guarded = Guarded::new(live(virtual_link()), Policy::default(), Arc::default());
    let trial =
        beside_a_busy_thread(CpuId::new(cpu), || run(&mut guarded, &setup("packet-v3"), rate, length));
    assert!(trial.noise.reasons.contains(&Noise::ForeignLoad), "{:?}", trial.disturbance);
    let foreign = trial.disturbance.cpus.iter().find(|disturbed| disturbed.cpu == cpu).unwrap();
    assert!(foreign.foreign_ns * 4 > foreign.window_ns, "{foreign:?}");
    let guarding = trial.guarding.unwrap();
    // On a host that loses frames besides, the second attempt may show nothing, and the first stands after all.
    assert_eq!(guarding.discarded.len(), 1);
    assert!(guarding.discarded[0].because.reasons.contains(&Noise::ForeignLoad));
    assert_ne!(guarding.discarded[0].trial.number, trial.number, "every attempt has its number");
}

#[test]
fn root_alone_nothing_counts_after_an_overload_while_frames_still_flood_the_path() {
    let Some(()) = privileges() else { return };
    let place = Place::with_pair();
    let path = || Path::Interfaces { transmit: "left".into(), receive: "right".into(), isolated: false };
    // An application of at most 5000 frames/s, which any generator outruns.
    let slow = Setup { work: WorkModel::Nanoseconds(200_000).into(), ..setup("recv") };
    let policy = Policy { repeats: 0, ..Policy::default() };
    let rate = Load::Rate(Pps::new(500.0).unwrap());
    // What a laboratory measures before its first trial is behind it, so that the flood has no pause once it has begun.
    let mut other = place.inside(|| live(path()));
    place.inside(|| run(&mut other, &setup("recv"), rate, Duration::from_millis(20)));
    // Both are of this process, and take their frames for their own by the numbers of trials.
    other.number_after(100);
    let (overload, next) = thread::scope(|scope| {
        let mut guarded = Guarded::new(place.inside(|| live(path())), policy, Arc::default());
        let overload = place.inside(|| run(&mut guarded, &slow, Load::Maximum, Duration::from_millis(200)));
        let sent = place.sent();
        // The overload goes on after its trial.
        let flood = scope.spawn(|| {
            place.inside(|| run(&mut other, &setup("recv"), Load::Maximum, Duration::from_millis(1500)))
        });
        eventually("the flood has begun", || place.sent() > sent + 1000);
        let next = place.inside(|| run(&mut guarded, &slow, rate, Duration::from_millis(200)));
        flood.join().unwrap();
        (overload, next)
    });
    assert_eq!(overload.verdict, Verdict::Lossy, "{overload:#?}");
    let recovery = next.guarding.as_ref().unwrap().recovery.as_ref().unwrap();
    assert_eq!((recovery.after, recovery.recovered), (overload.number, true), "{recovery:#?}");
    assert!(recovery.probes.len() >= 2, "{recovery:#?}");
    let (last, unclean) = recovery.probes.split_last().unwrap();
    assert!(unclean.iter().all(|probe| probe.foreign > 0 || probe.delivered < probe.sent), "{unclean:#?}");
    assert_eq!((last.phase, last.delivered), (Phase::Probe, last.sent));
    assert_ne!(next.verdict, Verdict::Invalid, "{next:#?}");
}

#[test]
fn root_alone_frames_of_a_trial_that_somebody_else_sends_make_its_loss_negative() {
    let Some(()) = privileges() else { return };
    let place = Place::with_pair();
    let path = || Path::Interfaces { transmit: "left".into(), receive: "right".into(), isolated: false };
    let pps = |pps: f64| Load::Rate(Pps::new(pps).unwrap());
    let length = Duration::from_millis(300);
    let load = HostLoad::watch();
    let stop = Arc::new(AtomicBool::new(false));
    let (shows_nothing, repeated) = thread::scope(|scope| {
        // First trials of laboratories of one process have the same id: these frames are as good as the trial's own.
        let other = scope.spawn(|| {
            place.inside(|| {
                let mut other = live_stopped_by(path(), Arc::clone(&stop));
                run(&mut other, &setup("recv"), pps(20_000.0), Duration::from_secs(60))
            })
        });
        eventually("somebody else sends", || place.sent() > 1000);
        let first_trial = |policy: Policy| {
            place.inside(|| {
                let mut guarded = Guarded::new(live(path()), policy, Arc::default());
                run(&mut guarded, &setup("recv"), pps(500.0), length)
            })
        };
        let trials = (
            first_trial(Policy { repeats: 0, ..Policy::default() }),
            first_trial(Policy { repeats: 1, ..Policy::default() }),
        );
        stop.store(true, Ordering::Relaxed);
        other.join().unwrap();
        trials
    });
    assert!(shows_nothing.delivered > shows_nothing.sent, "{shows_nothing:#?}");
    assert_eq!(shows_nothing.verdict, Verdict::Invalid);
    let is_negative = |because: &String| because.ends_with("(negative loss)");
    assert!(shows_nothing.invalid_because.as_ref().is_some_and(is_negative), "{shows_nothing:#?}");
    // The next attempt has another id, by which the frames of the other sender are foreign. Where nobody gets a CPU in time, the
    // kernel loses so many of them that the account of few frames shows nothing.
    if repeated.verdict == Verdict::Invalid {
        let excuse = excuse(&repeated, load).unwrap_or_else(|| panic!("{repeated:#?}"));
        return busy(format_args!("{}; {excuse}", repeated.invalid_because.unwrap_or_default()));
    }
    assert!(repeated.foreign > 0 && repeated.delivered <= repeated.sent, "{repeated:#?}");
    let guarding = repeated.guarding.unwrap();
    assert_eq!((guarding.attempt, guarding.discarded.len()), (2, 1));
    let because = &guarding.discarded[0].because.reasons;
    assert!(because.iter().any(invalid_because(is_negative)), "{because:?}");
}

#[test]
fn root_alone_more_than_the_link_carries_shows_nothing() {
    let Some(()) = privileges() else { return };
    let over = |line: f64| {
        let limited = live(virtual_link()).with_line_rate(Pps::new(line).unwrap());
        let mut guarded = Guarded::new(limited, Policy::default(), Arc::default());
        let rate = Load::Rate(Pps::new(20_000.0).unwrap());
        run(&mut guarded, &setup("packet-v3"), rate, Duration::from_millis(100))
    };
    let load = HostLoad::watch();
    let above = over(10_000.0);
    assert_eq!((above.verdict, above.line_rate_pps), (Verdict::Invalid, Some(10_000.0)), "{above:#?}");
    let guarding = above.guarding.as_ref().unwrap();
    assert_eq!((guarding.attempt, guarding.discarded.len()), (3, 2), "it is tried again first");
    let is_told =
        |because: &String| because.contains("are more than the link carries (10,000 packets/s of this");
    let is_aside = |aside: &Retried| aside.because.reasons.iter().any(invalid_because(is_told));
    // A generator that got no CPU sends nothing, or less than the link carries.
    if !(above.invalid_because.iter().any(is_told) && guarding.discarded.iter().all(is_aside)) {
        let excuse = excuse(&above, load).unwrap_or_else(|| panic!("{above:#?}"));
        return busy(format_args!("{:?}; {excuse}", above.invalid_because));
    }
    let below = over(40_000.0);
    // A generator that got no CPU for a while makes up for it faster than any rate.
    if below.verdict == Verdict::Invalid {
        let excuse = excuse(&below, load).unwrap_or_else(|| panic!("{below:#?}"));
        busy(format_args!("{}; {excuse}", below.invalid_because.unwrap_or_default()));
    }
}

/// No test can have a hypervisor take a CPU away, so what is asserted is that somebody watches, and that what was seen is
/// possible.
#[test]
#[cfg(feature = "bpf")]
fn root_alone_a_traced_trial_says_when_its_cpus_stood_still() {
    let Some(()) = privileges() else { return };
    let path = virtual_link();
    let mut traced = live(path).with_tracer();
    let rate = Load::Rate(Pps::new(50_000.0).unwrap());
    let length = Duration::from_millis(200);
    let trial = run(&mut traced, &setup("packet-v3"), rate, length);
    let disturbance = &trial.disturbance;
    assert!(u128::from(disturbance.sending_ns) >= length.as_nanos(), "{disturbance:?}");
    assert!(disturbance.backlog_lasts_ns.is_some(), "{disturbance:?}");
    for cpu in &disturbance.cpus {
        eprintln!("{cpu:?}");
        assert!(cpu.window_ns >= disturbance.sending_ns && cpu.unaccounted_ns <= cpu.window_ns, "{cpu:?}");
        for stall in cpu.stalls.as_ref().expect("its tick was seen") {
            assert!(stall.until_ns <= disturbance.sending_ns, "{stall:?}");
            assert!((500_000..=stall.at_most_ns).contains(&stall.at_least_ns), "{stall:?}");
        }
    }
}

/// Sets the clock of the host, so it runs only where somebody has said that this may be: in a virtual machine.
#[test]
fn root_alone_a_clock_that_is_set_during_a_trial_spoils_it() {
    const PERMISSION: &str = "CAPBENCH_TEST_MAY_SET_CLOCK";
    let Some(()) = privileges() else { return };
    if std::env::var_os(PERMISSION).is_none() {
        let what = format_args!("a virtual machine that nobody else uses says so with {PERMISSION}=1");
        return cannot_have(HostLimit::OwnClock, what);
    }
    let place = Place::with_pair();
    let path = || Path::Interfaces { transmit: "left".into(), receive: "right".into(), isolated: false };
    // Frames by which the path was looked at, before those of the trial.
    let before = OnceLock::new();
    let trial = thread::scope(|scope| {
        let trial = scope.spawn(|| {
            place.inside(|| {
                let policy = Policy { repeats: 1, ..Policy::default() };
                let mut guarded = Guarded::new(live(path()), policy, Arc::default());
                let setup = setup("recv");
                let mut trial = guarded.prepare(&setup).unwrap();
                before.get_or_init(|| place.sent());
                trial.run(Load::Rate(Pps::new(500.0).unwrap()), Duration::from_secs(4)).unwrap()
            })
        });
        let is_under_way = || before.get().is_some_and(|before| place.sent() > before + 100);
        eventually("the trial is under way", is_under_way);
        let set = program("date").args(["--set", "+5 seconds"]).output().unwrap();
        assert!(set.status.success(), "{set:?}");
        trial.join().unwrap()
    });
    let guarding = trial.guarding.as_ref().unwrap();
    let aside = &guarding.discarded[0];
    assert!(aside.because.reasons.contains(&Noise::ClockSet), "{:?}", aside.because);
    let step_ns = aside.trial.disturbance.clocks.realtime_step_ns;
    assert!(step_ns.abs_diff(5_000_000_000) < 1_000_000_000, "{step_ns}");
    assert!(!trial.noise.reasons.contains(&Noise::ClockSet), "{:?}", trial.disturbance);
}

/// Whether this host livelocks nobody knows. A mark names a trial that was offered less and delivered more, by that trial's own
/// figures; which trials get one is shown by figures that are given in guards/livelock.rs.
#[test]
fn root_alone_a_mark_of_livelock_names_a_trial_that_delivered_more_of_less() {
    let Some(()) = privileges() else { return };
    let mut guarded =
        Guarded::new(live(virtual_link()), Policy { repeats: 0, ..Policy::default() }, Arc::default());
    let busy = Setup { work: WorkModel::Nanoseconds(20_000).into(), ..setup("recv") };
    let length = Duration::from_millis(200);
    let mut trials = vec![run(&mut guarded, &busy, Load::Maximum, length)];
    let flooded = trials[0].delivered_pps.max(1000.0);
    for factor in [1.2, 1.5, 2.0, 3.0] {
        let rate = Load::Rate(Pps::new(flooded * factor).unwrap());
        trials.push(run(&mut guarded, &busy, rate, length));
    }
    livelock::mark(&mut trials);
    for (trial, mark) in trials.iter().filter_map(|trial| Some((trial, trial.livelock?))) {
        let against = trials.iter().find(|other| other.number == mark.against).unwrap();
        assert_eq!((against.offered_pps, against.delivered_pps), (mark.offered_pps, mark.delivered_pps));
        assert!(
            against.offered_pps < trial.offered_pps && against.delivered_pps > trial.delivered_pps,
            "{trial:#?}"
        );
    }
}

/// Whether an attempt was discarded as invalid, for such a reason.
fn invalid_because(is_such: impl Fn(&String) -> bool) -> impl Fn(&Noise) -> bool {
    move |noise| matches!(noise, Noise::Invalid { because } if is_such(because))
}
