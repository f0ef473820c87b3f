//! Trials on the real path: every frame of every method is accounted for at any load, and no trial sees another's.

#[path = "../../capbench/tests/support/network.rs"]
mod network;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use capbench_capture::{ByteCount, CaptureOptions, METHODS};
use capbench_measure::MeasureError;
use capbench_measure::environment::Environment;
use capbench_measure::laboratory::{Laboratory, Setup};
use capbench_measure::ledger::Place as LostAt;
use capbench_measure::live::{LiveLaboratory, Path};
use capbench_measure::placement::PlacementChoice;
use capbench_measure::trial::{Load, SizeLabel, TrialResult, Verdict};
use capbench_measure::work::WorkModel;
use capbench_traffic::layout::FrameLayout;
use capbench_traffic::rates::Pps;
use capbench_traffic::sizes::Sizes;
use capbench_traffic::units::{FrameSize, Mtu};
use network::{Place, eventually, in_turn, privileged};

const VIRTUAL: Path = Path::Virtual { mtu: Mtu(1500) };

fn laboratory(path: Path, stop: &Arc<AtomicBool>) -> LiveLaboratory {
    LiveLaboratory::new(path, Environment::read().unwrap().irq_accounting, Arc::clone(stop))
}

fn setup(method: &str, placement: PlacementChoice) -> Setup {
    Setup {
        method: method.into(),
        label: SizeLabel::Octets(64),
        sizes: Sizes::Fixed(FrameSize::LEAST),
        layout: FrameLayout::default(),
        placement,
        work: WorkModel::None,
        capture: CaptureOptions { ring: ByteCount(8 << 20), ..CaptureOptions::default() },
        transmit: "packet-tx".into(),
        quiet: Duration::from_millis(100),
    }
}

fn rate(frames_per_second: f64) -> Load {
    Load::Rate(Pps::new(frames_per_second).unwrap())
}

fn run(laboratory: &mut LiveLaboratory, setup: &Setup, load: Load, milliseconds: u64) -> TrialResult {
    let result = laboratory.prepare(setup).unwrap().run(load, Duration::from_millis(milliseconds)).unwrap();
    check(&result);
    result
}

/// What has to hold in every trial.
fn check(trial: &TrialResult) {
    assert_eq!(trial.unexplained, 0, "{trial:#?}");
    let foreign = [trial.foreign, trial.duplicates, trial.reordered, trial.corrupt, trial.truncated];
    assert_eq!(foreign, [0; 5], "{trial:#?}");
    assert_eq!(trial.counters["generator.in_flight"], 0, "{trial:#?}");
    assert_ne!(trial.verdict, Verdict::Invalid, "{trial:#?}");
    let unsent = trial.ledger.iter().find(|entry| entry.place == LostAt::Unsent).unwrap().count.unwrap();
    let lost: u64 = trial.losses().iter().map(|(_, frames)| frames).sum();
    assert_eq!((trial.intended, trial.sent), (unsent + trial.sent, trial.delivered + lost), "{trial:#?}");
    if let Some(share) = trial.kernel_work_share {
        assert!((0.0..=1.0).contains(&share), "{trial:#?}");
    }
    assert!(trial.cpu.verify_ns_per_packet > 0.0, "{trial:#?}");
}

#[test]
fn root_every_method_accounts_for_every_frame_at_maximum_load() {
    if !privileged("root_every_method_accounts_for_every_frame_at_maximum_load") {
        return;
    }
    let (_turn, stop) = (in_turn(), Arc::default());
    let mut laboratory = laboratory(VIRTUAL, &stop);
    for placement in [PlacementChoice::Same, PlacementChoice::Other] {
        for method in METHODS {
            let result = run(&mut laboratory, &setup(method.name, placement), Load::Maximum, 100);
            assert!(result.sent > 0 && result.intended_pps.is_none(), "{result:#?}");
            assert_eq!(
                (&*result.profile.method, result.profile.placement),
                (method.name, placement.to_string())
            );
        }
    }
}

/// Packets that the CPUs of the host have processed (`/proc/net/softnet_stat`, first column).
fn processed() -> u64 {
    let text = std::fs::read_to_string("/proc/net/softnet_stat").unwrap();
    let first = |line: &str| u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap();
    text.lines().map(first).sum()
}

/// A trial without end that is stopped while frames lie in every queue that there is.
fn given_up(laboratory: &mut LiveLaboratory, setup: &Setup, stop: &AtomicBool) -> TrialResult {
    for _ in 0..20 {
        stop.store(false, Ordering::Relaxed);
        let before = processed();
        let result = thread::scope(|scope| {
            scope.spawn(|| {
                eventually("the trial's frames flow", || processed() - before > 3000);
                stop.store(true, Ordering::Relaxed);
            });
            laboratory.prepare(setup).unwrap().run(Load::Maximum, Duration::from_secs(60)).unwrap()
        });
        stop.store(false, Ordering::Relaxed);
        // Others on the host receive frames, too.
        if result.delivered < result.sent {
            return result;
        }
    }
    panic!("no trial could be stopped in the middle");
}

#[test]
fn root_trials_never_see_each_others_frames() {
    if !privileged("root_trials_never_see_each_others_frames") {
        return;
    }
    let (_turn, stop) = (in_turn(), Arc::<AtomicBool>::default());
    let mut laboratory = laboratory(VIRTUAL, &stop);
    for method in METHODS {
        for transmit in ["packet-tx", "sendmmsg", "sendto"] {
            let quiet = Setup { transmit: transmit.into(), ..setup(method.name, PlacementChoice::Same) };
            let busy = Setup { work: WorkModel::Nanoseconds(20_000), ..quiet.clone() };
            let given_up = given_up(&mut laboratory, &busy, &stop);
            assert_eq!((given_up.foreign, given_up.corrupt, given_up.duplicates), (0, 0, 0), "{given_up:#?}");
            // At once, on the same pair.
            let next = run(&mut laboratory, &quiet, rate(20_000.0), 30);
            assert!(next.sent > 0, "{next:#?}");
            assert_eq!(
                (next.delivered, next.counters["method.accepted"]),
                (next.sent, next.sent),
                "{next:#?}"
            );
        }
    }
}

#[test]
fn root_trials_run_between_interfaces_that_are_there() {
    if !privileged("root_trials_run_between_interfaces_that_are_there") {
        return;
    }
    let (_turn, place) = (in_turn(), Place::with_pair());
    place.inside(|| {
        let path = |isolated| Path::Interfaces { transmit: "left".into(), receive: "right".into(), isolated };
        let stop = Arc::default();
        for placement in [PlacementChoice::Same, PlacementChoice::Other] {
            let mut laboratory = laboratory(path(false), &stop);
            for method in METHODS {
                let result = run(&mut laboratory, &setup(method.name, placement), rate(20_000.0), 50);
                assert_eq!(result.sent, result.delivered, "{result:#?}");
            }
            let statements = laboratory.statements();
            assert!(statements.iter().all(|statement| !statement.contains("virtual")), "{statements:?}");
        }
        place.ip("address add 198.18.0.1/24 dev right");
        let setup = setup("recv", PlacementChoice::Same);
        let refused = laboratory(path(false), &stop).prepare(&setup).map(drop).unwrap_err();
        assert!(
            matches!(&refused, MeasureError::InUse { interface, .. } if interface == "right"),
            "{refused}"
        );
        laboratory(path(true), &stop).prepare(&setup).map(drop).unwrap();
    });
}

#[test]
fn root_cpus_of_a_placement_are_used_or_refused() {
    if !privileged("root_cpus_of_a_placement_are_used_or_refused") {
        return;
    }
    let (_turn, stop) = (in_turn(), Arc::default());
    let allowed = capbench_sys::host::affinity::allowed_cpus().unwrap();
    let (first, last) = (allowed[0], *allowed.last().unwrap());
    let mut laboratory = laboratory(VIRTUAL, &stop);
    for (generator, kernel, application) in [(first, first, first), (last, first, last), (last, last, first)]
    {
        let custom = PlacementChoice::Custom { generator, kernel, application };
        let result = run(&mut laboratory, &setup("packet-v3", custom), rate(10_000.0), 50);
        let cpus = result.profile.cpus;
        let expected = (generator.number(), Some(kernel.number()), application.number());
        assert_eq!((cpus.generator, cpus.kernel, cpus.application), expected);
        assert_eq!(result.profile.load_independent, generator != kernel && generator != application);
        assert_eq!(result.profile.load_depends_because.is_none(), result.profile.load_independent);
    }
    let absent = capbench_sys::host::CpuId::new(99_999);
    let custom = PlacementChoice::Custom { generator: first, kernel: absent, application: first };
    let refused = laboratory.prepare(&setup("recv", custom)).map(drop).unwrap_err();
    assert!(matches!(refused, MeasureError::Cpu { cpu: 99_999, .. }), "{refused}");
}
