//! Searches: their trials (load against loss) with the resulting bounds, and the spread of bounds over searches and set-ups.

use crate::tables::BOUNDS;
use capbench_judge::finding::search::SetUp;
use capbench_judge::search::{SearchOutcome, Status};
use capbench_model::saved::SavedMethod;
use capbench_model::trial::TrialResult;
use capbench_results::Results;

use super::parts::{
    self, Estimate, chart, grouped, keep_few, linear, names, point, resting_on, series, upright,
};
use crate::figures;
use crate::model::{Chart, Kind, Point, Role, Section, Series, Trials, Unit};
use crate::naming::{self, Numbered, intended_or_offered, search_words, set_up_words};
const BARS: &str = "A bar reaches from a lower bound, a load that was sustained, to the upper bound of the same search, one that was not. Loads between them were not tried, or not for long enough. Searches of one set-up that differ by more than their bars show how repeatable a result is on this host.";
/// Trials without loss only because buffers absorbed the backlog.
const BUFFERED: &str = "nothing lost only because buffers had room";
/// Trials whose generator did not reach the load: unsent frames count as lost but are no loss of the method.
const UNSENT: &str = "generator left frames unsent";

pub(super) fn section(results: &Results, trials: &Numbered<'_>) -> Option<Section> {
    let searches = naming::compared_searches(results);
    let mut of_trials: Vec<Chart> =
        by_set_up(results).into_iter().filter_map(|searches| trials_of(&searches, trials)).collect();
    let left_out = keep_few(&mut of_trials);
    let goals = goals(results).into_iter().map(|goal| of_goal(searches, goal).noting([BARS]));
    let charts = goals.chain(of_trials).collect();
    let buffered = resting_on(
        buffered(searches),
        "Some trials lost nothing only because buffers absorbed the excess: a longer trial at their load loses frames, so \
         their load counts as not sustained.",
    );
    parts::whole_section("searches", "Searches", charts, BOUNDS, buffered.into_iter().chain(left_out))
}

pub(super) fn by_set_up(results: &Results) -> Vec<Vec<&SearchOutcome>> {
    let set_up = |search: &&SearchOutcome| {
        (search.method.clone(), search.placement.clone(), search.frame_size.clone(), search.work.clone())
    };
    grouped(naming::compared_searches(results), set_up).into_iter().map(|(_, searches)| searches).collect()
}

pub(super) fn goals(results: &Results) -> Vec<&str> {
    let all = naming::compared_searches(results).iter().flat_map(|search| &search.goals);
    grouped(all, |goal| goal.goal.name.as_str()).into_iter().map(|(name, _)| name).collect()
}

/// Trials without loss only because buffers had room.
fn buffered<'s>(searches: impl IntoIterator<Item = &'s SearchOutcome>) -> Trials {
    let found = searches.into_iter().filter_map(|search| search.buffered.as_ref());
    found.flat_map(|found| found.trials.iter().copied()).collect()
}

/// The set-up of a search without its method.
fn scene(search: &SearchOutcome) -> String {
    set_up_words(&SetUp::of_search(search)).join(", ")
}

/// Bounds of every search for a goal: by set-up, one point per search.
fn of_goal(searches: &[SearchOutcome], goal: &str) -> Chart {
    let known = searches.iter().filter(|search| search.method.is_some());
    let scenes: Vec<String> =
        grouped(known.clone(), |search| scene(search)).into_iter().map(|(scene, _)| scene).collect();
    let by_method = grouped(known, |search| search.method.as_ref());
    let at_least = by_method.iter().flat_map(|(_, own)| own).filter(|search| is_at_least(search, goal));
    let mut at_least: Vec<String> = at_least.map(|search| search_words(&SetUp::of_search(search))).collect();
    let place = |search: &SearchOutcome| {
        let x = scenes.iter().position(|known| *known == scene(search)).unwrap_or(0);
        bounds(x as f64, goal, &[search])
    };
    let line = |(method, own): (Option<&SavedMethod>, Vec<&SearchOutcome>)| {
        let method = method.map(ToString::to_string).unwrap_or_default();
        series(method, Role::Method, own.into_iter().map(place).collect())
    };
    let spread = spread_out(by_method.into_iter().map(line).collect());
    let title = format!("Bounds by goal {goal}, a point for each search");
    let y = linear("Bounds", Unit::PacketsPerSecond);
    at_least.dedup();
    let limits = (!at_least.is_empty()).then(|| {
        let searches = at_least.join("; ");
        format!("At least, because the generator, the link or the named load was the limit: {searches}.")
    });
    chart(&format!("bounds-{goal}"), title, Kind::Points, names("Set-up", scenes), y, spread)
        .noting(["Points are lower bounds, bars reach up to the upper ones."])
        .noting(limits)
}

pub(super) fn is_at_least(search: &SearchOutcome, goal: &str) -> bool {
    search.goals.iter().any(|result| result.goal.name == goal && result.status == Status::AtLeast)
}

/// Bounds of several searches of one set-up: the median of the lower ones, with a bar from the lowest lower bound to the
/// highest upper one.
pub(super) fn bounds(x: f64, goal: &str, searches: &[&SearchOutcome]) -> Point {
    let results =
        || searches.iter().flat_map(|search| &search.goals).filter(|result| result.goal.name == goal);
    let lower = || results().filter_map(|result| result.lower.as_ref());
    let upper = || results().filter_map(|result| result.upper.as_ref());
    let middle = Estimate::of(lower().map(|bound| bound.achieved_pps)).map(|estimate| estimate.median);
    let least = lower().map(|bound| bound.achieved_pps).fold(f64::INFINITY, f64::min);
    let most = upper().map(|bound| bound.intended_pps).fold(f64::NEG_INFINITY, f64::max);
    let trials = lower().chain(upper()).flat_map(|bound| bound.trials.iter().copied()).collect();
    let interval = (middle.is_some() && most.is_finite()).then_some([least, most]);
    Point { interval, ..point(x, middle, trials) }
}

/// Points of one set-up side by side, so that none hides another: methods in order, searches in order.
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

fn trials_of(searches: &[&SearchOutcome], trials: &Numbered<'_>) -> Option<Chart> {
    let first = searches.iter().find(|search| search.method.is_some())?;
    let method = first.method.clone()?;
    let buffered = buffered(searches.iter().copied());
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
        let name = search.nth.map_or_else(|| method.to_string(), |nth| format!("{method}, search {nth}"));
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
    // Bounds of many searches would clutter this chart: the chart of bounds shows them.
    let one = if let [one] = searches { one.goals.as_slice() } else { &[] };
    let marks = one.iter().flat_map(|result| {
        let ends = [(&result.lower, "sustained"), (&result.upper, "not sustained")];
        ends.into_iter().filter_map(|(bound, which)| {
            Some(upright(format!("{} {which}", result.goal.name), bound.as_ref()?.intended_pps))
        })
    });
    let note = first.buffered.as_ref().map(|buffered| {
        let rates = [buffered.from_pps, buffered.to_pps, buffered.taken_pps];
        let [from, to, read] = rates.map(|pps| figures::number(pps, Unit::PacketsPerSecond));
        format!(
            "From {from} to {to} packets/s, trials lost nothing only because buffers had room: {read} packets/s were read."
        )
    });
    Some(chart(&format!("search-{method}"), title, Kind::Points, x, y, lines).marking(marks).noting(note))
}
