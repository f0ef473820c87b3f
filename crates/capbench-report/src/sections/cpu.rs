//! CPU time per packet: application and kernel.

use capbench_judge::sweep::{Series as SweptSeries, SweepOutcome};
use capbench_model::saved::SavedMethod;
use capbench_model::trial::{Phase, TrialResult};
use capbench_results::Results;

use super::parts::{
    self, Estimate, PlacedTrials, Varied, chart, estimated, grouped, linear, names, of_bench, point,
    resting_on, series,
};
use crate::model::{Axis, Chart, Kind, Role, Section, Series, Unit};
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
            let rest = total.map(|total| total - least.unwrap_or(0.0) - kernel.unwrap_or(0.0));
            [least, None, kernel, None, rest.filter(|rest| *rest >= 0.5)]
        }
    }
}

/// The certain sum of all parts; `None` if nothing is known.
fn sum(trial: &TrialResult) -> Option<f64> {
    parts_of(trial).into_iter().flatten().reduce(|sum, part| sum + part)
}

/// The parts of the trial whose sum is the median, or their means over the two in the middle: so they add up to the median of
/// the tables. Two that do not know the same parts have only a sum.
fn median_parts(trials: &[&TrialResult]) -> Parts {
    let sums: Option<Vec<(f64, Parts)>> =
        trials.iter().map(|trial| Some((sum(trial)?, parts_of(trial)))).collect();
    let mut sums = sums.unwrap_or_default();
    sums.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some(last) = sums.len().checked_sub(1) else { return Parts::default() };
    let ((low, below), (high, above)) = (sums[last / 2], sums[sums.len() / 2]);
    // Only some trials have time that no clock attributes.
    let named = PARTS.len() - 1;
    if below.iter().zip(&above).take(named).any(|(a, b)| a.is_some() != b.is_some()) {
        return [None, None, None, Some(f64::midpoint(low, high)), None];
    }
    std::array::from_fn(|part| match (below[part], above[part]) {
        (None, None) => None,
        (a, b) => Some(f64::midpoint(a.unwrap_or(0.0), b.unwrap_or(0.0))),
    })
}

/// Layers of these trials if some trial knows them; with several visits also the spread of their sums.
fn layers(id: &str, title: String, kind: Kind, x: Axis, placed: &[PlacedTrials<'_>]) -> Chart {
    let known: Vec<Parts> = placed.iter().map(|one| median_parts(&one.trials)).collect();
    let layer = |(part, name): (usize, &str)| {
        let points =
            placed.iter().zip(&known).map(|(one, parts)| point(one.x, parts[part], one.numbers())).collect();
        series(name, Role::Account, points)
    };
    let mut layers: Vec<Series> = PARTS.into_iter().enumerate().map(layer).collect();
    layers.retain(|layer| layer.points.iter().any(|point| point.y.is_some()));
    if !layers.is_empty() && placed.iter().any(|one| one.trials.len() > 1) {
        let total = |one: &PlacedTrials<'_>| {
            let sums: Option<Vec<f64>> = one.trials.iter().map(|trial| sum(trial)).collect();
            estimated(one.x, sums.and_then(Estimate::of).as_ref(), one.numbers())
        };
        layers.push(series("sum, median of repeats", Role::Total, placed.iter().map(total).collect()));
    }
    let y = linear("CPU time per packet", Unit::NanosecondsPerPacket);
    chart(id, title, kind, x, y, layers)
}

/// At the common load of each scene, the smallest one tried; else one chart per load.
fn bench(results: &Results) -> Vec<Chart> {
    let by_scene = grouped(of_bench(results), |trial| Scene::from_trial(trial));
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
    let sustained: Vec<&TrialResult> =
        compared.iter().copied().filter(|trial| trial.sustained_load()).collect();
    let (shown, is_sustained) = if sustained.is_empty() { (compared, false) } else { (sustained, true) };
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
