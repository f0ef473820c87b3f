//! Latency: the distribution of delays, from complete histograms; over a sweep, its quantiles.

use capbench_judge::sweep::{Series as SweptSeries, SweepOutcome};
use capbench_model::latency::{Delays, Latency};
use capbench_model::trial::{Phase, TrialResult};
use capbench_results::Results;

use super::parts::{
    self, Estimate, Varied, chart, estimated, grouped, logarithmic, point, resting_on, series, upright,
};
use crate::model::{Axis, Chart, Kind, Point, Role, Section, Series, Unit};
use crate::naming::{Numbered, Scene, is_sound, load, numbers};

const TEXT: &str = "Frames become rarer from left to right: one in two takes longer than the median, one in 1,000 longer than the 99.9th percentile; the last point is the longest of all. The first leg includes the lateness of the generator. A tail of hundreds of frames is more reliable than one of a single frame.";
const LOSSY: &str = "Some of these trials lost frames, which have no latency: the latency shown is that of the delivered frames.";

type Leg = (&'static str, &'static str, fn(&Latency) -> Option<&Delays>);

const LEGS: [Leg; 5] = [
    ("total", "from planned send time to the application", |latency| latency.total.as_ref()),
    ("to-kernel", "from planned send time to the kernel's time stamp", |latency| latency.to_kernel.as_ref()),
    ("to-application", "from the kernel's time stamp to the application", |latency| {
        latency.to_application.as_ref()
    }),
    ("relative-total", "from planned send time to the application, less the least", |latency| {
        latency.relative.as_ref()?.total.as_ref()
    }),
    ("relative-to-kernel", "from planned send time to the kernel's time stamp, less the least", |latency| {
        latency.relative.as_ref()?.to_kernel.as_ref()
    }),
];

type Quantile = (&'static str, fn(&Delays) -> i64);

const QUANTILES: [Quantile; 3] = [
    ("median", |delays| delays.p50_ns),
    ("99.9th percentile", |delays| delays.p99_9_ns),
    ("largest", |delays| delays.max_ns),
];

pub(super) fn section(results: &Results, numbered: &Numbered<'_>) -> Option<Section> {
    let recorded = |trial: &&TrialResult| is_sound(trial) && trial.latency.is_some();
    let trials: Vec<&TrialResult> = results.trials.iter().filter(recorded).collect();
    let mut charts = curves(trials.iter().copied().filter(|trial| trial.phase != Phase::Sweep).collect());
    charts.extend(results.sweeps.iter().map(|sweep| over(sweep, numbered)));
    let lossy = resting_on(numbers(trials.into_iter().filter(|trial| trial.lost() > 0)), LOSSY);
    parts::section("latency", "Latency", charts, TEXT, lossy)
}

/// Percentile curves of every set-up and leg, one line per method and load.
fn curves(trials: Vec<&TrialResult>) -> Vec<Chart> {
    let mut charts = Vec::new();
    for (scene, group) in grouped(trials, |trial| Scene::from_trial(trial)) {
        let one_load = grouped(&group, |trial| trial.intended_pps.map(f64::to_bits)).len() == 1;
        for (id, words, leg) in LEGS {
            let key = |trial: &&TrialResult| (trial.profile.method.clone(), (!one_load).then(|| load(trial)));
            let lines: Vec<Series> = grouped(group.iter().copied(), key)
                .into_iter()
                .filter_map(|((method, load), repeats)| {
                    let name = load.map_or_else(|| method.to_string(), |load| format!("{method}, {load}"));
                    let points = curve(&repeats, leg);
                    (!points.is_empty()).then(|| series(name, Role::Method, points))
                })
                .collect();
            let at = if one_load { format!(" at {}", load(group[0])) } else { String::new() };
            let title = format!("Latency {words}{at}: {}", scene.words());
            let x = logarithmic("One frame in so many takes longer, 1 / (1 - quantile)", Unit::Count);
            let marks = [("median", 2.0), ("99 %", 100.0), ("99.9 %", 1000.0), ("99.99 %", 10_000.0)];
            let chart = chart(&format!("latency-{id}"), title, Kind::Lines, x, delay(), lines);
            charts.push(chart.marking(marks.map(|(label, one_in)| upright(label, one_in))));
        }
    }
    charts
}

fn delay() -> Axis {
    logarithmic("Latency", Unit::Nanoseconds)
}

/// Delays against the share of longer ones, over all repeats. It ends at the longest delay, which one frame has.
fn curve(repeats: &[&TrialResult], leg: fn(&Latency) -> Option<&Delays>) -> Vec<Point> {
    let known: Vec<(&TrialResult, &Delays)> =
        repeats.iter().filter_map(|trial| Some((*trial, leg(trial.latency.as_ref()?)?))).collect();
    let Some((first, others)) = known.split_first() else { return Vec::new() };
    // The axis is logarithmic: delays below zero are at its beginning.
    let mut all = first.1.positive();
    for (_, delays) in others {
        // All histograms have the same bounds, so adding cannot overflow.
        if all.add(delays.positive()).is_err() {
            return Vec::new();
        }
    }
    let trials = numbers(known.iter().map(|(trial, _)| *trial));
    let least = known.iter().map(|(_, delays)| delays.min_ns).min().unwrap_or(0);
    let longest = known.iter().map(|(_, delays)| delays.max_ns).max().unwrap_or(0);
    let frames = all.len() as f64;
    let steps = (0..).flat_map(|power| [1.0, 2.0, 5.0].map(|times| times * 10f64.powi(power)));
    let mut points: Vec<Point> = steps
        .skip(1)
        .take_while(|one_in| *one_in < frames)
        .map(|one_in| {
            let quantile = all.value_at_quantile(1.0 - 1.0 / one_in) as i64;
            point(one_in, quantile.clamp(least, longest) as f64, trials.clone())
        })
        .collect();
    points.push(point(frames.max(1.0), longest as f64, trials));
    points
}

/// Quantiles over the axis of a sweep, medians of the repeats.
fn over(sweep: &SweepOutcome, trials: &Numbered<'_>) -> Chart {
    let varied = Varied::from_outcome(sweep);
    let lines = sweep.series.iter().flat_map(|line| quantiles(line, &varied, trials)).collect();
    let title = format!("Latency against {}", varied.words);
    let kind = varied.kind(Kind::Points);
    let note = "From planned send time to the application; medians of the repeats with their intervals.";
    chart(&format!("latency-{}", sweep.axis), title, kind, varied.axis, delay(), lines).noting([note])
}

fn quantiles(line: &SweptSeries, varied: &Varied, trials: &Numbered<'_>) -> Vec<Series> {
    let one = |(name, of): Quantile| {
        let points = varied.points(line, |reading, x| {
            let own = trials.sound(&reading.trials);
            let totals: Option<Vec<f64>> =
                own.iter().map(|trial| Some(of(trial.latency.as_ref()?.total.as_ref()?) as f64)).collect();
            estimated(x, totals.and_then(Estimate::of).as_ref(), numbers(own))
        });
        series(format!("{}, {name}", line.name()), Role::Method, points)
    };
    QUANTILES.map(one).into()
}
