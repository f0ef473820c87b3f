//! Delivered frames and losses by place: over the load if there are several loads, else by method.

use capbench_judge::rfc2544::Found;
use capbench_judge::sweep::Analysis;
use capbench_model::trial::{LoadShape, Phase, SizeLabel, TrialResult};
use capbench_results::Results;

use super::ledger_layers::{PlacedTrials, ledger_chart};
use super::parts::{bench_trials, by_key, linear, names, section, upright};
use super::searches::by_set_up;
use super::varied::Varied;
use crate::model::{Chart, Kind, Section, Unit};
use crate::naming::{Numbered, Scene, intended_or_offered, load};

/// With more frame sizes than this, frame size is the horizontal axis and each method has a chart.
const MOST_SIZES_APART: usize = 3;

const BARS: &str = "Each bar is the intended load: at its bottom what was delivered, above it what each place of the ledger lost, in the order of the path. Unexplained frames are a separate layer. At maximum load the generator sends as \
                    fast as it can, so bars are not equally high.";
const CURVES: &str = "The height of all layers is the intended load. Where losses begin, the layer names the place. Trials of one \
                      load are one point, weighted by their time.";

/// A section of bars for a bench, and one of curves over the load.
pub(super) fn sections(results: &Results, trials: &Numbered<'_>) -> Vec<Section> {
    let mut sections = Vec::new();
    sections.extend(section("delivered-and-lost", "Delivered and lost", bench_charts(results), BARS, []));
    let heading = "Delivered and lost against the load";
    sections.extend(section("loss-against-load", heading, curves(results, trials), CURVES, []));
    sections
}

/// Trials of a bench: bars by method, or by frame size if there are many.
fn bench_charts(results: &Results) -> Vec<Chart> {
    let trials = bench_trials(results);
    let sizes = by_key(&trials, |trial| &trial.profile.frame_size).len();
    if sizes > MOST_SIZES_APART { by_size(&trials) } else { by_method(&trials) }
}

/// A chart for each scene and load: a bar per method.
fn by_method(trials: &[&TrialResult]) -> Vec<Chart> {
    let groups = by_key(trials.iter().copied(), |trial| {
        (Scene::from_trial(trial), trial.phase, IntendedLoad::from_trial(trial))
    });
    let mut charts = Vec::new();
    for ((scene, phase, _), trials) in groups {
        // All methods should sustain the common load: its chart is of interest only if one did not.
        if phase == Phase::CommonLoad && trials.iter().all(|trial| trial.lost() == 0) {
            continue;
        }
        let title = format!("Delivered and lost at {}: {}", load(trials[0]), scene.words());
        let by_name = by_key(trials, |trial| &trial.profile.method);
        charts.push(bars("delivered", title, "Method", by_name));
    }
    charts
}

/// The intended load: a rate, or a shape; neither at maximum load.
#[derive(Clone, Copy, PartialEq)]
struct IntendedLoad {
    pps: Option<f64>,
    shape: Option<LoadShape>,
}

impl IntendedLoad {
    fn from_trial(trial: &TrialResult) -> Self {
        Self { pps: trial.intended_pps, shape: trial.load }
    }
}

/// A chart for each method and set-up: a bar per frame size.
fn by_size(trials: &[&TrialResult]) -> Vec<Chart> {
    let trials = trials.iter().copied().filter(|trial| trial.phase != Phase::CommonLoad);
    // Trials at a rate are apart from those at maximum load or a shape: whether the load follows the size is asked of rates alone.
    let set_ups = by_key(trials, |trial| {
        (&trial.profile.method, Scene::from_trial(trial).placement_and_work(), trial.intended_pps.is_none())
    });
    let mut charts = Vec::new();
    for ((method, placement_and_work, _), trials) in set_ups {
        let id = format!("delivered-{method}");
        if load_follows_size(&trials) {
            let title =
                format!("Delivered and lost at the load of each frame size: {method}, {placement_and_work}");
            let by_name = by_key(trials, |trial| format!("{}, {}", trial.profile.frame_size, load(trial)));
            charts.push(bars(&id, title, "Frame size (bytes), load", by_name));
            continue;
        }
        for (_, trials) in by_key(trials, |trial| IntendedLoad::from_trial(trial)) {
            let title = format!("Delivered and lost at {}: {method}, {placement_and_work}", load(trials[0]));
            let by_name = by_key(trials, |trial| trial.profile.frame_size.to_string());
            charts.push(bars(&id, title, "Frame size (bytes)", by_name));
        }
    }
    charts
}

/// Whether each frame size has one load, and the loads differ, as those at a link's line rate do. One chart shows them all; a
/// chart for each load would have a single bar.
fn load_follows_size(trials: &[&TrialResult]) -> bool {
    let mut loads_by_size: Vec<(&SizeLabel, IntendedLoad)> = Vec::new();
    for trial in trials {
        let size = &trial.profile.frame_size;
        let load = IntendedLoad::from_trial(trial);
        match loads_by_size.iter().find(|(known, _)| *known == size) {
            Some((_, known)) if *known != load => return false,
            Some(_) => {}
            None => loads_by_size.push((size, load)),
        }
    }
    loads_by_size.iter().any(|(_, load)| *load != loads_by_size[0].1)
}

/// A chart with a bar for each name.
fn bars<N: ToString>(id: &str, title: String, axis: &str, by_name: Vec<(N, Vec<&TrialResult>)>) -> Chart {
    let mut bar_names = Vec::new();
    let mut groups = Vec::new();
    for (name, trials) in by_name {
        bar_names.push(name.to_string());
        groups.push(trials);
    }
    let placed = PlacedTrials::side_by_side(groups);
    ledger_chart(id, title, Kind::StackedBars, names(axis, bar_names), &placed)
}

/// Searches, tests of frame loss and sweeps of the load: one chart per set-up.
fn curves(results: &Results, trials: &Numbered<'_>) -> Vec<Chart> {
    let mut charts = Vec::new();
    for searches in by_set_up(results) {
        let mut numbers = Vec::new();
        for search in searches {
            numbers.extend(&search.trials);
        }
        charts.extend(curve("search", trials.sound(&numbers)));
    }
    for tested in &results.rfc2544 {
        if matches!(tested.found, Found::FrameLoss(_)) {
            charts.extend(curve("frame-loss", trials.sound(&tested.trials)));
        }
    }
    for sweep in &results.sweeps {
        // A sweep of the load is the one that shows livelock.
        if !sweep.axis.shows(Analysis::Livelock) {
            continue;
        }
        let varied = Varied::from_outcome(sweep);
        for line in &sweep.series {
            let placed = varied.placed(line, trials);
            charts.extend(curve("sweep", placed.into_iter().flat_map(|placed| placed.trials).collect()));
        }
    }
    charts
}

/// One set-up over its loads; `None` if it ran at fewer than two.
fn curve(id: &str, trials: Vec<&TrialResult>) -> Option<Chart> {
    let first = *trials.first()?;
    let method = &first.profile.method;
    let mut placed = Vec::new();
    // Loads that differ by less than one frame are the same.
    for (x, trials) in by_key(trials, |trial| intended_or_offered(trial).round()) {
        placed.push(PlacedTrials { x, trials });
    }
    if placed.len() < 2 {
        return None;
    }
    placed.sort_by(|a, b| a.x.total_cmp(&b.x));
    let scene = Scene::from_trial(first).words();
    let title = format!("Delivered and lost against the load: {method}, {scene}");
    let x = linear("Intended load", Unit::PacketsPerSecond);
    let chart = ledger_chart(&format!("{id}-loss-{method}"), title, Kind::Stacked, x, &placed);
    Some(chart.marking(first.line_rate_pps.map(|rate| upright("line rate", rate))))
}
