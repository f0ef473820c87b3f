//! CPU time per packet: application and kernel.

use capbench_judge::cpu_time::{AtLoad, CpuParts, compared};
use capbench_judge::sweep::{Series as SweptSeries, SweepOutcome};
use capbench_model::saved::SavedMethod;
use capbench_model::trial::TrialResult;
use capbench_results::Results;

use super::parts::{
    self, Estimate, PlacedTrials, Varied, chart, estimated, grouped, linear, names, of_bench, point,
    resting_on, series,
};
use crate::model::{Axis, Chart, Kind, Role, Section, Unit};
use crate::naming::{Numbered, Scene, is_sound, load, numbers};

const TEXT: &str = "Application time is what the scheduler charges to its thread, verification of every frame included; kernel time is softirq \
                    and interrupt time, in steps of 10 ms where it is not traced. Costs are compared at a sustained load: where packets \
                    are lost, a packet that is lost late costs as much as one that is delivered.";
const SAMPLED: &str = "Where application and kernel share a CPU, and its kernel only samples at its timer tick which of them runs or other work \
                       ran on it, the application's time is known as a range. What may belong to either is a separate layer between the two.";

pub(super) fn section(results: &Results, trials: &Numbered<'_>) -> Option<Section> {
    let mut charts = bench(results);
    // Sweeps of publications have the sum of both in their charts, for all methods together.
    let sweeps = if results.reproductions.is_empty() { results.sweeps.as_slice() } else { &[] };
    charts.extend(sweeps.iter().flat_map(|sweep| swept(sweep, trials)));
    let is_sampled = |trial: &&TrialResult| is_sound(trial) && trial.cpu.split_is_sampled;
    let sampled = resting_on(numbers(results.trials.iter().filter(is_sampled)), SAMPLED);
    parts::section("cpu", "CPU time per packet", charts, TEXT, sampled)
}

/// The names of the parts, in their order.
const PARTS: [&str; 5] =
    ["application", "application or kernel", "kernel", "application and kernel", "neither, by the clocks"];

/// Layers of these trials if some trial knows them; with several visits also the spread of their sums.
fn layers(id: &str, title: String, kind: Kind, x: Axis, placed: &[PlacedTrials<'_>]) -> Chart {
    let mut layers = Vec::new();
    for (part, name) in PARTS.into_iter().enumerate() {
        let mut points = Vec::new();
        for one in placed {
            let parts = CpuParts::median(&one.trials).in_order();
            points.push(point(one.x, parts[part], one.numbers()));
        }
        if points.iter().any(|point| point.y.is_some()) {
            layers.push(series(name, Role::Account, points));
        }
    }
    if !layers.is_empty() && placed.iter().any(|one| one.trials.len() > 1) {
        let total = |one: &PlacedTrials<'_>| {
            let sums: Option<Vec<f64>> =
                one.trials.iter().map(|trial| CpuParts::of_trial(trial).sum()).collect();
            estimated(one.x, sums.and_then(Estimate::of).as_ref(), one.numbers())
        };
        layers.push(series("sum, median of repeats", Role::Total, placed.iter().map(total).collect()));
    }
    let y = linear("CPU time per packet", Unit::NanosecondsPerPacket);
    chart(id, title, kind, x, y, layers)
}

/// At the common load of each scene; without one a chart for each load.
fn bench(results: &Results) -> Vec<Chart> {
    let by_scene = grouped(of_bench(results), |trial| Scene::from_trial(trial));
    by_scene.into_iter().flat_map(|(scene, group)| of_scene(&scene, &group)).collect()
}

fn of_scene(scene: &Scene, group: &[&TrialResult]) -> Vec<Chart> {
    compared(group).into_iter().map(|at_load| chart_at_load(scene, group, at_load)).collect()
}

fn chart_at_load(scene: &Scene, group: &[&TrialResult], at_load: AtLoad<'_>) -> Chart {
    let AtLoad { trials: shown, is_sustained } = at_load;
    let title = match shown.first() {
        Some(first) => format!("CPU time per packet at {}: {}", load(first), scene.words()),
        None => format!("CPU time per packet: {}", scene.words()),
    };
    let methods = grouped(group.iter(), |trial| trial.profile.method.clone()).into_iter();
    let methods: Vec<SavedMethod> = methods.map(|(name, _)| name).collect();
    let trials_with = |method: &SavedMethod| {
        shown.iter().copied().filter(|trial| trial.profile.method == *method).collect()
    };
    let placed = PlacedTrials::along(methods.iter().map(trials_with));
    let missing = methods.iter().zip(&placed).filter(|(_, one)| one.trials.is_empty());
    let missing: Vec<String> = missing.map(|(method, _)| method.to_string()).collect();
    let note = match (is_sustained, missing.as_slice()) {
        (false, _) => Some(
            "No trial here sustained its load: times are per delivered packet, and include the cost of lost ones.".into(),
        ),
        (true, []) => None,
        (true, missing) => {
            Some(format!("Did not sustain this load, or had no trial at it: {}.", missing.join(", ")))
        }
    };
    let x = names("Method", methods.iter().map(ToString::to_string).collect());
    layers("cpu-methods", title, Kind::StackedBars, x, &placed).noting(note).noting_repeats()
}

/// Parts over the axis of a sweep, one chart per method.
fn swept(sweep: &SweepOutcome, trials: &Numbered<'_>) -> Vec<Chart> {
    let varied = Varied::from_outcome(sweep);
    let of_line = |line: &SweptSeries| {
        let placed = varied.placed(line, trials);
        let title = format!("CPU time per packet against {}: {}", varied.words, line.name());
        let id = format!("cpu-{}-{}", sweep.axis, line.method);
        layers(&id, title, varied.kind(Kind::StackedBars), varied.axis.clone(), &placed)
    };
    sweep.series.iter().map(of_line).collect()
}
