//! CPU time per packet: application and kernel.

use crate::results::Results;
use capbench_model::trial::{CpuAccount, Phase, TrialResult};
use capbench_plan::sweep::{Series as SweptSeries, SweepOutcome};

use super::parts::{
    self, Estimate, PlacedTrials, Varied, chart, estimated, grouped, linear, names, of_bench, point,
    resting_on, series,
};
use crate::model::{Axis, Chart, Kind, Role, Section, Series, Unit};
use crate::naming::{Numbered, Scene, is_sound, load, numbers};

const TEXT: &str = "Application time is what the scheduler charges to its thread, verification of every frame included; kernel time is softirq \
                    and interrupt time, in steps of 10 ms where it is not traced. Costs are compared at a load that is held: where packets \
                    are lost, a packet that is lost late has cost as much as one that came.";
const SAMPLED: &str = "Where application and kernel share a CPU, and its kernel only samples at its timer tick which of them runs or other work \
                       ran on it, the application's time is known as a range. What may belong to either has a layer of its own between the two.";

pub(super) fn section(results: &Results, trials: &Numbered<'_>) -> Option<Section> {
    let mut charts = bench(results);
    // Sweeps of publications have the sum of both in their charts, for all methods together.
    let sweeps = if results.reproductions.is_empty() { results.sweeps.as_slice() } else { &[] };
    charts.extend(sweeps.iter().flat_map(|sweep| swept(sweep, trials)));
    let is_sampled = |trial: &&TrialResult| is_sound(trial) && trial.cpu.split_is_sampled;
    let sampled = resting_on(numbers(results.trials.iter().filter(is_sampled)), SAMPLED);
    parts::section("cpu", "CPU time per packet", charts, TEXT, sampled)
}

/// Owner of the time per packet: one of the two, either (not known which), or both together.
const PARTS: [&str; 4] = ["application", "application or kernel", "kernel", "application and kernel"];

type Parts = [Option<f64>; PARTS.len()];

fn parts_of(cpu: &CpuAccount) -> Parts {
    let least = cpu.app_ns_per_packet;
    match (least, cpu.app_ns_per_packet_at_most, cpu.total_ns_per_packet) {
        (Some(least), Some(most), Some(total)) if cpu.split_is_sampled => {
            let most = most.clamp(least, total.max(least));
            [Some(least), Some(most - least), Some((total - most).max(0.0)), None]
        }
        (_, _, Some(total)) if cpu.split_is_sampled => [None, None, None, Some(total)],
        (None, _, Some(total)) if cpu.kernel_ns_per_packet.is_none() => [None, None, None, Some(total)],
        _ => [least, None, cpu.kernel_ns_per_packet, None],
    }
}

/// The certain sum of all parts; `None` if nothing is known.
fn sum(cpu: &CpuAccount) -> Option<f64> {
    parts_of(cpu).into_iter().flatten().reduce(|sum, part| sum + part)
}

/// The mean of a part over trials; `None` if one of them does not know it.
fn mean(trials: &[&TrialResult], part: usize) -> Option<f64> {
    let sum: Option<f64> = trials.iter().map(|trial| parts_of(&trial.cpu)[part]).sum();
    sum.filter(|_| !trials.is_empty()).map(|sum| sum / trials.len() as f64)
}

/// Layers of these trials if some trial knows them; with several visits also the spread of their sums.
fn layers(id: &str, title: String, kind: Kind, x: Axis, placed: &[PlacedTrials<'_>]) -> Chart {
    let layer = |(part, name): (usize, &str)| {
        let points = placed.iter().map(|one| point(one.x, mean(&one.trials, part), one.numbers()));
        series(name, Role::Account, points.collect())
    };
    let mut layers: Vec<Series> = PARTS.into_iter().enumerate().map(layer).collect();
    layers.retain(|layer| layer.points.iter().any(|point| point.y.is_some()));
    if !layers.is_empty() && placed.iter().any(|one| one.trials.len() > 1) {
        let total = |one: &PlacedTrials<'_>| {
            let sums: Option<Vec<f64>> = one.trials.iter().map(|trial| sum(&trial.cpu)).collect();
            estimated(one.x, sums.and_then(Estimate::of).as_ref(), one.numbers())
        };
        layers.push(series("sum, median of repeats", Role::Total, placed.iter().map(total).collect()));
    }
    let y = linear("CPU time per packet", Unit::NanosecondsPerPacket);
    chart(id, title, kind, x, y, layers)
}

/// At the common load of each scene, the smallest one tried; else one chart per load.
fn bench(results: &Results) -> Vec<Chart> {
    let by_scene = grouped(of_bench(results), |trial| Scene::of(trial));
    by_scene.into_iter().flat_map(|(scene, group)| of_scene(&scene, &group)).collect()
}

fn of_scene(scene: &Scene, group: &[&TrialResult]) -> Vec<Chart> {
    let common = group.iter().filter(|trial| trial.phase == Phase::CommonLoad);
    let least = common.filter_map(|trial| trial.intended_pps).min_by(f64::total_cmp);
    if let Some(least) = least {
        let compared = group.iter().filter(|trial| trial.intended_pps == Some(least)).copied().collect();
        return vec![at_load(scene, group, compared)];
    }
    let by_load = grouped(group.iter().copied(), |trial| (trial.intended_pps.map(f64::to_bits), trial.load));
    by_load.into_iter().map(|(_, compared)| at_load(scene, group, compared)).collect()
}

fn at_load(scene: &Scene, group: &[&TrialResult], compared: Vec<&TrialResult>) -> Chart {
    let held: Vec<&TrialResult> = compared.iter().copied().filter(|trial| trial.sustained_load()).collect();
    let (shown, is_held) = if held.is_empty() { (compared, false) } else { (held, true) };
    let title = match shown.first() {
        Some(first) => format!("CPU time per packet at {}: {}", load(first), scene.words()),
        None => format!("CPU time per packet: {}", scene.words()),
    };
    let methods = grouped(group.iter(), |trial| trial.profile.method.clone()).into_iter();
    let methods: Vec<String> = methods.map(|(name, _)| name).collect();
    let of =
        |method: &String| shown.iter().copied().filter(|trial| trial.profile.method == *method).collect();
    let placed = PlacedTrials::along(methods.iter().map(of));
    let missing = methods.iter().zip(&placed).filter(|(_, one)| one.trials.is_empty());
    let missing: Vec<&str> = missing.map(|(method, _)| method.as_str()).collect();
    let note = match (is_held, missing.as_slice()) {
        (false, _) => Some(
            "No trial here held its load: times are per packet that arrived, and lost ones have cost time as well.".into(),
        ),
        (true, []) => None,
        (true, missing) => {
            Some(format!("Did not hold this load, or had no trial at it: {}.", missing.join(", ")))
        }
    };
    let x = names("Method", methods.clone());
    layers("cpu-methods", title, Kind::StackedBars, x, &placed).noting(note).noting_repeats()
}

/// Parts over the axis of a sweep, one chart per method.
fn swept(sweep: &SweepOutcome, trials: &Numbered<'_>) -> Vec<Chart> {
    let varied = Varied::of(sweep);
    let of_line = |line: &SweptSeries| {
        let placed = varied.placed(line, trials);
        let title = format!("CPU time per packet against {}: {}", varied.words, line.name());
        let id = format!("cpu-{}-{}", sweep.axis, line.method);
        layers(&id, title, varied.kind(Kind::StackedBars), varied.axis.clone(), &placed)
    };
    sweep.series.iter().map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(parts_of(&cpu), [Some(100.0), Some(160.0), Some(340.0), None]);
        let disturbed = CpuAccount { total_ns_per_packet: None, ..cpu.clone() };
        assert_eq!(parts_of(&disturbed), [Some(100.0), None, Some(400.0), None]);
        let apart = CpuAccount { split_is_sampled: false, ..cpu };
        assert_eq!(parts_of(&apart), [Some(100.0), None, Some(400.0), None]);
        assert_eq!((parts_of(&CpuAccount::default()), sum(&CpuAccount::default())), ([None; 4], None));
    }

    #[test]
    fn no_part_is_below_nothing() {
        let cpu = CpuAccount {
            app_ns_per_packet: Some(300.0),
            app_ns_per_packet_at_most: Some(900.0),
            total_ns_per_packet: Some(250.0),
            split_is_sampled: true,
            ..CpuAccount::default()
        };
        assert_eq!(parts_of(&cpu), [Some(300.0), Some(0.0), Some(0.0), None]);
    }
}
