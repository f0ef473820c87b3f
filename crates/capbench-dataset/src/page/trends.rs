//! Charts over the days.

use std::collections::{BTreeMap, BTreeSet};

use capbench_judge::comparison::days::DaysCompared;
use capbench_judge::comparison::hosts::{Figure, Figures};
use capbench_judge::comparison::{Measure, Scale as Compared, Setup};
use capbench_report::model::{Axis, Chart, Kind, Point, Role, Scale, Series, Unit};
use capbench_statistics::interval::Estimate;
use capbench_statistics::median;

use super::days::marks;

/// A chart's place on the page: the rank of what it shows, and its set-up.
type Place = (usize, Setup);

/// Figures of runs, by the position of their day.
type ByDay = BTreeMap<usize, Vec<f64>>;

/// What has charts, and its unit.
const SHOWN: [(Measure, Unit); 4] = [
    (Measure::Throughput, Unit::PacketsPerSecond),
    (Measure::DeliveredRate, Unit::PacketsPerSecond),
    (Measure::LossRatio, Unit::Ratio),
    (Measure::TotalCost, Unit::NanosecondsPerPacket),
];

/// Two charts for each figure of each set-up without method, with a line for each method over the days: the change of each host
/// from its own median, and the figure itself. A share has the second only.
pub(super) fn trends(figures: &Figures, runs: &[Figure], compared: &DaysCompared) -> Vec<Chart> {
    let days = &compared.days;
    let day_of = |figure: &Figure| days.iter().position(|day| *day == figures.runs[figure.run].date);
    let own = own_medians(figures, runs, &day_of);
    let mut charts: BTreeMap<Place, BTreeMap<String, [ByDay; 2]>> = BTreeMap::new();
    for figure in runs {
        let shown = SHOWN.iter().position(|(measure, _)| *measure == figure.measure);
        let (Some(rank), Some(day)) = (shown, day_of(figure)) else { continue };
        let setup = &figures.setups[figure.setup];
        let lines = charts.entry((rank, setup.scene())).or_default();
        let [moves, values] = lines.entry(method_of(setup)).or_default();
        values.entry(day).or_default().push(figure.value);
        let host = figures.runs[figure.run].host.as_deref();
        if let Some(middle) = host.and_then(|host| own.get(&(host, figure.setup, figure.measure))) {
            let change = figure.measure.change(figure.measure.scaled(figure.value) - middle);
            moves.entry(day).or_default().push(change);
        }
    }
    let mut all = Vec::new();
    for ((rank, scene), lines) in charts {
        let (measure, unit) = SHOWN[rank];
        let marks = marks(compared, measure, &scene);
        let words = capital(measure.words());
        let (mut moves, mut values) = (Vec::new(), Vec::new());
        for (name, [of_hosts, of_runs]) in lines {
            let line = |by_day: ByDay| Series {
                name: name.clone(),
                role: Role::Method,
                points: by_day.into_iter().map(|(day, values)| point(day, values)).collect(),
            };
            if !of_hosts.is_empty() {
                moves.push(line(of_hosts));
            }
            values.push(line(of_runs));
        }
        let mut add = |title: String, y: Axis, series| {
            all.push(Chart {
                id: format!("trend-{}", all.len() + 1),
                title,
                kind: Kind::Lines,
                x: Axis { label: "Day".into(), unit: Unit::None, scale: Scale::Names(days.clone()) },
                y,
                series,
                marks: marks.clone(),
                notes: Vec::new(),
            });
        };
        if !moves.is_empty() {
            let y = Axis {
                label: format!("Change of {}", measure.words()),
                unit: Unit::Ratio,
                scale: Scale::Linear,
            };
            add(format!("{words} by day, each host against its own median: {scene}"), y, moves);
        }
        let y = Axis { label: words.clone(), unit, scale: Scale::Linear };
        add(format!("{words} by day: {scene}"), y, values);
    }
    all
}

fn method_of(setup: &Setup) -> String {
    setup.method.as_ref().map_or("all methods".into(), ToString::to_string)
}

/// A host, the index of a set-up, and a figure.
type OwnKey<'f> = (&'f str, usize, Measure);

/// The median of each host that was measured on several days, on the scale on which changes are computed.
fn own_medians<'f>(
    figures: &'f Figures,
    runs: &[Figure],
    day_of: &dyn Fn(&Figure) -> Option<usize>,
) -> BTreeMap<OwnKey<'f>, f64> {
    let mut own: BTreeMap<OwnKey<'_>, (BTreeSet<usize>, Vec<f64>)> = BTreeMap::new();
    for figure in runs.iter().filter(|figure| figure.measure.scale() == Compared::Ratio) {
        let (Some(host), Some(day)) = (figures.runs[figure.run].host.as_deref(), day_of(figure)) else {
            continue;
        };
        let (days, values) = own.entry((host, figure.setup, figure.measure)).or_default();
        days.insert(day);
        values.push(figure.measure.scaled(figure.value));
    }
    let several = own.into_iter().filter(|(_, (days, _))| days.len() > 1);
    several.filter_map(|(key, (_, values))| Some((key, median(values)?))).collect()
}

fn point(day: usize, values: Vec<f64>) -> Point {
    let estimate = Estimate::of(values);
    let interval = estimate.and_then(|found| Some([found.low?, found.high?]));
    let y = estimate.map(|found| found.median);
    Point { x: day as f64, y, interval, is_at_least: false, trials: Vec::new() }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
