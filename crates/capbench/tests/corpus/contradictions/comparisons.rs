//! What a comparison of methods says, against the trials of both: the visits that it asks for, and which method costs less.

use std::collections::BTreeMap;

use super::median;
use crate::imports::{
    ComparedMethods, ComparisonFinding, ComparisonOutcome, FigureAnswer, KnownChange, Measure, Phase,
    Results, TrialResult,
};

/// The medians of all trials may differ so much the other way from the median of the pairs.
const ABOUT: f64 = 1.05;
/// Methods whose medians differ by so much are not equal within a threshold.
const FAR: f64 = 1.25;

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
        all.extend(methods.answers.iter().filter_map(|answer| against_cost(answer, methods, results)));
    }
    all
}

/// The method that costs less does so by the medians of the trials at the load at which costs are compared.
fn against_cost(answer: &FigureAnswer, methods: &ComparedMethods, results: &Results) -> Option<String> {
    let costs = [&methods.then, &methods.now].map(|name| {
        let of_method = results.trials.iter().filter(|trial| {
            matches!(trial.phase, Phase::CommonLoad | Phase::FixedLoad)
                && trial.profile.method.to_string() == *name
        });
        of_method.filter_map(TrialResult::total_ns_per_packet).collect::<Vec<f64>>()
    });
    if answer.measure != Measure::TotalCost || costs.iter().any(Vec::is_empty) {
        return None;
    }
    let [then, now] = costs.map(median);
    let is_wrong = match answer.known {
        KnownChange::Better => now > ABOUT * then,
        KnownChange::Worse => then > ABOUT * now,
        KnownChange::Equal => now > FAR * then || then > FAR * now,
        _ => false,
    };
    is_wrong.then(|| format!("the medians are {then:.0} and {now:.0} ns"))
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
