//! Sweeps: rates, loss and cost over the varied setting.

use capbench_judge::sweep::{Analysis, Reading, Series as SweptSeries, SweepOutcome};
use capbench_results::Results;

use super::frame_sizes::line_rate;
use super::ledger_layers::ledger_chart;
use super::parts::{
    Estimate, by_key, chart, estimated, keep_few, linear, point, sentence, series, whole_section,
};
use super::varied::Varied;
use crate::model::{Chart, Kind, Mark, Place, Role, Section, Series, Trials, Unit};
use crate::naming::{self, Numbered};
use crate::sentences::axes::shown_unit;
use crate::sentences::saved::interval_of_sweep;

/// If a chart would have more lines than this, each placement and load has a chart.
const MOST_LINES: usize = 8;

const READ: &str = "Read: delivered frames by the time of sending and the time that the application was behind then; what was only in \
                     buffers does not raise it.";
const LAW: &str =
    "By the law: the Universal Scalability Law through the points at which the members are the limit.";

/// A figure over the varied setting.
struct Figure {
    /// Its name in links.
    name: &'static str,
    /// The beginning of a chart's title.
    title: &'static str,
    /// Its words on the axis.
    label: &'static str,
    unit: Unit,
    value: fn(&Reading) -> Option<&Estimate>,
}

const DELIVERED: Figure = Figure {
    name: "rate",
    title: "Delivered rate",
    label: "Delivered",
    unit: Unit::PacketsPerSecond,
    value: |reading| Some(&reading.delivered_pps),
};
const READ_RATE: Figure = Figure {
    name: "rate",
    title: "Packets read per second",
    label: "Read",
    unit: Unit::PacketsPerSecond,
    value: |reading| Some(&reading.taken_pps),
};
const LOSS: Figure = Figure {
    name: "loss",
    title: "Share of the sent frames that was lost",
    label: "Lost",
    unit: Unit::Ratio,
    value: |reading| Some(&reading.sent_loss_ratio),
};
const COST: Figure = Figure {
    name: "cost",
    title: "CPU time per packet, application and kernel",
    label: "CPU time per packet",
    unit: Unit::NanosecondsPerPacket,
    value: |reading| reading.total_ns_per_packet.as_ref(),
};

pub(super) fn sections(results: &Results, trials: &Numbered<'_>) -> Vec<Section> {
    let mut sections = Vec::new();
    for sweep in &results.sweeps {
        if has_rates(sweep) {
            sections.extend(section(results, sweep, trials));
        }
    }
    sections
}

/// Whether any point of a sweep has a rate. Searches for bursts have none, and are shown elsewhere.
fn has_rates(sweep: &SweepOutcome) -> bool {
    let mut readings = sweep.series.iter().flat_map(|line| &line.readings);
    readings.any(|reading| reading.back_to_back.is_none())
}

/// What distinguishes a sweep from others of its publication: the unit of the axis, and the set-up. Empty if neither is known.
fn differences(sweep: &SweepOutcome) -> String {
    let mut parts = Vec::new();
    parts.extend(sweep.unit.map(|points| shown_unit(points).0.symbol().to_string()));
    // Members have no unit.
    parts.retain(|unit| !unit.is_empty());
    parts.extend(sweep.series.first().and_then(SweptSeries::scene));
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// The publication whose experiment a sweep belongs to.
fn publication<'r>(results: &'r Results, sweep: &SweepOutcome) -> Option<&'r str> {
    let mut readings = sweep.series.iter().flat_map(|line| &line.readings);
    let first = readings.find_map(|reading| reading.trials.first())?;
    naming::publication(results, *first)
}

/// The charts of a sweep: rates, loss and cost, and the ledger of each method.
fn section(results: &Results, sweep: &SweepOutcome, trials: &Numbered<'_>) -> Option<Section> {
    let varied = Varied::from_outcome(sweep);
    let mut charts = Vec::new();
    for group in line_groups(sweep) {
        let drawn = Drawn { sweep, varied: &varied, group: &group };
        charts.extend([drawn.rates(trials), drawn.figure(&LOSS), drawn.figure(&COST)]);
    }
    let publication = publication(results, sweep);
    let mut layers = Vec::new();
    // A publication compares methods; otherwise each method has a chart.
    if publication.is_none() {
        for line in &sweep.series {
            layers.extend(layers_chart(sweep, &varied, line, trials));
        }
    }
    let note_of_omitted = keep_few(&mut layers);
    charts.extend(layers);
    let heading = match publication {
        Some(key) => format!("{key}: sweep over {}{}", varied.words, differences(sweep)),
        None => format!("Sweep over {}", varied.words),
    };
    let text = format!(
        "Points are medians of up to {} repeats, bars their intervals ({}). A point without a bar has one repeat; a place \
         without a point was not measured.",
        sweep.repeats,
        interval_of_sweep(sweep)
    );
    let mut more = Vec::new();
    if sweep.stopped {
        let stopped = "This sweep did not go to its end: points have fewer repeats, or none.";
        more.push(sentence(stopped, Vec::new()));
    }
    more.extend(note_of_omitted);
    whole_section(&format!("sweep-{}", sweep.axis), &heading, charts, &text, more)
}

/// The lines of one chart.
struct LineGroup<'r> {
    /// The placement and load that all lines share, for the title; `None` if they differ, and each line's name has its own.
    scene: Option<String>,
    lines: Vec<&'r SweptSeries>,
}

/// All lines in one group, or a group for each placement and load.
fn line_groups(sweep: &SweepOutcome) -> Vec<LineGroup<'_>> {
    let by_scene = by_key(&sweep.series, |line| line.scene());
    if by_scene.len() > 1 && sweep.series.len() <= MOST_LINES {
        return vec![LineGroup { scene: None, lines: sweep.series.iter().collect() }];
    }
    by_scene.into_iter().map(|(scene, lines)| LineGroup { scene, lines }).collect()
}

/// What the charts of a group of lines are made of.
struct Drawn<'r> {
    sweep: &'r SweepOutcome,
    varied: &'r Varied,
    group: &'r LineGroup<'r>,
}

impl Drawn<'_> {
    /// A figure over the varied setting.
    fn figure(&self, figure: &Figure) -> Chart {
        let Self { sweep, varied, group } = self;
        let mut lines = Vec::new();
        for line in &group.lines {
            let points = varied.points(line, |reading, x| match reading.back_to_back {
                Some(_) => estimated(x, None, Vec::new()),
                None => estimated(x, (figure.value)(reading), reading.trials.clone()),
            });
            let name = if group.scene.is_some() { line.method.to_string() } else { line.name() };
            lines.push(series(name, Role::Method, points));
        }
        let mut title = format!("{} against {}", figure.title, varied.words);
        if let Some(scene) = &group.scene {
            title += &format!(": {scene}");
        }
        let id = format!("{}-{}", sweep.axis, figure.name);
        let y = linear(figure.label, figure.unit);
        chart(&id, title, varied.kind(Kind::Bars), varied.axis.clone(), y, lines)
    }

    /// The rates, next to the best ones possible: all frames over loads, the line rate over sizes, and over members the fitted law
    /// and one member's rate for each.
    fn rates(&self, trials: &Numbered<'_>) -> Chart {
        let Self { sweep, varied, group } = self;
        match sweep.axis.facts().shows {
            // Over loads, of which some have no number.
            Some(Analysis::Livelock) if varied.is_named() => self.figure(&DELIVERED),
            // Over loads.
            Some(Analysis::Livelock) => {
                let most = sweep.points.iter().filter_map(|point| point.at).fold(0.0, f64::max);
                let diagonal = Place::Curve(vec![[0.0, 0.0], [most, most]]);
                let mark = Mark { label: "all frames to be sent".into(), at: diagonal };
                self.figure(&DELIVERED).marking([mark])
            }
            // Over frame sizes. Without mixes, since the axis has numbers: the label of each trial is a size in octets.
            Some(Analysis::LineRates) if !varied.is_named() => {
                let readings = group.lines.iter().flat_map(|line| &line.readings);
                let trials = readings.flat_map(|reading| trials.sound(&reading.trials));
                let rate = line_rate(trials, |label| label.to_string().parse().ok());
                self.figure(&READ_RATE).noting([READ]).marking(rate)
            }
            // Over members.
            Some(Analysis::Scaling) => {
                let mut chart = self.figure(&READ_RATE).noting([READ, LAW]);
                chart.series.extend(group.lines.iter().filter_map(|line| scaling_law(varied, line)));
                chart.marking(group.lines.iter().filter_map(|line| linear_scaling(varied, line)))
            }
            _ => self.figure(&READ_RATE).noting([READ]),
        }
    }
}

/// The largest number of members of a line, which is its last one.
fn most_members(varied: &Varied, line: &SweptSeries) -> Option<f64> {
    varied.at(line.readings.last()?)
}

/// The fitted law at each number of members.
fn scaling_law(varied: &Varied, line: &SweptSeries) -> Option<Series> {
    let law = line.scaling.as_ref()?.law.as_ref()?.law();
    let mut trials = Trials::new();
    for reading in &line.readings {
        trials.extend(&reading.trials);
    }
    let mut points = Vec::new();
    for members in 1..=most_members(varied, line)? as u32 {
        let members = f64::from(members);
        points.push(point(members, law.rate(members), trials.clone()));
    }
    Some(series(format!("{}, by the law", line.name()), Role::Fit, points))
}

/// The rate of one member, times the number of members.
fn linear_scaling(varied: &Varied, line: &SweptSeries) -> Option<Mark> {
    let pps_of_one = line.scaling.as_ref()?.law.as_ref()?.lambda_pps.value;
    let most = most_members(varied, line)?;
    let at = Place::Curve(vec![[1.0, pps_of_one], [most, most * pps_of_one]]);
    Some(Mark { label: format!("{}: one member's rate for each", line.name()), at })
}

/// The ledger of one method over the axis; `None` if it lost nothing. A sweep of the load has none: `loads` shows its layers.
fn layers_chart(
    sweep: &SweepOutcome,
    varied: &Varied,
    line: &SweptSeries,
    trials: &Numbered<'_>,
) -> Option<Chart> {
    if sweep.axis.shows(Analysis::Livelock) {
        return None;
    }
    let mut placed = varied.placed(line, trials);
    placed.retain(|placed| !placed.trials.is_empty());
    if placed.iter().flat_map(|placed| &placed.trials).all(|trial| trial.lost() == 0) {
        return None;
    }
    let title = format!("Delivered and lost against {}: {}", varied.words, line.name());
    let id = format!("{}-layers-{}", sweep.axis, line.method);
    Some(ledger_chart(&id, title, varied.kind(Kind::StackedBars), varied.axis.clone(), &placed))
}
