//! A soak over time: losses by place, delivered frames, backlog of the application, and memory.

use capbench_judge::soak::record::{Interval, SoakRecord};
use capbench_model::places::{ALL as ALL_PLACES, Place as LossPlace};
use capbench_results::Results;

use super::ledger_layers::{UNEXPLAINED, note_of_unknown};
use super::parts::{self, chart, linear, point, series, upright};
use crate::figures;
use crate::model::{Axis, Chart, Kind, Mark, Place, Point, Role, Section, Series, Unit};
use crate::sentences::places;

pub(super) fn section(results: &Results) -> Option<Section> {
    let soak = results.soak.as_ref()?;
    let charts =
        vec![lost_chart(soak), rates_chart(soak), worst_chart(soak), backlog_chart(soak), memory_chart(soak)];
    let length = match soak.segments_per_interval {
        1 => "a segment".into(),
        several => format!("{several} segments"),
    };
    let text = format!(
        "Each point is {length} of {} s, at the beginning of its time of sending; pauses between segments are not in it. {} of {} \
         segments lost frames. Two segments are stored whole, the first and the one that lost most.",
        figures::number(soak.segment_s, Unit::Seconds),
        soak.whole.as_ref().map_or(0, |whole| whole.lossy),
        soak.segments
    );
    let mut section = parts::section("soak", "The soak over its time", charts, &text, [])?;
    section.text[0].trials = soak.kept.iter().map(|trial| trial.number).collect();
    Some(section)
}

fn chart_over_time(id: &str, title: &str, kind: Kind, y: Axis, lines: Vec<Series>) -> Chart {
    let x = linear("Start of the segment, in time of sending", Unit::Seconds);
    chart(id, title.into(), kind, x, y, lines)
}

/// One point per interval, without trials: a soak keeps those of its first and its worst segment only.
fn points(soak: &SoakRecord, value: impl Fn(&Interval) -> Option<f64>) -> Vec<Point> {
    let intervals = soak.intervals.iter();
    intervals.map(|interval| point(interval.from_s, value(interval), Vec::new())).collect()
}

/// A count of an interval per second of sending; `None` if nothing was sent.
fn per_second(count: f64, interval: &Interval) -> Option<f64> {
    if interval.sending_s > 0.0 { Some(count / interval.sending_s) } else { None }
}

/// Losses by place. Next to the delivered frames they would be invisible, so they have a separate chart.
fn lost_chart(soak: &SoakRecord) -> Chart {
    let mut layers: Vec<Series> = Vec::new();
    let mut unknown = Vec::new();
    for place in ALL_PLACES {
        let is_unknown = soak.ledger.iter().any(|entry| entry.place == place && entry.count.is_none());
        if soak.intervals.iter().any(|interval| interval.lost.contains_key(&place)) {
            let rates = points(soak, |interval| lost_per_second(interval, place, is_unknown));
            layers.push(series(places::words(place), Role::Place, rates));
        } else if is_unknown {
            unknown.push(places::words(place));
        }
    }
    let unexplained = points(soak, |interval| per_second(interval.counts.unexplained as f64, interval));
    layers.push(series(UNEXPLAINED, Role::Unexplained, unexplained));
    let y = linear("Lost", Unit::PacketsPerSecond);
    chart_over_time("soak-lost", "Lost over time, by place", Kind::Stacked, y, layers)
        .noting(note_of_unknown(&unknown))
}

/// Frames that an interval lost at a place. An interval names only places with losses: one that it does not name lost none there,
/// unless a segment of the soak does not know the place.
fn lost_per_second(interval: &Interval, place: LossPlace, is_unknown: bool) -> Option<f64> {
    match interval.lost.get(&place) {
        Some(count) => per_second(*count as f64, interval),
        None if is_unknown => None,
        None => per_second(0.0, interval),
    }
}

fn rates_chart(soak: &SoakRecord) -> Chart {
    let offered = points(soak, |interval| per_second(interval.counts.sent as f64, interval));
    let delivered = points(soak, |interval| per_second(interval.counts.delivered as f64, interval));
    let lines =
        vec![series("offered", Role::Account, offered), series("delivered", Role::Delivered, delivered)];
    let y = linear("Rate", Unit::PacketsPerSecond);
    let load = Mark { label: "intended load".into(), at: Place::Y(soak.intended_pps) };
    chart_over_time("soak-delivered", "Offered and delivered over time", Kind::Lines, y, lines)
        .marking([load])
}

/// The most frames lost within 100 ms. Without a loss the chart has no line, and a section leaves out such a chart.
fn worst_chart(soak: &SoakRecord) -> Chart {
    let mut lines = Vec::new();
    if soak.intervals.iter().any(|interval| interval.worst_100ms_lost.unwrap_or(0) > 0) {
        let lost = points(soak, |interval| interval.worst_100ms_lost.map(|lost| lost as f64));
        lines.push(series("most lost within 100 ms", Role::Account, lost));
    }
    let mut marks = Vec::new();
    if let Some(longest) = soak.events.iter().max_by_key(|event| event.frames) {
        let label = format!("longest burst: {} frames", figures::count(longest.frames));
        marks.push(upright(label, longest.at_s));
    }
    let title = "Most frames lost within 100 ms, of each point's time";
    let y = linear("Frames", Unit::Count);
    chart_over_time("soak-worst", title, Kind::Lines, y, lines).marking(marks)
}

/// Frames that were delivered only because the generator paused; no line if there were none.
fn backlog_chart(soak: &SoakRecord) -> Chart {
    let mut lines = Vec::new();
    if soak.intervals.iter().any(|interval| interval.backlogged > 0) {
        let backlogged = points(soak, |interval| per_second(interval.backlogged as f64, interval));
        lines.push(series("backlogged", Role::Account, backlogged));
    }
    let y = linear("Delivered only because of the pause", Unit::PacketsPerSecond);
    let note = "Without the pauses they would add up until some are lost.";
    chart_over_time("soak-backlogged", "Frames in buffers when segments ended", Kind::Lines, y, lines)
        .noting([note])
}

/// Resident memory of capbench: it should not grow.
fn memory_chart(soak: &SoakRecord) -> Chart {
    let bytes = points(soak, |interval| interval.resident_bytes.map(|bytes| bytes as f64));
    let lines = vec![series("resident memory of capbench", Role::Account, bytes)];
    chart_over_time("soak-memory", "Memory over time", Kind::Lines, linear("Memory", Unit::Bytes), lines)
}
