//! Searches: their trials, load against loss, with the bounds that follow; and how far bounds lie apart over searches and set-ups.

use capbench_measure::results::Results;
use capbench_measure::search::{SearchOutcome, Status};
use capbench_measure::trial::TrialResult;

use super::parts::{chart, grouped, is_known, keep_few, linear, names, point, section, sentence, series};
use crate::figures;
use crate::model::{Chart, Kind, Mark, Place, Point, Role, Section, Series, Unit};
use crate::naming::{self, Numbered, frames, intended_or_offered};

/// What bounds are.
pub(crate) const BOUNDS: &str =
    "A lower bound is held, an upper bound is not; the words are those of RFC 9971.";
/// How a chart of bounds is read.
const BARS: &str = "A bar reaches from a lower bound, a load that is held, to the upper bound of the same search, one that is not. What \
                    lies between was not tried, or not for long enough. Searches of one set-up that lie apart by more than their \
                    bars show how far a result can be repeated on this host.";
/// Trials that lost nothing because what was not taken found room.
const BUFFERED: &str = "nothing lost, only because there was room";
/// Trials whose generator did not reach the load: what was not sent counts as lost, and is no loss of the method.
const UNSENT: &str = "generator left frames unsent";

pub(super) fn sections(results: &Results) -> Vec<Section> {
    let trials = Numbered::of(results);
    let mut charts = bounds(results);
    charts.iter_mut().for_each(|chart| chart.notes.push(BARS.into()));
    let set_up = |search: &&SearchOutcome| {
        (search.method.clone(), search.placement.clone(), search.frame_size.clone(), search.work.clone())
    };
    let mut of_trials: Vec<Chart> = grouped(naming::compared_searches(results), set_up)
        .into_iter()
        .filter_map(|(_, searches)| trials_of(&searches, &trials))
        .collect();
    let more = keep_few(&mut of_trials);
    charts.extend(of_trials);
    charts.retain(is_known);
    if charts.is_empty() {
        return Vec::new();
    }
    let mut section = section("searches", "Searches", charts);
    section.text.push(sentence(BOUNDS, Vec::new()));
    let buffered: Vec<u32> = naming::compared_searches(results)
        .iter()
        .filter_map(|search| search.buffered.as_ref())
        .flat_map(|found| found.trials.iter().copied())
        .collect();
    if !buffered.is_empty() {
        section.text.push(sentence(
            "Some trials lost nothing only because there was room for what was not taken: a longer trial at their load loses frames, so \
             their load counts as not held.",
            buffered,
        ));
    }
    section.text.extend(more);
    vec![section]
}

/// Bounds of every search, a chart for each goal: by set-up, a point for each search.
fn bounds(results: &Results) -> Vec<Chart> {
    let mut goals: Vec<&str> = Vec::new();
    for goal in naming::compared_searches(results).iter().flat_map(|search| &search.goals) {
        if !goals.contains(&goal.goal.name.as_str()) {
            goals.push(&goal.goal.name);
        }
    }
    goals.into_iter().map(|goal| of_goal(results, goal)).collect()
}

/// Where, method aside, a search ran.
fn scene(search: &SearchOutcome) -> String {
    let size = search.frame_size.as_ref().map_or_else(|| "unknown frames".into(), frames);
    let placement = search.placement.as_deref().unwrap_or("unknown");
    format!("{size}, {}", naming::place(placement, search.work.as_deref().unwrap_or("unknown")))
}

fn of_goal(results: &Results, goal: &str) -> Chart {
    let known = naming::compared_searches(results).iter().filter(|search| search.method.is_some());
    let scenes: Vec<String> =
        grouped(known.clone(), |search| scene(search)).into_iter().map(|(scene, _)| scene).collect();
    let mut at_least = Vec::new();
    let lines: Vec<Series> = grouped(known, |search| search.method.clone().unwrap_or_default())
        .into_iter()
        .map(|(method, searches)| {
            let mut points = Vec::new();
            for search in &searches {
                let x = scenes.iter().position(|known| *known == scene(search)).unwrap_or(0) as f64;
                if is_at_least(search, goal) {
                    at_least.push(name(search, &method));
                }
                points.push(bound(x, search, goal));
            }
            series(method, Role::Method, points)
        })
        .collect();
    let spread = spread_out(lines);
    let title = format!("Bounds by goal {goal}, a point for each search");
    let y = linear("Bounds", Unit::PacketsPerSecond);
    let mut chart = chart(&format!("bounds-{goal}"), title, Kind::Points, names("Set-up", scenes), y, spread);
    chart.notes.push("Points are lower bounds, bars reach up to the upper ones.".into());
    if !at_least.is_empty() {
        at_least.dedup();
        chart.notes.push(format!(
            "Held at least, as the generator, the link or the load given was the limit: {}.",
            at_least.join("; ")
        ));
    }
    chart
}

fn name(search: &SearchOutcome, method: &str) -> String {
    match search.nth {
        Some(nth) => format!("{method}, search {nth}, {}", scene(search)),
        None => format!("{method}, {}", scene(search)),
    }
}

fn is_at_least(search: &SearchOutcome, goal: &str) -> bool {
    search.goals.iter().any(|result| result.goal.name == goal && result.status == Status::AtLeast)
}

fn bound(x: f64, search: &SearchOutcome, goal: &str) -> Point {
    let result = search.goals.iter().find(|result| result.goal.name == goal);
    let lower = result.and_then(|result| result.lower.as_ref());
    let upper = result.and_then(|result| result.upper.as_ref());
    let interval = lower.zip(upper).map(|(lower, upper)| [lower.achieved_pps, upper.intended_pps]);
    let trials = lower.into_iter().chain(upper).flat_map(|bound| bound.trials.iter().copied()).collect();
    Point { interval, ..point(x, lower.map(|bound| bound.achieved_pps), trials) }
}

/// Points of one set-up beside each other, so that none hides another: methods in their order, searches in theirs.
fn spread_out(mut lines: Vec<Series>) -> Vec<Series> {
    let mut places: Vec<f64> = lines.iter().flat_map(|line| &line.points).map(|point| point.x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    for place in places {
        let all = lines.iter().flat_map(|line| &line.points).filter(|point| point.x == place).count();
        let step = (0.7 / all as f64).min(0.12);
        let own = lines.iter_mut().flat_map(|line| &mut line.points).filter(|point| point.x == place);
        for (nth, point) in own.enumerate() {
            point.x += (nth as f64 - (all - 1) as f64 / 2.0) * step;
        }
    }
    lines
}

/// Trials of the searches of one set-up.
fn trials_of(searches: &[&SearchOutcome], trials: &Numbered<'_>) -> Option<Chart> {
    let first = searches.iter().find(|search| search.method.is_some())?;
    let method = first.method.clone()?;
    let buffered: Vec<u32> = searches
        .iter()
        .filter_map(|search| search.buffered.as_ref())
        .flat_map(|found| found.trials.iter().copied())
        .collect();
    let place = |trial: &TrialResult| point(intended_or_offered(trial), trial.loss_ratio, vec![trial.number]);
    let (mut lines, mut roomy, mut unsent) = (Vec::new(), Vec::new(), Vec::new());
    for search in searches {
        let mut shown = Vec::new();
        for trial in trials.sound(&search.trials) {
            let kind = if buffered.contains(&trial.number) {
                &mut roomy
            } else if trial.shortfall() > 0 {
                &mut unsent
            } else {
                &mut shown
            };
            kind.push(place(trial));
        }
        let name = search.nth.map_or_else(|| method.clone(), |nth| format!("{method}, search {nth}"));
        lines.push(series(name, Role::Method, shown));
    }
    for (name, points) in [(BUFFERED, roomy), (UNSENT, unsent)] {
        if !points.is_empty() {
            lines.push(series(name, Role::Account, points));
        }
    }
    let title = format!("Trials of the search: {method}, {}", scene(first));
    let x = linear("Intended load", Unit::PacketsPerSecond);
    let y = linear("Lost of the intended frames", Unit::Ratio);
    let mut chart = chart(&format!("search-{method}"), title, Kind::Points, x, y, lines);
    // Bounds of many searches would be a thicket: then the chart of bounds shows them.
    if let [one] = searches {
        for result in &one.goals {
            for (bound, which) in [(&result.lower, "held"), (&result.upper, "not held")] {
                let Some(bound) = bound else { continue };
                let label = format!("{} {which}", result.goal.name);
                chart.marks.push(Mark { label, at: Place::X(bound.intended_pps) });
            }
        }
    }
    if let Some(buffered) = first.buffered.as_ref() {
        let rate = |pps| figures::number(pps, Unit::PacketsPerSecond);
        chart.notes.push(format!(
            "From {} to {} packets/s trials lost nothing only because there was room; {} packets/s were taken.",
            rate(buffered.from_pps),
            rate(buffered.to_pps),
            rate(buffered.taken_pps)
        ));
    }
    Some(chart)
}
