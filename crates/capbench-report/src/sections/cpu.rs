//! CPU time per packet: application and kernel.

use capbench_judge::cpu_time::{AtLoad, CpuParts, compared};
use capbench_judge::sweep::SweepOutcome;
use capbench_model::trial::TrialResult;
use capbench_results::Results;

use super::ledger_layers::PlacedTrials;
use super::parts::{
    self, Estimate, bench_trials, by_key, chart, estimated, linear, names, point, resting_on, series,
};
use super::varied::Varied;
use crate::model::{Axis, Chart, Kind, Point, Role, Section, Series, Unit};
use crate::naming::{Numbered, Scene, is_sound, load};

const TEXT: &str = "Application time is what the scheduler charges to its thread, verification of every frame included; kernel time is softirq \
                    and interrupt time, in steps of 10 ms where it is not traced. Costs are compared at a sustained load: where packets \
                    are lost, a packet that is lost late costs as much as one that is delivered.";
const SAMPLED: &str = "Where application and kernel share a CPU, and its kernel only samples at its timer tick which of them runs or other work \
                       ran on it, the application's time is known as a range. What may belong to either is a separate layer between the two.";

/// CPU time by method for a bench, over the varied setting for sweeps.
pub(super) fn section(results: &Results, trials: &Numbered<'_>) -> Option<Section> {
    let mut charts = bench_charts(results);
    // Sweeps of publications have the sum of both in their charts, for all methods together.
    if results.reproductions.is_empty() {
        for sweep in &results.sweeps {
            charts.extend(sweep_charts(sweep, trials));
        }
    }
    let mut sampled = Vec::new();
    for trial in &results.trials {
        if is_sound(trial) && trial.cpu.split_is_sampled {
            sampled.push(trial.number);
        }
    }
    parts::section("cpu", "CPU time per packet", charts, TEXT, resting_on(sampled, SAMPLED))
}

/// A part of the CPU time per packet.
struct Part {
    /// Its name in a chart.
    name: &'static str,
    ns: fn(&CpuParts) -> Option<f64>,
}

/// All parts, the lowest layer first.
const PARTS: [Part; 5] = [
    Part { name: "application", ns: |parts| parts.application },
    Part { name: "application or kernel", ns: |parts| parts.either },
    Part { name: "kernel", ns: |parts| parts.kernel },
    Part { name: "application and kernel", ns: |parts| parts.both },
    Part { name: "neither, by the clocks", ns: |parts| parts.unattributed },
];

/// A layer for each part that a trial knows. Where a position has several trials, their medians and the spread of their sums.
fn layers_chart(id: &str, title: String, kind: Kind, x: Axis, placed: &[PlacedTrials<'_>]) -> Chart {
    let mut medians = Vec::new();
    for placed in placed {
        medians.push(CpuParts::median(&placed.trials));
    }
    let mut layers: Vec<Series> = Vec::new();
    for part in &PARTS {
        if medians.iter().any(|parts| (part.ns)(parts).is_some()) {
            let mut points = Vec::new();
            for (placed, parts) in placed.iter().zip(&medians) {
                points.push(point(placed.x, (part.ns)(parts), placed.numbers()));
            }
            layers.push(series(part.name, Role::Account, points));
        }
    }
    if !layers.is_empty() && placed.iter().any(|placed| placed.trials.len() > 1) {
        let sums = placed.iter().map(median_sum).collect();
        layers.push(series("sum, median of repeats", Role::Total, sums));
    }
    let y = linear("CPU time per packet", Unit::NanosecondsPerPacket);
    chart(id, title, kind, x, y, layers)
}

/// The median of these trials' sums; unknown if one trial does not know its sum.
fn median_sum(placed: &PlacedTrials<'_>) -> Point {
    let sums: Option<Vec<f64>> = placed.trials.iter().map(|trial| CpuParts::of_trial(trial).sum()).collect();
    estimated(placed.x, sums.and_then(Estimate::of).as_ref(), placed.numbers())
}

/// The methods of each scene: at their common load; without one, a chart for each load.
fn bench_charts(results: &Results) -> Vec<Chart> {
    let mut charts = Vec::new();
    for (scene, trials) in by_key(bench_trials(results), |trial| Scene::from_trial(trial)) {
        for at_load in compared(&trials) {
            charts.push(load_chart(&scene, &trials, &at_load));
        }
    }
    charts
}

/// The methods of `scene_trials` at one load. A method without a trial there has an empty bar, and a note names it.
fn load_chart(scene: &Scene, scene_trials: &[&TrialResult], at_load: &AtLoad<'_>) -> Chart {
    let AtLoad { trials: shown, is_sustained } = at_load;
    let title = match shown.first() {
        Some(first) => format!("CPU time per packet at {}: {}", load(first), scene.words()),
        None => format!("CPU time per packet: {}", scene.words()),
    };
    let mut methods = Vec::new();
    let mut missing = Vec::new();
    let mut groups = Vec::new();
    for (method, _) in by_key(scene_trials, |trial| &trial.profile.method) {
        let mut trials = shown.clone();
        trials.retain(|trial| trial.profile.method == *method);
        if trials.is_empty() {
            missing.push(method.to_string());
        }
        methods.push(method.to_string());
        groups.push(trials);
    }
    let note = if !*is_sustained {
        Some("No trial here sustained its load: times are per delivered packet, and include the cost of lost ones.".into())
    } else if !missing.is_empty() {
        Some(format!("Did not sustain this load, or had no trial at it: {}.", missing.join(", ")))
    } else {
        None
    };
    let placed = PlacedTrials::side_by_side(groups);
    let chart = layers_chart("cpu-methods", title, Kind::StackedBars, names("Method", methods), &placed);
    chart.noting(note).noting_repeats()
}

/// Parts over the axis of a sweep, one chart per method.
fn sweep_charts(sweep: &SweepOutcome, trials: &Numbered<'_>) -> Vec<Chart> {
    let varied = Varied::from_outcome(sweep);
    let kind = varied.kind(Kind::StackedBars);
    let mut charts = Vec::new();
    for line in &sweep.series {
        let placed = varied.placed(line, trials);
        let title = format!("CPU time per packet against {}: {}", varied.words, line.name());
        let id = format!("cpu-{}-{}", sweep.axis, line.method);
        charts.push(layers_chart(&id, title, kind, varied.axis.clone(), &placed));
    }
    charts
}
