//! The visits that a comparison asks for, against those that the run had.

use std::collections::BTreeMap;

use crate::imports::{ComparisonFinding, ComparisonOutcome, Phase, Results};

pub fn in_finding(fact: &ComparisonFinding, results: &Results) -> Vec<String> {
    let ComparisonFinding::OfMethods { compared } = fact else { return Vec::new() };
    let mut all = Vec::new();
    for methods in compared {
        let visits = match methods.outcome {
            ComparisonOutcome::Judged(counts) => counts.visits,
            ComparisonOutcome::TooFewTrials { visits, .. } => visits,
            _ => None,
        };
        let had = visits_of_run(results, |method| method == methods.then || method == methods.now);
        if visits.is_some_and(|visits| visits as usize <= had) {
            all.push(format!("{visits:?} visits are to decide, and the run had {had}"));
        }
    }
    all
}

/// How often a run tried a method at one load: the most of all selected methods and loads.
pub fn visits_of_run(results: &Results, is_selected: impl Fn(&str) -> bool) -> usize {
    let mut visits: BTreeMap<String, usize> = BTreeMap::new();
    for trial in &results.trials {
        let profile = &trial.profile;
        let method = profile.method.to_string();
        let is_visit = matches!(trial.phase, Phase::BestEffort | Phase::CommonLoad | Phase::FixedLoad);
        if is_visit && is_selected(&method) {
            let load = (trial.phase, trial.intended_pps);
            let set_up =
                format!("{method} {:?} {:?} {:?}", profile.frame_size, profile.placement, profile.work);
            *visits.entry(format!("{set_up} {load:?}")).or_default() += 1;
        }
    }
    visits.into_values().max().unwrap_or(0)
}
