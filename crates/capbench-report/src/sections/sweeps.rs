//! Results over the varied setting: rates, loss and cost, medians with the intervals of their repeats.

use crate::results::Results;
use capbench_plan::sweep::{AxisKind, Reading, Series as SweptSeries, SweepOutcome};

use super::layers::stacked;
use super::parts::{Estimate, chart, estimated, grouped, keep_few, linear, section, sentence, series};
use super::sizes::line_rate;
use super::varied::Varied;
use crate::model::{Chart, Kind, Mark, Place, Role, Section, Unit};
use crate::naming::{self, Numbered};

/// If a chart would have more lines than this, each placement and load has a chart.
const MOST_LINES: usize = 8;
const TAKEN: &str = "Taken: delivered frames by the time of sending and the time that the application was behind then; what only lay in \
                     buffers does not raise it.";

/// A figure over the varied setting: its name in links, its words in a title and on the axis, and its value.
type Figure = (&'static str, &'static str, &'static str, Unit, fn(&Reading) -> Option<&Estimate>);

const DELIVERED: Figure =
    ("rate", "Delivered rate", "Delivered", Unit::PacketsPerSecond, |reading| Some(&reading.delivered_pps));
const RATE: Figure =
    ("rate", "Rate at which frames were taken", "Taken", Unit::PacketsPerSecond, |reading| {
        Some(&reading.taken_pps)
    });
const LOSS: Figure = ("loss", "Share of the sent frames that was lost", "Lost", Unit::Ratio, |reading| {
    Some(&reading.sent_loss_ratio)
});
const COST: Figure = (
    "cost",
    "CPU time per packet, application and kernel",
    "CPU time per packet",
    Unit::NanosecondsPerPacket,
    |reading| reading.total_ns_per_packet.as_ref(),
);

pub(super) fn sections(results: &Results, trials: &Numbered<'_>) -> Vec<Section> {
    // Burst searches at each point are shown by their results.
    let has_rates = |sweep: &&SweepOutcome| {
        sweep.series.iter().flat_map(|line| &line.readings).any(|reading| reading.back_to_back.is_none())
    };
    let own = |sweep: &SweepOutcome| of_sweep(results, sweep, trials);
    results.sweeps.iter().filter(has_rates).filter_map(own).collect()
}

/// The differences between sweeps of a publication: the unit of the axis, and the set-up.
fn set_up(sweep: &SweepOutcome) -> String {
    let scene = sweep.series.first().and_then(SweptSeries::scene);
    let parts: Vec<String> = sweep.unit.clone().into_iter().chain(scene).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// The publication that the sweep belongs to.
fn publication<'r>(results: &'r Results, sweep: &SweepOutcome) -> Option<&'r str> {
    let mut readings = sweep.series.iter().flat_map(|line| &line.readings);
    let first = readings.find_map(|reading| reading.trials.first())?;
    naming::publication(results, *first)
}

fn of_sweep(results: &Results, sweep: &SweepOutcome, trials: &Numbered<'_>) -> Option<Section> {
    let publication = publication(results, sweep);
    let varied = Varied::of(sweep);
    let mut charts = Vec::new();
    for (scene, lines) in lines_together(sweep) {
        let drawn = |figure| of_figure(sweep, &varied, scene.as_deref(), &lines, figure);
        charts.extend([rate(sweep, &varied, &lines, trials, drawn), drawn(LOSS), drawn(COST)]);
    }
    // A publication compares methods; otherwise each method would have a chart.
    let apart = if publication.is_some() { &[] } else { sweep.series.as_slice() };
    let mut layered: Vec<Chart> =
        apart.iter().filter_map(|line| layers(sweep, &varied, line, trials)).collect();
    let left_out = keep_few(&mut layered);
    charts.extend(layered);
    let heading = match publication {
        Some(key) => format!("{key}: sweep over {}{}", varied.words, set_up(sweep)),
        None => format!("Sweep over {}", varied.words),
    };
    let text = format!(
        "Points are medians of up to {} repeats, bars their intervals ({}). A point without a bar has one repeat; a place \
         without a point was not measured.",
        sweep.repeats, sweep.interval
    );
    let short = "This sweep did not go to its end: points have fewer repeats, or none.";
    let stopped = sweep.stopped.then(|| sentence(short, Vec::new()));
    section(&format!("sweep-{}", sweep.axis), &heading, charts, &text, stopped.into_iter().chain(left_out))
}

/// Lines of one chart: all of them, or those of one placement and load, which the title names.
fn lines_together(sweep: &SweepOutcome) -> Vec<(Option<String>, Vec<&SweptSeries>)> {
    let by_scene = grouped(&sweep.series, |line| line.scene());
    if by_scene.len() > 1 && sweep.series.len() <= MOST_LINES {
        return vec![(None, sweep.series.iter().collect())];
    }
    by_scene
}

/// A figure of some lines. What all share is in the title; differences are in the names.
fn of_figure(
    sweep: &SweepOutcome,
    varied: &Varied,
    scene: Option<&str>,
    lines: &[&SweptSeries],
    (id, what, label, unit, value): Figure,
) -> Chart {
    let drawn = |line: &&SweptSeries| {
        let points = varied.points(line, |reading, x| match reading.back_to_back {
            Some(_) => estimated(x, None, Vec::new()),
            None => estimated(x, value(reading), reading.trials.clone()),
        });
        series(if scene.is_some() { line.method.clone() } else { line.name() }, Role::Method, points)
    };
    let of = scene.map_or_else(String::new, |scene| format!(": {scene}"));
    let title = format!("{what} against {}{of}", varied.words);
    let (id, kind) = (format!("{}-{id}", sweep.axis), varied.kind(Kind::Bars));
    chart(&id, title, kind, varied.axis.clone(), linear(label, unit), lines.iter().map(drawn).collect())
}

/// The relevant rate on this axis.
fn rate(
    sweep: &SweepOutcome,
    varied: &Varied,
    lines: &[&SweptSeries],
    trials: &Numbered<'_>,
    drawn: impl Fn(Figure) -> Chart,
) -> Chart {
    match sweep.axis {
        AxisKind::Load if varied.is_named() => drawn(DELIVERED),
        AxisKind::Load => {
            let most = sweep.points.iter().filter_map(|point| point.at).fold(0.0, f64::max);
            let all = Place::Curve(vec![[0.0, 0.0], [most, most]]);
            drawn(DELIVERED).marking([Mark { label: "all that was to be sent".into(), at: all }])
        }
        AxisKind::Size if !varied.is_named() => {
            let readings = lines.iter().flat_map(|line| &line.readings);
            let own = readings.flat_map(|reading| trials.sound(&reading.trials));
            let rates = line_rate(own, |label| label.to_string().parse().unwrap_or(0.0));
            drawn(RATE).noting([TAKEN]).marking(rates)
        }
        _ => drawn(RATE).noting([TAKEN]),
    }
}

/// The ledger of one method over the axis. For a sweep of the load these layers are with those of searches.
fn layers(sweep: &SweepOutcome, varied: &Varied, line: &SweptSeries, trials: &Numbered<'_>) -> Option<Chart> {
    if sweep.axis == AxisKind::Load {
        return None;
    }
    let mut placed = varied.placed(line, trials);
    placed.retain(|one| !one.trials.is_empty());
    let is_lossy = placed.iter().flat_map(|one| &one.trials).any(|trial| trial.lost() > 0);
    is_lossy.then(|| {
        let title = format!("Delivered and lost against {}: {}", varied.words, line.name());
        let id = format!("{}-layers-{}", sweep.axis, line.method);
        stacked(&id, title, varied.kind(Kind::StackedBars), varied.axis.clone(), &placed)
    })
}
