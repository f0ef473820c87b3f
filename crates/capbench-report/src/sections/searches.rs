//! Searches: their trials (load against loss) with the resulting bounds, and the spread of bounds over searches and set-ups.

use capbench_judge::finding::search::SetUp;
use capbench_judge::search::{Bound, SearchOutcome, Status};
use capbench_judge::sustained::has_unsent_frames;
use capbench_model::trial::TrialResult;
use capbench_results::Results;

use super::parts::{
    self, Estimate, by_key, chart, keep_few, linear, names, point, resting_on, series, upright,
};
use crate::figures;
use crate::model::{Chart, Kind, Mark, Point, Role, Section, Series, Trials, Unit};
use crate::naming::{self, Numbered, intended_or_offered, search_words, set_up_words};
use crate::tables::BOUNDS;

const BARS: &str = "A bar reaches from a lower bound, a load that was sustained, to the upper bound of the same search, one that was not. Loads between them were not tried, or not for long enough. Searches of one set-up that differ by more than their bars show how repeatable a result is on this host.";
/// Trials without loss only because buffers absorbed the backlog.
const BUFFERED: &str = "nothing lost only because buffers had room";
/// Trials whose generator left frames unsent: these count as lost but are no loss of the method.
const UNSENT: &str = "generator left frames unsent";

/// Bounds by goal, and the trials of each set-up's searches.
pub(super) fn section(results: &Results, trials: &Numbered<'_>) -> Option<Section> {
    let searches = naming::compared_searches(results);
    let mut charts = Vec::new();
    for goal in goal_names(results) {
        charts.push(bounds_chart(searches, goal).noting([BARS]));
    }
    let mut trial_charts = Vec::new();
    for searches in by_set_up(results) {
        trial_charts.extend(trials_chart(&searches, trials));
    }
    let note_of_omitted = keep_few(&mut trial_charts);
    charts.extend(trial_charts);
    let mut more = Vec::new();
    more.extend(resting_on(
        buffered_trials(searches),
        "Some trials lost nothing only because buffers absorbed the excess: a longer trial at their load loses frames, so \
         their load counts as not sustained.",
    ));
    more.extend(note_of_omitted);
    parts::whole_section("searches", "Searches", charts, BOUNDS, more)
}

/// The searches of each set-up, method included.
pub(super) fn by_set_up(results: &Results) -> Vec<Vec<&SearchOutcome>> {
    let groups = by_key(naming::compared_searches(results), |search| {
        (search.method.clone(), search.placement.clone(), search.frame_size.clone(), search.work.clone())
    });
    groups.into_iter().map(|(_, searches)| searches).collect()
}

/// The goals of all searches, each once.
pub(super) fn goal_names(results: &Results) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for goal in naming::compared_searches(results).iter().flat_map(|search| &search.goals) {
        let name = goal.goal.name.as_str();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The numbers of trials that lost nothing only because buffers had room.
fn buffered_trials<'s>(searches: impl IntoIterator<Item = &'s SearchOutcome>) -> Trials {
    let mut trials = Vec::new();
    for search in searches {
        if let Some(buffered) = &search.buffered {
            trials.extend(&buffered.trials);
        }
    }
    trials
}

/// The set-up of a search without its method, in words.
fn scene_words(set_up: &SetUp) -> String {
    set_up_words(set_up).join(", ")
}

/// Bounds of every search for a goal: set-ups on the horizontal axis, a line per method, a point per search.
fn bounds_chart(searches: &[SearchOutcome], goal: &str) -> Chart {
    let known = searches.iter().filter(|search| search.method.is_some());
    let mut set_ups: Vec<SetUp> = Vec::new();
    for search in known.clone() {
        let set_up = SetUp::for_any_method(search);
        if !set_ups.contains(&set_up) {
            set_ups.push(set_up);
        }
    }
    let mut lines = Vec::new();
    let mut at_least = Vec::new();
    for (method, searches) in by_key(known, |search| search.method.as_ref()) {
        let mut points = Vec::new();
        for search in searches {
            let set_up = SetUp::for_any_method(search);
            let x = set_ups.iter().position(|known| *known == set_up).unwrap_or(0);
            points.push(bounds_point(x as f64, goal, &[search]));
            if is_at_least(search, goal) {
                at_least.push(search_words(&SetUp::of_search(search)));
            }
        }
        lines.push(series(method.map(ToString::to_string).unwrap_or_default(), Role::Method, points));
    }
    at_least.dedup();
    let mut notes = vec!["Points are lower bounds, bars reach up to the upper ones.".to_string()];
    if !at_least.is_empty() {
        let searches = at_least.join("; ");
        notes.push(format!(
            "At least, because the generator, the link or the named load was the limit: {searches}."
        ));
    }
    let title = format!("Bounds by goal {goal}, a point for each search");
    let x = names("Set-up", set_ups.iter().map(scene_words).collect());
    let y = linear("Bounds", Unit::PacketsPerSecond);
    chart(&format!("bounds-{goal}"), title, Kind::Points, x, y, spread_out(lines)).noting(notes)
}

/// Whether a search found only a lower bound for a goal.
pub(super) fn is_at_least(search: &SearchOutcome, goal: &str) -> bool {
    search.goals.iter().any(|result| result.goal.name == goal && result.status == Status::AtLeast)
}

/// Bounds of several searches of one set-up: the median of the lower ones, with a bar from the lowest lower bound to the
/// highest upper one.
pub(super) fn bounds_point(x: f64, goal: &str, searches: &[&SearchOutcome]) -> Point {
    let mut lower: Vec<&Bound> = Vec::new();
    let mut upper: Vec<&Bound> = Vec::new();
    for result in searches.iter().flat_map(|search| &search.goals) {
        if result.goal.name == goal {
            lower.extend(&result.lower);
            upper.extend(&result.upper);
        }
    }
    let median = Estimate::of(lower.iter().map(|bound| bound.achieved_pps)).map(|estimate| estimate.median);
    let least = lower.iter().map(|bound| bound.achieved_pps).fold(f64::INFINITY, f64::min);
    let most = upper.iter().map(|bound| bound.intended_pps).fold(f64::NEG_INFINITY, f64::max);
    let interval = if median.is_some() && most.is_finite() { Some([least, most]) } else { None };
    let mut trials = Vec::new();
    for bound in lower.into_iter().chain(upper) {
        trials.extend(&bound.trials);
    }
    Point { interval, ..point(x, median, trials) }
}

/// The part of a name's width on the axis that its points use together.
const WIDTH_OF_NAME: f64 = 0.7;
/// The largest distance of neighbouring points of one name.
const LARGEST_STEP: f64 = 0.12;

/// Puts the points of one set-up side by side, so that none hides another: methods in order, searches in order.
fn spread_out(mut lines: Vec<Series>) -> Vec<Series> {
    let mut set_ups: Vec<f64> = lines.iter().flat_map(|line| &line.points).map(|point| point.x).collect();
    set_ups.sort_by(f64::total_cmp);
    set_ups.dedup();
    for x in set_ups {
        let mut points: Vec<&mut Point> = lines.iter_mut().flat_map(|line| &mut line.points).collect();
        points.retain(|point| point.x == x);
        let step = (WIDTH_OF_NAME / points.len() as f64).min(LARGEST_STEP);
        let middle = (points.len() - 1) as f64 / 2.0;
        for (index, point) in points.into_iter().enumerate() {
            point.x += (index as f64 - middle) * step;
        }
    }
    lines
}

/// The trials of one set-up's searches: a line for each search. Trials whose loss is not the method's are marked.
fn trials_chart(searches: &[&SearchOutcome], trials: &Numbered<'_>) -> Option<Chart> {
    let first = searches.iter().find(|search| search.method.is_some())?;
    let method = first.method.clone()?;
    let buffered = buffered_trials(searches.iter().copied());
    let mut lines = Vec::new();
    let mut buffered_points = Vec::new();
    let mut unsent_points = Vec::new();
    for search in searches {
        let mut points = Vec::new();
        for trial in trials.sound(&search.trials) {
            if buffered.contains(&trial.number) {
                buffered_points.push(trial_point(trial));
            } else if has_unsent_frames(trial) {
                unsent_points.push(trial_point(trial));
            } else {
                points.push(trial_point(trial));
            }
        }
        let name = match search.nth {
            Some(nth) => format!("{method}, search {nth}"),
            None => method.to_string(),
        };
        lines.push(series(name, Role::Method, points));
    }
    for (name, points) in [(BUFFERED, buffered_points), (UNSENT, unsent_points)] {
        if !points.is_empty() {
            lines.push(series(name, Role::Account, points));
        }
    }
    let title = format!("Trials of the search: {method}, {}", scene_words(&SetUp::of_search(first)));
    let x = linear("Intended load", Unit::PacketsPerSecond);
    let y = linear("Lost of the intended frames", Unit::Ratio);
    let chart = chart(&format!("search-{method}"), title, Kind::Points, x, y, lines);
    Some(chart.marking(bound_marks(searches)).noting(note_of_buffered(first)))
}

/// The loss of a trial at its intended load.
fn trial_point(trial: &TrialResult) -> Point {
    point(intended_or_offered(trial), trial.loss_ratio, vec![trial.number])
}

/// The bounds of a single search. Bounds of several searches would clutter the chart; [`bounds_chart`] shows them.
fn bound_marks(searches: &[&SearchOutcome]) -> Vec<Mark> {
    let [search] = searches else { return Vec::new() };
    let mut marks = Vec::new();
    for result in &search.goals {
        let name = &result.goal.name;
        if let Some(lower) = &result.lower {
            marks.push(upright(format!("{name} sustained"), lower.intended_pps));
        }
        if let Some(upper) = &result.upper {
            marks.push(upright(format!("{name} not sustained"), upper.intended_pps));
        }
    }
    marks
}

/// Says at which loads only buffers prevented a loss.
fn note_of_buffered(search: &SearchOutcome) -> Option<String> {
    let buffered = search.buffered.as_ref()?;
    let from = figures::number(buffered.from_pps, Unit::PacketsPerSecond);
    let to = figures::number(buffered.to_pps, Unit::PacketsPerSecond);
    let read = figures::number(buffered.taken_pps, Unit::PacketsPerSecond);
    Some(format!(
        "From {from} to {to} packets/s, trials lost nothing only because buffers had room: {read} packets/s were read."
    ))
}
