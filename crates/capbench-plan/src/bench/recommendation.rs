//! The recommendation on simulated hosts.

mod hosts;

use std::time::Duration;

use crate::bench::{BenchPlan, Searching};
use crate::for_tests::{Collected, path, searching_bench_plan};
use crate::simulated::{SimulatedLaboratory, SimulatedMethod};
use capbench_judge::recommendation::{Because, Certainty, Conclusion, Question, SustainedStatus, recommend};
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

#[test]
fn a_method_that_cannot_be_best_is_searched_coarsely_if_the_time_does_not_suffice_for_all() {
    let searched_to = |seconds| {
        let plan = searching_bench_plan(&["recv", "packet-v1", "packet-v2", "packet-v3"]);
        let budget = Duration::from_secs(seconds);
        let searching = plan.searching.map(|searching| Searching { budget, ..searching });
        let methods = vec![
            SimulatedMethod::new("recv", 100_000.0),
            SimulatedMethod::new("packet-v1", 150_000.0),
            SimulatedMethod::new("packet-v2", 900_000.0),
            SimulatedMethod::new("packet-v3", 940_000.0),
        ];
        let mut path = SimulatedLaboratory::new(1_000_000.0, methods);
        let plan = BenchPlan { searching, ..plan };
        let outcome = plan.run(&mut path, &mut Collected::default()).unwrap();
        let spent: f64 = outcome.trials.iter().map(TrialResult::spent_s).sum();
        assert!(spent <= budget.as_secs_f64(), "{spent} s");
        let recommended = recommend(&outcome.trials, &outcome.searches).unwrap();
        let ranking = recommended.headline().unwrap().clone();
        let searched_to_by =
            |method: &str| ranking.find(&MethodSpec::plain(method)).unwrap().lossless.searched_to;
        (["recv", "packet-v1", "packet-v2", "packet-v3"].map(searched_to_by), ranking.precision)
    };
    let (coarse, fine) = (Some(0.2), Some(0.05));
    assert_eq!(searched_to(60), ([coarse, coarse, fine, fine], fine));
    let (tight, precision) = searched_to(12);
    assert_eq!(tight[..2], [coarse, coarse]);
    assert!(tight[2..].contains(&precision), "{tight:?}");
}
