//! What tests of RFC 2544 of a simulated path show.

use capbench_judge::finding::rfc2544::{Contradiction, Rfc2544Answer, answers};
use capbench_model::trial::Phase;
use capbench_results::Results;

use super::runs;

/// What contradicts the throughput if a trial at this share of it lost frames.
fn contradiction(share: f64) -> Option<Contradiction> {
    let mut results: Results = runs::rfc2544();
    let throughput_pps = results.searches[0].goals[0].lower.as_ref().unwrap().achieved_pps;
    let trials = &mut results.trials;
    let is_free = trials.iter().position(|trial| trial.phase == Phase::FrameLoss && trial.lost() == 0);
    let free = &mut trials[is_free.unwrap()];
    free.delivered = free.sent / 2;
    free.offered_pps = throughput_pps * share;
    let number = free.number;
    let found = Contradiction::find(&results.searches[0], &results.searches[0].goals[0], trials)?;
    assert_eq!((found.throughput_pps, found.loss_ratio), (throughput_pps, 0.5));
    assert!(found.trials.contains(&number));
    Some(found)
}

#[test]
fn loss_above_the_throughput_contradicts_nothing_and_less_than_a_frame_is_not_above() {
    for (share, is_contradicted) in [(0.5, true), (1.0009, true), (1.0012, false)] {
        assert_eq!(contradiction(share).is_some(), is_contradicted, "{share}");
    }
}

#[test]
fn answers_are_the_throughput_then_loss_then_time() {
    let Results { searches, rfc2544, trials, .. } = runs::rfc2544();
    let found = answers(&searches, &rfc2544, &trials);
    assert!(
        matches!(&found[..], [Rfc2544Answer::Throughput(_), Rfc2544Answer::Loss(_), Rfc2544Answer::Time(_)]),
        "{found:?}"
    );
}
