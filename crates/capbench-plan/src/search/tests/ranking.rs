//! Many searches of the same path: chance does not rank equal methods, and why one strict goal misleads on a noisy host.

use super::paths::{Path, bounds, plan, run};
use crate::for_tests::Collected;
use crate::search;
use crate::search::Stored;
use capbench_judge::search::SearchOutcome;
use capbench_judge::search::ranking::{self, Ranking};

/// So many searches of a method whose capacity varies by 1 % from trial to trial.
fn searches(method: &str, capacity: f64, searches: u32, seed: u64) -> Vec<SearchOutcome> {
    let plan = plan("ndr");
    let search = |nth: u32| {
        let mut path = Path { noise: 0.01, seed: seed * 1000 + u64::from(nth), ..Path::new(capacity) };
        let mut record = Collected::default();
        let finished =
            search::run_nth(&plan, Some(nth), "a path", &mut path, Stored::default(), &mut record).unwrap();
        SearchOutcome { method: Some(method.into()), ..finished.outcome }
    };
    (1..=searches).map(search).collect()
}

fn ranked(outcomes: &[SearchOutcome]) -> Ranking {
    let mut all = ranking::rankings(outcomes);
    assert_eq!(all.len(), 1, "{all:?}");
    let ranking = all.remove(0);
    assert!(ranking.methods.iter().all(|ranked| !ranked.trials.is_empty()));
    ranking
}

#[test]
fn one_search_of_each_method_says_no_order_however_far_they_lie_apart() {
    let search_of = |method: &str, capacity: f64| SearchOutcome {
        method: Some(method.into()),
        ..run(&plan("ndr"), &Path::new(capacity)).outcome
    };
    let outcomes = [
        search_of("recv", 2e5),
        search_of("packet-v3", 1e6),
        search_of("packet-v2", 1e6),
        search_of("af-xdp", 3e6),
    ];
    let ranking = ranked(&outcomes);
    let methods: Vec<String> = ranking.methods.iter().map(|ranked| ranked.method.to_string()).collect();
    assert_eq!((&*methods[0], &*methods[3], ranking.methods[0].upper[0]), ("af-xdp", "recv", f64::INFINITY));
    assert_eq!((ranking.fewest(), ranking.needed, ranking.is_above_next(0)), (1, 5, None));
    assert!(ranking::rankings(&outcomes[..1]).is_empty());
    // As often as it takes for six comparisons.
    let often: Vec<_> = (1..=5)
        .flat_map(|nth| outcomes.iter().map(move |one| SearchOutcome { nth: Some(nth), ..one.clone() }))
        .collect();
    let ranking = ranked(&often);
    let above = [0, 1, 2].map(|nth| ranking.is_above_next(nth));
    assert_eq!(above, [Some(true), Some(false), Some(true)], "{ranking:?}");
}

#[test]
fn equal_methods_are_seldom_put_in_an_order_and_different_ones_are() {
    const PAIRS: u64 = 40;
    let (mut false_alarms, mut by_bounds) = (0, 0);
    for pair in 0..PAIRS {
        let (one, other) = (searches("recv", 1e6, 4, 2 * pair), searches("packet-v2", 1e6, 4, 2 * pair + 1));
        let bounds = |outcome: &SearchOutcome| {
            let goal = &outcome.goals[0];
            (goal.lower.as_ref().unwrap().achieved_pps, goal.upper.as_ref().unwrap().intended_pps)
        };
        let ((low, high), (from, to)) = (bounds(&one[0]), bounds(&other[0]));
        by_bounds += u32::from(low >= to || from >= high);
        false_alarms += u32::from(ranked(&[one, other].concat()).is_above_next(0) == Some(true));
    }
    // What may be said by chance once in twenty times, against what bounds alone say of one search each.
    assert!(false_alarms <= 5 && by_bounds > false_alarms, "{false_alarms} and {by_bounds} of {PAIRS}");
    let apart = [searches("recv", 1e6, 4, 101), searches("packet-v2", 1.03e6, 4, 102)].concat();
    let ranking = ranked(&apart);
    assert_eq!((&ranking.methods[0].method, ranking.is_above_next(0)), (&"packet-v2".into(), Some(true)));
    // Three methods are three comparisons, for which four searches of each are too few.
    let three = ranked(&[apart, searches("af-xdp", 1.06e6, 4, 103)].concat());
    assert_eq!((three.fewest(), three.has_enough_searches()), (4, false));
}

/// Searches of each kind.
const NOISY_RUNS: u64 = 20;

/// Lower bounds that were found, and the mean of the seconds of traffic.
fn noisy_searches(goal: &str, bursts_per_s: f64) -> (Vec<f64>, f64) {
    let mut seconds = 0.0;
    let found = (0..NOISY_RUNS).filter_map(|seed| {
        let path = Path { noise: 0.01, bursts_per_s, seed, ..Path::new(1e6) };
        let finished = run(&plan(goal), &path);
        seconds += finished.outcome.sending_s;
        bounds(&finished, goal.split([',', ':']).next().unwrap()).0
    });
    let found = found.collect();
    (found, seconds / NOISY_RUNS as f64)
}

/// Standard deviation by the mean.
fn spread(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt() / mean
}

#[test]
fn ndr_is_steady_where_a_single_strict_trial_is_not() {
    let strict = "strict:from=rfc2544,strategy=mlr,initial=1s";
    for (bursts_per_s, strict_finds_one) in [(0.0, true), (0.01, true), (0.1, false)] {
        let (ndr, traffic) = noisy_searches("ndr,pdr", bursts_per_s);
        assert_eq!(ndr.len() as u64, NOISY_RUNS);
        assert!(spread(&ndr) < 0.01 && traffic < 120.0, "{} in {traffic} s", spread(&ndr));
        let (hard, longer) = noisy_searches(strict, bursts_per_s);
        println!(
            "{bursts_per_s} bursts/s: ndr {:.2} % in {traffic:.0} s; strict found {} of {NOISY_RUNS}, {:.2} % in {longer:.0} s",
            spread(&ndr) * 100.0,
            hard.len(),
            spread(&hard) * 100.0
        );
        // One trial of 60 s in 400 is without a burst when one comes every 10 s: what it finds then is luck.
        assert_eq!(hard.len() as u64 == NOISY_RUNS, strict_finds_one);
        assert!(longer > traffic && (strict_finds_one || hard.len() * 4 < NOISY_RUNS as usize));
    }
}
