//! The picture of a ranking: sustained rates, and CPU time next to them, row by row.

use capbench_judge::finding::search::SetUp;
use capbench_judge::recommendation::{Cost, Ranked, Ranking, Sustained, SustainedStatus};
use capbench_judge::search::ranking::ranked_goals;
use capbench_judge::search::{GoalResult, SearchOutcome};
use capbench_judge::thresholds::NEARLY_LOSSLESS_RATIO;
use capbench_results::{Kind as Purpose, Results};

use super::parts::{by_key, chart, linear, names, point, series};
use crate::model::{Chart, Kind, Point, Role, Series, Unit};
use crate::naming::{self, Scene, set_up_words};
use crate::sentences::search::{goal_name, goal_words};

const WHISKER: &str =
    "The thin line ends at the lowest load that was not sustained. Losses that noise explains do not count.";
const AT_LEAST: &str = "≥: the limit may be far above.";
const RANGE: &str = "The thin line: the application's time is known only as a range.";

/// The charts of the deciding set-up of a bench or a search; none for other runs.
pub(crate) fn charts(results: &Results) -> Vec<Chart> {
    let mut charts = Vec::new();
    match results.kind() {
        Purpose::Bench => {
            let recommendation = naming::recommendation(results);
            if let Some(ranking) = recommendation.as_ref().and_then(|all| all.headline()) {
                charts.push(rates_chart(ranking));
                charts.push(costs_chart(ranking));
            }
        }
        Purpose::Search => charts.extend(searches_chart(&results.searches)),
        _ => {}
    }
    charts.retain(|chart| chart.is_known() && has_bar(chart));
    charts
}

/// Whether a bar of the chart is longer than 0.
fn has_bar(chart: &Chart) -> bool {
    chart.series.iter().flat_map(|line| &line.points).any(|point| point.y.is_some_and(|y| y > 0.0))
}

/// Sustained rates without loss, and with little loss where that is more.
fn rates_chart(ranking: &Ranking) -> Chart {
    let mut lossless = Vec::new();
    let mut nearly_lossless = Vec::new();
    for (row, ranked) in ranking.methods.iter().enumerate() {
        let limit = lowest_not_sustained(&ranked.lossless);
        lossless.push(Point { interval: limit, ..rate_point(row, &ranked.lossless) });
        nearly_lossless.push(rate_point(row, &ranked.nearly_lossless));
    }
    let lines = vec![
        series("without loss", Role::Delivered, lossless),
        series(
            format!("with up to {} % loss", NEARLY_LOSSLESS_RATIO * 100.0),
            Role::Account,
            nearly_lossless,
        ),
    ];
    let title = format!("Sustained rate, {}", Scene::of_ranking(ranking).words());
    sustained_chart("ranking-rates", title, methods(ranking), without_hidden(lines))
}

/// A sustained rate in a row. As in the table, it is unknown, or 0 if no load that was tried is sustained.
fn rate_point(row: usize, sustained: &Sustained) -> Point {
    let pps = match sustained.status {
        SustainedStatus::Unknown => None,
        _ => Some(sustained.lower_pps.unwrap_or(0.0)),
    };
    Point { is_at_least: sustained.is_lower_bound(), ..point(row as f64, pps, sustained.trials.clone()) }
}

/// From the sustained rate to the lowest load that was not sustained; `None` if the generator could not reach such a load.
fn lowest_not_sustained(sustained: &Sustained) -> Option<[f64; 2]> {
    if sustained.status == SustainedStatus::AtLeast {
        return None;
    }
    Some([sustained.lower_pps?, sustained.at_most_pps?])
}

/// CPU time per packet: of the application, and of application and kernel.
fn costs_chart(ranking: &Ranking) -> Chart {
    let mut application = Vec::new();
    let mut total = Vec::new();
    let mut has_range = false;
    for (row, ranked) in ranking.methods.iter().enumerate() {
        let cost = ranked.cost.as_ref();
        let app_point = cost_point(row, ranked, cost.and_then(Cost::app_range));
        has_range |= app_point.interval.is_some();
        application.push(app_point);
        total.push(cost_point(row, ranked, cost.and_then(|cost| cost.total_ns).map(|ns| (ns, ns))));
    }
    let lines = vec![
        series("application", Role::Account, application),
        series("application and kernel", Role::Account, total),
    ];
    let title = match ranking.equal_load_pps {
        Some(pps) => format!("CPU time per packet at {}", naming::rate(pps)),
        None => "CPU time per packet".into(),
    };
    let y = linear("CPU time per packet", Unit::NanosecondsPerPacket);
    let x = names("Method", methods(ranking));
    chart("ranking-costs", title, Kind::Ranked, x, y, lines).noting(has_range.then_some(RANGE))
}

/// A method's cost in a row: a number, or only its range. The range of a known number has equal ends.
fn cost_point(row: usize, ranked: &Ranked, range_ns: Option<(f64, f64)>) -> Point {
    let trials = ranked.cost.as_ref().map_or_else(Vec::new, |cost| cost.trials.clone());
    match range_ns {
        Some((low, high)) if low < high => {
            Point { interval: Some([low, high]), ..point(row as f64, None, trials) }
        }
        Some((ns, _)) => point(row as f64, ns, trials),
        None => point(row as f64, None, trials),
    }
}

/// What the methods of the first set-up of a search sustain, by goal.
fn searches_chart(searches: &[SearchOutcome]) -> Option<Chart> {
    let mut goals = ranked_goals(searches);
    let set_up = SetUp::for_any_method(goals.first()?.0);
    goals.retain(|(search, _)| SetUp::for_any_method(search) == set_up);
    let by_method = by_key(goals.iter(), |(search, _)| method(search));
    let methods: Vec<String> = by_method.into_iter().map(|(method, _)| method).collect();
    let mut lines = Vec::new();
    for (name, results) in by_key(goals, |(_, goal)| goal.goal.name.clone()) {
        let is_first = lines.is_empty();
        let mut points = Vec::new();
        for (row, name_in_row) in methods.iter().enumerate() {
            if let Some((_, goal)) = results.iter().find(|(search, _)| method(search) == *name_in_row) {
                points.extend(goal_point(row, goal, is_first));
            }
        }
        let loss = goal_words(results[0].1.goal.loss_ratio.get());
        let role = if is_first { Role::Delivered } else { Role::Account };
        lines.push(series(format!("{loss} ({})", goal_name(&name)), role, points));
    }
    let title = format!("Sustained rate, {}", set_up_words(&set_up).join(", "));
    Some(sustained_chart("ranking-searches", title, methods, without_hidden(lines)))
}

/// The method of a search; empty for a search without a trial, which has no bounds to rank.
fn method(search: &SearchOutcome) -> String {
    search.method.as_ref().map(ToString::to_string).unwrap_or_default()
}

/// The lower bound of a goal in a row. The first goal of the chart has a thin line up to the upper bound; lines of several goals
/// would hide each other.
fn goal_point(row: usize, goal: &GoalResult, is_first_goal: bool) -> Option<Point> {
    let lower = goal.best_lower()?;
    let upper = goal.best_upper();
    let interval = match upper {
        Some(upper) if is_first_goal => Some([lower.achieved_pps, upper.intended_pps]),
        _ => None,
    };
    Some(Point {
        interval,
        is_at_least: upper.is_none(),
        ..point(row as f64, lower.achieved_pps, lower.trials.clone())
    })
}

/// Leaves out the lines that the first one hides, because none of their bars is longer.
fn without_hidden(lines: Vec<Series>) -> Vec<Series> {
    let mut visible: Vec<Series> = Vec::new();
    for line in lines {
        let is_visible = match visible.first() {
            Some(first) => line.points.iter().any(|point| is_longer(point, &first.points)),
            None => true,
        };
        if is_visible {
            visible.push(line);
        }
    }
    visible
}

/// Whether the bar of a point is longer than the bars of `points` in its row.
fn is_longer(point: &Point, points: &[Point]) -> bool {
    points.iter().all(|below| below.x != point.x || point.y > below.y)
}

/// A chart of sustained rates, with the notes that its points need.
fn sustained_chart(id: &str, title: String, methods: Vec<String>, lines: Vec<Series>) -> Chart {
    let mut notes = Vec::new();
    if lines.iter().flat_map(|line| &line.points).any(|point| point.interval.is_some()) {
        notes.push(WHISKER);
    }
    if lines.iter().flat_map(|line| &line.points).any(|point| point.is_at_least) {
        notes.push(AT_LEAST);
    }
    let y = linear("Sustained rate", Unit::PacketsPerSecond);
    chart(id, title, Kind::Ranked, names("Method", methods), y, lines).noting(notes)
}

fn methods(ranking: &Ranking) -> Vec<String> {
    ranking.methods.iter().map(|ranked| ranked.method.to_string()).collect()
}
