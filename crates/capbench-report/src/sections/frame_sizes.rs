//! Rates over the frame size: results of searches, and delivered rates at maximum load.

use capbench_judge::search::SearchOutcome;
use capbench_model::trial::{Phase, SizeLabel, TrialResult};
use capbench_results::Results;

use super::parts::{Estimate, by_key, chart, estimated, linear, sentence, series, whole_section};
use super::searches::{bounds_point, goal_names, is_at_least};
use super::varied::Varied;
use crate::model::{Chart, Kind, Mark, Place, Point, Role, Section, Unit};
use crate::naming::{self, Scene, is_sound, many, numbers};

const TEXT: &str = "A method that is limited by packets has a level line here; one that is limited by octets, or by the link, falls with the \
                    frame size.";
const BOUNDS: &str = "Points are lower bounds, of several searches their median; bars reach from the lowest lower bound to the highest upper bound.";
const MAXIMUM: &str = "At maximum load: a method may deliver less there than it can sustain.";

/// Rates over the frame size, if trials or searches have several sizes.
pub(super) fn section(results: &Results) -> Option<Section> {
    let mut charts = search_charts(results);
    charts.extend(maximum_load_chart(results));
    let mut more = Vec::new();
    if results.trials.iter().all(|trial| trial.line_rate_pps.is_none()) {
        let no_rate = "No line rate is drawn: the link has no speed, like virtual ones.";
        more.push(sentence(no_rate, Vec::new()));
    }
    whole_section("frame-sizes", "Rates against the frame size", charts, TEXT, more)
}

/// Frame sizes as an axis: octets, or names if a mix is among them.
struct SizeAxis<'r> {
    labels: Vec<&'r SizeLabel>,
    varied: Varied,
}

impl<'r> SizeAxis<'r> {
    /// `None` for fewer than two sizes.
    fn from_labels(mut labels: Vec<&'r SizeLabel>) -> Option<Self> {
        labels.sort();
        labels.dedup();
        if labels.len() < 2 {
            return None;
        }
        let words = "the frame size";
        let octets: Option<Vec<f64>> = labels.iter().map(|label| octets(label)).collect();
        let varied = match octets {
            Some(positions) => Varied { axis: linear("Frame size", Unit::Bytes), words, positions },
            None => {
                Varied::named("Frame size (bytes)", words, labels.iter().map(ToString::to_string).collect())
            }
        };
        Some(Self { labels, varied })
    }

    /// The position of a size; `None` if it is no size of the chart.
    fn at(&self, label: &SizeLabel) -> Option<f64> {
        let index = self.labels.iter().position(|known| *known == label)?;
        Some(self.varied.positions[index])
    }
}

/// A size in octets; `None` for a mix.
fn octets(label: &SizeLabel) -> Option<f64> {
    match label {
        SizeLabel::Octets(octets) => Some((*octets).into()),
        SizeLabel::Named(_) => None,
    }
}

/// The line rate of each size, if the link has one; `at` is the position of a size in the chart.
pub(super) fn line_rate<'r>(
    trials: impl IntoIterator<Item = &'r TrialResult>,
    at: impl Fn(&SizeLabel) -> Option<f64>,
) -> Option<Mark> {
    let mut curve = Vec::new();
    for trial in trials {
        if let Some((position, rate)) = at(&trial.profile.frame_size).zip(trial.line_rate_pps) {
            curve.push([position, rate]);
        }
    }
    if curve.is_empty() {
        return None;
    }
    curve.sort_by(|a, b| a[0].total_cmp(&b[0]));
    curve.dedup_by(|a, b| a[0] == b[0]);
    Some(Mark { label: "line rate".into(), at: Place::Curve(curve) })
}

/// A value at a frame size, for example a search or a trial.
struct Sized<'r, T> {
    size: &'r SizeLabel,
    method: String,
    /// The set-up without method and size, in words.
    placement_and_work: String,
    value: T,
}

/// The words of a chart over frame sizes.
struct Words {
    id: String,
    /// The beginning of the title.
    what: String,
    /// The label of the vertical axis.
    label: &'static str,
}

/// Lines over the frame sizes, one per method, placement and work. Placement and work are in the title if all values share them,
/// else after the method's name. `point` makes a point of a position and the values of one size.
fn chart_over_sizes<'r, T: Copy>(
    words: &Words,
    sizes: &SizeAxis<'_>,
    values: &[Sized<'r, T>],
    point: impl Fn(f64, &[T]) -> Point,
) -> Chart {
    let first = values.first().map(|value| &value.placement_and_work);
    let common = first.filter(|first| values.iter().all(|value| value.placement_and_work == **first));
    let mut lines = Vec::new();
    for ((method, placement_and_work), values) in
        by_key(values, |value| (&value.method, &value.placement_and_work))
    {
        let mut points = Vec::new();
        for (size, values) in by_key(values, |value| value.size) {
            let values: Vec<T> = values.iter().map(|value| value.value).collect();
            points.extend(sizes.at(size).map(|position| point(position, &values)));
        }
        let name = if common.is_some() { method.clone() } else { format!("{method}, {placement_and_work}") };
        lines.push(series(name, Role::Method, points));
    }
    let mut title = format!("{} against {}", words.what, sizes.varied.words);
    if let Some(placement_and_work) = common {
        title += &format!(": {placement_and_work}");
    }
    let y = linear(words.label, Unit::PacketsPerSecond);
    chart(&words.id, title, sizes.varied.kind(Kind::Bars), sizes.varied.axis.clone(), y, lines)
}

/// The bounds of searches over the frame sizes, a chart for each goal.
fn search_charts(results: &Results) -> Vec<Chart> {
    let searches = sized_searches(results);
    let labels = searches.iter().map(|sized| sized.size).collect();
    let Some(sizes) = SizeAxis::from_labels(labels) else { return Vec::new() };
    let line_rate = line_rate(&results.trials, |label| sizes.at(label));
    let mut charts = Vec::new();
    for goal in goal_names(results) {
        let words = Words {
            id: format!("size-{goal}"),
            what: format!("Highest sustained load, by goal {goal},"),
            label: "Lower bound",
        };
        let mut notes = vec![BOUNDS.to_string()];
        let at_least = searches.iter().filter(|sized| is_at_least(sized.value, goal)).count();
        if at_least > 0 {
            notes.push(format!(
                "The bound of {} is a lower one: the generator, the link or the named load was the limit.",
                many(at_least as u64, "search", "searches")
            ));
        }
        let chart =
            chart_over_sizes(&words, &sizes, &searches, |x, searches| bounds_point(x, goal, searches));
        charts.push(chart.marking(line_rate.clone()).noting(notes));
    }
    charts
}

/// The searches whose frame size is known.
fn sized_searches(results: &Results) -> Vec<Sized<'_, &SearchOutcome>> {
    let mut sized = Vec::new();
    for search in naming::compared_searches(results) {
        let Some(size) = &search.frame_size else { continue };
        let method = search.method.as_ref().map(ToString::to_string).unwrap_or_default();
        let placement_and_work = match (&search.placement, &search.work) {
            (Some(placement), Some(work)) => naming::placement_and_work(placement, work),
            _ => String::new(),
        };
        sized.push(Sized { size, method, placement_and_work, value: search });
    }
    sized
}

/// The delivered rate at the generator's maximum rate.
fn maximum_load_chart(results: &Results) -> Option<Chart> {
    let mut trials = Vec::new();
    for trial in naming::compared(results) {
        if trial.phase == Phase::BestEffort && is_sound(trial) {
            trials.push(Sized {
                size: &trial.profile.frame_size,
                method: trial.profile.method.to_string(),
                placement_and_work: Scene::from_trial(trial).placement_and_work(),
                value: trial,
            });
        }
    }
    let sizes = SizeAxis::from_labels(trials.iter().map(|sized| sized.size).collect())?;
    let line_rate = line_rate(trials.iter().map(|sized| sized.value), |label| sizes.at(label));
    let words =
        Words { id: "size-delivered".into(), what: "Delivered at maximum load".into(), label: "Delivered" };
    let chart = chart_over_sizes(&words, &sizes, &trials, delivered_point);
    Some(chart.marking(line_rate).noting([MAXIMUM]).noting_repeats())
}

/// The median of what these trials delivered.
fn delivered_point(x: f64, trials: &[&TrialResult]) -> Point {
    let rate = Estimate::of(trials.iter().map(|trial| trial.delivered_pps));
    estimated(x, rate.as_ref(), numbers(trials.iter().copied()))
}
