//! The numbers that belong together: the goals that they come from, and that they are always reported.

use super::paths::{Path, plan, run};

/// By which goals NDR and PDR are told where these are searched for.
fn by(goals: &str) -> (String, String) {
    let numbers = run(&plan(goals), &Path::new(1e6)).outcome.numbers;
    (numbers.ndr.by, numbers.pdr.by)
}

#[test]
fn ndr_and_pdr_are_those_of_the_goals_that_are_called_so_or_ask_for_the_same() {
    let both = |ndr: &str, pdr: &str| (ndr.to_string(), pdr.to_string());
    assert_eq!(by("ndr,pdr"), both("ndr", "pdr"));
    // What others call so, or what allows for some loss, is another thing.
    for goals in ["nfvbench-ndr,nfvbench-pdr", "trex-like,pdr", "tst009,ndr", "quick", "strict-capture"] {
        assert_eq!(by(goals), both("ndr", "pdr"), "{goals}");
    }
    assert_eq!(by("mine:from=pdr,width=1%;tst009"), both("ndr", "mine"));
    assert_eq!(by("ndr:loss=0,duration=2s,sum=10s;other:from=ndr"), both("ndr", "pdr"));
}

#[test]
fn the_goals_of_others_lend_no_bounds_to_ndr_and_pdr() {
    let outcome = run(&plan("trex-like,pdr"), &Path::new(1e6)).outcome;
    let goal = |name: &str| outcome.goals.iter().find(|result| result.goal.name == name).unwrap();
    let lower = |name: &str| goal(name).lower.as_ref().unwrap().achieved_pps;
    assert_eq!(outcome.numbers.pdr.pps, Some(lower("pdr")));
    assert!(lower("trex-like") < lower("pdr"));
}
