//! The recommendation on simulated hosts.

mod hosts;

use crate::for_tests::{Collected, path, searching_bench_plan};
use crate::recommendation::{Because, Certainty, Conclusion, Question, SustainedStatus, recommend};
use capbench_model::trial::Phase;

#[test]
fn the_method_with_the_highest_sustained_rate_is_recommended() {
    let outcome = searching_bench_plan(&["recv", "packet-v2", "packet-v3"])
        .run(&mut path(), &mut Collected::default())
        .unwrap();
    let recommended = recommend(&outcome.trials, &outcome.searches).unwrap();
    assert_eq!(
        (recommended.question, recommended.method.as_deref()),
        (Question::HighestRate, Some("packet-v3"))
    );
    let ranking = recommended.headline().unwrap();
    let order: Vec<_> = ranking.methods.iter().map(|ranked| (ranked.method.as_str(), ranked.rank)).collect();
    assert_eq!(order, [("packet-v3", 1), ("packet-v2", 2), ("recv", 3)]);
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
        let plan = crate::bench::BenchPlan { methods: crate::for_tests::specs(names), ..plan.clone() };
        let outcome = plan.run(&mut path(), &mut Collected::default()).unwrap();
        let last = outcome.trials.last().unwrap();
        let named = recommend(&outcome.trials, &outcome.searches).unwrap();
        assert_eq!(last.phase, Phase::Confirmation);
        assert_eq!((Some(last.profile.method.as_str()), last.duration_s), (named.method.as_deref(), 2.0));
        assert_eq!(last.intended_pps.is_none(), is_generator, "{last:?}");
        assert_eq!(last.lost(), 0);
    }
}
