//! Delivered frames and losses by place: over the load if there are several loads, else by method.

use crate::results::Results;
use capbench_model::trial::{LoadShape, Phase, TrialResult};
use capbench_plan::rfc2544::Found;
use capbench_plan::sweep::AxisKind;

use super::layers::stacked;
use super::parts::{PlacedTrials, grouped, keep_few, linear, names, of_bench, section, upright};
use super::searches::by_set_up;
use super::varied::Varied;
use crate::model::{Chart, Kind, Section, Unit};
use crate::naming::{Numbered, Scene, intended_or_offered, load};

/// With more frame sizes than this, frame size is the horizontal axis and each method has a chart.
const SIZES_APART: usize = 3;

const BARS: &str = "Each bar is everything that was to be sent: what was delivered, and above it what each place of the ledger lost, from \
                    the first on the packets' way. What nothing explains has a layer of its own. At maximum load the generator sends as \
                    fast as it can, so bars are not equally high.";
const CURVES: &str = "The height of all layers is the load that was to be sent. Where losses begin, the layer tells the place. Trials of one \
                      load are taken together, long ones and short ones by their time.";

pub(super) fn sections(results: &Results, trials: &Numbered<'_>) -> impl Iterator<Item = Section> {
    let (mut bars, mut areas) = (bench(results), curves(results, trials));
    let (more_bars, more_areas) = (keep_few(&mut bars), keep_few(&mut areas));
    let bars = section("delivered-and-lost", "Delivered and lost", bars, BARS, more_bars);
    let heading = "Delivered and lost against the load";
    let areas = section("loss-against-load", heading, areas, CURVES, more_areas);
    bars.into_iter().chain(areas)
}

/// Trials of a bench: bars by method, or by frame size if there are many.
fn bench(results: &Results) -> Vec<Chart> {
    let trials = of_bench(results);
    let sizes = grouped(&trials, |trial| &trial.profile.frame_size).len();
    if sizes > SIZES_APART { by_size(&trials) } else { by_method(&trials) }
}

fn by_method(trials: &[&TrialResult]) -> Vec<Chart> {
    let groups = grouped(trials.iter().copied(), |trial| (Scene::of(trial), trial.phase, asked_for(trial)));
    let mut charts = Vec::new();
    for ((scene, phase, _), group) in groups {
        // A common load is one that all methods sustain: show it only if one did not.
        if phase == Phase::CommonLoad && group.iter().all(|trial| trial.lost() == 0) {
            continue;
        }
        let title = format!("Delivered and lost at {}: {}", load(group[0]), scene.words());
        let by_name = grouped(group, |trial| trial.profile.method.as_str());
        charts.push(bars("delivered", title, "Method", by_name));
    }
    charts
}

/// The intended load: a rate, or a shape.
fn asked_for(trial: &TrialResult) -> (Option<u64>, Option<LoadShape>) {
    (trial.intended_pps.map(f64::to_bits), trial.load)
}

fn by_size(trials: &[&TrialResult]) -> Vec<Chart> {
    let in_all = trials.iter().copied().filter(|trial| trial.phase != Phase::CommonLoad);
    let by_set_up = grouped(in_all, |trial| {
        (trial.profile.method.as_str(), Scene::of(trial).place(), trial.intended_pps.is_none())
    });
    let mut charts = Vec::new();
    for ((method, place, _), group) in by_set_up {
        let by_load = grouped(group.iter().copied(), |trial| asked_for(trial));
        let by_size = grouped(group.iter().copied(), |trial| &trial.profile.frame_size);
        let has_one = |own: &[&TrialResult]| own.iter().all(|trial| asked_for(trial) == asked_for(own[0]));
        let id = format!("delivered-{method}");
        // The load of a link's line rate differs by size: that is one chart, not one per size.
        if by_load.len() > 1 && by_size.iter().all(|(_, own)| has_one(own)) {
            let title = format!("Delivered and lost at the load of each frame size: {method}, {place}");
            let by_name = grouped(group, |trial| format!("{}, {}", trial.profile.frame_size, load(trial)));
            charts.push(bars(&id, title, "Frame size (bytes), load", by_name));
            continue;
        }
        for (_, own) in by_load {
            let title = format!("Delivered and lost at {}: {method}, {place}", load(own[0]));
            let by_name = grouped(own, |trial| trial.profile.frame_size.to_string());
            charts.push(bars(&id, title, "Frame size (bytes)", by_name));
        }
    }
    charts
}

fn bars<N: ToString>(id: &str, title: String, axis: &str, by_name: Vec<(N, Vec<&TrialResult>)>) -> Chart {
    let axis = names(axis, by_name.iter().map(|(name, _)| name.to_string()).collect());
    let placed = PlacedTrials::along(by_name.into_iter().map(|(_, trials)| trials));
    stacked(id, title, Kind::StackedBars, axis, &placed)
}

/// Searches, tests of frame loss and sweeps of the load: one chart per set-up.
fn curves(results: &Results, trials: &Numbered<'_>) -> Vec<Chart> {
    let searched = by_set_up(results).into_iter().map(|group| {
        let all: Vec<u32> = group.iter().flat_map(|search| search.trials.iter().copied()).collect();
        ("search", trials.sound(&all))
    });
    let is_loss = |found: &Found| matches!(found, Found::FrameLoss(_));
    let tested = results.rfc2544.iter().filter(|tested| is_loss(&tested.found));
    let tested = tested.map(|tested| ("frame-loss", trials.sound(&tested.trials)));
    let swept = results.sweeps.iter().filter(|sweep| sweep.axis == AxisKind::Load).flat_map(|sweep| {
        let varied = Varied::of(sweep);
        let of_line =
            move |line| varied.placed(line, trials).into_iter().flat_map(|one| one.trials).collect();
        sweep.series.iter().map(move |line| ("sweep", of_line(line)))
    });
    searched.chain(tested).chain(swept).filter_map(|(id, trials)| curve(id, trials)).collect()
}

/// One set-up over its loads; `None` if it ran at only one.
fn curve(id: &str, trials: Vec<&TrialResult>) -> Option<Chart> {
    let first = *trials.first()?;
    let method = &first.profile.method;
    // Loads that differ by less than one frame are the same.
    let by_load = grouped(trials, |trial| intended_or_offered(trial).round());
    let mut placed: Vec<PlacedTrials<'_>> =
        by_load.into_iter().map(|(x, trials)| PlacedTrials { x, trials }).collect();
    placed.sort_by(|a, b| a.x.total_cmp(&b.x));
    if placed.len() < 2 {
        return None;
    }
    let title = format!("Delivered and lost against the load: {method}, {}", Scene::of(first).words());
    let x = linear("Intended load", Unit::PacketsPerSecond);
    let chart = stacked(&format!("{id}-loss-{method}"), title, Kind::Stacked, x, &placed);
    Some(chart.marking(first.line_rate_pps.map(|rate| upright("line rate", rate))))
}
