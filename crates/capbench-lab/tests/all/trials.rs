//! Trials on the bed, and between interfaces that are there: nothing unexplained whatever is lost, and no trial sees
//! another's frames.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::excuse::excuse;
use capbench_capture::methods;
use capbench_frames::Pps;
use capbench_frames::layout::{Flows, FrameLayout};
use capbench_host::HostError;
use capbench_lab::LabError;
use capbench_lab::for_tests::{live, live_setup, live_stopped_by, virtual_link};
use capbench_lab::live::{LiveLaboratory, Path};
use capbench_lab::subject::default_methods;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::options::CaptureOptions;
use capbench_model::placement::PlacementChoice;
use capbench_model::places::Place;
use capbench_model::statement::Statement;
use capbench_model::trial::{Load, TrialResult, Verdict};
use capbench_model::units::ByteCount;
use capbench_model::work::WorkModel;
use capbench_sys::host::affinity;
use capbench_testing::network::{self, eventually, privileges};
use capbench_testing::{HostLoad, busy, missing};

fn laboratory() -> LiveLaboratory {
    live(virtual_link())
}

fn setup(method: &str, placement: PlacementChoice) -> Setup {
    Setup { placement, ..live_setup(method, 4 << 20, Duration::from_millis(100)) }
}

/// The methods that a bench runs when none is named, as far as they are built in and can run here.
fn usual_methods() -> Vec<String> {
    let can_run = |method: &String| {
        let spec = method.parse().unwrap();
        let supported = methods::find(&spec).map(|row| (row.supported)(&spec)).unwrap();
        supported.inspect_err(|reason| missing(format_args!("{method}: {reason}"))).is_ok()
    };
    default_methods().into_iter().filter(can_run).collect()
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

/// A trial shows something, unless the host was disturbed meanwhile: its account is asserted in any case.
fn assert_shows_something(trial: &TrialResult, load: HostLoad) {
    assert_balanced(trial);
    if trial.sent == 0 || trial.verdict == Verdict::Invalid {
        let excuse = excuse(trial, load).unwrap_or_else(|| panic!("{trial:#?}"));
        busy(format_args!("{}: {:?}; {excuse}", trial.profile.method, trial.invalid_because));
    }
}

const TRANSMIT: [&str; 4] = ["packet-tx", "af-xdp-tx", "sendmmsg", "sendto"];

/// Each usual method with one way to transmit, and each way with some method, as many methods as there are ways or more.
fn some_pairs() -> Vec<(String, &'static str)> {
    usual_methods().into_iter().zip(TRANSMIT.into_iter().cycle()).collect()
}

fn all_pairs() -> Vec<(String, &'static str)> {
    let with_each = |method: String| TRANSMIT.map(|transmit| (method.clone(), transmit));
    usual_methods().into_iter().flat_map(with_each).collect()
}

#[test]
fn root_alone_at_maximum_load_nothing_is_unexplained() {
    nothing_is_unexplained_at_maximum_load(some_pairs);
}

#[test]
fn root_lengthy_at_maximum_load_nothing_is_unexplained_whatever_sends() {
    nothing_is_unexplained_at_maximum_load(all_pairs);
}

/// Methods take turns on sides that stay prepared, with a generator that stays open. Each trial has its own frames only, and a trial
/// that lost frames ends when the counters say where: no wait for 30 s.
#[test]
fn root_methods_in_turns_account_for_every_frame_and_wait_for_none_that_is_lost() {
    let Some(()) = privileges() else { return };
    let mut laboratory = laboratory();
    let quiet = Duration::from_secs(30);
    laboratory.take_turns(true);
    let mut lost = 0;
    for round in 0..3 {
        let mut methods = usual_methods();
        methods.rotate_left(round);
        for method in methods {
            let work = WorkModel::Nanoseconds(20_000).into();
            let setup = Setup { quiet, work, ..live_setup(&method, 1 << 20, quiet) };
            let load = Load::Rate(Pps::new(200_000.0).unwrap());
            let trial = run(&mut laboratory, &setup, load, Duration::from_millis(100));
            assert_balanced(&trial);
            assert!(trial.drain_s < quiet.as_secs_f64(), "{method} lost {:?}", trial.losses());
            lost += trial.lost();
        }
    }
    assert!(lost > 0, "an application that takes 20 us a frame reads 50,000 frames/s");
    laboratory.take_turns(false);
    let setup = setup("packet-v3", PlacementChoice::Same);
    let burst = Load::Burst { frames: NonZeroU64::new(100).unwrap(), rate: Pps::new(10_000.0).unwrap() };
    assert_balanced(&run(&mut laboratory, &setup, burst, Duration::from_millis(10)));
}

fn nothing_is_unexplained_at_maximum_load(pairs: fn() -> Vec<(String, &'static str)>) {
    let Some(()) = privileges() else { return };
    let mut laboratory = laboratory();
    for placement in [PlacementChoice::Same, PlacementChoice::Other] {
        for (method, transmit) in pairs() {
            let setup = Setup { transmit: transmit.parse().unwrap(), ..setup(&method, placement) };
            let load = HostLoad::watch();
            let trial = run(&mut laboratory, &setup, Load::Maximum, Duration::from_millis(60));
            assert_shows_something(&trial, load);
            assert!(trial.kernel_work_share.is_none_or(|share| (0.0..=1.0).contains(&share)));
            assert_balanced(&trial);
        }
    }
}

fn either_load() -> [Load; 2] {
    [Load::Maximum, Load::Rate(Pps::new(20_000.0).unwrap())]
}

/// Each path has one load on the same CPU, and the other load on another CPU.
#[test]
fn root_alone_polled_paths_account_for_every_frame() {
    polled_paths_account_for_every_frame(|nth| vec![either_load()[nth % 2]]);
}

#[test]
fn root_lengthy_polled_paths_account_for_every_frame_at_either_load() {
    polled_paths_account_for_every_frame(|_| either_load().to_vec());
}

/// Interrupt-driven and polled reception differ in who does the work, not in what is accounted for. `loads` are those of the nth
/// of five paths on the same CPU, then on another CPU.
fn polled_paths_account_for_every_frame(loads: fn(usize) -> Vec<Load>) {
    let Some(()) = privileges() else { return };
    let mut nth = 0;
    let mut laboratory = laboratory();
    for placement in [PlacementChoice::Same, PlacementChoice::Other] {
        for method in [
            "recv+busy-poll",
            "packet-v3+spin=200us",
            "packet-v2+napi-thread",
            "packet-v3+napi-defer",
            "recv",
        ] {
            for load in loads(nth) {
                let watched = HostLoad::watch();
                let trial = run(&mut laboratory, &setup(method, placement), load, Duration::from_millis(60));
                assert_shows_something(&trial, watched);
                assert_eq!(trial.profile.method, method);
                assert_balanced(&trial);
                // Whatever the kernel does about packet sockets, it is said where it does not poll.
                let is_said = format!("{:?}", trial.noise).contains("busy-polled");
                assert!(is_said || method != "recv+busy-poll", "{:?}", trial.noise);
            }
            nth += 1;
        }
    }
    let statements = format!("{:?}", laboratory.statements());
    for set in ["threaded=1", "napi_defer_hard_irqs=2", "gro_flush_timeout=200000"] {
        assert!(statements.contains(set), "{set}: {statements}");
    }
}

/// Numbers, marks and counter of a ring that lost frames say the same.
fn assert_loss_is_marked(trial: &TrialResult) {
    let shape = trial.loss_pattern.as_ref().unwrap();
    let what = format!("{} {shape:#?}", trial.profile.method);
    assert_eq!(shape.lost, trial.sent - trial.delivered, "{what}");
    assert_eq!((shape.bursts.total, shape.sent), (shape.lost, trial.sent), "{what}");
    assert_eq!(shape.flows.as_ref().unwrap().lost.total, shape.lost, "{what}");
    let marks = shape.marks.unwrap();
    let ring_drops = count(trial, Place::Ring);
    assert_eq!(marks.ring_drops, Some(ring_drops), "{what}");
    assert_eq!(marks.blocks.is_some(), trial.profile.method == "packet-v3", "{what}");
    // Nothing else on the path may lose anything, or else marks and losses elsewhere can be next to each other.
    if shape.lost == ring_drops {
        assert_eq!((marks.bursts_elsewhere, marks.frames_elsewhere), (0, 0), "{what}");
        assert_eq!(marks.frames + shape.after_last, ring_drops, "{what}");
        assert_eq!((marks.drops_without_mark, marks.frames_beyond_drops), (Some(0), Some(0)), "{what}");
    }
}

/// A tiny ring and a slow reader: every burst ends where the ring has marked a loss, and together they are what it
/// counted.
#[test]
fn root_alone_bursts_that_a_ring_lost_end_at_its_marks_and_sum_up_to_its_counter() {
    let Some(()) = privileges() else { return };
    let mut laboratory = laboratory();
    let rate = Load::Rate(Pps::new(20_000.0).unwrap());
    for method in ["packet-v3", "packet-v2", "packet-v1"] {
        for (ring, block) in [(8 << 10, 4 << 10), (64 << 10, 16 << 10)] {
            let capture =
                CaptureOptions { ring: ByteCount(ring), block: ByteCount(block), ..Default::default() };
            let layout = FrameLayout { flows: Flows::new(10).unwrap(), ..FrameLayout::default() };
            // 100 us for a frame, and a frame every 50 us.
            let work = WorkModel::Nanoseconds(100_000).into();
            let setup = Setup { work, capture, layout, ..setup(method, PlacementChoice::Same) };
            let load = HostLoad::watch();
            // A reader that hardly gets its CPU loses one burst, at the end, where no frame can bear a mark.
            let is_marked = (0..3).any(|_| {
                let trial = run(&mut laboratory, &setup, rate, Duration::from_millis(200));
                assert_balanced(&trial);
                assert_loss_is_marked(&trial);
                trial.loss_pattern.and_then(|shape| shape.marks).is_some_and(|marks| marks.bursts > 0)
            });
            if !is_marked {
                let others = load.others().unwrap_or_else(|| {
                    panic!("{method} {ring}: a reader of half the rate loses in the middle of a trial")
                });
                busy(format_args!("{method} {ring}: losses at the end only; {others}"));
            }
        }
    }
}

#[test]
fn root_alone_cpus_of_the_users_choice_are_used() {
    let Some(()) = privileges() else { return };
    let cpus = affinity::allowed_cpus().unwrap();
    let (first, last) = (cpus[0], cpus[cpus.len() - 1]);
    let choice = PlacementChoice::Custom { generator: last, kernel: first, application: first };
    let mut laboratory = laboratory();
    let rate = Load::Rate(Pps::new(20_000.0).unwrap());
    let load = HostLoad::watch();
    let shares = [(); 5].map(|()| {
        let trial = run(&mut laboratory, &setup("packet-v3", choice), rate, Duration::from_millis(100));
        assert_balanced(&trial);
        let cpus = trial.profile.cpus;
        assert_eq!(trial.profile.placement, "custom");
        assert_eq!((cpus.generator, cpus.application), (last.number(), first.number()));
        trial.kernel_work_share.unwrap()
    });
    // What else the host receives can only lower the share that is certain.
    if shares.iter().any(|share| *share <= 0.5) {
        let others = load.others();
        let others =
            others.unwrap_or_else(|| panic!("not on CPU {first}: shares {shares:?} of the receive work"));
        assert!(shares.iter().any(|share| *share > 0.5), "{others}, and none is on CPU {first}: {shares:?}");
        busy(format_args!("shares {shares:?} of the receive work on CPU {first}; {others}"));
    }
}

#[test]
fn root_a_stopped_trial_ends_soon() {
    let Some(()) = privileges() else { return };
    let stop = Arc::new(AtomicBool::new(true));
    let mut laboratory = live_stopped_by(virtual_link(), stop);
    let begun = std::time::Instant::now();
    let _ = laboratory
        .prepare(&setup("packet-v3", PlacementChoice::Same))
        .unwrap()
        .run(Load::Maximum, Duration::from_secs(60));
    assert!(begun.elapsed() < Duration::from_secs(30));
}

/// Frames that have left the bed of the trial that is running; `None` while its generator is not there yet.
fn frames_on_the_way() -> Option<u64> {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten().map(|entry| entry.path());
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let generator = threads.into_iter().find(|thread| read(thread.join("comm")).trim() == "capbench-gen")?;
    // The thread's namespace has the transmitting end; the tenth column counts what it has sent.
    let counters = read(generator.join("net/dev"));
    let line = counters.lines().find(|line| line.trim().starts_with("cbt"))?;
    line.split_whitespace().nth(10)?.parse().ok()
}

/// A trial without end that is stopped while frames lie in every queue that there is.
fn given_up(laboratory: &mut LiveLaboratory, setup: &Setup, stop: &AtomicBool) -> TrialResult {
    for _ in 0..20 {
        let trial = thread::scope(|scope| {
            scope.spawn(|| {
                let mut first = None;
                let mut flow = |frames: u64| frames > *first.get_or_insert(frames) + 5000;
                eventually("the trial's frames flow", || frames_on_the_way().is_some_and(&mut flow));
                stop.store(true, Ordering::Relaxed);
            });
            run(laboratory, setup, Load::Maximum, Duration::from_secs(60))
        });
        stop.store(false, Ordering::Relaxed);
        // A generator that hardly gets its CPU may be slower than any application.
        if trial.delivered < trial.sent {
            return trial;
        }
    }
    panic!("an application that takes 20 us for a frame was never behind");
}

#[test]
fn root_alone_what_a_trial_leaves_that_was_given_up_reaches_no_other() {
    nothing_reaches_the_next_trial(some_pairs);
}

#[test]
fn root_lengthy_what_a_trial_leaves_that_was_given_up_reaches_no_other_whatever_sends() {
    nothing_reaches_the_next_trial(all_pairs);
}

fn nothing_reaches_the_next_trial(pairs: fn() -> Vec<(String, &'static str)>) {
    let Some(()) = privileges() else { return };
    let stop = Arc::<AtomicBool>::default();
    let mut laboratory = live_stopped_by(virtual_link(), Arc::clone(&stop));
    for (method, transmit) in pairs() {
        let mut idle = Setup { transmit: transmit.parse().unwrap(), ..setup(&method, PlacementChoice::Same) };
        // A block is read to its end before anything else is looked at.
        idle.capture.block = ByteCount(64 << 10);
        let busy = Setup { work: WorkModel::Nanoseconds(20_000).into(), ..idle.clone() };
        let given_up = given_up(&mut laboratory, &busy, &stop);
        assert_eq!((given_up.foreign, given_up.duplicates, given_up.corrupt), (0, 0, 0), "{given_up:#?}");
        // At once, on the same pair.
        let rate = Load::Rate(Pps::new(20_000.0).unwrap());
        let next = run(&mut laboratory, &idle, rate, Duration::from_millis(30));
        assert_balanced(&next);
        let accepted = next.counters["method.accepted"];
        // A veth that its NAPI thread polls has a queue of 256 frames: a busy host loses some in front of the method.
        let before = [Place::Transmit, Place::LinkQueue, Place::Backlog]
            .map(|place| count(&next, place))
            .iter()
            .sum::<u64>();
        let found = (next.delivered + before, accepted, next.foreign);
        assert_eq!(found, (next.sent, next.delivered, 0), "{method} {transmit}");
    }
}

#[test]
fn root_trials_run_between_interfaces_that_are_there() {
    let Some(()) = privileges() else { return };
    let place = network::Place::with_pair();
    let laboratory = |isolated| {
        let path = Path::Interfaces { transmit: "left".into(), receive: "right".into(), isolated };
        live_stopped_by(path, Arc::default())
    };
    place.inside(|| {
        for placement in [PlacementChoice::Same, PlacementChoice::Other] {
            let mut laboratory = laboratory(false);
            for method in usual_methods() {
                let rate = Load::Rate(Pps::new(20_000.0).unwrap());
                let setup = setup(&method, placement);
                let trial = run(&mut laboratory, &setup, rate, Duration::from_millis(50));
                assert_balanced(&trial);
                assert_eq!((trial.sent > 0, trial.delivered), (true, trial.sent), "{method}");
            }
            let statements = laboratory.statements();
            assert!(statements.contains(&Statement::VirtualLink), "{statements:?}");
        }
        place.ip("address add 198.18.0.1/24 dev right");
        let setup = setup("recv", PlacementChoice::Same);
        let refused = laboratory(false).prepare(&setup).map(drop).unwrap_err();
        assert!(
            matches!(LabError::inside(&refused), Some(LabError::Host(HostError::InUse { interface, .. })) if interface == "right"),
            "{refused}"
        );
        laboratory(true).prepare(&setup).map(drop).unwrap();
    });
}
