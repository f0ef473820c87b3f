//! The words of `SearchAnswer`: what each method sustains, the limit, unsettled goals, and the spread of repeated searches.
//!
//! | file | words |
//! |---|---|
//! | `findings` | `SearchFinding`, the other facts about searches |
//! | `goals` | their clauses about goals: the limit, and the doubts about bounds |
//! | `numbers` | their clauses about NDR, PDR and loss events |
//! | `reasons` | why a result is not regular, and how a search ended |

mod findings;
mod goals;
mod numbers;
mod reasons;
#[cfg(test)]
mod tests;

use capbench_judge::finding::search::{
    FoundLoad, LimitOfMethods, SearchAnswer, SustainedLoads, UnsettledGoal,
};
use capbench_judge::search::ranking::Repeated;
use capbench_model::saved::SavedMethod;

use super::{Clause, first_clauses, with_trials};
use crate::model::Sentence;
use crate::naming::{self, list, many, percent, rate, rate_number};

pub(super) use findings::words;
pub(crate) use reasons::{after_colon, end_words, reason_words};

/// Up to this number of methods are listed.
const NAMED_METHODS: usize = 4;
/// Up to this number of goals without a regular result are listed.
const NAMED_UNSETTLED: usize = 2;

/// The sentence of an answer.
pub(super) fn answer(answer: &SearchAnswer) -> Sentence {
    match answer {
        SearchAnswer::Sustained(loads) => sustained(loads),
        SearchAnswer::Limits { limits } => limited_by(limits),
        SearchAnswer::Unsettled { goals } => unsettled(goals),
        SearchAnswer::Repeated { results } => repeated(results),
    }
}

/// What a goal allows: `without loss`.
pub(crate) fn goal_words(loss_ratio: f64) -> String {
    match loss_ratio {
        0.0 => "without loss".into(),
        ratio => format!("with up to {} loss", percent(ratio)),
    }
}

/// NDR and PDR are written in capitals.
pub(crate) fn goal_name(goal: &str) -> String {
    if matches!(goal, "ndr" | "pdr") { goal.to_uppercase() } else { goal.into() }
}

/// What the methods of the first set-up sustain by the first goal.
fn sustained(loads: &SustainedLoads) -> Sentence {
    let mut clauses = Vec::new();
    for (nth, found) in loads.methods.iter().enumerate() {
        let method = naming::method_name(found.method.as_ref());
        let text = match load_words(&found.load) {
            _ if nth == 0 => first_method(&method, &found.load, loads),
            Some(load) => format!("{method} {load}"),
            None => format!("{method} is not decided"),
        };
        clauses.push(Clause { text, trials: found.trials.clone() });
    }
    let other_set_ups = match loads.other_set_ups {
        0 => String::new(),
        number => format!("; {} in the table", many(number as u64, "other set-up is", "other set-ups are")),
    };
    let Sentence { text, trials } = first_clauses(&clauses, NAMED_METHODS);
    Sentence { text: format!("{}{other_set_ups}.", text.trim_end_matches('.')), trials }
}

/// The clause of the first method, with the goal and the set-up, which all methods share.
fn first_method(method: &str, load: &FoundLoad, loads: &SustainedLoads) -> String {
    let mut goal_and_set_up = vec![goal_words(loads.loss_ratio)];
    goal_and_set_up.extend(naming::set_up_words(&loads.set_up));
    let scene = goal_and_set_up.join(", ");
    if let FoundLoad::Below { pps } = load {
        return format!("{method} does not sustain {} ({scene})", rate(*pps));
    }
    if let FoundLoad::Undecided { reason } = load {
        return format!("It is not decided what {method} sustains ({scene}){}", after_colon(reason.as_ref()));
    }
    format!("{method} sustains {} ({scene})", load_words(load).unwrap_or_default())
}

/// What a search found, in words; `None` without a bound.
fn load_words(load: &FoundLoad) -> Option<String> {
    Some(match load {
        FoundLoad::Regular { pps } => rate(*pps),
        FoundLoad::AtLeast { pps } => format!("at least {}", rate(*pps)),
        FoundLoad::Between { lower_pps, upper_pps } => between(*lower_pps, *upper_pps),
        FoundLoad::BetweenByFewTrials { lower_pps, upper_pps } => {
            format!("{}, with fewer trials than the goal asks for", between(*lower_pps, *upper_pps))
        }
        FoundLoad::Below { pps } => format!("below {}", rate(*pps)),
        FoundLoad::Undecided { .. } => return None,
    })
}

fn between(lower_pps: f64, upper_pps: f64) -> String {
    format!("between {} and {}", rate_number(lower_pps), rate(upper_pps))
}

/// The spread of results of each set-up that was searched several times.
fn repeated(set_ups: &[Repeated]) -> Sentence {
    let mut clauses = Vec::new();
    let mut trials = Vec::new();
    for repeated in set_ups.iter().take(NAMED_METHODS) {
        clauses.push(spread(repeated));
        trials.extend(&repeated.trials);
    }
    with_trials(format!("{}.", clauses.join("; ")), trials)
}

/// The median of a set-up's results, and from where to where they reach.
fn spread(repeated: &Repeated) -> String {
    let searches = match repeated.with_bound() {
        1 => format!("in 1 of {} searches", repeated.searches),
        searches_with_bound => format!(
            "in the median of {searches_with_bound} of {} searches, from {} to {}",
            repeated.searches,
            rate_number(repeated.least_pps),
            rate_number(repeated.most_pps)
        ),
    };
    let mut weaker_results = Vec::new();
    if repeated.coarser > 0 {
        weaker_results.push(format!("{} with fewer trials than the goal asks for", repeated.coarser));
    }
    if repeated.at_least > 0 {
        weaker_results.push(format!("{} a lower bound only", repeated.at_least));
    }
    let in_brackets = match weaker_results.is_empty() {
        true => String::new(),
        false => format!(" ({})", weaker_results.join(", ")),
    };
    let median = rate(repeated.lower_pps.median);
    format!("{} of {} is {median} {searches}{in_brackets}", goal_name(&repeated.goal), repeated.method)
}

/// The limits, from where the next load lost frames.
fn limited_by(limits: &[LimitOfMethods]) -> Sentence {
    let mut clauses = Vec::new();
    let mut trials = Vec::new();
    for LimitOfMethods { limit, methods, trials: upper_bound_trials } in limits {
        let methods: Vec<String> = methods.iter().map(method_or_empty).collect();
        clauses.push(format!("{} ({})", limit.words(), list(&methods)));
        trials.extend(upper_bound_trials);
    }
    with_trials(format!("Limited by {}.", clauses.join("; ")), trials)
}

/// The method; empty for a search without a trial.
fn method_or_empty(method: &Option<SavedMethod>) -> String {
    method.as_ref().map(ToString::to_string).unwrap_or_default()
}

/// Goals without a regular result, and why.
fn unsettled(goals: &[UnsettledGoal]) -> Sentence {
    let mut clauses = Vec::new();
    for goal in goals {
        let load = match goal.at_least_pps {
            Some(pps) => format!("at least {}", rate(pps)),
            None => "not settled".into(),
        };
        let reason = after_colon(goal.reason.as_ref());
        let text =
            format!("{} of {} is {load}{reason}", goal_name(&goal.goal), naming::search_words(&goal.set_up));
        clauses.push(Clause { text, trials: goal.trials.clone() });
    }
    first_clauses(&clauses, NAMED_UNSETTLED)
}
