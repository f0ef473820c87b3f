//! NDR, PDR and the rate sustained without any loss; the limit; unsettled goals.

mod findings;
use crate::results::Results;
use capbench_plan::search::{self, Bound, GoalResult, Held, SearchOutcome, Status};

use super::sentence;
use crate::groups::{grouped, of_search};
use crate::model::Sentence;
use crate::naming::{list, rate, whole};

pub(super) use findings::find;

/// Most searches that are listed one by one; of more, the ends of the list.
const TOLD: usize = 4;

/// The numbers of each search, the limit, and unsettled goals.
pub(super) fn verdict(results: &Results) -> Vec<Sentence> {
    let searches = &results.searches;
    [rates(searches), limits(searches), unsettled(searches)].into_iter().flatten().collect()
}

pub(crate) fn goals(searches: &[SearchOutcome]) -> impl Iterator<Item = (&SearchOutcome, &GoalResult)> {
    searches.iter().flat_map(|search| search.goals.iter().map(move |goal| (search, goal)))
}

/// The related numbers of each search, or of the best and the worst.
fn rates(searches: &[SearchOutcome]) -> Option<Sentence> {
    let decided: Vec<&SearchOutcome> = searches.iter().filter(|search| search.method.is_some()).collect();
    if let Some(repeated) = repeated(&decided) {
        return Some(repeated);
    }
    let pps = |search: &&&SearchOutcome| search.numbers.ndr.pps.unwrap_or(0.0);
    let most = decided.iter().max_by(|a, b| pps(a).total_cmp(&pps(b)))?;
    let least = decided.iter().min_by(|a, b| pps(a).total_cmp(&pps(b)))?;
    let (told, of_many) = match decided.len() {
        all if all > TOLD => (vec![*most, *least], format!("; the other {} lie between", all - 2)),
        _ => (decided.clone(), String::new()),
    };
    let words: Vec<String> = told.iter().map(|search| numbers(search)).collect();
    let trials = told.iter().flat_map(|search| {
        let bounds = search.goals.iter().flat_map(|goal| [&goal.lower, &goal.upper]).flatten();
        let bounds = bounds.flat_map(|bound| bound.trials.clone());
        bounds.chain(search.numbers.strict_lossless.trials.clone())
    });
    Some(sentence(format!("{}{of_many}.", words.join("; ")), trials))
}

/// The spread of results of a set-up that was searched several times.
fn repeated(searches: &[&SearchOutcome]) -> Option<Sentence> {
    let owned: Vec<SearchOutcome> = searches.iter().map(|search| (*search).clone()).collect();
    let repeats = search::ranking::repeated(&owned);
    let told = || repeats.iter().take(TOLD);
    let words: Vec<String> = told()
        .map(|repeat| {
            let found = repeat.searches.saturating_sub(repeat.without);
            let care =
                [(repeat.coarser, "by fewer trials than it asks for"), (repeat.at_least, "held at least")];
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
    let trials = told().flat_map(|repeat| repeat.trials.clone());
    (!words.is_empty()).then(|| sentence(format!("{}.", words.join("; ")), trials))
}

/// The result of each goal, next to the rate sustained without any loss: on a noisy host one of them alone misleads.
fn numbers(search: &SearchOutcome) -> String {
    let mut words: Vec<String> =
        search.goals.iter().map(|result| format!("{} {}", said(&result.goal.name), found(result))).collect();
    words.push(format!("without any loss {}", held(&search.numbers.strict_lossless)));
    format!("{}: {}", of_search(search), words.join(", "))
}

/// NDR and PDR are written in capitals.
fn said(goal: &str) -> String {
    if matches!(goal, "ndr" | "pdr") { goal.to_uppercase() } else { goal.into() }
}

fn found(result: &GoalResult) -> String {
    let bounds = |lower: &Bound, upper: &Bound| {
        format!("between {} and {}", whole(lower.achieved_pps), rate(upper.intended_pps))
    };
    match (result.status, &result.lower, &result.upper) {
        (Status::Regular, Some(lower), _) => rate(lower.achieved_pps),
        (Status::AtLeast, Some(lower), _) => format!("at least {}", rate(lower.achieved_pps)),
        (_, Some(lower), Some(upper)) => bounds(lower, upper),
        (_, lower, upper) => match (&result.so_far, lower, upper) {
            (Some(so_far), ..) => {
                format!("{} by fewer trials than it asks for", bounds(&so_far.lower, &so_far.upper))
            }
            (None, Some(lower), _) => format!("above {}", rate(lower.achieved_pps)),
            (None, None, Some(upper)) => format!("below {}", rate(upper.intended_pps)),
            (None, None, None) => "not decided".into(),
        },
    }
}

fn held(held: &Held) -> String {
    match (held.pps, held.upper_pps) {
        (Some(pps), _) if held.at_least => format!("at least {}", rate(pps)),
        (Some(pps), _) => rate(pps),
        (None, Some(upper)) => format!("below {}", rate(upper)),
        (None, None) => "not decided".into(),
    }
}

/// The limit, from where the next load lost frames.
fn limits(searches: &[SearchOutcome]) -> Option<Sentence> {
    let limited = goals(searches).filter_map(|(search, goal)| {
        Some((goal.limit?.words(), search.method.clone().unwrap_or_default(), goal.upper.as_ref()?))
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
    let text = format!("What limits, by where frames were lost: {}.", words.join("; "));
    (!limits.is_empty()).then(|| sentence(text, trials))
}

fn unsettled(searches: &[SearchOutcome]) -> Option<Sentence> {
    let irregular: Vec<_> = goals(searches).filter(|(_, goal)| goal.status != Status::Regular).collect();
    let (search, first) = irregular.first()?;
    let reason = first.reason.as_ref().map_or_else(String::new, ToString::to_string);
    let more = if irregular.len() > 1 { "; the first: " } else { ": " };
    let text = format!(
        "{} of {} no regular result{more}{} of {}, {reason}.",
        irregular.len(),
        match goals(searches).count() {
            1 => "1 goal has".into(),
            all => format!("{all} goals have"),
        },
        first.goal.name,
        of_search(search)
    );
    let trials =
        irregular.iter().flat_map(|(_, goal)| goal.lower.iter().flat_map(|bound| bound.trials.clone()));
    Some(sentence(text, trials))
}
