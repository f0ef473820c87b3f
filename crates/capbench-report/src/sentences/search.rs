//! The words of searches: what each method sustains; the limit; unsettled goals; repeated searches.
//!
//! | file | about |
//! |---|---|
//! | `findings` | facts about searches, a sentence each |
//! | `reasons` | how a search ended; why a result is not regular |
//! | `goals`, `numbers` | clauses of these sentences: a goal's limit and doubts; NDR, PDR and loss events |

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

use super::{first_of, sentence};
use crate::groups;
use crate::model::Sentence;
use crate::naming::{list, many, percent, rate, whole};

pub(super) use findings::words;
pub(crate) use reasons::{after_colon, end_words, reason_words};

/// Most methods that are listed one by one.
const NAMED: usize = 4;
/// Most goals without a regular result that are listed one by one.
const NAMED_UNSETTLED: usize = 2;

/// The sentence of an answer.
pub(super) fn answer(answer: &SearchAnswer) -> Sentence {
    match answer {
        SearchAnswer::Sustained(loads) => sustained(loads),
        SearchAnswer::Limits { limits: found } => limits(found),
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
    let mut words = Vec::new();
    for (nth, found) in loads.methods.iter().enumerate() {
        let method = groups::method_name(found.method.as_ref());
        let text = match nth {
            0 => first_method(&method, &found.load, loads),
            _ => match load_words(&found.load) {
                Some(load) => format!("{method} {load}"),
                None => format!("{method} is not decided"),
            },
        };
        words.push((text, found.trials.clone()));
    }
    let further = match loads.other_set_ups {
        0 => String::new(),
        others => format!("; {} in the table", many(others as u64, "other set-up is", "other set-ups are")),
    };
    let Sentence { text, trials } = first_of(&words, NAMED);
    Sentence { text: format!("{}{further}.", text.trim_end_matches('.')), trials }
}

/// The first method's clause, with the goal and the set-up of all of them.
fn first_method(method: &str, load: &FoundLoad, loads: &SustainedLoads) -> String {
    let mut scene = vec![goal_words(loads.loss_ratio)];
    scene.extend(groups::set_up_words(&loads.set_up));
    let scene = scene.join(", ");
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
    format!("between {} and {}", whole(lower_pps), rate(upper_pps))
}

/// The spread of results of a set-up that was searched several times.
fn repeated(all: &[Repeated]) -> Sentence {
    let mut words = Vec::new();
    let mut trials = Vec::new();
    for repeated in all.iter().take(NAMED) {
        words.push(spread(repeated));
        trials.extend(repeated.trials.iter().copied());
    }
    sentence(format!("{}.", words.join("; ")), trials)
}

fn spread(repeated: &Repeated) -> String {
    let searches = match repeated.with_bound() {
        1 => format!("in 1 of {} searches", repeated.searches),
        found => format!(
            "in the median of {found} of {} searches, from {} to {}",
            repeated.searches,
            whole(repeated.least_pps),
            whole(repeated.most_pps)
        ),
    };
    let mut care = Vec::new();
    if repeated.coarser > 0 {
        care.push(format!("{} with fewer trials than the goal asks for", repeated.coarser));
    }
    if repeated.at_least > 0 {
        care.push(format!("{} a lower bound only", repeated.at_least));
    }
    let care = if care.is_empty() { String::new() } else { format!(" ({})", care.join(", ")) };
    let pps = rate(repeated.lower_pps.median);
    format!("{} of {} is {pps} {searches}{care}", goal_name(&repeated.goal), repeated.method)
}

/// The limits, from where the next load lost frames.
fn limits(limits: &[LimitOfMethods]) -> Sentence {
    let mut words = Vec::new();
    let mut trials = Vec::new();
    for found in limits {
        let methods: Vec<String> = found.methods.iter().map(known_name).collect();
        words.push(format!("{} ({})", found.limit.words(), list(&methods)));
        trials.extend(found.trials.iter().copied());
    }
    sentence(format!("Limited by {}.", words.join("; ")), trials)
}

/// The method; empty for a search without a trial.
fn known_name(method: &Option<SavedMethod>) -> String {
    method.as_ref().map(ToString::to_string).unwrap_or_default()
}

fn unsettled(goals: &[UnsettledGoal]) -> Sentence {
    let mut words = Vec::new();
    for goal in goals {
        let load = match goal.at_least_pps {
            Some(pps) => format!("at least {}", rate(pps)),
            None => "not settled".into(),
        };
        let reason = after_colon(goal.reason.as_ref());
        let text =
            format!("{} of {} is {load}{reason}", goal_name(&goal.goal), groups::search_words(&goal.set_up));
        words.push((text, goal.trials.clone()));
    }
    first_of(&words, NAMED_UNSETTLED)
}
