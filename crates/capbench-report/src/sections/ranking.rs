//! The picture of a ranking: sustained rates, and CPU time next to them, row by row.

use capbench_judge::finding::search::SetUp;
use capbench_judge::recommendation::{Cost, Ranked, Ranking, Sustained, SustainedStatus};
use capbench_judge::search::ranking::ranked_goals;
use capbench_judge::search::{GoalResult, SearchOutcome};
use capbench_judge::thresholds::NEARLY_LOSSLESS_RATIO;

use super::parts::{chart, grouped, linear, names, point, series};
use crate::model::{Chart, Kind, Point, Role, Series, Unit};
use crate::naming::{self, Scene, set_up_words};
use crate::sentences::search::{goal_name, goal_words};
use capbench_results::Kind as Purpose;
use capbench_results::Results;

const WHISKER: &str =
    "The thin line ends at the lowest load that was not sustained, without a loss that noise explains.";
const AT_LEAST: &str = "≥: no load that was tried shows the limit.";

const RANGE: &str = "The thin line: the application's time is known only as a range.";

/// The charts of the deciding set-up of a bench or a search; none for other runs.
pub(crate) fn charts(results: &Results) -> Vec<Chart> {
    let charts = match results.kind() {
        Purpose::Bench => {
            let recommendation = naming::recommendation(results);
            let main = recommendation.as_ref().and_then(|all| all.headline());
            main.map_or_else(Vec::new, |ranking| vec![rates(ranking), costs(ranking)])
        }
        Purpose::Search => vec![searched(&results.searches)],
        _ => Vec::new(),
    };
    let is_seen =
        |chart: &Chart| chart.series.iter().flat_map(|line| &line.points).any(|point| point.y != Some(0.0));
    charts.into_iter().filter(|chart| chart.is_known() && is_seen(chart)).collect()
}

fn rates(ranking: &Ranking) -> Chart {
    let rate_points = |sustained: fn(&Ranked) -> &Sustained, has_whisker: bool| -> Vec<Point> {
        let at = |(nth, row): (usize, &Ranked)| {
            let own = sustained(row);
            // As in the table: nothing is known, or no load that was tried is sustained.
            let pps = match own.status {
                SustainedStatus::Unknown => None,
                _ => Some(own.lower_pps.unwrap_or(0.0)),
            };
            let has_end = has_whisker && own.status != SustainedStatus::AtLeast;
            let interval = own.lower_pps.zip(own.at_most_pps).filter(|_| has_end);
            let interval = interval.map(|(low, high)| [low, high]);
            let is_hidden = matches!(own.status, SustainedStatus::AtLeast | SustainedStatus::Disturbed);
            let is_at_least = own.lower_pps.is_some() && is_hidden;
            Point { interval, is_at_least, ..point(nth as f64, pps, own.trials.clone()) }
        };
        ranking.methods.iter().enumerate().map(at).collect()
    };
    let tolerated = format!("with up to {} % loss", NEARLY_LOSSLESS_RATIO * 100.0);
    let lossless = series("without loss", Role::Delivered, rate_points(|row| &row.lossless, true));
    let nearly = series(tolerated, Role::Account, rate_points(|row| &row.nearly_lossless, false));
    let lines = seen(vec![lossless, nearly]);
    let title = format!("Sustained rate, {}", Scene::of_ranking(ranking).words());
    sustained("ranking-rates", title, methods(ranking), lines)
}

fn costs(ranking: &Ranking) -> Chart {
    let cost_points = |bounds: fn(&Cost) -> Option<(f64, f64)>| -> Vec<Point> {
        let at = |(nth, row): (usize, &Ranked)| {
            let trials = row.cost.iter().flat_map(|cost| cost.trials.clone()).collect();
            match row.cost.as_ref().and_then(bounds) {
                Some((low, high)) if low < high => {
                    Point { interval: Some([low, high]), ..point(nth as f64, None, trials) }
                }
                known => point(nth as f64, known.map(|(ns, _)| ns), trials),
            }
        };
        ranking.methods.iter().enumerate().map(at).collect()
    };
    let application = series("application", Role::Account, cost_points(Cost::app_range));
    let total =
        series("application and kernel", Role::Account, cost_points(|cost| cost.total_ns.map(|ns| (ns, ns))));
    let title = match ranking.equal_load_pps {
        Some(pps) => format!("CPU time per packet at {}", naming::rate(pps)),
        None => "CPU time per packet".into(),
    };
    let has_range = application.points.iter().any(|point| point.interval.is_some());
    let unit = Unit::NanosecondsPerPacket;
    rows("ranking-costs", title, "CPU time per packet", unit, methods(ranking), vec![application, total])
        .noting(has_range.then_some(RANGE))
}

/// What the methods of the first set-up of a search sustain, by goal.
fn searched(searches: &[SearchOutcome]) -> Chart {
    let all = ranked_goals(searches);
    let scene = |search: &SearchOutcome| set_up_words(&SetUp::of_search(search)).join(", ");
    let first = all.first().map(|(search, _)| scene(search)).unwrap_or_default();
    let own: Vec<&(&SearchOutcome, &GoalResult)> =
        all.iter().filter(|(search, _)| scene(search) == first).collect();
    let method = |search: &SearchOutcome| search.method.as_ref().map(ToString::to_string).unwrap_or_default();
    let methods: Vec<String> =
        grouped(own.iter(), |(search, _)| method(search)).into_iter().map(|(name, _)| name).collect();
    let goals = grouped(own.iter(), |(_, goal)| goal.goal.name.clone());
    let is_first = |name: &String| goals.first().is_some_and(|(first, _)| first == name);
    let line = |(name, results): &(String, Vec<&&(&SearchOutcome, &GoalResult)>)| {
        let at = |(nth, wanted): (usize, &String)| {
            let (_, goal) = results.iter().find(|(search, _)| method(search) == *wanted)?;
            let (lower, upper) = (goal.lower.as_ref()?, goal.upper.as_ref());
            let interval =
                upper.filter(|_| is_first(name)).map(|upper| [lower.achieved_pps, upper.intended_pps]);
            let is_at_least = upper.is_none();
            Some(Point {
                interval,
                is_at_least,
                ..point(nth as f64, lower.achieved_pps, lower.trials.clone())
            })
        };
        let role = if is_first(name) { Role::Delivered } else { Role::Account };
        series(
            format!("{} ({})", goal_words(results[0].1.goal.loss_ratio.get()), goal_name(name)),
            role,
            methods.iter().enumerate().filter_map(at).collect(),
        )
    };
    let lines = seen(goals.iter().map(line).collect());
    let title = format!("Sustained rate, {first}");
    sustained("ranking-searches", title, methods, lines)
}

/// Without the lines that the first one hides, because none of their bars is longer.
fn seen(mut lines: Vec<Series>) -> Vec<Series> {
    let first = lines.first().map_or_else(Vec::new, |line| line.points.clone());
    let is_longer = |point: &Point| first.iter().all(|less| less.x != point.x || point.y > less.y);
    let mut nth = 0..;
    lines.retain(|line| nth.next() == Some(0) || line.points.iter().any(is_longer));
    lines
}

/// With the notes that its points need.
fn sustained(id: &str, title: String, methods: Vec<String>, lines: Vec<Series>) -> Chart {
    let points = || lines.iter().flat_map(|line| &line.points);
    let whisker = points().any(|point| point.interval.is_some()).then_some(WHISKER);
    let at_least = points().any(|point| point.is_at_least).then_some(AT_LEAST);
    let notes: Vec<&str> = whisker.into_iter().chain(at_least).collect();
    rows(id, title, "Sustained rate", Unit::PacketsPerSecond, methods, lines).noting(notes)
}

fn rows(id: &str, title: String, what: &str, unit: Unit, methods: Vec<String>, lines: Vec<Series>) -> Chart {
    chart(id, title, Kind::Ranked, names("Method", methods), linear(what, unit), lines)
}

fn methods(ranking: &Ranking) -> Vec<String> {
    ranking.methods.iter().map(|ranked| ranked.method.to_string()).collect()
}
