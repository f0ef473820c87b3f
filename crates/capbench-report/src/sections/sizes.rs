//! Rates over the frame size: results of searches, and delivered rates at maximum load.

use crate::results::Results;
use capbench_model::trial::{Phase, SizeLabel, TrialResult};
use capbench_plan::search::SearchOutcome;

use super::parts::{self, Estimate, chart, estimated, grouped, linear, sentence, series};
use super::searches::{bounds, goals, is_at_least};
use super::varied::Varied;
use crate::model::{Chart, Kind, Mark, Place, Point, Role, Section, Unit};
use crate::naming::{self, Scene, is_sound, numbers};

const BOUNDS: &str = "Points are lower bounds, of several searches their median; bars reach from the lowest lower bound to the highest upper bound.";
const AT_LEAST: &str = "the bound is held at least: the generator, the link or the load given was the limit.";
const MAXIMUM: &str = "At maximum load: what is delivered there may be less than what a method can hold.";

pub(super) fn section(results: &Results) -> Option<Section> {
    let mut charts = searched(results);
    charts.extend(best_effort(results));
    let text = "A method that is limited by packets has a level line here; one that is limited by octets, or by the link, falls with the \
                frame size.";
    let has_rate = results.trials.iter().any(|trial| trial.line_rate_pps.is_some());
    let no_rate = "No line rate is drawn: the link has no speed, as virtual ones.";
    let more = (!has_rate).then(|| sentence(no_rate, Vec::new()));
    parts::section("frame-sizes", "Rates against the frame size", charts, text, more)
}

/// Frame sizes as an axis: octets, or names if a mix is among them.
struct Sizes<'r> {
    labels: Vec<&'r SizeLabel>,
    varied: Varied,
}

impl<'r> Sizes<'r> {
    /// `None` for fewer than two sizes.
    fn of(labels: impl IntoIterator<Item = &'r SizeLabel>) -> Option<Self> {
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

/// The result of searches for each goal.
fn searched(results: &Results) -> Vec<Chart> {
    let searches: Vec<(&SizeLabel, &SearchOutcome)> = naming::compared_searches(results)
        .iter()
        .filter_map(|search| Some((search.frame_size.as_ref()?, search)))
        .collect();
    let Some(sizes) = Sizes::of(searches.iter().map(|(size, _)| *size)) else { return Vec::new() };
    let mark = line_rate(results.trials.iter(), |label| sizes.at(label));
    let set_up = |search: &&SearchOutcome| {
        let [method, placement, work] =
            [&search.method, &search.placement, &search.work].map(|part| part.clone().unwrap_or_default());
        (method, naming::place(&placement, &work))
    };
    let of_goal = |goal: &str| {
        let at_least = searches.iter().filter(|(_, search)| is_at_least(search, goal)).count();
        let limits = (at_least > 0).then(|| format!("Of {at_least} searches here {AT_LEAST}"));
        let words =
            (&*format!("size-{goal}"), format!("Highest load that is held, by goal {goal},"), "Lower bound");
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
    let sizes = Sizes::of(trials.iter().map(|(size, _)| *size))?;
    let mark = line_rate(trials.iter().map(|(_, trial)| *trial), |label| sizes.at(label));
    let set_up = |trial: &&TrialResult| (trial.profile.method.clone(), Scene::of(trial).place());
    let of = |x: f64, own: &[&TrialResult]| {
        let rate = Estimate::of(own.iter().map(|trial| trial.delivered_pps));
        estimated(x, rate.as_ref(), numbers(own.iter().copied()))
    };
    let words = ("size-delivered", "Delivered at maximum load".into(), "Delivered");
    Some(over_sizes(words, &sizes, trials, set_up, of).marking(mark).noting([MAXIMUM]).noting_repeats())
}
