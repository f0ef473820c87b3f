//! The worked example of RFC 9971, as its own formulas decide it, and the search that its reference library makes on a path
//! with a hard limit.

use std::time::Duration;

use super::paths::{Path, bounds, observed, plan, run};
use capbench_judge::search::{Ratio, Status};
use capbench_judge::sustained::{Class, Criteria, Observation};

fn trials(count: usize, seconds: u64, loss: f64) -> Vec<Observation> {
    vec![observed(Duration::from_secs(seconds), loss); count]
}

fn criteria(full_length: u64, sum: u64, loss: f64, exceed: f64) -> Criteria {
    Criteria {
        loss_ratio: Ratio::new(loss).unwrap(),
        exceed_ratio: Ratio::new(exceed).unwrap(),
        full_length: Duration::from_secs(full_length),
        duration_sum: Duration::from_secs(sum),
    }
}

#[test]
fn loads_are_classified_as_the_formulas_of_the_standard_say() {
    let points = [(59, 1, 0.0), (1, 1, 0.01), (59, 1, 0.01), (1, 1, 0.0), (1, 60, 0.001), (1, 60, 0.0)];
    // The draft's tables print a lower bound for the last two of the fourth goal, at exceed ratios of 43 % and 27 %.
    let goals = [
        ("rfc2544", criteria(60, 60, 0.0, 0.0), "?UUUUU"),
        ("tst009", criteria(60, 120, 0.0, 0.5), "?????L"),
        ("1s", criteria(1, 120, 0.005, 0.5), "???LLL"),
        ("20%", criteria(60, 60, 0.005, 0.2), "??UUUU"),
    ];
    for (name, criteria, expected) in goals {
        let mut seen = Vec::new();
        let mut found = String::new();
        for (count, seconds, loss) in points {
            seen.extend(trials(count, seconds, loss));
            found.push(match criteria.classify(&seen) {
                Class::Lower => 'L',
                Class::Upper => 'U',
                Class::Undecided => '?',
            });
        }
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn the_conditional_throughput_is_that_of_the_quantile_trial() {
    let all: Vec<_> = [(60, 1, 0.0), (60, 1, 0.01), (1, 60, 0.001), (1, 60, 0.0)]
        .into_iter()
        .flat_map(|(count, seconds, loss)| trials(count, seconds, loss))
        .collect();
    assert_eq!(criteria(60, 120, 0.0, 0.5).quantile_loss(&all), 0.0);
    assert_eq!(criteria(1, 120, 0.005, 0.5).quantile_loss(&all), 0.0);
    assert_eq!(criteria(60, 60, 0.005, 0.2).quantile_loss(&all), 0.001);
    assert_eq!(criteria(60, 600, 0.0, 0.5).quantile_loss(&all), 1.0, "too little time");
    assert_eq!(criteria(60, 60, 0.0, 0.0).quantile_loss(&[]), 1.0);
}

#[test]
fn eleven_equal_trials_of_a_second_decide_a_load() {
    let ndr = criteria(1, 21, 0.0, 0.5);
    for (loss, decided) in [(0.0, Class::Lower), (0.01, Class::Upper)] {
        assert_eq!(ndr.classify(&trials(10, 1, loss)), Class::Undecided);
        assert_eq!(ndr.classify(&trials(11, 1, loss)), decided);
    }
}

#[test]
fn ndr_and_pdr_of_a_hard_limit_take_35_trials() {
    let finished = run(&plan("ndr,pdr"), &Path::new(1e6));
    let near = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 0.01;
    let (lower, upper) = bounds(&finished, "ndr");
    assert!(near(lower, 996_665.47) && near(upper, 1_001_671.76), "{lower:?} {upper:?}");
    let (lower, upper) = bounds(&finished, "pdr");
    assert!(near(lower, 1_001_671.76) && near(upper, 1_006_703.19), "{lower:?} {upper:?}");
    assert!(near(finished.outcome.goals[1].conditional_throughput_pps, 1_000_000.76));
    assert_eq!(finished.trials.len(), 35);
    assert_eq!(finished.outcome.sending_s, 35.0);
    assert!(finished.outcome.goals.iter().all(|goal| goal.status == Status::Regular));
}

#[test]
fn short_trials_first_spare_most_of_the_long_ones() {
    let sent_s = |finished: &crate::search::Finished| finished.outcome.sending_s;
    let plain = run(&plan("rfc2544"), &Path::new(1e6));
    assert_eq!((plain.trials.len(), sent_s(&plain)), (10, 600.0));
    let mlr = run(&plan("b:from=rfc2544,strategy=mlr,initial=1s"), &Path::new(1e6));
    assert_eq!((mlr.trials.len(), sent_s(&mlr).round()), (7, 138.0));
}

#[test]
fn a_method_that_livelocks_is_found_as_quickly() {
    // At maximum load it delivers nothing, so the search begins at the least load and has ten octaves to go.
    let finished = run(&plan("ndr,pdr"), &Path { livelock: 1.0, ..Path::new(5e5) });
    let (lower, upper) = bounds(&finished, "ndr");
    assert!(lower.unwrap() <= 5e5 && upper.unwrap() > 5e5);
    assert_eq!(finished.trials.len(), 41);
}
