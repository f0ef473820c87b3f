//! The order of methods: what is said of it, and that equal methods are not put in one by chance.

use super::paths::{Path, Record, plan, run};
use crate::search::{SearchOutcome, Stored, findings};

/// So many searches of a method whose capacity varies by 1 % from trial to trial.
fn searches(method: &str, capacity: f64, searches: u32, seed: u64) -> Vec<SearchOutcome> {
    let plan = plan("ndr");
    let search = |nth: u32| {
        let mut path = Path { noise: 0.01, seed: seed * 1000 + u64::from(nth), ..Path::new(capacity) };
        let mut record = Record::default();
        let finished = plan.run_nth(Some(nth), "a path", &mut path, Stored::default(), &mut record).unwrap();
        SearchOutcome { method: Some(method.into()), ..finished.outcome }
    };
    (1..=searches).map(search).collect()
}

fn said(outcomes: &[SearchOutcome]) -> String {
    let all = findings::together(outcomes);
    let rankings: Vec<_> = all.iter().filter(|finding| finding.text.contains(" by method")).collect();
    let [ranking] = rankings.as_slice() else { panic!("{all:?}") };
    assert!(!ranking.trials.is_empty());
    ranking.text.clone()
}

#[test]
fn one_search_of_each_method_says_no_order_however_far_they_lie_apart() {
    let of = |method: &str, capacity: f64| SearchOutcome {
        method: Some(method.into()),
        ..run(&plan("ndr"), &Path::new(capacity)).outcome
    };
    let outcomes = [of("recv", 2e5), of("packet-v3", 1e6), of("packet-v2", 1e6), of("af-xdp", 3e6)];
    let text = said(&outcomes);
    let begin = "ndr by method, highest first, packets/s: af-xdp at least 1,488,095, packet-v3 ";
    assert!(text.starts_with(begin), "{text}");
    let end =
        "; one search each: the order may be chance, the more so the nearer they are; 5 of each can tell it.";
    assert!(text.ends_with(end) && !text.contains("then"), "{text}");
    assert!(findings::together(&outcomes[..1]).is_empty());
    // As often as it takes for six comparisons.
    let often: Vec<_> = (1..=5)
        .flat_map(|nth| outcomes.iter().map(move |one| SearchOutcome { nth: Some(nth), ..one.clone() }))
        .collect();
    let text = said(&often);
    assert!(text.contains("af-xdp at least 1,488,095, then packet-v3 "), "{text}");
    assert!(text.contains(", not told from packet-v2 ") && text.contains(", then recv "), "{text}");
    assert!(!text.contains("chance"), "{text}");
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
        let text = said(&[one, other].concat());
        false_alarms += u32::from(text.contains(", then "));
    }
    // What may be said by chance once in twenty times, against what bounds alone say of one search each.
    assert!(false_alarms <= 5 && by_bounds > false_alarms, "{false_alarms} and {by_bounds} of {PAIRS}");
    let apart = [searches("recv", 1e6, 4, 101), searches("packet-v2", 1.03e6, 4, 102)].concat();
    let text = said(&apart);
    assert!(text.contains("packets/s: packet-v2 ") && text.contains(", then recv "), "{text}");
    // Three methods are three comparisons, for which four searches of each are too few.
    let three = [apart, searches("af-xdp", 1.06e6, 4, 103)].concat();
    assert!(said(&three).contains("; 4 searches each: the order may be chance"), "{}", said(&three));
}
