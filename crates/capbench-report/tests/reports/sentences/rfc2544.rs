//! What tests of RFC 2544 of a simulated path show.

use capbench_judge::finding::Finding;
use capbench_judge::finding::rfc2544::{Contradiction, Rfc2544Answer, answers};
use capbench_judge::rfc2544::Tested;
use capbench_judge::search::SearchOutcome;
use capbench_model::trial::{Phase, TrialResult};
use capbench_results::Results;

use super::runs;

/// A run in which no trial of another test lost frames at the throughput or below.
fn repeatable() -> Results {
    let mut results = runs::rfc2544();
    results.trials.retain(|trial| trial.phase != Phase::Latency);
    results
}

/// What contradicts the throughput if a trial at this share of it lost frames.
fn contradiction(share: f64) -> Option<Contradiction> {
    let mut results = repeatable();
    let goal = &results.searches[0].goals[0];
    let throughput_pps = goal.lower.as_ref().unwrap().achieved_pps;
    assert_eq!(Contradiction::find(&results.searches[0], goal, &results.trials), None);
    let mut trials = results.trials.iter_mut();
    let lossy = trials.find(|trial| trial.phase == Phase::FrameLoss && trial.lost() == 0).unwrap();
    lossy.delivered = lossy.sent / 2;
    lossy.offered_pps = throughput_pps * share;
    let number = lossy.number;
    let found = Contradiction::find(&results.searches[0], goal, &results.trials)?;
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

fn facts(searches: &[SearchOutcome], tests: &[Tested], trials: &[TrialResult]) -> Vec<Rfc2544Answer> {
    let mut facts = Vec::new();
    for found in answers(searches, tests, trials) {
        let Finding::Rfc2544Answer(fact) = found.fact else { panic!("{found:?}") };
        facts.push(fact);
    }
    facts
}

#[test]
fn answers_are_the_throughput_or_what_contradicts_it_then_loss_then_time() {
    let Results { searches, rfc2544, trials, .. } = repeatable();
    let found = facts(&searches, &rfc2544, &trials);
    let [Rfc2544Answer::Throughput { .. }, Rfc2544Answer::Loss { .. }, Rfc2544Answer::Time { .. }] =
        &found[..]
    else {
        panic!("{found:?}")
    };
    // A trial of latency lost frames at the throughput.
    let found = facts(&searches, &rfc2544, &runs::rfc2544().trials);
    assert!(matches!(&found[0], Rfc2544Answer::NotRepeatable { .. }), "{found:?}");
}
