//! A search on the bed: the same prepared trial serves it from beginning to end, and every packet of it is accounted for.

use std::time::Duration;

use capbench_lab::for_tests::{live, live_setup, virtual_link};
use capbench_lab::live::LiveLaboratory;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::trial::{Load, Phase, TrialResult};
use capbench_model::work::WorkModel;
use capbench_plan::for_tests::Collected;
use capbench_plan::search::{self, End, MaximumSource, SearchPlan, Status, Stored};
use capbench_testing::{HostLoad, busy, is_root};

fn laboratory() -> LiveLaboratory {
    live(virtual_link())
}

/// Work of 50 us a packet takes less than 20,000 packets/s on any host, and the ring has room for 524,000.
#[test]
fn root_lengthy_what_lies_in_the_ring_of_the_bed_is_no_throughput() {
    if !is_root() {
        return;
    }
    let mut laboratory = laboratory();
    let setup = Setup {
        work: WorkModel::Nanoseconds(50_000).into(),
        ..live_setup("packet-v3", 64 << 20, Duration::from_millis(200))
    };
    let mut trial = laboratory.prepare(&setup).unwrap();
    let load = HostLoad::watch();
    let mut lossless = false;
    for _ in 0..3 {
        let result = trial.run(Load::Rate("60k".parse().unwrap()), Duration::from_secs(1)).unwrap();
        println!(
            "offered {:.0}, lost {}, taken {:.0}, {:?}, behind {:?}",
            result.offered_pps,
            result.lost(),
            result.read_pps(),
            result.emptying,
            result.behind_s(1)
        );
        if result.offered_pps < 40_000.0 {
            let others = load.others();
            let others = others.unwrap_or_else(|| panic!("a slow generator on a quiet host: {result:#?}"));
            return busy(format_args!(
                "the generator reaches {:.0} packets/s only; {others}",
                result.offered_pps
            ));
        }
        assert!(
            result.read_pps() < 20_100.0 && result.backlogged(1) > Some(result.delivered / 3),
            "{result:?}"
        );
        lossless |= result.lost() == 0;
        if lossless {
            break;
        }
    }
    println!("lossless by count: {lossless}");
    let goals = search::parse("brief:loss=0,duration=1s,sum=1s,initial=1s,targets=0,width=30%").unwrap();
    let plan = SearchPlan {
        least_pps: "5k".parse().unwrap(),
        maximum_pps: Some("60k".parse().unwrap()),
        ..SearchPlan::new(goals)
    };
    let finished = plan.run("the bed", &mut *trial, Stored::default(), &mut Collected::default()).unwrap();
    let goal = &finished.outcome.goals[0];
    assert!(goal.lower.as_ref().is_none_or(|lower| lower.intended_pps < 21_000.0), "{goal}");
    assert_ne!(goal.status, Status::AtLeast, "{goal}");
    let above = finished.trials.iter().filter(|trial| trial.lost() == 0 && trial.offered_pps > 25_000.0);
    let shown = finished.outcome.buffered.as_ref().map_or(&[][..], |buffered| &buffered.trials);
    assert!(above.map(|trial| trial.number).all(|number| shown.contains(&number)), "{shown:?}");
}

#[test]
fn root_lengthy_a_search_on_the_bed_is_interrupted_and_gone_on_with() {
    if !is_root() {
        return;
    }
    let mut laboratory = laboratory();
    // Work of 50 us a packet holds less than 20,000 packets/s on any host.
    let setup = Setup {
        work: WorkModel::Nanoseconds(50_000).into(),
        ..live_setup("packet-v3", 4 << 20, Duration::from_millis(100))
    };
    let goals = search::parse("brief:loss=1%,duration=200ms,sum=600ms,initial=200ms,width=5%").unwrap();
    let plan = SearchPlan { self_test: Duration::from_millis(200), ..SearchPlan::new(goals) };
    let mut first = Collected::stopping_after(5);
    let stopped = {
        let mut trial = laboratory.prepare(&setup).unwrap();
        plan.run("the bed", &mut *trial, Stored::default(), &mut first).unwrap()
    };
    assert_eq!((stopped.outcome.ended, stopped.trials.len()), (End::Stopped, 5));
    let stored = Stored::new(&first.trials, |profile| profile.method == "packet-v3").unwrap();
    let mut second = Collected::default();
    laboratory.number_after(first.trials.iter().map(TrialResult::last_number).max().unwrap());
    let finished = {
        let mut trial = laboratory.prepare(&setup).unwrap();
        plan.run("the bed", &mut *trial, stored, &mut second).unwrap()
    };
    let outcome = &finished.outcome;
    for goal in &outcome.goals {
        println!("{goal}, {} trials, {:.1} s of traffic", finished.trials.len(), outcome.sending_s);
    }
    assert_eq!(outcome.ended, End::Complete);
    assert_eq!(finished.trials[..5], stopped.trials[..], "what was measured is not measured again");
    let maximum = outcome.maximum.as_ref().unwrap();
    assert_eq!(maximum.source, MaximumSource::Generator);
    assert!(maximum.self_test.is_some(), "{maximum:?}");
    // What is held depends on the host and on what else it does; what is said about it does not.
    let goal = &outcome.goals[0];
    assert_eq!(goal.reason.is_none(), goal.status == Status::Regular, "{goal}");
    if let Some(lower) = &goal.lower {
        assert!(lower.achieved_pps <= lower.intended_pps, "{goal}");
        assert!(goal.upper.as_ref().is_none_or(|upper| lower.intended_pps < upper.intended_pps), "{goal}");
    }
    let mut numbers = outcome.trials.clone();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), finished.trials.len());
    for trial in &finished.trials {
        assert_eq!(trial.unexplained, 0, "{} {:?}", trial.number, trial.ledger);
        assert!(matches!(trial.phase, Phase::Search | Phase::SelfTest));
    }
}
