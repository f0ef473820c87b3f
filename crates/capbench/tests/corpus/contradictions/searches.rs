//! What searches are said to sustain, against the searches and their trials.

use super::{limits, median, trials_of};
use crate::imports::{
    Finding, FoundLoad, GoalFact, GoalResult, Limit, LowestLoad, MaximumSource, MethodLoad, Phase, Reason,
    Results, SearchAnswer, SearchFinding, SearchOutcome, SustainedLoads, TrialResult, buffered_frames,
};

pub fn in_answer(answer: &SearchAnswer, results: &Results) -> Vec<String> {
    let mut all = Vec::new();
    match answer {
        SearchAnswer::Sustained(loads) => {
            for method in &loads.methods {
                all.extend(against_load(method, loads, results));
            }
            all.extend(against_order(loads));
        }
        SearchAnswer::Limits { limits } => {
            for limit in limits {
                let together = together(results, |search| limit.methods.contains(&search.method));
                let mut trials = trials_of(results, &limit.trials);
                if limit.limit == Limit::Generator {
                    trials.retain(|trial| !is_all_that_is_sent(trial, results));
                }
                all.extend(limits::against(limit.limit, &trials, together));
            }
        }
        SearchAnswer::Unsettled { .. } | SearchAnswer::Repeated { .. } => {}
    }
    all
}

pub fn in_finding(fact: &SearchFinding, finding: &Finding, results: &Results) -> Vec<String> {
    match fact {
        SearchFinding::Goals { set_up, shows: GoalFact::Losses(losses), .. } => {
            let Some(limit) = losses.limit else { return Vec::new() };
            let mut trials = trials_of(results, &finding.trials);
            trials.retain(|trial| trial.intended_pps == Some(losses.at_pps));
            let together = together(results, |search| search.method == set_up.method);
            limits::against(limit, &trials, together).into_iter().collect()
        }
        SearchFinding::Numbers { set_up, strict_lossless, lowest_load, .. } => {
            let of_set_up = results.searches.iter().find(|search| {
                search.method == set_up.method
                    && search.frame_size == set_up.frame_size
                    && search.placement == set_up.placement
                    && search.nth == set_up.nth
            });
            let Some(search) = of_set_up else { return Vec::new() };
            let contradiction = match (strict_lossless.pps, strict_lossless.upper_pps) {
                (Some(pps), _) => against_lossless_load(pps, search, results),
                (None, Some(pps)) => against_lowest_load(pps, *lowest_load, search, results),
                (None, None) => None,
            };
            contradiction.into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a trial is one of a search that sustains the highest load that the generator sends.
fn is_all_that_is_sent(trial: &TrialResult, results: &Results) -> bool {
    let mut goals = results.searches.iter().flat_map(|search| &search.goals);
    goals.any(|goal| {
        let sends_no_more = goal.reason == Some(Reason::MaximumLoad { limit: MaximumSource::Generator });
        sends_no_more && goal.lower.as_ref().is_some_and(|lower| lower.trials.contains(&trial.number))
    })
}

/// Frames that the first of the selected searches sends at once.
fn together(results: &Results, is_selected: impl Fn(&SearchOutcome) -> bool) -> u32 {
    results.searches.iter().find(|search| is_selected(search)).map_or(1, |search| search.plan.burst_frames)
}

/// The searches of a method in the set-up of an answer, with the goal of the answer.
fn searches_of<'r>(
    method: &MethodLoad,
    loads: &SustainedLoads,
    results: &'r Results,
) -> Vec<(&'r SearchOutcome, &'r GoalResult)> {
    let first = results.searches.iter().find_map(|search| search.goals.first());
    let Some(first) = first else { return Vec::new() };
    let mut found = Vec::new();
    for search in &results.searches {
        let is_of_set_up = search.method == method.method
            && search.frame_size == loads.set_up.frame_size
            && search.placement == loads.set_up.placement
            && search.work == loads.set_up.work;
        let goal = search.goals.iter().find(|goal| goal.goal.name == first.goal.name);
        if let Some(goal) = goal.filter(|_| is_of_set_up) {
            found.push((search, goal));
        }
    }
    found
}

/// Several searches have a median; a load without loss is a bound.
fn against_load(method: &MethodLoad, loads: &SustainedLoads, results: &Results) -> Option<String> {
    let searches = searches_of(method, loads, results);
    let name = method.method.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut lower_pps = Vec::new();
    for (_, goal) in &searches {
        lower_pps.extend(goal.best_lower().map(|bound| bound.achieved_pps));
    }
    if searches.len() < 2 {
        let clean_pps = searches.first()?.0.numbers.strict_lossless.pps?;
        let is_open = matches!(method.load, FoundLoad::Undecided { .. } | FoundLoad::Below { .. });
        return is_open.then(|| format!("nothing is said of {name}, but {clean_pps} packets/s had no loss"));
    }
    if lower_pps.is_empty() {
        let FoundLoad::Clean { pps, .. } = method.load else { return None };
        let is_clean_in_all =
            searches.iter().all(|(search, goal)| match search.numbers.strict_lossless.pps {
                Some(clean_pps) => clean_pps >= pps,
                None => matches!(FoundLoad::of_goal(goal), FoundLoad::Undecided { .. }),
            });
        return (!is_clean_in_all)
            .then(|| format!("{name} is said to be clean up to {pps}, and a search lost frames"));
    }
    let searched = searches.len();
    let median = median(lower_pps);
    match &method.load {
        FoundLoad::Repeated { lower_pps, searches, .. } => {
            let is_median = lower_pps.median == median && *searches as usize == searched;
            let low = lower_pps.low.unwrap_or(median);
            let high = lower_pps.high.unwrap_or(median);
            let has_interval = low <= median && median <= high;
            (!is_median || !has_interval)
                .then(|| format!("{name}: the median of {searched} searches is {median}"))
        }
        load => Some(format!("{name} is one of {searched} searches ({load:?}), whose median is {median}")),
    }
}

/// The order is that of the loads, and methods whose intervals overlap are not distinguished.
fn against_order(loads: &SustainedLoads) -> Option<String> {
    let [first, second, ..] = &loads.methods[..] else { return None };
    let (FoundLoad::Repeated { lower_pps: first, .. }, FoundLoad::Repeated { lower_pps: second, .. }) =
        (&first.load, &second.load)
    else {
        return None;
    };
    if first.median < second.median {
        return Some("the second method has the higher median".into());
    }
    let Some(place) = loads.first_place else {
        return Some("it is not said whether the searches distinguish the first two methods".into());
    };
    let do_overlap = first.low.zip(second.high).is_none_or(|(low, high)| low <= high);
    (place.is_distinguished && do_overlap).then(|| "the intervals of the first two methods overlap".into())
}

/// No trial of the search up to a load lost frames.
fn against_lossless_load(pps: f64, search: &SearchOutcome, results: &Results) -> Option<String> {
    let trials = trials_of(results, &search.trials);
    let lossy = trials.iter().find(|trial| {
        trial.phase == Phase::Search
            && trial.lost() > 0
            && trial.intended_pps.is_some_and(|intended_pps| intended_pps <= pps)
    });
    lossy.map(|trial| format!("trial {} lost frames at {:?} packets/s", trial.number, trial.intended_pps))
}

/// That no load is without loss: the trials at the lowest one.
fn against_lowest_load(
    pps: f64,
    said: Option<LowestLoad>,
    search: &SearchOutcome,
    results: &Results,
) -> Option<String> {
    let mut trials = trials_of(results, &search.trials);
    trials.retain(|trial| trial.intended_pps == Some(pps) && trial.phase == Phase::Search);
    let clean = trials.iter().filter(|trial| is_clean(trial, search.plan.burst_frames)).count();
    let said_clean = said.map_or(0, |lowest| lowest.clean as usize);
    (clean != said_clean).then(|| {
        format!(
            "{clean} of {} trials at {pps} packets/s sent and delivered every frame, not {said_clean}",
            trials.len()
        )
    })
}

fn is_clean(trial: &TrialResult, together: u32) -> bool {
    trial.lost() == 0 && trial.shortfall() == 0 && buffered_frames(trial, together) == 0
}
