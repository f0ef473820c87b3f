//! What each method sustains; the limit; unsettled goals; repeated searches.

mod findings;
use capbench_judge::search::{Bound, GoalResult, SearchOutcome, Status, ranking};
use capbench_model::saved::{SavedPlacement, SavedWork};
use capbench_results::Results;

use super::{first_of, sentence};
use crate::groups::{self, grouped, of_search};
use crate::model::Sentence;
use crate::naming::{list, many, percent, rate, whole};

pub(super) use findings::find;

/// Most methods that are listed one by one.
const NAMED: usize = 4;
/// Most goals without a regular result that are listed one by one.
const NAMED_UNSETTLED: usize = 2;

/// What each method sustains, best first; then the limit, unsettled goals and the spread of repeated searches.
pub(super) fn answers(results: &Results) -> Vec<Sentence> {
    let searches = &results.searches;
    let repeated = repeated(searches);
    [sustained(searches), limits(searches), unsettled(searches), repeated].into_iter().flatten().collect()
}

pub(crate) fn goals(searches: &[SearchOutcome]) -> impl Iterator<Item = (&SearchOutcome, &GoalResult)> {
    searches.iter().flat_map(|search| search.goals.iter().map(move |goal| (search, goal)))
}

/// The goals of searches in the order of a ranking: by set-up and goal, the highest rate first.
pub(crate) fn ranked(searches: &[SearchOutcome]) -> Vec<(&SearchOutcome, &GoalResult)> {
    let key = |(search, goal): &(&SearchOutcome, &GoalResult)| (set_up(search), goal.goal.name.clone());
    let mut groups = grouped(goals(searches), key);
    let pps = |goal: &GoalResult| goal.best_bounds().map_or(0.0, |(lower, _)| lower.achieved_pps);
    let pps = |goal: &GoalResult| goal.lower.as_ref().map_or(pps(goal), |lower| lower.achieved_pps);
    for (_, group) in &mut groups {
        group.sort_by(|a, b| pps(b.1).total_cmp(&pps(a.1)));
    }
    groups.into_iter().flat_map(|(_, group)| group).collect()
}

/// What a goal allows: `without loss`.
pub(crate) fn goal_words(goal: &GoalResult) -> String {
    match goal.goal.loss_ratio.get() {
        0.0 => "without loss".into(),
        ratio => format!("with up to {} loss", percent(ratio)),
    }
}

fn set_up(search: &SearchOutcome) -> (Option<String>, Option<SavedPlacement>, Option<SavedWork>) {
    let size = search.frame_size.as_ref().map(ToString::to_string);
    (size, search.placement.clone(), search.work.clone())
}

/// What the methods of the first set-up sustain by the first goal.
fn sustained(searches: &[SearchOutcome]) -> Option<Sentence> {
    let ranked = ranked(searches);
    let (first, goal) = *ranked.first()?;
    let is_same = |(search, own): &&(&SearchOutcome, &GoalResult)| {
        set_up(search) == set_up(first) && own.goal.name == goal.goal.name
    };
    let by = [vec![goal_words(goal)], groups::set_up(first)].concat();
    let mut known: Vec<String> = Vec::new();
    let mut words: Vec<(String, Vec<u32>)> = Vec::new();
    for (search, own) in ranked.iter().filter(is_same) {
        let method = groups::name_of(search);
        if known.contains(&method) {
            continue;
        }
        known.push(method.clone());
        let is_below = own.lower.is_none() && own.so_far.is_none() && own.upper.is_some();
        let is_first = words.is_empty();
        let what = match (is_first, is_below, &own.upper, found(own)) {
            (true, true, Some(upper), _) => format!("{method} does not sustain {}", rate(upper.intended_pps)),
            (true, .., Some(found)) => format!("{method} sustains {found}"),
            (true, .., None) => format!("It is not decided what {method} sustains"),
            (false, .., Some(found)) => format!("{method} {found}"),
            (false, .., None) => format!("{method} is not decided"),
        };
        let scene = if is_first { format!(" ({})", by.join(", ")) } else { String::new() };
        let reason = own.reason.as_ref().filter(|_| is_first && found(own).is_none());
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        words.push((format!("{what}{scene}{reason}"), own.trials()));
    }
    let others = grouped(ranked.iter(), |(search, _)| set_up(search)).len() - 1;
    let others = match others {
        0 => String::new(),
        others => format!("; {} in the table", many(others as u64, "other set-up is", "other set-ups are")),
    };
    let Sentence { text, trials } = first_of(&words, NAMED)?;
    Some(Sentence { text: format!("{}{others}.", text.trim_end_matches('.')), trials })
}

/// The spread of results of a set-up that was searched several times.
fn repeated(searches: &[SearchOutcome]) -> Option<Sentence> {
    let repeats = ranking::repeated(searches);
    let first = || repeats.iter().take(NAMED);
    let words: Vec<String> = first()
        .map(|repeat| {
            let found = repeat.searches.saturating_sub(repeat.without);
            let care = [
                (repeat.coarser, "with fewer trials than the goal asks for"),
                (repeat.at_least, "a lower bound only"),
            ];
            let care = care.iter().filter(|(count, _)| *count > 0);
            let care: Vec<String> = care.map(|(count, words)| format!("{count} {words}")).collect();
            let care = if care.is_empty() { String::new() } else { format!(" ({})", care.join(", ")) };
            let spread = match found {
                1 => format!("in 1 of {} searches", repeat.searches),
                _ => format!(
                    "in the median of {found} of {} searches, from {} to {}",
                    repeat.searches,
                    whole(repeat.least_pps),
                    whole(repeat.most_pps)
                ),
            };
            let pps = rate(repeat.lower_pps.median);
            format!("{} of {} is {pps} {spread}{care}", said(&repeat.goal), repeat.method)
        })
        .collect();
    let trials = first().flat_map(|repeat| repeat.trials.clone());
    (!words.is_empty()).then(|| sentence(format!("{}.", words.join("; ")), trials))
}

/// NDR and PDR are written in capitals.
pub(crate) fn said(goal: &str) -> String {
    if matches!(goal, "ndr" | "pdr") { goal.to_uppercase() } else { goal.into() }
}

/// The bounds of a goal in words; `None` without a bound.
fn found(result: &GoalResult) -> Option<String> {
    let bounds = |lower: &Bound, upper: &Bound| {
        format!("between {} and {}", whole(lower.achieved_pps), rate(upper.intended_pps))
    };
    Some(match (result.status, &result.lower, &result.upper) {
        (Status::Regular, Some(lower), _) => rate(lower.achieved_pps),
        (Status::AtLeast, Some(lower), _) => format!("at least {}", rate(lower.achieved_pps)),
        (_, Some(lower), Some(upper)) => bounds(lower, upper),
        (_, lower, upper) => match (&result.so_far, lower, upper) {
            (Some(so_far), ..) => {
                format!("{}, with fewer trials than the goal asks for", bounds(&so_far.lower, &so_far.upper))
            }
            (None, Some(lower), _) => format!("at least {}", rate(lower.achieved_pps)),
            (None, None, Some(upper)) => format!("below {}", rate(upper.intended_pps)),
            (None, None, None) => return None,
        },
    })
}

/// The limit, from where the next load lost frames.
fn limits(searches: &[SearchOutcome]) -> Option<Sentence> {
    let limited = goals(searches).filter_map(|(search, goal)| {
        Some((
            goal.limit?.words(),
            search.method.as_ref().map(ToString::to_string).unwrap_or_default(),
            goal.upper.as_ref()?,
        ))
    });
    let limits = grouped(limited, |(words, ..)| words.clone());
    let of = |(words, group): &(String, Vec<(String, String, &Bound)>)| {
        let methods = grouped(group, |(_, method, _)| method.as_str());
        let methods: Vec<&str> = methods.into_iter().map(|(method, _)| method).collect();
        format!("{words} ({})", list(&methods))
    };
    let words: Vec<String> = limits.iter().map(of).collect();
    let bounds = limits.iter().flat_map(|(_, group)| group.iter().map(|(.., bound)| bound));
    let trials = bounds.flat_map(|bound| bound.trials.iter().copied());
    let text = format!("Limited by {}.", words.join("; "));
    (!limits.is_empty()).then(|| sentence(text, trials))
}

fn unsettled(searches: &[SearchOutcome]) -> Option<Sentence> {
    // The verdict is about goals without a bound.
    let has_bound = |goal: &GoalResult| goal.status != Status::Regular && found(goal).is_some();
    let unsettled = goals(searches).filter(|(_, goal)| has_bound(goal));
    let words = unsettled.map(|(search, goal)| {
        let is = match (goal.status, &goal.lower) {
            (Status::AtLeast, Some(lower)) => format!("at least {}", rate(lower.achieved_pps)),
            _ => "not settled".into(),
        };
        let reason = goal.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
        let trials = goal.lower.iter().flat_map(|bound| bound.trials.clone()).collect();
        (format!("{} of {} is {is}{reason}", said(&goal.goal.name), of_search(search)), trials)
    });
    first_of(&words.collect::<Vec<_>>(), NAMED_UNSETTLED)
}
