//! What a sweep varied: rates, loss and cost against it, medians with the intervals of their repeats.

use capbench_measure::results::Results;
use capbench_measure::sweep::{AxisKind, Reading, Series as SweptSeries, SweepOutcome};
use capbench_measure::trial::TrialResult;

use super::cpu::axis_words;
use super::layers::{Stand, stacked};
use super::parts::{
    Estimate, chart, estimated, grouped, is_known, keep_few, linear, of_repeats, section, sentence, series,
};
use super::sizes::line_rate;
use super::varied::Varied;
use crate::model::{Chart, Kind, Mark, Place, Role, Section, Trials, Unit};
use crate::naming::{self, Numbered};

/// More lines than this in a chart are drawn in a chart for each placement and load.
const MOST_LINES: usize = 8;

pub(super) fn sections(results: &Results) -> Vec<Section> {
    let trials = Numbered::of(results);
    // Searches for bursts at each point are shown by what they found.
    let has_rates = |sweep: &&SweepOutcome| {
        sweep.series.iter().flat_map(|line| &line.readings).any(|reading| reading.back_to_back.is_none())
    };
    let own = |sweep: &SweepOutcome| of_sweep(results, sweep, &trials);
    results.sweeps.iter().filter(has_rates).map(own).collect()
}

/// What tells sweeps of a publication apart: the unit of the axis, and where and how it ran.
fn set_up(sweep: &SweepOutcome) -> String {
    let scene = sweep.series.first().and_then(SweptSeries::scene);
    let parts: Vec<String> = sweep.unit.clone().into_iter().chain(scene).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// The publication that it is of.
fn publication<'r>(results: &'r Results, sweep: &SweepOutcome) -> Option<&'r str> {
    let mut readings = sweep.series.iter().flat_map(|line| &line.readings);
    let first = readings.find_map(|reading| reading.trials.first())?;
    naming::publication(results, *first)
}

fn of_sweep(results: &Results, sweep: &SweepOutcome, trials: &Numbered<'_>) -> Section {
    let publication = publication(results, sweep);
    let varied = Varied::of(sweep);
    let mut charts = Vec::new();
    for (scene, lines) in lines_together(sweep) {
        let drawn = Drawn { sweep, varied: &varied, scene, lines, trials };
        charts.push(drawn.rate());
        charts.push(drawn.of(
            "loss",
            "Share of the sent frames that was lost",
            "Lost",
            Unit::Ratio,
            |reading| Some(&reading.sent_loss_ratio),
        ));
        charts.push(drawn.of(
            "cost",
            "CPU time per packet, application and kernel",
            "CPU time per packet",
            Unit::NanosecondsPerPacket,
            |reading| reading.total_ns_per_packet.as_ref(),
        ));
    }
    charts.retain(is_known);
    let mut layered: Vec<Chart> =
        sweep.series.iter().filter_map(|line| layers(sweep, &varied, line, trials)).collect();
    if publication.is_some() {
        // What is compared there are methods, and each would have a chart of its own.
        layered.clear();
    }
    let more = keep_few(&mut layered);
    charts.extend(layered);
    let heading = match publication {
        Some(key) => format!("{key}: sweep over {}{}", axis_words(sweep.axis), set_up(sweep)),
        None => format!("Sweep over {}", axis_words(sweep.axis)),
    };
    let mut section = section(&format!("sweep-{}", sweep.axis), &heading, charts);
    section.text.push(sentence(
        format!(
            "Points are medians of up to {} repeats, bars their intervals ({}). A point without a bar has one repeat; a place \
             without a point was not measured.",
            sweep.repeats, sweep.interval
        ),
        Vec::new(),
    ));
    if sweep.stopped {
        section.text.push(sentence(
            "This sweep did not go to its end: points have fewer repeats, or none.",
            Vec::new(),
        ));
    }
    section.text.extend(more);
    section
}

/// Lines of one chart: all of them, or those of one placement and load, which then stand in the title.
fn lines_together(sweep: &SweepOutcome) -> Vec<(Option<String>, Vec<&SweptSeries>)> {
    let by_scene = grouped(&sweep.series, |line| line.scene());
    if by_scene.len() > 1 && sweep.series.len() <= MOST_LINES {
        return vec![(None, sweep.series.iter().collect())];
    }
    by_scene
}

struct Drawn<'s> {
    sweep: &'s SweepOutcome,
    varied: &'s Varied,
    /// What all lines have in common; `None` where each says it itself.
    scene: Option<String>,
    lines: Vec<&'s SweptSeries>,
    trials: &'s Numbered<'s>,
}

impl Drawn<'_> {
    fn of(
        &self,
        id: &str,
        what: &str,
        label: &str,
        unit: Unit,
        value: impl Fn(&Reading) -> Option<&Estimate>,
    ) -> Chart {
        let lines = self
            .lines
            .iter()
            .map(|line| {
                let points = self.varied.points(line, |reading, x| {
                    if reading.back_to_back.is_some() {
                        return estimated(x, None, Vec::new());
                    }
                    estimated(x, value(reading), reading.trials.clone())
                });
                let name = if self.scene.is_some() { line.method.clone() } else { line.name() };
                series(name, Role::Method, points)
            })
            .collect();
        let scene = self.scene.as_ref().map_or_else(String::new, |scene| format!(": {scene}"));
        let title = format!("{what} against {}{scene}", axis_words(self.sweep.axis));
        let kind = if self.varied.is_named() { Kind::Bars } else { Kind::Lines };
        chart(
            &format!("{}-{id}", self.sweep.axis),
            title,
            kind,
            self.varied.axis.clone(),
            linear(label, unit),
            lines,
        )
    }

    /// The rate that matters on this axis.
    fn rate(&self) -> Chart {
        if self.sweep.axis == AxisKind::Load {
            let mut chart =
                self.of("rate", "Delivered rate", "Delivered", Unit::PacketsPerSecond, |reading| {
                    Some(&reading.delivered_pps)
                });
            if !self.varied.is_named() {
                let most = self.sweep.points.iter().filter_map(|point| point.at).fold(0.0, f64::max);
                let all = Place::Curve(vec![[0.0, 0.0], [most, most]]);
                chart.marks.push(Mark { label: "all that was to be sent".into(), at: all });
            }
            return chart;
        }
        let mut chart =
            self.of("rate", "Rate at which frames were taken", "Taken", Unit::PacketsPerSecond, |reading| {
                Some(&reading.taken_pps)
            });
        chart.notes.push(
            "Taken: delivered frames by the time of sending and the time that the application was behind then; what only lay in \
             buffers does not raise it."
                .into(),
        );
        if self.sweep.axis == AxisKind::Size && !self.varied.is_named() {
            let trials: Vec<&TrialResult> = self
                .lines
                .iter()
                .flat_map(|line| &line.readings)
                .flat_map(|reading| self.trials.sound(&reading.trials))
                .collect();
            let at = |label: &capbench_measure::trial::SizeLabel| label.to_string().parse().unwrap_or(0.0);
            chart.marks.extend(line_rate(trials.into_iter(), at));
        }
        chart
    }
}

/// The ledger over the axis, of one method. A sweep of the load has its layers with those of searches.
fn layers(sweep: &SweepOutcome, varied: &Varied, line: &SweptSeries, trials: &Numbered<'_>) -> Option<Chart> {
    if sweep.axis == AxisKind::Load {
        return None;
    }
    let readings = line.readings.iter().filter(|reading| reading.back_to_back.is_none());
    let stands: Vec<Stand<'_>> = readings
        .filter_map(|reading| Some(Stand { x: varied.at(reading)?, trials: trials.sound(&reading.trials) }))
        .filter(|stand| !stand.trials.is_empty())
        .collect();
    let lost: Trials = stands
        .iter()
        .flat_map(|stand| &stand.trials)
        .filter(|trial| trial.lost() > 0)
        .map(|trial| trial.number)
        .collect();
    if lost.is_empty() {
        return None;
    }
    let found = stacked(&stands);
    let kind = if varied.is_named() { Kind::StackedBars } else { Kind::Stacked };
    let title = format!("Delivered and lost against {}: {}", axis_words(sweep.axis), line.name());
    let y = linear("Delivered and lost", Unit::PacketsPerSecond);
    let id = format!("{}-layers-{}", sweep.axis, line.method);
    let mut chart = chart(&id, title, kind, varied.axis.clone(), y, found.series);
    chart.notes = found.notes;
    chart.notes.extend(of_repeats(&chart));
    Some(chart)
}
