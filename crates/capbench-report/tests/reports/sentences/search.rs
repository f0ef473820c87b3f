//! What searches of simulated paths show, as facts. Their words: `sentences/search/tests.rs`.

use capbench_judge::finding::Finding as Fact;
use capbench_judge::finding::search::{
    DisturbedTrials, GoalFact, RankedMethod, SearchFinding, TooFewSearches,
};
use capbench_judge::limit::Limit;
use capbench_judge::search::{LossNumbers, MaximumSource, Reason, SearchOutcome, SearchPlan, Status, parse};
use capbench_model::for_tests::setup;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::units::ByteCount;
use capbench_plan::for_tests::Collected;
use capbench_plan::search::{self, Stored};
use capbench_plan::simulated::{LossBursts, Noise, Room, SimulatedLaboratory, SimulatedMethod};
use capbench_report::sentences;
use capbench_results::{Finding, Results};

use super::run_of;

/// The search for these goals with the number `nth`, of a method with a ring of 64 MiB.
fn numbered_search(
    nth: Option<u32>,
    method: &str,
    goals: &str,
    path: &mut SimulatedLaboratory,
) -> SearchOutcome {
    let mut setup = Setup { method: method.parse().unwrap(), ..setup(64) };
    setup.capture.ring = ByteCount(64 << 20);
    let plan = SearchPlan::new(parse(goals).unwrap());
    let mut trial = path.prepare(&setup).unwrap();
    let mut collected = Collected::default();
    let search =
        search::run_nth(&plan, nth, "a path", trial.as_mut(), Stored::default(), &mut collected).unwrap();
    search.outcome
}

/// The only search of `packet-v3` for these goals.
fn search(goals: &str, path: &mut SimulatedLaboratory) -> SearchOutcome {
    numbered_search(None, "packet-v3", goals, path)
}

/// A path of `packet-v3`. The generator sends up to `generator_pps`, the method reads up to `capacity_pps`.
fn path(generator_pps: f64, capacity_pps: f64) -> SimulatedLaboratory {
    SimulatedLaboratory::new(generator_pps, vec![SimulatedMethod::new("packet-v3", capacity_pps)])
}

/// What these searches show.
fn find(searches: Vec<SearchOutcome>) -> Vec<Finding> {
    sentences::find(&Results { searches, ..run_of(Vec::new()) })
}

/// What these searches show, as facts about searches.
fn facts(searches: Vec<SearchOutcome>) -> Vec<SearchFinding> {
    let mut facts = Vec::new();
    for finding in find(searches) {
        if let Some(Fact::Search(fact)) = finding.fact {
            facts.push(fact);
        }
    }
    facts
}

/// What the goals of these searches show.
fn goal_facts(searches: Vec<SearchOutcome>) -> Vec<GoalFact> {
    let mut shown = Vec::new();
    for fact in facts(searches) {
        if let SearchFinding::Goals { shows, .. } = fact {
            shown.push(shows);
        }
    }
    shown
}

/// The bounds of NDR and PDR on this path, and then the maximum load.
fn bounds_and_maximum(path: &mut SimulatedLaboratory) -> Vec<SearchFinding> {
    let mut bounds = Vec::new();
    for finding in find(vec![search("ndr,pdr", path)]) {
        assert!(!finding.trials.is_empty(), "{finding:?}");
        if let Some(Fact::Search(fact)) = finding.fact
            && matches!(fact, SearchFinding::Bounds { .. } | SearchFinding::MaximumLoad { .. })
        {
            bounds.push(fact);
        }
    }
    bounds
}

#[test]
fn bounds_are_regular_where_the_method_is_the_limit() {
    // Once in ten seconds frames are lost at any load, so NDR is lower than PDR.
    let bursts = LossBursts { per_second: 0.1, frames: 500 };
    let facts = bounds_and_maximum(&mut path(1.4e6, 1e6).bursts(7, bursts).showing_moments());
    let [
        SearchFinding::Bounds { goal, status, lower_pps: Some(ndr), upper_pps: Some(above), .. },
        SearchFinding::Bounds { lower_pps: Some(pdr), conditional_throughput_pps: Some(conditional), .. },
        SearchFinding::MaximumLoad { load_pps, source, sustained: true, .. },
    ] = &facts[..]
    else {
        panic!("{facts:?}")
    };
    assert_eq!(goal, "ndr");
    assert_eq!(*status, Status::Regular);
    assert!(ndr < pdr, "{facts:?}");
    // The goal's width is 0.5 %.
    assert!(above / ndr - 1.0 < 0.0051, "{facts:?}");
    assert!(conditional < pdr, "{facts:?}");
    assert_eq!(*load_pps, 1.4e6);
    assert_eq!(*source, MaximumSource::Generator);
}

#[test]
fn the_lower_bound_is_the_maximum_load_where_the_generator_is_the_limit() {
    let facts = bounds_and_maximum(&mut path(1e5, 1e6));
    let SearchFinding::Bounds { status, lower_pps, upper_pps, reason, .. } = &facts[0] else {
        panic!("{facts:?}")
    };
    assert_eq!(*status, Status::AtLeast);
    assert_eq!(*reason, Some(Reason::MaximumLoad { limit: MaximumSource::Generator }));
    assert_eq!(*lower_pps, Some(1e5));
    assert_eq!(*upper_pps, None);
}

#[test]
fn there_is_no_lower_bound_where_the_lowest_load_is_too_high() {
    let facts = bounds_and_maximum(&mut path(1.4e6, 10.0).showing_moments());
    let SearchFinding::Bounds { status, lower_pps, upper_pps, reason, .. } = &facts[0] else {
        panic!("{facts:?}")
    };
    assert_eq!(*status, Status::Irregular);
    assert_eq!(*reason, Some(Reason::LeastLoadNotHeld));
    assert_eq!(*lower_pps, None);
    // A search tries no load below 1,000 frames per second.
    assert_eq!(*upper_pps, Some(1000.0));
}

#[test]
fn goals_that_show_the_same_share_a_fact() {
    let searches = vec![search("ndr,pdr", &mut path(1.4e6, 10.0).showing_moments())];
    let mut limits = Vec::new();
    for fact in facts(searches) {
        if let SearchFinding::Goals { goals, shows: GoalFact::Losses(losses), .. } = fact {
            limits.push((goals, losses.limit));
        }
    }
    let [(goals, limit)] = &limits[..] else { panic!("{limits:?}") };
    assert_eq!(goals[..], ["ndr", "pdr"]);
    assert_eq!(*limit, Some(Limit::Application));
}

/// The numbers of a search for these goals of a method that reads up to this rate.
fn numbers(goals: &str, capacity_pps: f64) -> LossNumbers {
    let mut all = Vec::new();
    for fact in facts(vec![search(goals, &mut path(2e6, capacity_pps))]) {
        if let SearchFinding::Numbers { strict_lossless, ndr, pdr, loss_events, .. } = fact {
            all.push(LossNumbers { strict_lossless, ndr, pdr, loss_events });
        }
    }
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn where_no_load_is_sustained_the_numbers_have_upper_bounds_only() {
    // The lowest load of a search, 1,000 frames per second, is too high.
    let numbers = numbers("ndr", 400.0);
    for number in [&numbers.strict_lossless, &numbers.ndr] {
        assert_eq!(number.pps, None);
        assert_eq!(number.upper_pps, Some(1000.0));
    }
    assert_eq!(numbers.loss_events, None);
}

#[test]
fn a_goal_with_the_loss_of_ndr_decides_ndr_whatever_its_name() {
    let numbers = numbers("mine:from=ndr,width=1%", 1e6);
    assert_eq!(numbers.ndr.by, "mine");
    assert_eq!(numbers.pdr.by, "pdr");
    assert!(numbers.ndr.pps.is_some() && numbers.loss_events.is_some(), "{numbers:?}");
}

#[test]
fn trials_that_the_host_disturbed_put_bounds_in_doubt() {
    let mut outcome = search("ndr", &mut path(2e6, 4e5));
    let without_doubts = goal_facts(vec![outcome.clone()]);
    assert!(!without_doubts.iter().any(|fact| matches!(fact, GoalFact::Doubts { .. })), "{without_doubts:?}");
    let lower = outcome.goals[0].lower.as_mut().unwrap();
    lower.disturbed.clone_from(&lower.trials);
    let disturbed = lower.trials.len();
    let trials = disturbed + outcome.goals[0].upper.as_ref().unwrap().trials.len();
    let doubts = GoalFact::Doubts { by_chance: None, disturbed: Some(DisturbedTrials { disturbed, trials }) };
    assert!(goal_facts(vec![outcome]).contains(&doubts));
}

#[test]
fn frames_in_the_ring_are_no_throughput() {
    // The ring has room for 64 MiB / 128 octets: 524,288 frames.
    let method = SimulatedMethod::new("packet-v3", 2e5).room(Room::Slots(ByteCount(128)));
    let outcome = search("ndr", &mut SimulatedLaboratory::new(1e6, vec![method]));
    let facts = facts(vec![outcome.clone()]);
    assert!(facts.iter().any(|fact| matches!(fact, SearchFinding::Buffered { .. })), "{facts:?}");
    let mut losses = Vec::new();
    for fact in goal_facts(vec![outcome]) {
        if let GoalFact::Losses(found) = fact {
            losses.push(found);
        }
    }
    assert_eq!(losses.len(), 1);
    assert_eq!(losses[0].limit, Some(Limit::Application));
    assert!(losses[0].backlogged.is_some_and(|backlogged| backlogged.decides()), "{losses:?}");
}

#[test]
fn moments_of_loss_are_distinguished_from_too_high_a_load() {
    let is_stall = |fact: &GoalFact| matches!(fact, GoalFact::Stalls { .. });
    let bursts = LossBursts { per_second: 0.9, frames: 300 };
    let stalling = goal_facts(vec![search("ndr", &mut path(1.4e6, 1e6).bursts(3, bursts).showing_moments())]);
    assert!(stalling.iter().any(is_stall), "{stalling:?}");
    let steady = goal_facts(vec![search("ndr", &mut path(1.4e6, 1e6).showing_moments())]);
    assert!(!steady.iter().any(is_stall), "{steady:?}");
}

/// The order of methods by NDR, and whether there are too few searches for it.
fn ranking(searches: Vec<SearchOutcome>) -> (Vec<RankedMethod>, Option<TooFewSearches>) {
    for fact in facts(searches) {
        if let SearchFinding::Ranking { goal, methods, too_few_searches, .. } = fact {
            assert_eq!(goal, "ndr");
            return (methods, too_few_searches);
        }
    }
    panic!("no ranking");
}

/// Five searches of each of three methods: `recv` is slow, `packet-v3` and `packet-v2` are equally fast. The first three searches
/// are one of each method.
fn five_searches_each() -> Vec<SearchOutcome> {
    let methods = [("recv", 2e5), ("packet-v3", 1e6), ("packet-v2", 1e6)];
    let simulated = methods.map(|(method, capacity_pps)| SimulatedMethod::new(method, capacity_pps));
    let noise = Noise { per_trial: 0.01, ..Noise::default() };
    let mut path = SimulatedLaboratory::new(1.4e6, simulated.to_vec()).noise(3, noise);
    let mut searches = Vec::new();
    for nth in 1..=5 {
        for (method, _) in methods {
            searches.push(numbered_search(Some(nth), method, "ndr", &mut path));
        }
    }
    searches
}

#[test]
fn one_search_of_each_method_does_not_decide_their_order() {
    let mut once = five_searches_each();
    once.truncate(3);
    for search in &mut once {
        search.nth = None;
    }
    let (order, too_few) = ranking(once);
    assert_eq!(too_few, Some(TooFewSearches { searches: 1, needed: 5 }));
    assert!(order.iter().all(|method| method.above_next.is_none()), "{order:?}");
    assert!(order[0].method != "recv" && order[2].method == "recv", "{order:?}");
}

#[test]
fn five_searches_of_each_method_decide_their_order() {
    let (order, too_few) = ranking(five_searches_each());
    assert_eq!(too_few, None);
    let above_next: Vec<Option<bool>> = order.iter().map(|method| method.above_next).collect();
    assert_eq!(above_next, [Some(false), Some(true), None]);
    assert_eq!(order[2].method, "recv");
}

#[test]
fn searches_of_a_set_up_are_one_fact() {
    let mut set_ups = Vec::new();
    for fact in facts(five_searches_each()) {
        if let SearchFinding::Repeated(set_up) = fact {
            set_ups.push(set_up);
        }
    }
    assert_eq!(set_ups.len(), 3);
    for set_up in set_ups {
        assert_eq!(set_up.searches, 5);
        assert_eq!(set_up.regular, 5);
        assert_eq!(set_up.irregular(), 0);
    }
}
