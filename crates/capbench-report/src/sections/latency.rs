//! Latency: the distribution of delays, from complete histograms; over a sweep, its quantiles.

use capbench_judge::sweep::{Series as SweptSeries, SweepOutcome};
use capbench_model::latency::{Delays, Latency};
use capbench_model::trial::{Phase, TrialResult};
use capbench_results::Results;

use super::parts::{
    self, Estimate, by_key, chart, estimated, logarithmic, point, resting_on, series, upright,
};
use super::varied::Varied;
use crate::model::{Axis, Chart, Kind, Point, Role, Section, Series, Unit};
use crate::naming::{Numbered, Scene, is_sound, load, numbers};

/// How to read the percentile curves.
const TEXT: &str = "Frames become rarer from left to right: one in two takes longer than the median, one in 1,000 longer than the 99.9th percentile; the last point is the longest of all. Times from the planned start of a frame include the lateness of the generator. A tail of hundreds of frames is more reliable than one of a single frame.";
const LOSSY: &str = "Some of these trials lost frames, which have no latency: the latency shown is that of the delivered frames.";

/// A part of the way of a frame, or the whole way.
struct Leg {
    /// Its name in links.
    name: &'static str,
    words: &'static str,
    delays: fn(&Latency) -> Option<&Delays>,
}

const LEGS: [Leg; 5] = [
    Leg {
        name: "total",
        words: "from planned send time to the application",
        delays: |latency| latency.total.as_ref(),
    },
    Leg {
        name: "to-kernel",
        words: "from planned send time to the kernel's time stamp",
        delays: |latency| latency.to_kernel.as_ref(),
    },
    Leg {
        name: "to-application",
        words: "from the kernel's time stamp to the application",
        delays: |latency| latency.to_application.as_ref(),
    },
    Leg {
        name: "relative-total",
        words: "from planned send time to the application, less the least",
        delays: |latency| latency.relative.as_ref()?.total.as_ref(),
    },
    Leg {
        name: "relative-to-kernel",
        words: "from planned send time to the kernel's time stamp, less the least",
        delays: |latency| latency.relative.as_ref()?.to_kernel.as_ref(),
    },
];

/// Latency of trials by percentile, and of sweeps over the varied setting.
pub(super) fn section(results: &Results, numbered: &Numbered<'_>) -> Option<Section> {
    let mut trials = Vec::new();
    let mut lossy = Vec::new();
    for trial in &results.trials {
        if is_sound(trial) && trial.latency.is_some() {
            if trial.phase != Phase::Sweep {
                trials.push(trial);
            }
            if trial.lost() > 0 {
                lossy.push(trial.number);
            }
        }
    }
    let mut charts = percentile_charts(trials);
    for sweep in &results.sweeps {
        charts.push(sweep_chart(sweep, numbered));
    }
    parts::section("latency", "Latency", charts, TEXT, resting_on(lossy, LOSSY))
}

/// Percentile curves of every set-up and leg, one line per method and load.
fn percentile_charts(trials: Vec<&TrialResult>) -> Vec<Chart> {
    let mut charts = Vec::new();
    for (scene, trials) in by_key(trials, |trial| Scene::from_trial(trial)) {
        let intended = trials[0].intended_pps;
        let has_one_load = trials.iter().all(|trial| trial.intended_pps == intended);
        let at = if has_one_load { format!(" at {}", load(trials[0])) } else { String::new() };
        for leg in &LEGS {
            let lines = percentile_lines(&trials, leg, has_one_load);
            let title = format!("Latency {}{at}: {}", leg.words, scene.words());
            let x = logarithmic("One frame in so many takes longer, 1 / (1 - quantile)", Unit::Count);
            let chart = chart(&format!("latency-{}", leg.name), title, Kind::Lines, x, delay_axis(), lines);
            let marks = [("median", 2.0), ("99 %", 100.0), ("99.9 %", 1000.0), ("99.99 %", 10_000.0)];
            charts.push(chart.marking(marks.map(|(label, one_in)| upright(label, one_in))));
        }
    }
    charts
}

/// A curve for each method, and for each load if there are several.
fn percentile_lines(trials: &[&TrialResult], leg: &Leg, has_one_load: bool) -> Vec<Series> {
    let by_name = by_key(trials.iter().copied(), |trial| match has_one_load {
        true => trial.profile.method.to_string(),
        false => format!("{}, {}", trial.profile.method, load(trial)),
    });
    let mut lines = Vec::new();
    for (name, repeats) in by_name {
        let points = percentile_curve(&repeats, leg);
        if !points.is_empty() {
            lines.push(series(name, Role::Method, points));
        }
    }
    lines
}

fn delay_axis() -> Axis {
    logarithmic("Latency", Unit::Nanoseconds)
}

/// Delays against the share of longer ones, over all repeats. It ends at the longest delay, which one frame has.
fn percentile_curve(repeats: &[&TrialResult], leg: &Leg) -> Vec<Point> {
    let mut trials = Vec::new();
    let mut all_delays = Vec::new();
    for trial in repeats {
        if let Some(delays) = trial.latency.as_ref().and_then(leg.delays) {
            trials.push(trial.number);
            all_delays.push(delays);
        }
    }
    let Some((first, more)) = all_delays.split_first() else { return Vec::new() };
    // The axis is logarithmic: delays of zero or less are at its beginning.
    let mut histogram = first.positive();
    let (mut least, mut longest) = (first.min_ns, first.max_ns);
    for delays in more {
        // All histograms have the same bounds, so adding cannot overflow.
        if histogram.add(delays.positive()).is_err() {
            return Vec::new();
        }
        least = least.min(delays.min_ns);
        longest = longest.max(delays.max_ns);
    }
    let frames = histogram.len() as f64;
    let mut points = Vec::new();
    for one_in in one_in_steps(frames) {
        let quantile = histogram.value_at_quantile(1.0 - 1.0 / one_in) as i64;
        points.push(point(one_in, quantile.clamp(least, longest) as f64, trials.clone()));
    }
    points.push(point(frames.max(1.0), longest as f64, trials));
    points
}

/// The steps 2, 5, 10, 20, 50 and so on below a number of frames.
fn one_in_steps(frames: f64) -> Vec<f64> {
    let mut steps = Vec::new();
    for power in 0.. {
        for factor in [1.0, 2.0, 5.0] {
            let step = factor * 10f64.powi(power);
            if step >= frames {
                return steps;
            }
            if step > 1.0 {
                steps.push(step);
            }
        }
    }
    steps
}

/// Quantiles over the varied setting of a sweep: of several trials their median.
fn sweep_chart(sweep: &SweepOutcome, trials: &Numbered<'_>) -> Chart {
    let varied = Varied::from_outcome(sweep);
    let mut lines = Vec::new();
    for line in &sweep.series {
        lines.push(quantile_line(line, &varied, trials, "median", |delays| delays.p50_ns));
        lines.push(quantile_line(line, &varied, trials, "99.9th percentile", |delays| delays.p99_9_ns));
        lines.push(quantile_line(line, &varied, trials, "largest", |delays| delays.max_ns));
    }
    let title = format!("Latency against {}", varied.words);
    let kind = varied.kind(Kind::Points);
    let note = "From planned send time to the application; medians of the repeats with their intervals.";
    chart(&format!("latency-{}", sweep.axis), title, kind, varied.axis, delay_axis(), lines).noting([note])
}

/// A quantile of a method's delays at each point; unknown where a trial has none.
fn quantile_line(
    line: &SweptSeries,
    varied: &Varied,
    trials: &Numbered<'_>,
    name: &str,
    quantile_ns: fn(&Delays) -> i64,
) -> Series {
    let points = varied.points(line, |reading, x| {
        let repeats = trials.sound(&reading.trials);
        let quantiles: Option<Vec<f64>> =
            repeats.iter().map(|trial| Some(quantile_ns(total_delays(trial)?) as f64)).collect();
        estimated(x, quantiles.and_then(Estimate::of).as_ref(), numbers(repeats))
    });
    series(format!("{}, {name}", line.name()), Role::Method, points)
}

/// The delays from the planned send time to the application.
fn total_delays(trial: &TrialResult) -> Option<&Delays> {
    trial.latency.as_ref()?.total.as_ref()
}
