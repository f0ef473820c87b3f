//! What tests of RFC 2544 of a simulated path show, as facts. Their words: `src/sentences/rfc2544.rs`.

use capbench_judge::finding::Finding;
use capbench_judge::finding::rfc2544::{Contradiction, Rfc2544Answer, answers};
use capbench_judge::rfc2544::Tested;
use capbench_judge::search::SearchOutcome;
use capbench_model::disturbance::CpuDisturbance;
use capbench_model::trial::{Phase, TrialResult};
use capbench_results::Results;

use super::runs;

/// A run in which no trial of another test lost frames at the throughput or below.
fn repeatable() -> Results {
    let mut results = runs::rfc2544();
    results.trials.retain(|trial| trial.phase != Phase::Latency);
    results
}

/// What contradicts the throughput of a run in which a trial at this multiple of the throughput lost half of its frames.
fn contradiction(multiple: f64) -> Option<Contradiction> {
    let mut results = repeatable();
    let goal = &results.searches[0].goals[0];
    let throughput_pps = goal.lower.as_ref().unwrap().achieved_pps;
    assert_eq!(Contradiction::find(&results.searches[0], goal, &results.trials), None);
    let mut trials = results.trials.iter_mut();
    let lossy = trials.find(|trial| trial.phase == Phase::FrameLoss && trial.lost() == 0).unwrap();
    lossy.delivered = lossy.sent / 2;
    lossy.offered_pps = throughput_pps * multiple;
    let number = lossy.number;
    let found = Contradiction::find(&results.searches[0], goal, &results.trials)?;
    assert_eq!(found.throughput_pps, throughput_pps);
    assert_eq!(found.loss_ratio, 0.5);
    assert!(found.trials.contains(&number));
    Some(found)
}

#[test]
fn loss_above_the_throughput_contradicts_nothing() {
    assert!(contradiction(0.5).is_some());
    // Rates that differ by up to 0.1 % are equal.
    assert!(contradiction(1.0009).is_some());
    assert!(contradiction(1.0012).is_none());
}

/// The answers of a run, as facts.
fn answer_facts(searches: &[SearchOutcome], tests: &[Tested], trials: &[TrialResult]) -> Vec<Rfc2544Answer> {
    let mut facts = Vec::new();
    for found in answers(searches, tests, trials) {
        let Finding::Rfc2544Answer(fact) = found.fact else { panic!("{found:?}") };
        facts.push(fact);
    }
    facts
}

#[test]
fn answers_are_the_throughput_then_loss_then_time() {
    let Results { searches, rfc2544, trials, .. } = repeatable();
    let facts = answer_facts(&searches, &rfc2544, &trials);
    let [Rfc2544Answer::Throughput { .. }, Rfc2544Answer::Loss { .. }, Rfc2544Answer::Time { .. }] =
        &facts[..]
    else {
        panic!("{facts:?}")
    };
}

#[test]
fn a_loss_that_the_host_explains_contradicts_no_throughput() {
    let Results { searches, mut trials, .. } = runs::rfc2544();
    let goal = &searches[0].goals[0];
    let contradiction = Contradiction::find(&searches[0], goal, &trials).unwrap();
    for trial in trials.iter_mut().filter(|trial| trial.phase == Phase::Latency) {
        // Others had the whole CPU.
        trial.disturbance.sending_ns = 1_000_000_000;
        let taken = CpuDisturbance {
            window_ns: 1_000_000_000,
            foreign_ns: 1_000_000_000,
            ..CpuDisturbance::default()
        };
        trial.disturbance.cpus = vec![taken];
    }
    assert_eq!(Contradiction::find(&searches[0], goal, &trials), None, "{contradiction:?}");
}

#[test]
fn the_first_answer_is_what_contradicts_the_throughput() {
    // A trial of latency lost frames at the throughput.
    let Results { searches, rfc2544, trials, .. } = runs::rfc2544();
    let facts = answer_facts(&searches, &rfc2544, &trials);
    assert!(matches!(&facts[0], Rfc2544Answer::NotRepeatable { .. }), "{facts:?}");
}
