//! Guards on a real path: what they are for is done to it on purpose.

#[path = "../../capbench/tests/support/network.rs"]
mod network;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use capbench_capture::{ByteCount, CaptureOptions};
use capbench_measure::accounts::irqtime::IrqAccounting;
use capbench_measure::findings;
use capbench_measure::guards::{Guarded, Policy, livelock};
use capbench_measure::laboratory::{Laboratory, Setup};
use capbench_measure::live::{LiveLaboratory, Path, ReceiveBy};
use capbench_measure::placement::PlacementChoice;
use capbench_measure::simulated;
use capbench_measure::trial::{Load, Phase, TrialResult, Verdict};
use capbench_measure::work::WorkModel;
use capbench_sys::host::{CpuId, affinity};
use capbench_traffic::{Mtu, Pps};
use network::{Place, eventually, in_turn, privileged};

fn laboratory(path: Path) -> LiveLaboratory {
    let irq =
        IrqAccounting { excluded_from_threads: Some(false), measured_at_context_changes: None, hz: None };
    LiveLaboratory::new(path, irq, Arc::default())
}

fn setup(method: &str) -> Setup {
    Setup {
        method: method.parse().unwrap(),
        placement: PlacementChoice::Same,
        transmit: "packet-tx".into(),
        quiet: Duration::from_millis(100),
        capture: CaptureOptions { ring: ByteCount(1 << 20), ..CaptureOptions::default() },
        ..simulated::setup(64)
    }
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
fn root_a_trial_beside_other_work_on_its_cpu_is_repeated_and_marked() {
    if !privileged("root_a_trial_beside_other_work_on_its_cpu_is_repeated_and_marked") {
        return;
    }
    let _turn = in_turn();
    let live = laboratory(Path::Virtual { mtu: Mtu(1500), receive_by: ReceiveBy::Rps });
    let mut guarded = Guarded::new(live, Policy::default(), Arc::default());
    let rate = Load::Rate(Pps::new(1000.0).unwrap());
    let length = Duration::from_millis(500);
    let cpu = run(&mut guarded, &setup("packet-v3"), rate, length).profile.cpus.application;
    let mut guarded = Guarded::new(
        laboratory(Path::Virtual { mtu: Mtu(1500), receive_by: ReceiveBy::Rps }),
        Policy::default(),
        Arc::default(),
    );
    let trial =
        beside_a_busy_thread(CpuId::new(cpu), || run(&mut guarded, &setup("packet-v3"), rate, length));
    let reason = "other work ran on its CPUs (foreign load)";
    assert!(trial.noise.iter().any(|noise| noise == reason), "{:?}", trial.disturbance);
    let foreign = trial.disturbance.cpus.iter().find(|disturbed| disturbed.cpu == cpu).unwrap();
    assert!(foreign.foreign_ns * 4 > foreign.window_ns, "{foreign:?}");
    let guarding = trial.guarding.unwrap();
    // On a host that loses frames besides, the second attempt may show nothing, and the first stands after all.
    assert_eq!(guarding.set_aside.len(), 1);
    assert!(guarding.set_aside[0].because.iter().any(|because| because == reason));
    assert_ne!(guarding.set_aside[0].trial.number, trial.number, "every attempt has its number");
}

#[test]
fn root_nothing_counts_after_an_overload_while_frames_still_flood_the_path() {
    if !privileged("root_nothing_counts_after_an_overload_while_frames_still_flood_the_path") {
        return;
    }
    let _turn = in_turn();
    let place = Place::with_pair();
    let path = || Path::Interfaces { transmit: "left".into(), receive: "right".into(), isolated: false };
    // An application of at most 5000 frames/s, which any generator outruns.
    let slow = Setup { work: WorkModel::Nanoseconds(200_000).into(), ..setup("recv") };
    let policy = Policy { repeats: 0, ..Policy::default() };
    let (overload, next) = thread::scope(|scope| {
        let mut guarded = Guarded::new(place.inside(|| laboratory(path())), policy, Arc::default());
        let overload = place.inside(|| run(&mut guarded, &slow, Load::Maximum, Duration::from_millis(200)));
        let sent = place.sent();
        // The overload goes on after its trial.
        let flood = scope.spawn(|| {
            place.inside(|| {
                let mut other = laboratory(path());
                run(&mut other, &setup("recv"), Load::Maximum, Duration::from_millis(1500))
            })
        });
        eventually("the flood has begun", || place.sent() > sent + 1000);
        let rate = Load::Rate(Pps::new(500.0).unwrap());
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

/// Whether a host livelocks is its own affair, and a disturbed trial proves nothing: what is asserted is that marks and
/// findings say what the figures do.
#[test]
fn root_marks_of_livelock_are_what_the_figures_show() {
    if !privileged("root_marks_of_livelock_are_what_the_figures_show") {
        return;
    }
    let _turn = in_turn();
    let live = laboratory(Path::Virtual { mtu: Mtu(1500), receive_by: ReceiveBy::Rps });
    let mut guarded = Guarded::new(live, Policy { repeats: 0, ..Policy::default() }, Arc::default());
    let busy = Setup { work: WorkModel::Nanoseconds(20_000).into(), ..setup("recv") };
    let length = Duration::from_millis(400);
    let mut trials = vec![run(&mut guarded, &busy, Load::Maximum, length)];
    let flooded = trials[0].delivered_pps.max(1000.0);
    for factor in [1.2, 1.5, 2.0, 3.0] {
        let rate = Load::Rate(Pps::new(flooded * factor).unwrap());
        trials.push(run(&mut guarded, &busy, rate, length));
    }
    livelock::mark(&mut trials);
    let shows =
        |trial: &&TrialResult| trial.verdict != Verdict::Invalid && trial.disturbance.reasons().is_empty();
    let best = trials.iter().filter(shows).max_by(|a, b| a.delivered_pps.total_cmp(&b.delivered_pps));
    for trial in &trials {
        let expected = best.filter(|best| {
            shows(&trial)
                && trial.offered_pps > best.offered_pps * 1.1
                && trial.delivered_pps < best.delivered_pps * 0.9
        });
        assert_eq!(trial.livelock.map(|mark| mark.against), expected.map(|best| best.number));
        eprintln!(
            "offered {:.0}, delivered {:.0}, livelock {:?}, disturbed {:?}",
            trial.offered_pps,
            trial.delivered_pps,
            trial.livelock,
            trial.disturbance.reasons()
        );
    }
    let is_said = findings::find(&trials).iter().any(|finding| finding.text.starts_with("Livelock: recv"));
    assert_eq!(is_said, trials.iter().any(|trial| trial.livelock.is_some()));
}
