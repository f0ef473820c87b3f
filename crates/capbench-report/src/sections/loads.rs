//! What was delivered, and where the rest was lost: against the load where there are several, by method where there is one.

use capbench_measure::results::Results;
use capbench_measure::rfc2544::Found;
use capbench_measure::sweep::AxisKind;
use capbench_measure::trial::{LoadShape, Phase, TrialResult};

use super::layers::{Stand, stacked};
use super::parts::{chart, grouped, keep_few, linear, names, of_repeats, section, sentence};
use crate::model::{Axis, Chart, Kind, Mark, Place, Section, Unit};
use crate::naming::{self, Numbered, Scene, intended_or_offered, is_sound, load};

/// With more frame sizes than this they are the horizontal axis, and each method has a chart of its own.
const SIZES_APART: usize = 3;

pub(super) fn sections(results: &Results) -> Vec<Section> {
    let mut found = Vec::new();
    let mut bars = bench(results);
    if !bars.is_empty() {
        let more = keep_few(&mut bars);
        let mut section = section("delivered-and-lost", "Delivered and lost", bars);
        section.text.push(sentence(
            "Each bar is everything that was to be sent: what was delivered, and above it what each place of the ledger lost, from \
             the first on the packets' way. What nothing explains has a layer of its own. At maximum load the generator sends as \
             fast as it can, so bars are not equally high.",
            Vec::new(),
        ));
        section.text.extend(more);
        found.push(section);
    }
    let mut areas = curves(results);
    if !areas.is_empty() {
        let more = keep_few(&mut areas);
        let mut section = section("loss-against-load", "Delivered and lost against the load", areas);
        section.text.push(sentence(
            "The height of all layers is the load that was to be sent. Where losses begin, the layer tells the place. Trials of one \
             load are taken together, long ones and short ones by their time.",
            Vec::new(),
        ));
        section.text.extend(more);
        found.push(section);
    }
    found
}

fn rates() -> Axis {
    linear("Delivered and lost", Unit::PacketsPerSecond)
}

/// Trials of a bench: bars by method, or by frame size where those are many.
fn bench(results: &Results) -> Vec<Chart> {
    let is_bench = |trial: &&TrialResult| {
        is_sound(trial) && matches!(trial.phase, Phase::BestEffort | Phase::CommonLoad | Phase::FixedLoad)
    };
    let trials: Vec<&TrialResult> = naming::compared(results).iter().filter(is_bench).collect();
    let mut sizes: Vec<_> = trials.iter().map(|trial| &trial.profile.frame_size).collect();
    sizes.sort();
    sizes.dedup();
    if sizes.len() > SIZES_APART { by_size(&trials) } else { by_method(&trials) }
}

fn by_method(trials: &[&TrialResult]) -> Vec<Chart> {
    let groups = grouped(trials.iter().copied(), |trial| (Scene::of(trial), trial.phase, asked_for(trial)));
    let mut charts = Vec::new();
    for ((scene, phase, _), group) in groups {
        // A common load is one that all hold: there is something to see where one did not.
        if phase == Phase::CommonLoad && group.iter().all(|trial| trial.lost() == 0) {
            continue;
        }
        let title = format!("Delivered and lost at {}: {}", load(group[0]), scene.words());
        let by_name = grouped(group, |trial| trial.profile.method.as_str());
        charts.push(bars("delivered", title, "Method", by_name));
    }
    charts
}

/// What was to be sent: a rate, or a shape of the load.
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
        // The load of a link's rate differs from size to size: that is one chart, and not one for each size.
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
    let labels = by_name.iter().map(|(name, _)| name.to_string()).collect();
    let stands: Vec<Stand<'_>> =
        by_name.into_iter().enumerate().map(|(nth, (_, trials))| Stand { x: nth as f64, trials }).collect();
    let layers = stacked(&stands);
    let mut chart = chart(id, title, Kind::StackedBars, names(axis, labels), rates(), layers.series);
    chart.notes = layers.notes;
    chart.notes.extend(of_repeats(&chart));
    chart
}

/// Searches, tests of frame loss and sweeps of the load: a chart for each set-up.
fn curves(results: &Results) -> Vec<Chart> {
    let trials = Numbered::of(results);
    let mut charts = Vec::new();
    for (_, group) in grouped(naming::compared_searches(results), |search| {
        (search.method.clone(), search.placement.clone(), search.frame_size.clone(), search.work.clone())
    }) {
        let all: Vec<u32> = group.iter().flat_map(|search| search.trials.iter().copied()).collect();
        charts.extend(curve("search", trials.sound(&all)));
    }
    for tested in &results.rfc2544 {
        if matches!(tested.found, Found::FrameLoss(_)) {
            charts.extend(curve("frame-loss", trials.sound(&tested.trials)));
        }
    }
    for sweep in results.sweeps.iter().filter(|sweep| sweep.axis == AxisKind::Load) {
        for series in &sweep.series {
            let all: Vec<u32> = series
                .readings
                .iter()
                .filter(|reading| reading.back_to_back.is_none())
                .flat_map(|reading| reading.trials.iter().copied())
                .collect();
            charts.extend(curve("sweep", trials.sound(&all)));
        }
    }
    charts
}

/// One set-up over its loads; `None` where it ran at one only.
fn curve(id: &str, trials: Vec<&TrialResult>) -> Option<Chart> {
    let first = *trials.first()?;
    let method = &first.profile.method;
    // Loads that differ by less than a frame are one.
    let stands: Vec<Stand<'_>> = {
        let by_load = grouped(trials, |trial| intended_or_offered(trial).round());
        let mut stands: Vec<Stand<'_>> = by_load.into_iter().map(|(x, trials)| Stand { x, trials }).collect();
        stands.sort_by(|a, b| a.x.total_cmp(&b.x));
        stands
    };
    if stands.len() < 2 {
        return None;
    }
    let layers = stacked(&stands);
    let title = format!("Delivered and lost against the load: {method}, {}", Scene::of(first).words());
    let x = linear("Intended load", Unit::PacketsPerSecond);
    let mut chart = chart(&format!("{id}-loss-{method}"), title, Kind::Stacked, x, rates(), layers.series);
    chart.notes = layers.notes;
    chart.notes.extend(of_repeats(&chart));
    if let Some(line_rate) = first.line_rate_pps {
        chart.marks.push(Mark { label: "line rate".into(), at: Place::X(line_rate) });
    }
    Some(chart)
}
