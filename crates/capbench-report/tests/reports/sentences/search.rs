//! What searches of simulated paths show, as facts. Their words: `sentences/search/tests.rs`.

use capbench_judge::finding::Finding as Fact;
use capbench_judge::finding::search::{
    DisturbedTrials, GoalFact, GoalLosses, RankedMethod, SearchFinding, TooFewSearches,
};
use capbench_judge::limit::Limit;
use capbench_judge::search::ranking::Repeated;
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

/// The n-th search of a method whose path is computed.
fn nth(nth: Option<u32>, method: &str, goals: &str, path: &mut SimulatedLaboratory) -> SearchOutcome {
    let mut setup = Setup { method: method.parse().unwrap(), ..setup(64) };
    setup.capture.ring = ByteCount(64 << 20);
    let plan = SearchPlan::new(parse(goals).unwrap());
    let mut trial = path.prepare(&setup).unwrap();
    search::run_nth(&plan, nth, "a path", trial.as_mut(), Stored::default(), &mut Collected::default())
        .unwrap()
        .outcome
}

fn search(goals: &str, path: &mut SimulatedLaboratory) -> SearchOutcome {
    nth(None, "packet-v3", goals, path)
}

fn path(generator: f64, capacity: f64) -> SimulatedLaboratory {
    SimulatedLaboratory::new(generator, vec![SimulatedMethod::new("packet-v3", capacity)])
}

fn found(searches: Vec<SearchOutcome>) -> Vec<Finding> {
    sentences::find(&Results { searches, ..run_of(Vec::new()) })
}

/// The facts that the findings say.
fn facts(searches: Vec<SearchOutcome>) -> Vec<SearchFinding> {
    let mut facts = Vec::new();
    for finding in found(searches) {
        if let Some(Fact::Search(fact)) = finding.fact {
            facts.push(fact);
        }
    }
    facts
}

/// What goals of these searches have in common.
fn of_goals(searches: Vec<SearchOutcome>) -> Vec<GoalFact> {
    let mut shown = Vec::new();
    for fact in facts(searches) {
        if let SearchFinding::Goals { shows, .. } = fact {
            shown.push(shows);
        }
    }
    shown
}

/// The bounds of the goals of a search on this path, and the source of the maximum load.
fn bounds(path: &mut SimulatedLaboratory) -> Vec<SearchFinding> {
    let mut bounds = Vec::new();
    for finding in found(vec![search("ndr,pdr", path)]) {
        assert!(!finding.trials.is_empty(), "{finding:?}");
        if let Some(Fact::Search(fact @ (SearchFinding::Bounds { .. } | SearchFinding::MaximumLoad { .. }))) =
            finding.fact
        {
            bounds.push(fact);
        }
    }
    bounds
}

#[test]
fn bounds_are_known_as_far_as_generator_and_method_allow() {
    let bursts = LossBursts { per_second: 0.1, frames: 500 };
    let known = bounds(&mut path(1.4e6, 1e6).bursts(7, bursts).showing_moments());
    let [
        SearchFinding::Bounds { goal, status, lower_pps: Some(ndr), upper_pps: Some(above), .. },
        SearchFinding::Bounds { lower_pps: Some(pdr), conditional_throughput_pps: Some(conditional), .. },
        SearchFinding::MaximumLoad { load_pps, source, sustained: true, .. },
    ] = &known[..]
    else {
        panic!("{known:?}")
    };
    assert_eq!((goal.as_str(), *status), ("ndr", Status::Regular));
    // Once in ten seconds frames are lost at any load, so NDR is lower than PDR.
    assert!(ndr < pdr && above / ndr - 1.0 < 0.0051 && conditional < pdr, "{known:?}");
    assert_eq!((*load_pps, *source), (1.4e6, MaximumSource::Generator));

    let limited = bounds(&mut path(1e5, 1e6));
    let [
        SearchFinding::Bounds { status, lower_pps, upper_pps, reason, .. },
        SearchFinding::Bounds { .. },
        SearchFinding::MaximumLoad { .. },
    ] = &limited[..]
    else {
        panic!("{limited:?}")
    };
    let sends_no_more = Reason::MaximumLoad { limit: MaximumSource::Generator };
    assert_eq!((*status, reason.as_ref()), (Status::AtLeast, Some(&sends_no_more)));
    assert_eq!((*lower_pps, *upper_pps), (Some(1e5), None));

    let slow = bounds(&mut path(1.4e6, 10.0).showing_moments());
    let [SearchFinding::Bounds { status, lower_pps, upper_pps, reason, .. }, ..] = &slow[..] else {
        panic!("{slow:?}")
    };
    assert_eq!((*status, reason.as_ref()), (Status::Irregular, Some(&Reason::LeastLoadNotHeld)));
    assert_eq!((*lower_pps, *upper_pps), (None, Some(1000.0)));
}

#[test]
fn what_several_goals_show_alike_is_one_fact() {
    let searches = vec![search("ndr,pdr", &mut path(1.4e6, 10.0).showing_moments())];
    let mut shown = Vec::new();
    for fact in facts(searches) {
        if let SearchFinding::Goals { goals, shows: GoalFact::Losses(losses), .. } = fact {
            shown.push((goals, losses.limit));
        }
    }
    assert_eq!(shown, [(vec!["ndr".to_string(), "pdr".to_string()], Some(Limit::Application))]);
}

/// The numbers of a search for these goals on a path of this capacity.
fn numbers(goals: &str, capacity: f64) -> LossNumbers {
    let mut all = Vec::new();
    for fact in facts(vec![search(goals, &mut path(2e6, capacity))]) {
        if let SearchFinding::Numbers { strict_lossless, ndr, pdr, loss_events, .. } = fact {
            all.push(LossNumbers { strict_lossless, ndr, pdr, loss_events });
        }
    }
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn the_numbers_are_known_together_even_where_nothing_is_held() {
    let none = numbers("ndr", 400.0);
    for held in [&none.strict_lossless, &none.ndr] {
        assert_eq!((held.pps, held.upper_pps), (None, Some(1000.0)), "{held:?}");
    }
    assert_eq!(none.loss_events, None);
    let other = numbers("mine:from=ndr,width=1%", 1e6);
    assert_eq!((other.ndr.by.as_str(), other.pdr.by.as_str()), ("mine", "pdr"));
    assert!(other.ndr.pps.is_some() && other.loss_events.is_some(), "{other:?}");
}

#[test]
fn trials_that_the_host_disturbed_put_bounds_in_doubt() {
    let mut outcome = search("ndr", &mut path(2e6, 4e5));
    assert!(!of_goals(vec![outcome.clone()]).iter().any(|fact| matches!(fact, GoalFact::Doubts { .. })));
    let lower = outcome.goals[0].lower.as_mut().unwrap();
    lower.disturbed.clone_from(&lower.trials);
    let disturbed = lower.trials.len();
    let trials = disturbed + outcome.goals[0].upper.as_ref().unwrap().trials.len();
    let doubts = GoalFact::Doubts { by_chance: None, disturbed: Some(DisturbedTrials { disturbed, trials }) };
    assert!(of_goals(vec![outcome]).contains(&doubts));
}

#[test]
fn frames_in_the_ring_are_no_throughput() {
    let method = SimulatedMethod::new("packet-v3", 2e5).room(Room::Slots(ByteCount(128)));
    let outcome = search("ndr", &mut SimulatedLaboratory::new(1e6, vec![method]));
    let facts = facts(vec![outcome.clone()]);
    assert!(facts.iter().any(|fact| matches!(fact, SearchFinding::Buffered { .. })), "{facts:?}");
    let limits: Vec<GoalLosses> = of_goals(vec![outcome])
        .into_iter()
        .filter_map(|fact| match fact {
            GoalFact::Losses(losses) => Some(losses),
            _ => None,
        })
        .collect();
    assert_eq!(limits.len(), 1);
    assert_eq!(limits[0].limit, Some(Limit::Application));
    assert!(limits[0].backlogged.is_some_and(|backlogged| backlogged.decides()), "{limits:?}");
}

#[test]
fn moments_of_loss_are_distinguished_from_too_high_a_load() {
    let often = LossBursts { per_second: 0.9, frames: 300 };
    let stalls = |fact: &GoalFact| matches!(fact, GoalFact::Stalls { .. });
    let stalling = of_goals(vec![search("ndr", &mut path(1.4e6, 1e6).bursts(3, often).showing_moments())]);
    assert!(stalling.iter().any(stalls), "{stalling:?}");
    let steady = of_goals(vec![search("ndr", &mut path(1.4e6, 1e6).showing_moments())]);
    assert!(!steady.iter().any(stalls), "{steady:?}");
}

/// The ranking of methods.
fn ranking(searches: Vec<SearchOutcome>) -> (Vec<RankedMethod>, Option<TooFewSearches>) {
    for fact in facts(searches) {
        if let SearchFinding::Ranking { goal, methods, too_few_searches, .. } = fact {
            assert_eq!(goal, "ndr");
            return (methods, too_few_searches);
        }
    }
    panic!("no ranking");
}

#[test]
fn searches_of_a_set_up_are_one_fact_and_methods_are_in_their_order() {
    let noise = Noise { per_trial: 0.01, ..Noise::default() };
    let methods = [("recv", 2e5), ("packet-v3", 1e6), ("packet-v2", 1e6)];
    let simulated = methods.map(|(method, capacity)| SimulatedMethod::new(method, capacity));
    let mut path = SimulatedLaboratory::new(1.4e6, simulated.to_vec()).noise(3, noise);
    let mut all: Vec<SearchOutcome> = Vec::new();
    for which in 1..=5 {
        for (method, _) in methods {
            all.push(nth(Some(which), method, "ndr", &mut path));
        }
    }
    let mut once = all[..3].to_vec();
    once.iter_mut().for_each(|search| search.nth = None);
    let (order, too_few) = ranking(once);
    assert_eq!(too_few, Some(TooFewSearches { searches: 1, needed: 5 }));
    assert!(order.iter().all(|method| method.above_next.is_none()), "{order:?}");
    assert!(order[0].method != "recv" && order[2].method == "recv", "{order:?}");
    let (order, too_few) = ranking(all.clone());
    assert_eq!(too_few, None);
    let above: Vec<Option<bool>> = order.iter().map(|method| method.above_next).collect();
    assert_eq!(above, [Some(false), Some(true), None]);
    assert_eq!(order[2].method, "recv");
    let repeated: Vec<Repeated> = facts(all)
        .into_iter()
        .filter_map(|fact| match fact {
            SearchFinding::Repeated(repeated) => Some(repeated),
            _ => None,
        })
        .collect();
    assert_eq!(repeated.len(), 3);
    for repeated in repeated {
        assert_eq!((repeated.searches, repeated.regular, repeated.irregular()), (5, 5, 0), "{repeated:?}");
    }
}
