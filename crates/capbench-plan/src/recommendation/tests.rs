//! The recommendation on simulated hosts.

use crate::for_tests::{Collected, path, searching_bench_plan};
use crate::recommendation::{Because, Certainty, Conclusion, Question, SustainedStatus, recommend};

#[test]
fn the_method_with_the_highest_sustained_rate_is_recommended() {
    let outcome = searching_bench_plan(&["recv", "packet-v2", "packet-v3"])
        .run(&mut path(), &mut Collected::default())
        .unwrap();
    let recommended = recommend(&outcome.trials, &outcome.searches).unwrap();
    assert_eq!((recommended.question, recommended.method()), (Question::HighestRate, Some("packet-v3")));
    let ranking = recommended.headline().unwrap();
    let order: Vec<_> = ranking.methods.iter().map(|ranked| (ranked.method.as_str(), ranked.rank)).collect();
    assert_eq!(order, [("packet-v3", 1), ("packet-v2", 2), ("recv", 3)]);
    assert_eq!(ranking.methods[0].lossless.status, SustainedStatus::AtLeast);
    let Conclusion::Use { because, certainty, equal, .. } = &ranking.conclusion else {
        panic!("{ranking:?}")
    };
    assert_eq!((*because, *certainty, equal.len()), (Because::Rate, Certainty::Certain, 0));
}
