//! The cost of a packet besides its work, over a work sweep, with its distinct levels.

use crate::results::Results;
use capbench_plan::sweep::cost_regimes::{CostRegimes, cost_regimes};
use capbench_plan::sweep::swept::Swept;
use capbench_plan::sweep::{AxisKind, Series as SweptSeries, SweepOutcome};

use super::parts::{self, chart, grouped, keep_few, linear, point, series};
use super::varied::Varied;
use crate::figures;
use crate::model::{Chart, Kind, Point, Role, Section, Series, Trials, Unit};

pub(super) fn section(results: &Results) -> Option<Section> {
    let mut charts: Vec<Chart> = results
        .sweeps
        .iter()
        .filter(|sweep| sweep.axis == AxisKind::Work)
        .flat_map(|sweep| {
            grouped(&sweep.series, |line| line.scene()).into_iter().map(move |lines| (sweep, lines))
        })
        .filter_map(|(sweep, (scene, lines))| of_scene(results, sweep, scene.as_deref(), &lines))
        .collect();
    let more = keep_few(&mut charts);
    let text = "Where the application is the limit, the time per packet, 1 / (rate x share taken), is its work and what it costs to get a \
         packet. The second is what is left without the first. A level piece is a cost regime: woken for each packet a packet costs \
         more than where many are taken at a time. Points at which the application kept up show no cost and are not here.";
    parts::section("cost-regimes", "What a packet costs beside its work", charts, text, more)
}

/// Methods in one set-up, each with its regimes.
fn of_scene(
    results: &Results,
    sweep: &SweepOutcome,
    scene: Option<&str>,
    lines: &[&SweptSeries],
) -> Option<Chart> {
    let varied = Varied::of(sweep);
    let swept = Swept::new(sweep, &results.trials);
    let found: Vec<(&SweptSeries, CostRegimes<'_>)> =
        lines.iter().filter_map(|line| Some((*line, cost_regimes(&swept, line)?))).collect();
    let [(first, _), others @ ..] = found.as_slice() else { return None };
    let of = if others.is_empty() { first.name() } else { scene.unwrap_or("all methods").to_string() };
    let title = format!("Cost of a packet beside its work: {of}");
    let y = linear("Cost beside the work", Unit::NanosecondsPerPacket);
    let all = found.iter().flat_map(|(line, regimes)| series_of(&varied, line, regimes)).collect();
    let notes = found.iter().flat_map(|(line, regimes)| {
        let method = if others.is_empty() { String::new() } else { format!("{}: ", line.method) };
        notes(sweep, regimes).into_iter().map(move |note| format!("{method}{note}"))
    });
    let id = format!("cost-{}", first.method);
    Some(chart(&id, title, Kind::Lines, varied.axis.clone(), y, all).noting(notes))
}

/// The costs of a method, and the levels among them.
fn series_of(
    varied: &Varied,
    line: &SweptSeries,
    CostRegimes { readings, found, .. }: &CostRegimes<'_>,
) -> Vec<Series> {
    let costs: Vec<Point> = readings
        .iter()
        .zip(&found.costs_ns)
        .filter_map(|(reading, cost)| {
            let x = varied.at(reading)?;
            let work = 1e9 / reading.taken_pps.median - cost;
            let at_rate = |rate: f64| 1e9 / rate - work;
            // The higher rate is the lower cost.
            let ends = reading.taken_pps.high.zip(reading.taken_pps.low);
            let ends = ends.filter(|(high, low)| *high > 0.0 && *low > 0.0);
            let interval = ends.map(|(high, low)| [at_rate(high), at_rate(low)]);
            Some(Point { interval, ..point(x, *cost, reading.trials.clone()) })
        })
        .collect();
    let mut lines = vec![series(line.method.as_str(), Role::Method, costs)];
    for (nth, plateau) in found.plateaus.iter().enumerate() {
        let own = &readings[plateau.first..=plateau.last];
        let trials: Trials = own.iter().flat_map(|reading| reading.trials.iter().copied()).collect();
        let places = own.iter().filter_map(|reading| varied.at(reading));
        let points = places.map(|x| point(x, plateau.cost_ns, trials.clone())).collect();
        let cost = figures::number(plateau.cost_ns, Unit::Nanoseconds);
        let name = format!("{}, regime {}: {cost} ns", line.method, nth + 1);
        lines.push(Series { name, role: Role::Fit, points });
    }
    lines
}

fn notes(sweep: &SweepOutcome, CostRegimes { found, .. }: &CostRegimes<'_>) -> Vec<String> {
    let unit = figures::number(found.unit.ns, Unit::Nanoseconds);
    let of_work = if sweep.unit.as_deref() == Some("ns") { "A nanosecond asked for" } else { "An iteration" };
    let source = if found.unit.is_fitted {
        "read off the slope of the last straight piece"
    } else {
        "as measured alone on that CPU"
    };
    let mut notes = vec![format!("{of_work} is taken as {unit} ns of work, {source}.")];
    if found.plateaus.is_empty() {
        notes.push("No piece is level enough, and long enough, to be called a regime.".into());
    }
    notes
}
