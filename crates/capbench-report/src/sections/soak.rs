//! A soak over its time: what was lost and where, what was delivered, how far the application was behind, and memory.

use capbench_measure::places;
use capbench_measure::results::Results;
use capbench_measure::soak::record::{Interval, SoakRecord};

use super::layers::UNEXPLAINED;
use super::parts::{chart, is_known, linear, point, section, sentence, series};
use crate::figures;
use crate::model::{Axis, Chart, Kind, Mark, Place, Point, Role, Section, Series, Unit};

pub(super) fn sections(results: &Results) -> Vec<Section> {
    let Some(soak) = results.soak.as_ref().filter(|soak| !soak.intervals.is_empty()) else {
        return Vec::new();
    };
    let mut charts = vec![lost(soak), delivered(soak), worst(soak), behind(soak), memory(soak)];
    charts.retain(is_known);
    let mut section = section("soak", "The soak over its time", charts);
    let length = match soak.segments_per_interval {
        1 => "a segment".into(),
        several => format!("{several} segments"),
    };
    let kept = soak.kept.iter().map(|trial| trial.number).collect();
    section.text.push(sentence(
        format!(
            "Each point is {length} of {} s, at the beginning of its time of sending; pauses between segments are not in it. {} of {} \
             segments lost frames. Two segments are stored whole, the first and the one that lost most.",
            figures::number(soak.segment_s, Unit::Seconds),
            soak.whole.as_ref().map_or(0, |whole| whole.lossy),
            soak.segments
        ),
        kept,
    ));
    vec![section]
}

fn time() -> Axis {
    linear("Time of sending", Unit::Seconds)
}

/// A point for each interval. The trials of segments are not stored, the first and the worst aside.
fn points(soak: &SoakRecord, of: impl Fn(&Interval) -> Option<f64>) -> Vec<Point> {
    soak.intervals.iter().map(|interval| point(interval.from_s, of(interval), Vec::new())).collect()
}

fn per_second(count: f64, interval: &Interval) -> Option<f64> {
    (interval.sending_s > 0.0).then(|| count / interval.sending_s)
}

/// Losses by place. They are so few beside what is delivered that they have a chart of their own.
fn lost(soak: &SoakRecord) -> Chart {
    let mut layers: Vec<Series> = Vec::new();
    let mut unknown = Vec::new();
    for place in places::ALL {
        let is_unknown = soak.ledger.iter().any(|entry| entry.place == place && entry.count.is_none());
        let of = |interval: &Interval| interval.lost.get(place.word()).copied();
        if soak.intervals.iter().any(|interval| of(interval).is_some()) {
            // An interval names only places that lost something. Where one segment could not tell, none is taken for 0.
            let count = |interval: &Interval| of(interval).or((!is_unknown).then_some(0));
            let rate = |interval: &Interval| per_second(count(interval)? as f64, interval);
            layers.push(series(place.words(), Role::Place, points(soak, rate)));
        } else if is_unknown {
            unknown.push(place.words());
        }
    }
    let unexplained = |interval: &Interval| per_second(interval.counts.unexplained as f64, interval);
    layers.push(series(UNEXPLAINED, Role::Unexplained, points(soak, unexplained)));
    let y = linear("Lost", Unit::PacketsPerSecond);
    let mut chart = chart("soak-lost", "Lost over time, by place".into(), Kind::Stacked, time(), y, layers);
    if !unknown.is_empty() {
        chart.notes.push(format!(
            "Nothing here could tell what was lost {}: it would be among what is unexplained.",
            unknown.join(", ")
        ));
    }
    chart
}

fn delivered(soak: &SoakRecord) -> Chart {
    let rate = |of: fn(&Interval) -> u64| points(soak, |interval| per_second(of(interval) as f64, interval));
    let lines = vec![
        series("delivered", Role::Delivered, rate(|interval| interval.counts.delivered)),
        series("offered", Role::Account, rate(|interval| interval.counts.sent)),
    ];
    let y = linear("Rate", Unit::PacketsPerSecond);
    let mut chart =
        chart("soak-delivered", "Offered and delivered over time".into(), Kind::Lines, time(), y, lines);
    chart.marks.push(Mark { label: "intended load".into(), at: Place::Y(soak.intended_pps) });
    chart
}

fn worst(soak: &SoakRecord) -> Chart {
    let of = |interval: &Interval| interval.worst_100ms_lost.map(|lost| lost as f64);
    let lines = vec![series("most lost within 100 ms", Role::Account, points(soak, of))];
    let y = linear("Frames", Unit::Count);
    let title = "Most frames lost within 100 ms, of each point's time".into();
    let mut chart = chart("soak-worst", title, Kind::Lines, time(), y, lines);
    let most = soak.events.iter().max_by_key(|event| event.frames);
    if let Some(event) = most {
        let label = format!("longest burst: {} frames", figures::count(event.frames));
        chart.marks.push(Mark { label, at: Place::X(event.at_s) });
    }
    if soak.intervals.iter().all(|interval| interval.worst_100ms_lost.unwrap_or(0) == 0) {
        chart.series.clear();
    }
    chart
}

/// Frames that were delivered only because the generator paused.
fn behind(soak: &SoakRecord) -> Chart {
    let lines = if soak.intervals.iter().any(|interval| interval.untaken > 0) {
        let of = |interval: &Interval| per_second(interval.untaken as f64, interval);
        vec![series("untaken", Role::Account, points(soak, of))]
    } else {
        Vec::new()
    };
    let y = linear("Delivered only because of the pause", Unit::PacketsPerSecond);
    let title = "Frames that lay in buffers when segments ended".into();
    let mut chart = chart("soak-untaken", title, Kind::Lines, time(), y, lines);
    chart.notes.push("Without the pauses they would add up until some are lost.".into());
    chart
}

fn memory(soak: &SoakRecord) -> Chart {
    let of = |interval: &Interval| interval.resident_bytes.map(|bytes| bytes as f64);
    let lines = vec![series("resident memory of capbench", Role::Account, points(soak, of))];
    chart("soak-memory", "Memory over time".into(), Kind::Lines, time(), linear("Memory", Unit::Bytes), lines)
}
