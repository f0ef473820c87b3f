//! The words of `SearchAnswer`: what each method sustains, the limit, unsettled goals, and the spread of repeated searches.
//!
//! | file | words |
//! |---|---|
//! | `findings` | `SearchFinding`, the other facts about searches |
//! | `goals` | clauses of findings about goals: the limit, and the doubts about bounds |
//! | `numbers` | clauses of findings about NDR, PDR and loss events |
//! | `reasons` | why a result is not regular, and how a search ended |
//! | `warnings` | doubts about a search |
//! | `goal_help` | the keys of a goal, and its attributes |

mod findings;
pub mod goal_help;
mod goals;
mod numbers;
mod reasons;
#[cfg(test)]
mod tests;
pub(crate) mod warnings;

use capbench_judge::finding::search::{
    FoundLoad, LimitOfMethods, LimitedSearches, MethodLoad, SearchAnswer, SustainedLoads, UnsettledGoal,
};
use capbench_judge::search::ranking::Repeated;
use capbench_statistics::interval::Estimate;

use super::{Clause, first_clauses, joined_clauses, limits, with_trials};
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
        SearchAnswer::Repeated { results } => spreads(results),
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
        let text = if nth == 0 { first_method(found, loads) } else { further_method(found) };
        clauses.push(Clause { text, trials: found.trials.clone() });
    }
    let other_set_ups = match loads.other_set_ups {
        0 => String::new(),
        number => format!("; {} in the table", many(number as u64, "other set-up is", "other set-ups are")),
    };
    let Clause { text, trials } = joined_clauses(&clauses, NAMED_METHODS);
    let first_place = first_place_words(loads);
    with_trials(format!("{text}{first_place}{other_set_ups}."), trials)
}

/// That the first two methods are not distinguished, and how many searches can do it; empty if they are.
fn first_place_words(loads: &SustainedLoads) -> String {
    let (Some(place), [first, second, ..]) = (loads.first_place, &loads.methods[..]) else {
        return String::new();
    };
    if place.is_distinguished {
        return String::new();
    }
    let first = naming::method_name(first.method.as_ref());
    let second = naming::method_name(second.method.as_ref());
    let next = match place.needed_searches {
        Some(searches) => format!(" (`--searches {searches}` can)"),
        None => String::new(),
    };
    format!("; these searches do not distinguish {first} and {second}{next}")
}

/// The clause of the first method, with the goal and the set-up, which all methods share.
fn first_method(found: &MethodLoad, loads: &SustainedLoads) -> String {
    let mut parts = vec![goal_words(loads.loss_ratio)];
    parts.extend(naming::set_up_words(&loads.set_up));
    let goal_and_set_up = parts.join(", ");
    let method = naming::method_name(found.method.as_ref());
    match &found.load {
        FoundLoad::Below { pps } => format!("{method} does not sustain {} ({goal_and_set_up})", rate(*pps)),
        FoundLoad::Undecided { reason } => {
            let reason = after_colon(reason.as_ref());
            format!("It is not decided what {method} sustains ({goal_and_set_up}){reason}")
        }
        FoundLoad::Clean { upper_pps, reason, .. } => {
            let open = match upper_pps {
                Some(_) => "",
                None => ", and no higher load is decided",
            };
            format!(
                "{method} lost nothing {}{open} ({goal_and_set_up}){}",
                load_words(&found.load).unwrap_or_default(),
                after_colon(reason.as_ref())
            )
        }
        load => format!("{method} sustains {} ({goal_and_set_up})", load_words(load).unwrap_or_default()),
    }
}

/// The clause of a method after the first one.
fn further_method(found: &MethodLoad) -> String {
    let method = naming::method_name(found.method.as_ref());
    match load_words(&found.load) {
        Some(load) => format!("{method} {load}"),
        None => format!("{method} is not decided"),
    }
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
        FoundLoad::Clean { pps, seconds, upper_pps, .. } => {
            let not_sustained = match upper_pps {
                Some(upper_pps) => format!(", and does not sustain {}", rate(*upper_pps)),
                None => String::new(),
            };
            format!("up to {}, in {} of trials{not_sustained}", rate(*pps), naming::time(*seconds))
        }
        FoundLoad::Repeated { lower_pps, searches, at_least, without, is_end_open } => median_words(
            lower_pps,
            *searches,
            *without,
            interval_words(lower_pps, *is_end_open),
            *at_least > 0,
        ),
        FoundLoad::Below { pps } => format!("below {}", rate(*pps)),
        FoundLoad::Undecided { .. } => return None,
    })
}

/// The interval of a median of lower bounds; `None` without one. The end of an open one can be higher.
fn interval_words(lower_pps: &Estimate, is_end_open: bool) -> Option<String> {
    let (low, high) = lower_pps.low.zip(lower_pps.high)?;
    let end = if is_end_open { "at least " } else { "" };
    Some(format!(
        "with {:.0} % confidence within {} to {end}{}",
        (lower_pps.level? * 100.0).floor(),
        rate_number(low.floor()),
        rate_number(high.floor())
    ))
}

/// The median of several searches, with its interval. `is_at_least`: whether one of them found no upper bound.
fn median_words(
    lower_pps: &Estimate,
    searches: u32,
    without: u32,
    interval: Option<String>,
    is_at_least: bool,
) -> String {
    let of_searches = match (searches - without, without) {
        (1, _) => format!("in 1 of {searches} searches"),
        (_, 0) => format!("the median of {searches} searches"),
        (with_bound, _) => format!("the median of {with_bound} of {searches} searches"),
    };
    let interval = interval.map_or_else(String::new, |interval| format!(", {interval}"));
    let head = if is_at_least { "at least " } else { "" };
    format!("{head}{}, {of_searches}{interval}", rate(lower_pps.median.floor()))
}

fn between(lower_pps: f64, upper_pps: f64) -> String {
    format!("between {} and {}", rate_number(lower_pps), rate(upper_pps))
}

/// The spread of results of each set-up that was searched several times.
fn spreads(set_ups: &[Repeated]) -> Sentence {
    let mut clauses = Vec::new();
    let mut trials = Vec::new();
    for set_up in set_ups.iter().take(NAMED_METHODS) {
        clauses.push(spread(set_up));
        trials.extend(&set_up.trials);
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
    let head = if repeated.at_least > 0 { "at least " } else { "" };
    format!("{} of {} is {head}{median} {searches}{in_brackets}", goal_name(&repeated.goal), repeated.method)
}

/// What limits methods. The places where the lowest unsustained load lost frames show the limit.
fn limited_by(limits: &[LimitOfMethods]) -> Sentence {
    let mut clauses = Vec::new();
    let mut trials = Vec::new();
    for LimitOfMethods { limit, methods, searches, trials: upper_bound_trials } in limits {
        let methods: Vec<String> =
            methods.iter().map(|method| naming::method_name(method.as_ref())).collect();
        let share = match searches {
            Some(LimitedSearches { limited, all }) if limited < all => {
                format!(", in {limited} of {all} searches")
            }
            _ => String::new(),
        };
        clauses.push(format!("{} ({}{share})", limits::words(*limit), list(&methods)));
        trials.extend(upper_bound_trials);
    }
    with_trials(format!("Limited by {}.", clauses.join("; ")), trials)
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
