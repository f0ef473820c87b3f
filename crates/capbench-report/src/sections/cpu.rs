//! CPU time per packet: application and kernel.

use capbench_judge::sweep::SweepOutcome;
use capbench_model::trial::{Phase, TrialResult};
use capbench_results::Results;

use super::ledger_layers::PlacedTrials;
use super::parts::{
    self, Estimate, bench_trials, chart, estimated, grouped, linear, names, point, resting_on, series,
};
use super::varied::Varied;
use crate::model::{Axis, Chart, Kind, Point, Role, Section, Series, Unit};
use crate::naming::{Numbered, Scene, is_sound, load};

const TEXT: &str = "Application time is what the scheduler charges to its thread, verification of every frame included; kernel time is softirq \
                    and interrupt time, in steps of 10 ms where it is not traced. Costs are compared at a sustained load: where packets \
                    are lost, a packet that is lost late costs as much as one that is delivered.";
const SAMPLED: &str = "Where application and kernel share a CPU, and its kernel only samples at its timer tick which of them runs or other work \
                       ran on it, the application's time is known as a range. What may belong to either is a separate layer between the two.";

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

/// Owner of the time per packet: one of the two, either (not known which), both together, or none that a clock names.
const PARTS: [&str; 5] =
    ["application", "application or kernel", "kernel", "application and kernel", "neither, by the clocks"];

type Parts = [Option<f64>; PARTS.len()];

/// The parts sum up to the total of the tables, if it is known.
fn parts_of(trial: &TrialResult) -> Parts {
    let cpu = &trial.cpu;
    let least = cpu.app_ns_per_packet;
    match (least, cpu.app_ns_per_packet_at_most, trial.total_ns_per_packet()) {
        (Some(least), Some(most), Some(total)) if cpu.split_is_sampled => {
            let most = most.clamp(least, total.max(least));
            [Some(least), Some(most - least), Some((total - most).max(0.0)), None, None]
        }
        (_, _, Some(total)) if cpu.split_is_sampled => [None, None, None, Some(total), None],
        (None, _, Some(total)) if cpu.kernel_ns_per_packet.is_none() => [None, None, None, Some(total), None],
        (_, _, total) => {
            let kernel = cpu.kernel_ns_per_packet;
            let neither = total.map(|total| total - least.unwrap_or(0.0) - kernel.unwrap_or(0.0));
            [least, None, kernel, None, neither.filter(|ns| *ns >= 0.5)]
        }
    }
}

/// The certain sum of all parts; `None` if nothing is known.
fn certain_sum(parts: &Parts) -> Option<f64> {
    parts.iter().flatten().copied().reduce(|sum, part| sum + part)
}

/// The parts of the trial whose sum is the median, or their means over the two in the middle: so they add up to the median of
/// the tables. Two that do not know the same parts have only a sum. Nothing is known if one trial knows nothing.
fn median_parts(trials: &[&TrialResult]) -> Parts {
    let mut all = Vec::new();
    for trial in trials {
        let parts = parts_of(trial);
        let Some(sum) = certain_sum(&parts) else { return Parts::default() };
        all.push((sum, parts));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some(last) = all.len().checked_sub(1) else { return Parts::default() };
    let (lower_sum, lower) = all[last / 2];
    let (upper_sum, upper) = all[all.len() / 2];
    let mut means = Parts::default();
    for index in 0..PARTS.len() {
        match (lower[index], upper[index]) {
            (None, None) => {}
            (Some(a), Some(b)) => means[index] = Some(f64::midpoint(a, b)),
            // Only some trials have time that no clock attributes.
            (a, b) if index == PARTS.len() - 1 => {
                means[index] = Some(f64::midpoint(a.unwrap_or(0.0), b.unwrap_or(0.0)));
            }
            _ => return [None, None, None, Some(f64::midpoint(lower_sum, upper_sum)), None],
        }
    }
    means
}

/// Layers of these trials if some trial knows them; with several visits also the spread of their sums.
fn layers_chart(id: &str, title: String, kind: Kind, x: Axis, placed: &[PlacedTrials<'_>]) -> Chart {
    let known: Vec<Parts> = placed.iter().map(|placed| median_parts(&placed.trials)).collect();
    let mut layers: Vec<Series> = Vec::new();
    for (index, name) in PARTS.into_iter().enumerate() {
        if known.iter().any(|parts| parts[index].is_some()) {
            let mut points = Vec::new();
            for (placed, parts) in placed.iter().zip(&known) {
                points.push(point(placed.x, parts[index], placed.numbers()));
            }
            layers.push(series(name, Role::Account, points));
        }
    }
    if !layers.is_empty() && placed.iter().any(|placed| placed.trials.len() > 1) {
        let sums = placed.iter().map(median_sum).collect();
        layers.push(series("sum, median of repeats", Role::Total, sums));
    }
    let y = linear("CPU time per packet", Unit::NanosecondsPerPacket);
    chart(id, title, kind, x, y, layers)
}

/// The median of the sums of these trials; unknown if one trial knows nothing.
fn median_sum(placed: &PlacedTrials<'_>) -> Point {
    let sums: Option<Vec<f64>> = placed.trials.iter().map(|trial| certain_sum(&parts_of(trial))).collect();
    estimated(placed.x, sums.and_then(Estimate::of).as_ref(), placed.numbers())
}

/// At the common load of each scene, the smallest one tried; else one chart per load.
fn bench_charts(results: &Results) -> Vec<Chart> {
    let mut charts = Vec::new();
    for (scene, trials) in grouped(bench_trials(results), |trial| Scene::from_trial(trial)) {
        let at_common_load = trials.iter().filter(|trial| trial.phase == Phase::CommonLoad);
        let least = at_common_load.filter_map(|trial| trial.intended_pps).min_by(f64::total_cmp);
        if let Some(least) = least {
            let compared = trials.iter().filter(|trial| trial.intended_pps == Some(least)).copied().collect();
            charts.push(load_chart(&scene, &trials, compared));
            continue;
        }
        let by_load =
            grouped(trials.iter().copied(), |trial| (trial.intended_pps.map(f64::to_bits), trial.load));
        for (_, compared) in by_load {
            charts.push(load_chart(&scene, &trials, compared));
        }
    }
    charts
}

/// The methods of `scene_trials` at one load, by their `compared` trials.
fn load_chart(scene: &Scene, scene_trials: &[&TrialResult], compared: Vec<&TrialResult>) -> Chart {
    let mut shown = compared.clone();
    shown.retain(|trial| trial.sustained_load());
    let is_sustained = !shown.is_empty();
    if !is_sustained {
        shown = compared;
    }
    let title = match shown.first() {
        Some(first) => format!("CPU time per packet at {}: {}", load(first), scene.words()),
        None => format!("CPU time per packet: {}", scene.words()),
    };
    let mut methods = Vec::new();
    let mut missing = Vec::new();
    let mut groups = Vec::new();
    for (method, _) in grouped(scene_trials, |trial| &trial.profile.method) {
        let mut trials = shown.clone();
        trials.retain(|trial| trial.profile.method == *method);
        if trials.is_empty() {
            missing.push(method.to_string());
        }
        methods.push(method.to_string());
        groups.push(trials);
    }
    let note = if !is_sustained {
        Some("No trial here sustained its load: times are per delivered packet, and include the cost of lost ones.".into())
    } else if !missing.is_empty() {
        Some(format!("Did not sustain this load, or had no trial at it: {}.", missing.join(", ")))
    } else {
        None
    };
    let placed = PlacedTrials::along(groups);
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

#[cfg(test)]
mod tests {
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{CpuAccount, Load};
    use std::time::Duration;

    use super::*;

    fn parts(cpu: CpuAccount) -> Parts {
        let trial = measured(100, 100, 100, 0);
        let trial =
            trial.result(1, Phase::CommonLoad, &profile("recv"), Load::Maximum, Duration::from_secs(1));
        parts_of(&TrialResult { cpu, ..trial })
    }

    #[test]
    fn parts_of_a_sampled_split_sum_up_to_what_is_certain() {
        let cpu = CpuAccount {
            app_ns_per_packet: Some(100.0),
            app_ns_per_packet_at_most: Some(260.0),
            kernel_ns_per_packet: Some(400.0),
            total_ns_per_packet: Some(600.0),
            split_is_sampled: true,
            ..CpuAccount::default()
        };
        assert_eq!(parts(cpu.clone()), [Some(100.0), Some(160.0), Some(340.0), None, None]);
        let disturbed = CpuAccount { total_ns_per_packet: None, ..cpu.clone() };
        assert_eq!(parts(disturbed), [Some(100.0), None, Some(400.0), None, None]);
        let apart = CpuAccount { split_is_sampled: false, ..cpu };
        assert_eq!(parts(apart), [Some(100.0), None, Some(400.0), None, Some(100.0)]);
        assert_eq!(parts(CpuAccount::default()), [None; 5]);
    }
}
