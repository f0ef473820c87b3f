//! A soak over time: losses by place, delivered frames, backlog of the application, and memory.

use capbench_judge::soak::record::{Interval, SoakRecord};
use capbench_model::places::ALL as ALL_PLACES;
use capbench_results::Results;

use super::parts::{self, UNEXPLAINED, chart, linear, of_unknown, point, series, upright};
use crate::figures;
use crate::model::{Chart, Kind, Mark, Place, Point, Role, Section, Series, Unit};
use crate::sentences::places;

pub(super) fn section(results: &Results) -> Option<Section> {
    let soak = results.soak.as_ref()?;
    let charts = vec![lost(soak), delivered(soak), worst(soak), behind(soak), memory(soak)];
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

fn over_time(id: &str, title: &str, kind: Kind, (label, unit): (&str, Unit), series: Vec<Series>) -> Chart {
    chart(
        id,
        title.into(),
        kind,
        linear("Start of the segment, in time of sending", Unit::Seconds),
        linear(label, unit),
        series,
    )
}

/// A line of a figure outside the ledger.
fn line(soak: &SoakRecord, name: &str, of: impl Fn(&Interval) -> Option<f64>) -> Vec<Series> {
    vec![series(name, Role::Account, points(soak, of))]
}

/// One point per interval. Trials of segments are not stored, except the first and the worst.
fn points(soak: &SoakRecord, of: impl Fn(&Interval) -> Option<f64>) -> Vec<Point> {
    soak.intervals.iter().map(|interval| point(interval.from_s, of(interval), Vec::new())).collect()
}

fn per_second(count: f64, interval: &Interval) -> Option<f64> {
    (interval.sending_s > 0.0).then(|| count / interval.sending_s)
}

/// Losses by place. They are too few next to the delivered frames, so they have a separate chart.
fn lost(soak: &SoakRecord) -> Chart {
    let mut layers: Vec<Series> = Vec::new();
    let mut unknown = Vec::new();
    for place in ALL_PLACES {
        let is_unknown = soak.ledger.iter().any(|entry| entry.place == place && entry.count.is_none());
        let lost_here = |interval: &Interval| interval.lost.get(&place).copied();
        if soak.intervals.iter().any(|interval| lost_here(interval).is_some()) {
            // An interval names only places with losses. If one segment does not know a place, its absence elsewhere counts as
            // 0.
            let count = |interval: &Interval| lost_here(interval).or((!is_unknown).then_some(0));
            let rate = |interval: &Interval| per_second(count(interval)? as f64, interval);
            layers.push(series(places::words(place), Role::Place, points(soak, rate)));
        } else if is_unknown {
            unknown.push(places::words(place));
        }
    }
    let unexplained = |interval: &Interval| per_second(interval.counts.unexplained as f64, interval);
    layers.push(series(UNEXPLAINED, Role::Unexplained, points(soak, unexplained)));
    let y = ("Lost", Unit::PacketsPerSecond);
    over_time("soak-lost", "Lost over time, by place", Kind::Stacked, y, layers).noting(of_unknown(&unknown))
}

fn delivered(soak: &SoakRecord) -> Chart {
    let rate = |of: fn(&Interval) -> u64| points(soak, |interval| per_second(of(interval) as f64, interval));
    let lines = vec![
        series("offered", Role::Account, rate(|interval| interval.counts.sent)),
        series("delivered", Role::Delivered, rate(|interval| interval.counts.delivered)),
    ];
    let y = ("Rate", Unit::PacketsPerSecond);
    let load = Mark { label: "intended load".into(), at: Place::Y(soak.intended_pps) };
    over_time("soak-delivered", "Offered and delivered over time", Kind::Lines, y, lines).marking([load])
}

/// Has no line, so that it is not shown, if nothing was lost.
fn worst(soak: &SoakRecord) -> Chart {
    let worst_lost = |interval: &Interval| interval.worst_100ms_lost.map(|lost| lost as f64);
    let is_lossy = soak.intervals.iter().any(|interval| interval.worst_100ms_lost.unwrap_or(0) > 0);
    let lines = if is_lossy { line(soak, "most lost within 100 ms", worst_lost) } else { Vec::new() };
    let most = soak.events.iter().max_by_key(|event| event.frames);
    let burst = most
        .map(|event| upright(format!("longest burst: {} frames", figures::count(event.frames)), event.at_s));
    let title = "Most frames lost within 100 ms, of each point's time";
    over_time("soak-worst", title, Kind::Lines, ("Frames", Unit::Count), lines).marking(burst)
}

/// Frames that were delivered only because the generator paused; no line if there were none.
fn behind(soak: &SoakRecord) -> Chart {
    let backlogged_pps = |interval: &Interval| per_second(interval.untaken as f64, interval);
    let is_behind = soak.intervals.iter().any(|interval| interval.untaken > 0);
    let lines = if is_behind { line(soak, "backlogged", backlogged_pps) } else { Vec::new() };
    let y = ("Delivered only because of the pause", Unit::PacketsPerSecond);
    let title = "Frames in buffers when segments ended";
    let note = "Without the pauses they would add up until some are lost.";
    over_time("soak-backlogged", title, Kind::Lines, y, lines).noting([note])
}

fn memory(soak: &SoakRecord) -> Chart {
    let resident_bytes = |interval: &Interval| interval.resident_bytes.map(|bytes| bytes as f64);
    let lines = line(soak, "resident memory of capbench", resident_bytes);
    over_time("soak-memory", "Memory over time", Kind::Lines, ("Memory", Unit::Bytes), lines)
}
