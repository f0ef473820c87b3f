//! Trials on the bed: nothing unexplained whatever is lost, and no trial sees another's frames.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use capbench_capture::{ByteCount, CaptureOptions, METHODS};
use capbench_measure::accounts::irqtime::IrqAccounting;
use capbench_measure::laboratory::{Laboratory, Setup};
use capbench_measure::ledger::Place;
use capbench_measure::live::{LiveLaboratory, Path};
use capbench_measure::placement::PlacementChoice;
use capbench_measure::simulated;
use capbench_measure::trial::{Load, TrialResult, Verdict};
use capbench_measure::work::WorkModel;
use capbench_sys::host::{affinity, identity};
use capbench_traffic::{Mtu, Pps};

fn is_root() -> bool {
    let root = identity::effective().uid == 0;
    if !root {
        eprintln!("skipped: needs root");
    }
    root
}

fn laboratory() -> LiveLaboratory {
    let irq =
        IrqAccounting { excluded_from_threads: Some(false), measured_at_context_changes: None, hz: None };
    LiveLaboratory::new(Path::Virtual { mtu: Mtu(1500) }, irq, Arc::new(AtomicBool::new(false)))
}

fn setup(method: &str, placement: PlacementChoice) -> Setup {
    Setup {
        method: method.into(),
        placement,
        transmit: "packet-tx".into(),
        quiet: Duration::from_millis(200),
        capture: CaptureOptions { ring: ByteCount(4 << 20), ..CaptureOptions::default() },
        ..simulated::setup(64)
    }
}

fn run(laboratory: &mut LiveLaboratory, setup: &Setup, load: Load, duration: Duration) -> TrialResult {
    laboratory.prepare(setup).unwrap().run(load, duration).unwrap()
}

fn count(trial: &TrialResult, place: Place) -> u64 {
    trial.ledger.iter().find(|entry| entry.place == place).and_then(|entry| entry.count).unwrap_or(0)
}

/// The identities of the ledger, computed from the stored counts only.
fn assert_balanced(trial: &TrialResult) {
    let what = format!("{} {} {:?}", trial.profile.method, trial.profile.placement, trial.ledger);
    assert_eq!(trial.unexplained, 0, "{what}");
    assert_eq!(trial.intended, trial.sent + count(trial, Place::Unsent), "{what}");
    let lost: u64 = trial.losses().iter().map(|(_, count)| count).sum();
    assert_eq!(trial.sent, trial.delivered + lost, "{what}");
    assert_eq!(
        (trial.foreign, trial.duplicates, trial.reordered, trial.corrupt, trial.truncated),
        (0, 0, 0, 0, 0),
        "{what}"
    );
    assert_eq!(trial.counters["generator.in_flight"], 0, "nothing stays in a transmit ring: {what}");
}

#[test]
fn root_at_maximum_load_nothing_is_unexplained() {
    if !is_root() {
        return;
    }
    let mut laboratory = laboratory();
    for placement in [PlacementChoice::Same, PlacementChoice::Other] {
        for method in METHODS {
            for transmit in ["packet-tx", "sendmmsg", "sendto"] {
                let setup = Setup { transmit: transmit.into(), ..setup(method.name, placement) };
                let trial = run(&mut laboratory, &setup, Load::Maximum, Duration::from_millis(60));
                assert!(trial.sent > 0 && trial.verdict != Verdict::Invalid, "{}", method.name);
                assert!(trial.kernel_work_share.is_none_or(|share| (0.0..=1.0).contains(&share)));
                assert_balanced(&trial);
            }
        }
    }
}

#[test]
fn root_an_overloaded_application_loses_in_the_ring_and_nowhere_unknown() {
    if !is_root() {
        return;
    }
    let mut laboratory = laboratory();
    let rate = Load::Rate(Pps::new(300_000.0).unwrap());
    for method in METHODS {
        let capture =
            CaptureOptions { ring: ByteCount(256 << 10), block: ByteCount(64 << 10), ..Default::default() };
        let setup = Setup {
            work: WorkModel::Nanoseconds(5000),
            capture,
            ..setup(method.name, PlacementChoice::Same)
        };
        let trial = run(&mut laboratory, &setup, rate, Duration::from_millis(300));
        assert_balanced(&trial);
        // 5 us of work allow 200,000 frames per second at most, the kernel's work not counted.
        assert_eq!(trial.verdict, Verdict::Lossy, "{}", method.name);
        assert!(count(&trial, Place::Ring) > 0, "{}: {:?}", method.name, trial.ledger);
    }
}

#[test]
fn root_trials_back_to_back_never_see_each_others_frames() {
    if !is_root() {
        return;
    }
    let mut laboratory = laboratory();
    // An overload leaves as much as possible behind; what follows at a low load must not see any of it.
    for method in METHODS {
        let overload =
            Setup { work: WorkModel::Nanoseconds(3000), ..setup(method.name, PlacementChoice::Same) };
        let first = run(&mut laboratory, &overload, Load::Maximum, Duration::from_millis(100));
        let second = run(
            &mut laboratory,
            &setup(method.name, PlacementChoice::Same),
            Load::Rate(Pps::new(10_000.0).unwrap()),
            Duration::from_millis(100),
        );
        for trial in [&first, &second] {
            assert_balanced(trial);
        }
        assert!(second.number > first.number);
    }
}

#[test]
fn root_cpus_of_the_users_choice_are_used() {
    if !is_root() {
        return;
    }
    let cpus = affinity::allowed_cpus().unwrap();
    let (first, last) = (cpus[0], cpus[cpus.len() - 1]);
    let choice = PlacementChoice::Custom { generator: last, kernel: first, application: first };
    let trial = run(
        &mut laboratory(),
        &setup("packet-v3", choice),
        Load::Rate(Pps::new(20_000.0).unwrap()),
        Duration::from_millis(100),
    );
    assert_balanced(&trial);
    assert_eq!(trial.profile.placement, "custom");
    assert_eq!(
        (trial.profile.cpus.generator, trial.profile.cpus.application),
        (last.number(), first.number())
    );
    // Foreign packets of the host can only lower the share that is certain.
    assert!(trial.kernel_work_share.unwrap() > 0.5, "{:?}", trial.kernel_work_share);
}

#[test]
fn root_a_stopped_trial_ends_soon() {
    if !is_root() {
        return;
    }
    let stop = Arc::new(AtomicBool::new(true));
    let irq = IrqAccounting { excluded_from_threads: None, measured_at_context_changes: None, hz: None };
    let mut laboratory = LiveLaboratory::new(Path::Virtual { mtu: Mtu(1500) }, irq, stop);
    let begun = std::time::Instant::now();
    let _ = laboratory
        .prepare(&setup("packet-v3", PlacementChoice::Same))
        .unwrap()
        .run(Load::Maximum, Duration::from_secs(60));
    assert!(begun.elapsed() < Duration::from_secs(30));
}
