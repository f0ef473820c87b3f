//! The report over a dataset: how rates, costs and losses changed over the days, from which day on the same hosts were
//! worse, and every run. It is the same page as that of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use capbench_judge::comparison::hosts::{self, Figure, Figures, HostChange, HostsCompared};
use capbench_judge::comparison::{
    Comparison, Contrast, Judgement, Measure, Scale as Compared, Setup, Thresholds,
};
use capbench_model::figures::{grouped, many, percent};
use capbench_model::statistics::interval::Estimate;
use capbench_model::statistics::median;
use capbench_report::model::{
    Axis, Cell, Chart, Column, Kind, Mark, Narrow, Place as At, Point, Report, Role, Row, Scale, Section,
    Sentence, Series, Table, Unit,
};
use capbench_report::report as reports;

use crate::error::Result;
use crate::figures::{self, By};

/// Days in charts and comparisons, the last ones.
const MOST_DAYS: usize = 60;
/// Charts.
const MOST_CHARTS: usize = 24;
/// Rows of the table of runs, the last ones.
const MOST_RUNS: usize = 5000;
/// Rows of the table of hosts.
const MOST_HOSTS: usize = 50;

/// The report over a dataset.
///
/// # Errors
/// There is no dataset, or a file cannot be read.
pub fn of_dataset(dataset: &Path, thresholds: Thresholds) -> Result<Report> {
    let figures = figures::read(dataset, &By::Date)?;
    let mut days: Vec<String> = figures.values.clone();
    days.sort();
    let all_days = days.len();
    days.drain(..all_days.saturating_sub(MOST_DAYS));
    let runs = figures.of_runs();
    let changes = day_by_day(&figures, &days, thresholds);
    let mut charts = trends(&figures, &runs, &days, &changes);
    // What changed is never left out.
    charts.sort_by_key(|chart| chart.marks.is_empty());
    let more_charts = charts.len().saturating_sub(MOST_CHARTS);
    charts.truncate(MOST_CHARTS);
    let hosts: BTreeSet<&str> = figures.runs.iter().filter_map(|run| run.host.as_deref()).collect();
    let of = format!(
        "{} of {} on {}",
        many(figures.runs.len() as u64, "run", "runs"),
        many(hosts.len() as u64, "host", "hosts"),
        many(all_days as u64, "day", "days")
    );
    let mut text = vec![sentence(
        "Each point is the median over the runs of a day, with an interval that contains the true median. Hosts that are not measured each \
         day change it, too. In a chart of changes each run is compared with the median of its host over all days, so that hosts of unlike \
         speed hide no change.",
    )];
    if more_charts > 0 {
        text.push(sentence(&format!(
            "{more_charts} further charts are left out here; examples/sql has the questions as SQL."
        )));
    }
    if all_days > days.len() {
        text.push(sentence(&format!(
            "Charts and comparisons have the last {} of {all_days} days.",
            days.len()
        )));
    }
    let picture: Vec<Chart> = if charts.is_empty() { Vec::new() } else { vec![charts.remove(0)] };
    let mut sections =
        vec![Section { id: "trends".into(), heading: "Trends".into(), text, charts, tables: Vec::new() }];
    sections.extend(changes.section());
    Ok(Report {
        title: "capbench dataset".into(),
        subtitle: format!("{} | {of}", dataset.display()),
        verdict: sentence(&changes.verdict(&of)),
        warnings: Vec::new(),
        picture,
        summary: changes.summary(),
        findings: changes.findings(),
        details: Vec::new(),
        caveats: noisy(&figures).into_iter().collect(),
        sections,
        environment: Vec::new(),
        statements: Vec::new(),
        trials: table_of_runs(&figures),
    })
}

/// The report of a comparison over hosts: that of two runs, with the hosts.
pub fn of_comparison(dataset: &Path, by: &str, compared: &HostsCompared) -> Report {
    let Comparison { then, now, .. } = &compared.comparison;
    let paired = many(compared.paired as u64, "host", "hosts");
    let subtitle = format!(
        "{}: A is {by} {then}, B is {by} {now}; {} of {paired} with both values; with {then} only: {}, with {now} only: {}",
        dataset.display(),
        many(compared.runs as u64, "run", "runs"),
        many(compared.only[0] as u64, "host", "hosts"),
        many(compared.only[1] as u64, "host", "hosts"),
    );
    let mut report = reports::of_comparison(subtitle, &compared.comparison);
    if !compared.comparison.is_inconclusive() {
        report.verdict.text = format!("{by} {now} against {then} on {paired}: {}", report.verdict.text);
    }
    report.findings.splice(
        0..0,
        compared.comparison.judged(Judgement::Regression).filter_map(|one| {
            let hosts = which_hosts(one, compared)?;
            Some(sentence(&format!("{}, {}: {hosts}", one.measure.words(), one.setup)))
        }),
    );
    if let Some(section) = report.sections.first_mut() {
        section.tables.extend(table_of_hosts(compared));
    }
    report
}

/// A change of a host that is named in a sentence.
const NAMED_CHANGE: f64 = 0.02;
/// Hosts named in a sentence.
const NAMED_HOSTS: usize = 5;

/// Which hosts became worse in the figure of a regression.
fn which_hosts(contrast: &Contrast, compared: &HostsCompared) -> Option<String> {
    if contrast.setups > 1 {
        return None;
    }
    let limit = match contrast.measure.scale() {
        Compared::Ratio => NAMED_CHANGE,
        Compared::Difference => compared.comparison.thresholds.loss,
    };
    let own: Vec<&HostChange> = worst_first(compared, contrast).collect();
    let worse: Vec<&&HostChange> = own.iter().filter(|change| change.worse() >= limit).collect();
    let names: Vec<&str> = worse.iter().take(NAMED_HOSTS).map(|change| change.host.as_str()).collect();
    let list = match worse.len() - names.len() {
        _ if names.is_empty() => String::new(),
        0 => format!(": {}", names.join(", ")),
        others => format!(": {} and {others} more", names.join(", ")),
    };
    let hosts = many(own.len() as u64, "host", "hosts");
    Some(format!("{} of {hosts} became worse by {} or more{list}.", worse.len(), percent(limit)))
}

fn worst_first<'c>(
    compared: &'c HostsCompared,
    contrast: &'c Contrast,
) -> impl Iterator<Item = &'c HostChange> {
    let is_own = |change: &&HostChange| change.setup == contrast.setup && change.measure == contrast.measure;
    let mut own: Vec<&HostChange> = compared.changes.iter().filter(is_own).collect();
    own.sort_by(|a, b| b.worse().total_cmp(&a.worse()).then_with(|| a.host.cmp(&b.host)));
    own.into_iter()
}

/// The hosts in the figures that changed, the worst first.
fn table_of_hosts(compared: &HostsCompared) -> Option<Table> {
    let shown = [Judgement::Regression, Judgement::Improvement];
    let contrasts = shown.into_iter().flat_map(|judgement| compared.comparison.judged(judgement));
    let mut rows = Vec::new();
    for contrast in contrasts.filter(|contrast| contrast.setups == 1) {
        for change in worst_first(compared, contrast).take(MOST_HOSTS) {
            let figure = |value: f64| match change.measure.scale() {
                Compared::Difference => Cell::Text(percent(value)),
                Compared::Ratio => Cell::Text(grouped(value)),
            };
            let runs = |side: usize| Cell::Count(change.runs[side] as u64);
            rows.push(row([
                Cell::Text(change.measure.words().into()),
                Cell::Text(change.setup.to_string()),
                Cell::Text(change.host.clone()),
                figure(change.medians[0]),
                figure(change.medians[1]),
                Cell::Number(change.change),
                runs(0),
                runs(1),
            ]));
        }
    }
    (!rows.is_empty()).then(|| Table {
        id: "hosts".into(),
        caption:
            "Hosts in the figures that changed, the worst first; the change of a single host is not tested"
                .into(),
        columns: vec![
            column("measure", "figure", Unit::None),
            column("setup", "set-up", Unit::None),
            column("host_id", "host", Unit::None),
            column("then", "A", Unit::None),
            column("now", "B", Unit::None),
            column("change_ratio", "change", Unit::Ratio),
            column("runs_then", "runs of A", Unit::Count),
            column("runs_now", "runs of B", Unit::Count),
        ],
        rows,
        notes: Vec::new(),
        is_main: true,
    })
}

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
fn trends(figures: &Figures, runs: &[Figure], days: &[String], changes: &DayByDay) -> Vec<Chart> {
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
        let marks = changes.marks(measure, &scene, days);
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
                x: Axis { label: "Day".into(), unit: Unit::None, scale: Scale::Names(days.to_vec()) },
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

/// Days on each side of a day that are compared. A host has one run a day, and a test needs several.
const WINDOW: usize = 3;

/// Each day and those after it against those before, on the hosts that both have.
struct DayByDay {
    /// Each with its day.
    pairs: Vec<(String, HostsCompared)>,
    /// Days without a host in common with those before.
    without: usize,
}

/// A change that was shown on a day.
struct DayChange<'d> {
    words: &'static str,
    day: &'d str,
    days: &'d HostsCompared,
    contrast: &'d Contrast,
}

fn day_by_day(figures: &Figures, days: &[String], thresholds: Thresholds) -> DayByDay {
    let compared = |nth: usize| {
        let before = &days[nth.saturating_sub(WINDOW)..nth];
        let after = &days[nth..days.len().min(nth + WINDOW)];
        let side = |value: Option<usize>| {
            let day = figures.values.get(value?)?;
            if before.contains(day) { Some(0) } else { after.contains(day).then_some(1) }
        };
        let values = [format!("before {}", days[nth]), format!("from {}", days[nth])];
        let own = Figures {
            runs: figures.runs.clone(),
            setups: figures.setups.clone(),
            values: values.to_vec(),
            all: figures.all.iter().map(|one| Figure { value_of: side(one.value_of), ..*one }).collect(),
            left_out: figures.left_out,
        };
        let compared = hosts::of_figures(&own, "date", Some(values), thresholds).ok()?;
        Some((days[nth].clone(), compared))
    };
    let all: Vec<_> = (1..days.len()).map(compared).collect();
    let without = all.iter().filter(|pair| pair.is_none()).count();
    DayByDay { pairs: all.into_iter().flatten().collect(), without }
}

impl DayByDay {
    /// The changes that are shown, if all days are one family of tests. Of a change that several days show, the day of which
    /// chance explains it least.
    fn shown(&self) -> Vec<DayChange<'_>> {
        let kinds = [(Judgement::Regression, "worse"), (Judgement::Improvement, "better")];
        let mut shown: Vec<DayChange<'_>> = Vec::new();
        for (judgement, words) in kinds {
            for (day, days) in &self.pairs {
                let level = days.comparison.false_alarms / self.pairs.len() as f64;
                let is_shown = |contrast: &&Contrast| {
                    contrast.setups == 1 && contrast.corrected.is_some_and(|p| p <= level)
                };
                for contrast in days.comparison.judged(judgement).filter(is_shown) {
                    let is_same = |known: &&mut DayChange<'_>| {
                        let other = known.contrast;
                        known.words == words
                            && other.setup == contrast.setup
                            && other.measure == contrast.measure
                    };
                    let found = DayChange { words, day, days, contrast };
                    match shown.iter_mut().find(is_same) {
                        Some(known) if contrast.by_chance < known.contrast.by_chance => *known = found,
                        Some(_) => {}
                        None => shown.push(found),
                    }
                }
            }
        }
        shown
    }

    fn worse(&self) -> usize {
        self.shown().iter().filter(|change| change.words == "worse").count()
    }

    /// A line before each day from which on a figure is worse or better.
    fn marks(&self, measure: Measure, scene: &Setup, days: &[String]) -> Vec<Mark> {
        let mut marks: Vec<Mark> = Vec::new();
        for change in self.shown() {
            let is_own = change.contrast.measure == measure && change.contrast.setup.scene() == *scene;
            let Some(nth) = days.iter().position(|day| day == change.day).filter(|_| is_own) else {
                continue;
            };
            let mark = Mark { label: change.words.into(), at: At::X(nth as f64 - 0.5) };
            if !marks.contains(&mark) {
                marks.push(mark);
            }
        }
        marks
    }

    /// Since when it is worse: the first of the days.
    fn since(&self) -> String {
        let shown = self.shown();
        let days: BTreeSet<&str> =
            shown.iter().filter(|change| change.words == "worse").map(|change| change.day).collect();
        match (days.first(), days.len()) {
            (None, _) => String::new(),
            (Some(day), 1) => format!(" since {day}"),
            (Some(day), _) => format!(", the first since {day}"),
        }
    }

    fn verdict(&self, of: &str) -> String {
        let is_inconclusive = |(_, days): &(String, HostsCompared)| days.comparison.is_inconclusive();
        let days = many(self.pairs.len() as u64, "day was compared", "days were compared");
        match (self.worse(), &self.pairs[..]) {
            (_, []) => format!("No trend: no host was measured on two days with the same set-up; {of}."),
            (0, pairs) if pairs.iter().all(is_inconclusive) => {
                format!("Inconclusive: too few runs of each host and day for a test; {of}.")
            }
            (0, _) => format!("No regression shown over the days: {days} with those before; {of}."),
            (some, _) => format!(
                "{}{}: {days} with those before; {of}.",
                many(some as u64, "regression", "regressions"),
                self.since()
            ),
        }
    }

    fn findings(&self) -> Vec<Sentence> {
        const MOST: usize = 8;
        let said = |change: &DayChange<'_>| {
            let by = percent(change.contrast.change.middle.abs());
            let hosts = which_hosts(change.contrast, change.days);
            sentence(&format!(
                "Since {}, {} is {} than on the days before by {by} over {}: {}. {}",
                change.day,
                change.contrast.measure.words(),
                change.words,
                many(change.days.paired as u64, "host", "hosts"),
                change.contrast.setup,
                hosts.unwrap_or_default()
            ))
        };
        self.shown().iter().filter(|change| change.words == "worse").take(MOST).map(said).collect()
    }

    fn summary(&self) -> Option<Table> {
        let shown = self.shown();
        let rows: Vec<Row> = shown
            .iter()
            .map(|DayChange { words, day, days, contrast }| {
                let change = contrast.change;
                let interval = change.low.zip(change.high);
                row([
                    Cell::Text((*words).into()),
                    Cell::Text((*day).into()),
                    Cell::Text(contrast.measure.words().into()),
                    Cell::Text(contrast.setup.to_string()),
                    match interval {
                        Some((low, high)) => Cell::Interval { middle: change.middle, low, high },
                        None => Cell::Number(change.middle),
                    },
                    Cell::Count(days.paired as u64),
                ])
            })
            .collect();
        (!rows.is_empty()).then(|| Table {
            id: "summary".into(),
            caption: "Changes beyond the threshold against the days before, on hosts that both have".into(),
            columns: vec![
                column("judgement", "change", Unit::None),
                column("day", "since", Unit::None),
                column("measure", "figure", Unit::None),
                column("setup", "set-up", Unit::None),
                column("change_ratio", "by (95 %)", Unit::Ratio),
                column("hosts", "hosts", Unit::Count),
            ],
            rows,
            notes: vec![format!(
                "Up to {WINDOW} days before and from a day on are compared. Each of {} is tested at {}, so that all together name \
                 a change that is not there in one dataset of 20. Of a change that several days show, the clearest day is listed.",
                many(self.pairs.len() as u64, "day", "days"),
                percent(0.05 / self.pairs.len().max(1) as f64)
            )],
            is_main: true,
        })
    }

    fn section(&self) -> Option<Section> {
        let text = match self.without {
            0 => return None,
            some => sentence(&format!(
                "{} no host and set-up in common with those before, so nothing was compared there.",
                many(some as u64, "day has", "days have")
            )),
        };
        let (id, heading) = ("days".into(), "Days that cannot be compared".into());
        Some(Section { id, heading, text: vec![text], charts: Vec::new(), tables: Vec::new() })
    }
}

fn noisy(figures: &Figures) -> Option<Sentence> {
    let (noisy, all) =
        figures.runs.iter().fold((0, 0), |(noisy, all), run| (noisy + run.noisy, all + run.trials));
    (noisy > 0).then(|| {
        sentence(&format!("{noisy} of {all} trials are noisy; the column `noise` of `trials` says why."))
    })
}

fn table_of_runs(figures: &Figures) -> Table {
    let mut runs: Vec<_> = figures.runs.iter().collect();
    runs.sort_by_key(|run| std::cmp::Reverse(run.started_us));
    let left_out = runs.len().saturating_sub(MOST_RUNS);
    let text = |text: &str| if text.is_empty() { Cell::Unknown } else { Cell::Text(text.into()) };
    let rows = runs.into_iter().take(MOST_RUNS).map(|run| {
        row([
            text(&run.date),
            text(&run.campaign),
            text(run.host.as_deref().unwrap_or_default()),
            text(&run.kernel_release),
            text(&run.command),
            Cell::Count(run.trials),
            Cell::Count(run.intended),
            Cell::Count(run.delivered),
            Cell::Count(run.noisy),
            text(&run.id),
        ])
    });
    Table {
        id: "runs".into(),
        caption: "Every run, the last first".into(),
        columns: vec![
            column("date", "day", Unit::None),
            column("campaign", "campaign", Unit::None),
            column("host_id", "host", Unit::None),
            column("kernel_release", "kernel", Unit::None),
            column("command", "command", Unit::None),
            column("trials", "trials", Unit::Count),
            column("intended", "intended", Unit::Count),
            column("delivered", "delivered", Unit::Count),
            column("noisy", "noisy trials", Unit::Count),
            column("run_id", "run", Unit::None),
        ],
        rows: rows.collect(),
        notes: (left_out > 0)
            .then(|| format!("{left_out} earlier runs are left out here."))
            .into_iter()
            .collect(),
        is_main: false,
    }
}

fn column(key: &str, heading: &str, unit: Unit) -> Column {
    Column { key: key.into(), heading: heading.into(), unit, narrow: Narrow::Middle }
}

fn row<const N: usize>(cells: [Cell; N]) -> Row {
    Row { cells: cells.into(), trials: Vec::new() }
}

fn sentence(text: &str) -> Sentence {
    Sentence { text: text.into(), trials: Vec::new() }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
