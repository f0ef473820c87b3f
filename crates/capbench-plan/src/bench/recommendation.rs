//! The recommendation on simulated hosts.

mod hosts;
mod turns;

use std::time::Duration;

use crate::bench::{BenchPlan, Searching};
use crate::for_tests::{Collected, path, searching_bench_plan};
use crate::simulated::{SimulatedLaboratory, SimulatedMethod};
use capbench_judge::recommendation::{
    Because, Certainty, Conclusion, Question, Ranking, SustainedStatus, recommend,
};
use capbench_model::method_spec::MethodSpec;
use capbench_model::trial::{Phase, TrialResult};

#[test]
fn the_method_with_the_highest_sustained_rate_is_recommended() {
    let outcome = searching_bench_plan(&["recv", "packet-v2", "packet-v3"])
        .run(&mut path(), &mut Collected::default())
        .unwrap();
    let recommended = recommend(&outcome.trials, &outcome.searches).unwrap();
    assert_eq!(
        (recommended.question, recommended.method.clone()),
        (Question::HighestRate, Some("packet-v3".into()))
    );
    let ranking = recommended.headline().unwrap();
    let order: Vec<_> =
        ranking.methods.iter().map(|ranked| (ranked.method.to_string(), ranked.rank)).collect();
    assert_eq!(order, [("packet-v3".into(), 1), ("packet-v2".into(), 2), ("recv".into(), 3)]);
    assert_eq!(ranking.methods[0].lossless.status, SustainedStatus::AtLeast);
    let Conclusion::Use { because, certainty, equal, .. } = &ranking.conclusion else {
        panic!("{ranking:?}")
    };
    assert_eq!((*because, *certainty, equal.len()), (Because::Rate, Certainty::Certain, 0));
}

#[test]
fn the_named_method_is_confirmed_by_a_longer_trial_at_the_load_that_it_sustained() {
    let plan = searching_bench_plan(&["recv", "packet-v2", "packet-v3"]);
    for (names, is_generator) in [(&["recv", "packet-v3"][..], true), (&["recv"][..], false)] {
        let plan = BenchPlan { methods: crate::for_tests::specs(names), ..plan.clone() };
        let outcome = plan.run(&mut path(), &mut Collected::default()).unwrap();
        let last = outcome.trials.last().unwrap();
        let named = recommend(&outcome.trials, &outcome.searches).unwrap();
        assert_eq!(last.phase, Phase::Confirmation);
        assert_eq!((Some(&last.profile.method), last.duration_s), (named.method.as_ref(), 2.0));
        assert_eq!(last.intended_pps.is_none(), is_generator, "{last:?}");
        assert_eq!(last.lost(), 0);
    }
}

const TWO_SLOW_AND_TWO_FAST: [&str; 4] = ["recv", "packet-v1", "packet-v2", "packet-v3"];

/// The ranking of two slow and two fast methods by a bench of so many seconds.
fn ranking_within(seconds: u64) -> Ranking {
    let plan = searching_bench_plan(&TWO_SLOW_AND_TWO_FAST);
    let budget = Duration::from_secs(seconds);
    let searching = plan.searching.map(|searching| Searching { budget, ..searching });
    let mut methods = Vec::new();
    for (name, capacity_pps) in TWO_SLOW_AND_TWO_FAST.iter().zip([100e3, 150e3, 900e3, 940e3]) {
        methods.push(SimulatedMethod::new(name, capacity_pps));
    }
    let mut path = SimulatedLaboratory::new(1e6, methods);
    let plan = BenchPlan { searching, ..plan };
    let outcome = plan.run(&mut path, &mut Collected::default()).unwrap();
    let spent: f64 = outcome.trials.iter().map(TrialResult::spent_s).sum();
    assert!(spent <= budget.as_secs_f64(), "{spent} s");
    recommend(&outcome.trials, &outcome.searches).unwrap().headline().unwrap().clone()
}

/// How precisely each of the four methods was searched.
fn searched_to(ranking: &Ranking) -> [Option<f64>; 4] {
    TWO_SLOW_AND_TWO_FAST.map(|name| ranking.find(&MethodSpec::plain(name)).unwrap().lossless.searched_to)
}

#[test]
fn a_method_that_cannot_be_best_is_searched_coarsely_if_the_time_does_not_suffice_for_all() {
    let coarse = Some(0.2);
    let fine = Some(0.05);
    let ample = ranking_within(60);
    assert_eq!((searched_to(&ample), ample.precision), ([coarse, coarse, fine, fine], fine));
    let tight = ranking_within(12);
    let precisions = searched_to(&tight);
    assert_eq!(precisions[..2], [coarse, coarse]);
    assert!(precisions[2..].contains(&tight.precision), "{precisions:?}");
}
