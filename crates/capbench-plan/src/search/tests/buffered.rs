//! Loads that lose nothing only because the ring has room for the backlog.

use crate::search;
use capbench_judge::search::SearchWarning;
use capbench_model::units::ByteCount;

use super::paths::{bounds, plan};
use crate::search::{Finished, Stored};
use crate::simulated::tampered::{Tampered, guarded};
use crate::simulated::{LossBursts, Noise, Room, SimulatedLaboratory, SimulatedMethod};
use capbench_judge::limit::Limit;
use capbench_judge::search::{Bound, GoalResult, SearchPlan, Status};
use capbench_model::for_tests::setup;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::places::Place;
use capbench_model::trial::{Phase, TrialResult};

const CAPACITY: f64 = 200_000.0;

/// A ring of 64 MiB with slots of 128 octets holds 2.6 s of what the application takes.
fn deep() -> SimulatedLaboratory {
    let method = SimulatedMethod::new("packet-v3", CAPACITY).room(Room::Slots(ByteCount(128)));
    SimulatedLaboratory::new(1e6, vec![method])
}

/// A set-up whose ring has 64 MiB.
fn with_deep_ring() -> Setup {
    let mut setup = setup(64);
    setup.capture.ring = ByteCount(64 << 20);
    setup
}

fn search(goals: &str, path: &mut dyn Laboratory) -> Finished {
    let plan = SearchPlan { maximum_pps: None, ..plan(goals) };
    let mut trial = path.prepare(&with_deep_ring()).unwrap();
    search::run(&plan, "a path, with room", trial.as_mut(), Stored::default(), &mut ()).unwrap()
}

/// The share of a load that the receiver's last tick can hide in a trial of a second.
const HIDDEN_BY_TICK: f64 = 0.0125;

#[test]
fn what_lies_in_the_ring_is_no_throughput() {
    for finished in
        [search("ndr,pdr,rfc2544", &mut deep()), search("ndr,pdr,rfc2544", &mut guarded(deep(), |_, _| {}))]
    {
        for name in ["ndr", "pdr", "rfc2544"] {
            let (lower, upper) = bounds(&finished, name);
            let most = CAPACITY * (1.0 + HIDDEN_BY_TICK);
            assert!(lower.unwrap() < most && upper.unwrap() > CAPACITY, "{name}: {lower:?} {upper:?}");
            assert!(lower.unwrap() > CAPACITY * 0.99, "{name}: {lower:?}");
        }
        assert!(finished.outcome.goals.iter().all(|goal| goal.status == Status::Regular));
        let numbers = &finished.outcome.numbers;
        assert!(numbers.strict_lossless.pps.unwrap() < CAPACITY * (1.0 + HIDDEN_BY_TICK), "{numbers:?}");
        let buffered = finished.outcome.buffered.as_ref().unwrap();
        assert!(buffered.from_pps > CAPACITY && buffered.to_pps > buffered.from_pps, "{buffered:?}");
        assert!((buffered.taken_pps - CAPACITY).abs() < 1.0, "{buffered:?}");
        assert!(buffered.trials.len() > 2, "{buffered:?}");
        for number in &buffered.trials {
            let trial = finished.trials.iter().find(|trial| trial.number == *number).unwrap();
            assert_eq!(trial.lost(), 0, "trial {number} only buffered them");
        }
    }
}

/// The first trial at a load of which the ring holds the excess for a second, and not for a minute.
fn trial_with_backlog(finished: &Finished) -> &TrialResult {
    let loads = 1.2 * CAPACITY..700e3;
    finished.trials.iter().find(|trial| trial.intended_pps.is_some_and(|pps| loads.contains(&pps))).unwrap()
}

#[test]
fn a_longer_trial_loses_what_a_short_one_holds_in_the_ring() {
    let short = search("brief:from=rfc2544,duration=1s,sum=1s", &mut deep());
    let long = search("rfc2544", &mut deep());
    let second = trial_with_backlog(&short);
    let minute = trial_with_backlog(&long);
    assert_eq!((second.lost(), second.intended_pps), (0, minute.intended_pps));
    assert!(minute.lost() > 0);
    let brief_pps = bounds(&short, "brief").0.unwrap();
    let sustained_pps = bounds(&long, "rfc2544").0.unwrap();
    assert!((brief_pps / sustained_pps - 1.0).abs() < HIDDEN_BY_TICK, "{brief_pps} {sustained_pps}");
}

#[test]
fn a_stall_that_leaves_a_little_behind_is_no_overload() {
    // What a second takes varies by a fiftieth, and in a minute a load is held on the whole.
    let noise = Noise { per_trial: 0.0, per_second: 0.02 };
    let finished = search("rfc2544", &mut deep().noise(5, noise));
    let lower = bounds(&finished, "rfc2544").0.unwrap();
    assert!((0.98 * CAPACITY..1.01 * CAPACITY).contains(&lower), "{lower}");
    assert_eq!(finished.outcome.goals[0].status, Status::Regular);
}

#[test]
fn a_path_without_room_says_nothing_of_it() {
    let method = SimulatedMethod::new("packet-v3", CAPACITY);
    let finished = search("ndr", &mut SimulatedLaboratory::new(1e6, vec![method]));
    assert_eq!(finished.outcome.buffered, None);
    let warnings = finished.outcome.warning_facts;
    assert!(!warnings.iter().any(|one| matches!(one, SearchWarning::LastReadUnknown { .. })), "{warnings:?}");
}

/// A host that loses some hundred frames in a moment, now and then, at any load.
fn noisy() -> SimulatedLaboratory {
    deep().showing_moments().bursts(3, LossBursts { per_second: 0.1, frames: 300 })
}

fn goal<'f>(finished: &'f Finished, name: &str) -> &'f GoalResult {
    finished.outcome.goals.iter().find(|goal| goal.goal.name == name).unwrap()
}

fn upper(goal: &GoalResult) -> &Bound {
    goal.upper.as_ref().unwrap()
}

#[test]
fn the_application_limits_where_nothing_is_lost_because_the_ring_has_room() {
    let finished = search("ndr,pdr,rfc2544", &mut deep().showing_moments());
    for name in ["ndr", "pdr", "rfc2544"] {
        let goal = goal(&finished, name);
        assert_eq!((&upper(goal).losses, goal.limit), (&None, Some(Limit::Application)), "{name}");
        let backlogged = upper(goal).backlogged.unwrap();
        assert!(backlogged.frames > 0 && backlogged.frames == backlogged.all_frames, "{backlogged:?}");
        assert_eq!(goal.lower.as_ref().unwrap().backlogged, None);
    }
}

#[test]
fn a_few_stalls_are_neither_what_limits_nor_a_sign_that_the_load_is_not_too_high() {
    // Wherever such a host loses them.
    let in_backlog = |_, result: &mut TrialResult| {
        for entry in result.ledger.iter_mut().filter(|entry| entry.place == Place::Ring) {
            entry.place = Place::Backlog;
        }
    };
    let finished = [search("ndr", &mut noisy()), search("ndr", &mut Tampered::new(noisy(), in_backlog))];
    for (finished, place) in finished.iter().zip([Place::Ring, Place::Backlog]) {
        let goal = goal(finished, "ndr");
        let losses = upper(goal).losses.as_ref().unwrap();
        assert_eq!(losses.lost[0].place, place);
        let moments = losses.moments.unwrap();
        assert!(moments.lossy_windows > 0 && moments.lossy_windows * 4 < moments.windows, "{moments:?}");
        assert_eq!((goal.limit, goal.stalls()), (Some(Limit::Application), None));
    }
    // Without the room the same host does stall, and says so.
    let method = SimulatedMethod::new("packet-v3", CAPACITY);
    let bursts = LossBursts { per_second: 0.9, frames: 300 };
    let mut path = SimulatedLaboratory::new(1e6, vec![method]).showing_moments().bursts(3, bursts);
    assert!(goal(&search("ndr", &mut path), "ndr").stalls().is_some());
}

#[test]
fn loads_that_only_find_room_are_overloads_though_nothing_is_lost_at_first() {
    let finished = search("ndr", &mut deep().showing_moments());
    // The ring is full after 0.65 s of a second: frames are lost in the last four of ten windows.
    let searched = finished.trials.iter().filter(|trial| trial.phase == Phase::Search);
    let mut patterns = searched.filter_map(|trial| trial.loss_pattern.as_ref());
    assert!(patterns.any(|pattern| (pattern.windows, pattern.lossy_windows) == (10, 4)));
    let events = finished.outcome.numbers.loss_events.as_ref().unwrap();
    assert!(events.up_to_pps < CAPACITY * 1.0125 && events.events == 0, "{events:?}");
    // Stalls below that load are told as before.
    let noisy = search("ndr", &mut noisy()).outcome.numbers.loss_events.unwrap();
    assert!(noisy.up_to_pps < CAPACITY * 1.0125 && noisy.events > 0, "{noisy:?}");
}
