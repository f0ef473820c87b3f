//! What a packet costs besides its work, over a sweep of the work, with its distinct levels.

use capbench_judge::sweep::outcome::Swept;
use capbench_judge::sweep::regimes::{CostRegimes, cost_regimes};
use capbench_judge::sweep::{Analysis, PointUnit, Reading, Series as SweptSeries, SweepOutcome};
use capbench_results::Results;

use super::parts::{self, by_key, chart, linear, point, series};
use super::varied::Varied;
use crate::figures;
use crate::model::{Chart, Kind, Point, Role, Section, Series, Trials, Unit};

const TEXT: &str = "Where the application is the limit, the time per packet, 1 / (rate x share read), is its work and what it costs to get a \
                    packet. The second is what is left without the first. A level piece is a cost regime: woken for each packet a packet costs \
                    more than where many are read at a time. Points at which the application kept up show no cost and are not here.";

/// Costs over the work, of sweeps of the work.
pub(super) fn section(results: &Results) -> Option<Section> {
    let mut charts = Vec::new();
    for sweep in &results.sweeps {
        if !sweep.axis.shows(Analysis::CostRegimes) {
            continue;
        }
        for (scene, lines) in by_key(&sweep.series, |line| line.scene()) {
            charts.extend(regimes_chart(results, sweep, scene.as_deref(), &lines));
        }
    }
    parts::section("cost-regimes", "What a packet costs besides its work", charts, TEXT, [])
}

/// The methods of one set-up, each with its costs and regimes; `None` if no method has costs.
fn regimes_chart(
    results: &Results,
    sweep: &SweepOutcome,
    scene: Option<&str>,
    lines: &[&SweptSeries],
) -> Option<Chart> {
    let swept = Swept::new(sweep, &results.trials);
    let mut methods = Vec::new();
    for line in lines {
        if let Some(regimes) = cost_regimes(&swept, line) {
            methods.push((*line, regimes));
        }
    }
    let (first, _) = methods.first()?;
    let is_only = methods.len() == 1;
    let varied = Varied::from_outcome(sweep);
    let mut all_series = Vec::new();
    let mut notes = Vec::new();
    for (line, regimes) in &methods {
        all_series.push(costs(&varied, line, regimes));
        all_series.extend(levels(&varied, line, regimes));
        for note in notes_of_regimes(sweep, regimes) {
            notes.push(if is_only { note } else { format!("{}: {note}", line.method) });
        }
    }
    let subject = if is_only { first.name() } else { scene.unwrap_or("all methods").to_string() };
    let title = format!("Cost of a packet besides its work: {subject}");
    let id = format!("cost-{}", first.method);
    let y = linear("Cost besides the work", Unit::NanosecondsPerPacket);
    Some(chart(&id, title, Kind::Lines, varied.axis, y, all_series).noting(notes))
}

/// The costs of a method at each reading.
fn costs(varied: &Varied, line: &SweptSeries, regimes: &CostRegimes<'_>) -> Series {
    let mut points = Vec::new();
    for (reading, cost_ns) in regimes.readings.iter().zip(&regimes.found.costs_ns) {
        if let Some(x) = varied.at(reading) {
            let interval = cost_interval(reading, *cost_ns);
            points.push(Point { interval, ..point(x, *cost_ns, reading.trials.clone()) });
        }
    }
    series(line.method.to_string(), Role::Method, points)
}

/// The interval of a reading's cost. It follows from the interval of the rate: the higher rate is the lower cost.
fn cost_interval(reading: &Reading, cost_ns: f64) -> Option<[f64; 2]> {
    let work_ns = 1e9 / reading.taken_pps.median - cost_ns;
    let highest = reading.taken_pps.high.filter(|rate| *rate > 0.0)?;
    let lowest = reading.taken_pps.low.filter(|rate| *rate > 0.0)?;
    Some([1e9 / highest - work_ns, 1e9 / lowest - work_ns])
}

/// A level line for each cost regime of a method.
fn levels(varied: &Varied, line: &SweptSeries, regimes: &CostRegimes<'_>) -> Vec<Series> {
    let mut levels = Vec::new();
    for (index, plateau) in regimes.found.plateaus.iter().enumerate() {
        let readings = &regimes.readings[plateau.first..=plateau.last];
        let mut trials = Trials::new();
        for reading in readings {
            trials.extend(&reading.trials);
        }
        let positions = readings.iter().filter_map(|reading| varied.at(reading));
        let points = positions.map(|x| point(x, plateau.cost_ns, trials.clone())).collect();
        let cost = figures::number(plateau.cost_ns, Unit::Nanoseconds);
        let name = format!("{}, regime {}: {cost} ns", line.method, index + 1);
        levels.push(Series { name, role: Role::Fit, points });
    }
    levels
}

/// Where the unit of work is from, and whether a regime was found.
fn notes_of_regimes(sweep: &SweepOutcome, regimes: &CostRegimes<'_>) -> Vec<String> {
    let found = &regimes.found;
    let unit = figures::number(found.unit.ns, Unit::Nanoseconds);
    let work =
        if sweep.unit == Some(PointUnit::Nanoseconds) { "A nanosecond asked for" } else { "An iteration" };
    let source = match found.unit.is_fitted {
        true => "read off the slope of the last straight piece",
        false => "as measured alone on that CPU",
    };
    let mut notes = vec![format!("{work} counts as {unit} ns of work, {source}.")];
    if found.plateaus.is_empty() {
        notes.push("No piece is level enough, and long enough, to be called a regime.".into());
    }
    notes
}
