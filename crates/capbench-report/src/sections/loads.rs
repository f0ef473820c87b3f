//! Delivered frames and losses by place: over the load if there are several loads, else by method. Rates over the frame size:
//! results of searches, and delivered rates at maximum load.

use capbench_judge::rfc2544::Found;
use capbench_judge::search::SearchOutcome;
use capbench_judge::sweep::Analysis;
use capbench_model::trial::{LoadShape, Phase, SizeLabel, TrialResult};
use capbench_results::Results;

use super::parts::{
    Estimate, PlacedTrials, Varied, chart, estimated, grouped, linear, names, of_bench, section, sentence,
    series, stacked, upright, whole_section,
};
use super::searches::{bounds, by_set_up, goals, is_at_least};
use crate::model::{Chart, Kind, Mark, Place, Point, Role, Section, Unit};
use crate::naming::{self, Numbered, Scene, intended_or_offered, is_sound, load, numbers};

/// With more frame sizes than this, frame size is the horizontal axis and each method has a chart.
const SIZES_APART: usize = 3;

const BARS: &str = "Each bar is the intended load: at its bottom what was delivered, above it what each place of the ledger lost, in the order of the path. Unexplained frames are a separate layer. At maximum load the generator sends as \
                    fast as it can, so bars are not equally high.";
const CURVES: &str = "The height of all layers is the intended load. Where losses begin, the layer names the place. Trials of one \
                      load are one point, weighted by their time.";
const BOUNDS: &str = "Points are lower bounds, of several searches their median; bars reach from the lowest lower bound to the highest upper bound.";
const AT_LEAST: &str = "the bound is a lower one: the generator, the link or the named load was the limit.";
const MAXIMUM: &str = "At maximum load: a method may deliver less there than it can sustain.";

pub(super) fn sections(results: &Results, trials: &Numbered<'_>) -> impl Iterator<Item = Section> {
    let bars = section("delivered-and-lost", "Delivered and lost", bench(results), BARS, []);
    let (heading, areas) = ("Delivered and lost against the load", curves(results, trials));
    bars.into_iter().chain(section("loss-against-load", heading, areas, CURVES, []))
}

/// Trials of a bench: bars by method, or by frame size if there are many.
fn bench(results: &Results) -> Vec<Chart> {
    let trials = of_bench(results);
    let sizes = grouped(&trials, |trial| &trial.profile.frame_size).len();
    if sizes > SIZES_APART { by_size(&trials) } else { by_method(&trials) }
}

fn by_method(trials: &[&TrialResult]) -> Vec<Chart> {
    let groups =
        grouped(trials.iter().copied(), |trial| (Scene::from_trial(trial), trial.phase, asked_for(trial)));
    let mut charts = Vec::new();
    for ((scene, phase, _), group) in groups {
        // A common load is one that all methods sustain: show it only if one did not.
        if phase == Phase::CommonLoad && group.iter().all(|trial| trial.lost() == 0) {
            continue;
        }
        let title = format!("Delivered and lost at {}: {}", load(group[0]), scene.words());
        let by_name = grouped(group, |trial| &trial.profile.method);
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
        (&trial.profile.method, Scene::from_trial(trial).place(), trial.intended_pps.is_none())
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
    let swept =
        results.sweeps.iter().filter(|sweep| sweep.axis.shows(Analysis::Livelock)).flat_map(|sweep| {
            let varied = Varied::from_outcome(sweep);
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
    let title =
        format!("Delivered and lost against the load: {method}, {}", Scene::from_trial(first).words());
    let x = linear("Intended load", Unit::PacketsPerSecond);
    let chart = stacked(&format!("{id}-loss-{method}"), title, Kind::Stacked, x, &placed);
    Some(chart.marking(first.line_rate_pps.map(|rate| upright("line rate", rate))))
}

pub(super) fn frame_sizes(results: &Results) -> Option<Section> {
    let mut charts = searched(results);
    charts.extend(best_effort(results));
    let text = "A method that is limited by packets has a level line here; one that is limited by octets, or by the link, falls with the \
                frame size.";
    let has_rate = results.trials.iter().any(|trial| trial.line_rate_pps.is_some());
    let no_rate = "No line rate is drawn: the link has no speed, as virtual ones.";
    let more = (!has_rate).then(|| sentence(no_rate, Vec::new()));
    whole_section("frame-sizes", "Rates against the frame size", charts, text, more)
}

/// Frame sizes as an axis: octets, or names if a mix is among them.
struct Sizes<'r> {
    labels: Vec<&'r SizeLabel>,
    varied: Varied,
}

impl<'r> Sizes<'r> {
    /// `None` for fewer than two sizes.
    fn from_labels(labels: impl IntoIterator<Item = &'r SizeLabel>) -> Option<Self> {
        let mut labels: Vec<&SizeLabel> = labels.into_iter().collect();
        labels.sort();
        labels.dedup();
        let octets = |label: &&SizeLabel| match label {
            SizeLabel::Octets(octets) => Some(f64::from(*octets)),
            SizeLabel::Named(_) => None,
        };
        let words = "the frame size";
        let varied = match labels.iter().map(octets).collect() {
            Some(places) => Varied { axis: linear("Frame size", Unit::Bytes), words, places },
            None => {
                Varied::named("Frame size (bytes)", words, labels.iter().map(ToString::to_string).collect())
            }
        };
        (labels.len() > 1).then_some(Self { labels, varied })
    }

    fn at(&self, label: &SizeLabel) -> f64 {
        let nth = self.labels.iter().position(|known| *known == label).unwrap_or(0);
        self.varied.places[nth]
    }
}

/// The line rate of each size, if the link has one.
pub(super) fn line_rate<'r>(
    trials: impl Iterator<Item = &'r TrialResult>,
    at: impl Fn(&SizeLabel) -> f64,
) -> Option<Mark> {
    let mut curve: Vec<[f64; 2]> =
        trials.filter_map(|trial| Some([at(&trial.profile.frame_size), trial.line_rate_pps?])).collect();
    curve.sort_by(|a, b| a[0].total_cmp(&b[0]));
    curve.dedup_by(|a, b| a[0] == b[0]);
    (!curve.is_empty()).then(|| Mark { label: "line rate".into(), at: Place::Curve(curve) })
}

/// Lines over the frame sizes, one per set-up, from the values of each size. A set-up is the method and its scene. A scene that
/// all share is in the title, else after the method's name.
fn over_sizes<T>(
    (id, what, label): (&str, String, &str),
    sizes: &Sizes<'_>,
    all: Vec<(&SizeLabel, T)>,
    set_up: impl Fn(&T) -> (String, String),
    of: impl Fn(f64, &[T]) -> Point,
) -> Chart {
    let by_set_up = grouped(all, |(_, one)| set_up(one));
    let scenes = grouped(&by_set_up, |((_, scene), _)| scene.clone());
    let common = if let [(scene, _)] = scenes.as_slice() { format!(": {scene}") } else { String::new() };
    let line = |((method, scene), all): ((String, String), Vec<(&SizeLabel, T)>)| {
        let by_size = grouped(all, |(size, _)| *size).into_iter();
        let points = by_size.map(|(size, own)| {
            let own: Vec<T> = own.into_iter().map(|(_, one)| one).collect();
            of(sizes.at(size), &own)
        });
        let name = if common.is_empty() { format!("{method}, {scene}") } else { method };
        series(name, Role::Method, points.collect())
    };
    let lines = by_set_up.into_iter().map(line).collect();
    let y = linear(label, Unit::PacketsPerSecond);
    let Varied { axis, words, .. } = &sizes.varied;
    let title = format!("{what} against {words}{common}");
    chart(id, title, sizes.varied.kind(Kind::Bars), axis.clone(), y, lines)
}

fn searched(results: &Results) -> Vec<Chart> {
    let searches: Vec<(&SizeLabel, &SearchOutcome)> = naming::compared_searches(results)
        .iter()
        .filter_map(|search| Some((search.frame_size.as_ref()?, search)))
        .collect();
    let Some(sizes) = Sizes::from_labels(searches.iter().map(|(size, _)| *size)) else { return Vec::new() };
    let mark = line_rate(results.trials.iter(), |label| sizes.at(label));
    let set_up = |search: &&SearchOutcome| {
        let method = search.method.as_ref().map(ToString::to_string).unwrap_or_default();
        let place = search.placement.as_ref().zip(search.work.as_ref());
        (method, place.map_or_else(String::new, |(placement, work)| naming::place(placement, work)))
    };
    let of_goal = |goal: &str| {
        let at_least = searches.iter().filter(|(_, search)| is_at_least(search, goal)).count();
        let limits = (at_least > 0).then(|| format!("Of {at_least} searches here {AT_LEAST}"));
        let words =
            (&*format!("size-{goal}"), format!("Highest sustained load, by goal {goal},"), "Lower bound");
        over_sizes(words, &sizes, searches.clone(), set_up, |x, own| bounds(x, goal, own))
            .marking(mark.clone())
            .noting([BOUNDS])
            .noting(limits)
    };
    goals(results).into_iter().map(of_goal).collect()
}

/// The delivered rate at the generator's maximum rate.
fn best_effort(results: &Results) -> Option<Chart> {
    let is_it = |trial: &&TrialResult| trial.phase == Phase::BestEffort && is_sound(trial);
    let trials: Vec<(&SizeLabel, &TrialResult)> = naming::compared(results)
        .iter()
        .filter(is_it)
        .map(|trial| (&trial.profile.frame_size, trial))
        .collect();
    let sizes = Sizes::from_labels(trials.iter().map(|(size, _)| *size))?;
    let mark = line_rate(trials.iter().map(|(_, trial)| *trial), |label| sizes.at(label));
    let set_up = |trial: &&TrialResult| (trial.profile.method.to_string(), Scene::from_trial(trial).place());
    let delivered_point = |x: f64, own: &[&TrialResult]| {
        let rate = Estimate::of(own.iter().map(|trial| trial.delivered_pps));
        estimated(x, rate.as_ref(), numbers(own.iter().copied()))
    };
    let words = ("size-delivered", "Delivered at maximum load".into(), "Delivered");
    Some(
        over_sizes(words, &sizes, trials, set_up, delivered_point)
            .marking(mark)
            .noting([MAXIMUM])
            .noting_repeats(),
    )
}
