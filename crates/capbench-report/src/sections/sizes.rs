//! Rates against the frame size: what searches found, and what was delivered at maximum load.

use capbench_measure::results::Results;
use capbench_measure::search::{SearchOutcome, Status};
use capbench_measure::statistics::median;
use capbench_measure::trial::{Phase, SizeLabel, TrialResult};

use super::parts::{Estimate, chart, estimated, grouped, linear, names, point, section, sentence, series};
use crate::model::{Axis, Chart, Kind, Mark, Place, Point, Role, Section, Series, Unit};
use crate::naming::{self, Scene, is_sound, numbers};

pub(super) fn sections(results: &Results) -> Vec<Section> {
    let mut charts = searched(results);
    charts.extend(best_effort(results));
    if charts.is_empty() {
        return Vec::new();
    }
    let mut section = section("frame-sizes", "Rates against the frame size", charts);
    section.text.push(sentence(
        "A method that is limited by packets has a level line here; one that is limited by octets, or by the link, falls with the \
         frame size.",
        Vec::new(),
    ));
    if results.trials.iter().all(|trial| trial.line_rate_pps.is_none()) {
        section
            .text
            .push(sentence("No line rate is drawn: the link has no speed, as virtual ones.", Vec::new()));
    }
    vec![section]
}

/// Frame sizes as an axis: octets, or names where a mix is among them.
struct Sizes<'r> {
    labels: Vec<&'r SizeLabel>,
}

impl<'r> Sizes<'r> {
    /// `None` where there are fewer than two.
    fn of(labels: impl IntoIterator<Item = &'r SizeLabel>) -> Option<Self> {
        let mut labels: Vec<&SizeLabel> = labels.into_iter().collect();
        labels.sort();
        labels.dedup();
        (labels.len() > 1).then_some(Self { labels })
    }

    fn is_named(&self) -> bool {
        self.labels.iter().any(|label| matches!(label, SizeLabel::Named(_)))
    }

    fn axis(&self) -> Axis {
        if self.is_named() {
            names("Frame size (bytes)", self.labels.iter().map(ToString::to_string).collect())
        } else {
            linear("Frame size", Unit::Bytes)
        }
    }

    fn at(&self, label: &SizeLabel) -> f64 {
        match label {
            SizeLabel::Octets(octets) if !self.is_named() => f64::from(*octets),
            _ => self.labels.iter().position(|known| *known == label).unwrap_or(0) as f64,
        }
    }

    /// Names have nothing between them that a line could stand for.
    fn kind(&self) -> Kind {
        if self.is_named() { Kind::Bars } else { Kind::Lines }
    }
}

/// The line rate of each size, where the link has one.
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

/// A line: its method, where it was measured, and its points.
type Line = (String, String, Vec<Point>);

/// Lines by their methods, and where they were measured for the title; by both where that differs.
fn named(lines: Vec<Line>) -> (Vec<Series>, String) {
    let scene = lines.first().map(|(_, scene, _)| scene.clone()).unwrap_or_default();
    let is_one = lines.iter().all(|(_, other, _)| *other == scene);
    let name = |method: String, own: String| if is_one { method } else { format!("{method}, {own}") };
    let common = if is_one { format!(": {scene}") } else { String::new() };
    let named =
        lines.into_iter().map(|(method, own, points)| series(name(method, own), Role::Method, points));
    (named.collect(), common)
}

/// What searches found for each goal.
fn searched(results: &Results) -> Vec<Chart> {
    let Some(sizes) =
        Sizes::of(naming::compared_searches(results).iter().filter_map(|search| search.frame_size.as_ref()))
    else {
        return Vec::new();
    };
    let mut goals: Vec<&str> = Vec::new();
    for goal in naming::compared_searches(results).iter().flat_map(|search| &search.goals) {
        if !goals.contains(&goal.goal.name.as_str()) {
            goals.push(&goal.goal.name);
        }
    }
    let mark = line_rate(results.trials.iter(), |label| sizes.at(label));
    goals.into_iter().map(|goal| of_goal(results, goal, &sizes, mark.clone())).collect()
}

fn of_goal(results: &Results, goal: &str, sizes: &Sizes<'_>, mark: Option<Mark>) -> Chart {
    let set_up = |search: &&SearchOutcome| {
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        (part(&search.method), part(&search.placement), part(&search.work))
    };
    let searches = naming::compared_searches(results).iter().filter(|search| search.frame_size.is_some());
    let mut at_least = 0;
    let lines: Vec<Line> = grouped(searches, set_up)
        .into_iter()
        .map(|((method, placement, given), group)| {
            let by_size = grouped(group, |search| search.frame_size.clone());
            let points = by_size
                .into_iter()
                .filter_map(|(size, group)| {
                    at_least += group.iter().filter(|search| is_at_least(search, goal)).count();
                    Some(bounds(sizes.at(&size?), goal, &group))
                })
                .collect();
            (method, naming::place(&placement, &given), points)
        })
        .collect();
    let (lines, common) = named(lines);
    let title = format!("Highest load that is held, by goal {goal}, against the frame size{common}");
    let y = linear("Lower bound", Unit::PacketsPerSecond);
    let mut chart = chart(&format!("size-{goal}"), title, sizes.kind(), sizes.axis(), y, lines);
    chart.marks.extend(mark);
    chart.notes.push("Points are lower bounds, of several searches their median; bars reach from the lowest lower bound to the highest upper bound.".into());
    if at_least > 0 {
        chart.notes.push(format!(
            "Of {at_least} searches here the bound is held at least: the generator, the link or the load given was the limit."
        ));
    }
    chart
}

fn is_at_least(search: &SearchOutcome, goal: &str) -> bool {
    search.goals.iter().any(|result| result.goal.name == goal && result.status == Status::AtLeast)
}

/// Bounds of searches of one set-up.
pub(super) fn bounds(x: f64, goal: &str, searches: &[&SearchOutcome]) -> Point {
    let results =
        || searches.iter().flat_map(|search| &search.goals).filter(|result| result.goal.name == goal);
    let lower = || results().filter_map(|result| result.lower.as_ref());
    let upper = || results().filter_map(|result| result.upper.as_ref());
    let middle = median(lower().map(|bound| bound.achieved_pps));
    let least = lower().map(|bound| bound.achieved_pps).fold(f64::INFINITY, f64::min);
    let most = upper().map(|bound| bound.intended_pps).fold(f64::NEG_INFINITY, f64::max);
    let trials = lower().chain(upper()).flat_map(|bound| bound.trials.iter().copied()).collect();
    let interval = (middle.is_some() && most.is_finite()).then_some([least, most]);
    Point { interval, ..point(x, middle, trials) }
}

/// What was delivered as fast as the generator sends.
fn best_effort(results: &Results) -> Option<Chart> {
    let is_it = |trial: &&TrialResult| trial.phase == Phase::BestEffort && is_sound(trial);
    let trials: Vec<&TrialResult> = naming::compared(results).iter().filter(is_it).collect();
    let sizes = Sizes::of(trials.iter().map(|trial| &trial.profile.frame_size))?;
    let by_set_up =
        grouped(trials.iter().copied(), |trial| (trial.profile.method.as_str(), Scene::of(trial).place()));
    let lines = by_set_up
        .into_iter()
        .map(|((method, place), group)| {
            let by_size = grouped(group, |trial| &trial.profile.frame_size);
            let points = by_size
                .into_iter()
                .map(|(size, group)| {
                    let rate = Estimate::of(group.iter().map(|trial| trial.delivered_pps));
                    estimated(sizes.at(size), rate.as_ref(), numbers(group))
                })
                .collect();
            (method.to_string(), place, points)
        })
        .collect();
    let (lines, common) = named(lines);
    let title = format!("Delivered at maximum load against the frame size{common}");
    let y = linear("Delivered", Unit::PacketsPerSecond);
    let mut chart = chart("size-delivered", title, sizes.kind(), sizes.axis(), y, lines);
    chart.marks.extend(line_rate(trials.into_iter(), |label| sizes.at(label)));
    chart
        .notes
        .push("At maximum load: what is delivered there may be less than what a method can hold.".into());
    chart.notes.extend(super::parts::of_repeats(&chart));
    Some(chart)
}
