//! Results of a soak: its ledger, the stretches with losses, the largest bursts, and reasons of noise. A stretch is the whole
//! soak or one of its intervals.
//!
//! A soak keeps few of its segments' trials. Its rows are about the whole soak, so each of them refers to all kept trials.

use std::cmp::Reverse;

use capbench_judge::soak::record::{Interval, LossEvent, SoakRecord};
use capbench_results::Results;

use super::columns::NOISE_KEY;
use super::rows::{Fields, Rows};
use crate::figures::{count, utc};
use crate::model::{Cell, Table, Trials};
use crate::naming::many;
use crate::sentences::{noise, places, sources};

/// Most rows of a long table.
const MOST_ROWS: usize = 100;

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let Some(record) = &results.soak else { return Vec::new() };
    [ledger, lossy_stretches, largest_bursts, noise_table].iter().filter_map(|table| table(record)).collect()
}

/// The trials that a soak keeps.
pub(super) fn kept_trials(record: &SoakRecord) -> Trials {
    record.kept.iter().map(|trial| trial.number).collect()
}

/// The fields of what was sent in a stretch of a soak, and what was lost of it.
pub(super) fn loss_fields(stretch: &Interval) -> Fields {
    let mut places = Vec::new();
    for (place, frames) in &stretch.lost {
        places.push(format!("{} {}", place.key(), count(*frames)));
    }
    let loss_ratio = match stretch.counts.sent {
        0 => Cell::Unknown,
        sent => Cell::Number(stretch.lost() as f64 / sent as f64),
    };
    Fields::new()
        .figure("from_s", "from", stretch.from_s)
        .figure("sending_s", "sending", stretch.sending_s)
        .count("sent", "sent", stretch.counts.sent)
        .count("lost", "lost", stretch.lost())
        .figure("sent_loss_ratio", "lost", loss_ratio)
        .words("lost_where", "where", places.join(", "))
        .count("unexplained", "unexplained", stretch.counts.unexplained)
}

/// The fields of all that is known of a stretch.
fn stretch_fields(stretch: &Interval) -> Fields {
    loss_fields(stretch)
        .count("segments", "segments", stretch.segments)
        .count("lossy", "with loss", stretch.lossy)
        .count("delivered", "delivered", stretch.counts.delivered)
        .count("worst_100ms_lost", "most lost in 100 ms", Cell::count_or_unknown(stretch.worst_100ms_lost))
        // Frames that were delivered only because the generator paused.
        .count("backlogged", "only because of pauses", stretch.backlogged)
        .figure("app_ns_per_packet", "application", Cell::number_or_unknown(stretch.app_ns_per_packet))
        .figure(
            "latest_ns",
            "generator late by up to",
            Cell::number_or_unknown(stretch.latest_ns.map(|ns| ns as f64)),
        )
}

/// A row per place: what the whole soak lost there.
fn ledger(record: &SoakRecord) -> Option<Table> {
    let mut rows = Rows::new();
    for entry in &record.ledger {
        let fields = Fields::new()
            .words("place", "place", entry.place.key())
            .words("meaning", "frames counted here", places::about(entry.place).meaning)
            .count("lost", "lost", Cell::count_or_unknown(entry.count))
            .words("source", "who counted", sources::words(entry));
        rows.add(fields, kept_trials(record));
    }
    rows.table("soak-ledger", "The ledger of the whole soak; unknown where one segment does not know it")
}

/// The whole soak, and its intervals that lost most, in the order of time.
fn lossy_stretches(record: &SoakRecord) -> Option<Table> {
    let mut lossy: Vec<&Interval> = record.intervals.iter().filter(|interval| interval.lost() > 0).collect();
    let all = lossy.len();
    lossy.sort_by_key(|interval| Reverse(interval.lost()));
    lossy.truncate(MOST_ROWS);
    lossy.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    let caption = format!(
        "The whole soak, and stretches that lost frames: {} of {all}, each of up to {}",
        lossy.len(),
        many(record.segments_per_interval, "segment", "segments")
    );
    let mut rows = Rows::new();
    for stretch in record.whole.iter().chain(lossy) {
        rows.add(stretch_fields(stretch), kept_trials(record));
    }
    rows.table("soak-stretches", &caption)
}

/// The largest bursts of loss, in the order of time.
fn largest_bursts(record: &SoakRecord) -> Option<Table> {
    let mut events: Vec<&LossEvent> = record.events.iter().collect();
    events.sort_by_key(|event| Reverse(event.frames));
    events.truncate(MOST_ROWS);
    events.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    let caption = format!("The largest bursts of loss, {} of {}", events.len(), count(record.bursts));
    let mut rows = Rows::new();
    for event in events {
        let fields = Fields::new()
            .figure("at_s", "after", event.at_s)
            .words("at_utc", "time of day (UTC)", utc(event.unix_s))
            .count("frames", "frames", event.frames)
            .figure("length_s", "lasted", event.length_s);
        rows.add(fields, kept_trials(record));
    }
    rows.table("soak-bursts", &caption)
}

/// Reasons of noise, by their number of segments.
fn noise_table(record: &SoakRecord) -> Option<Table> {
    let mut rows = Rows::new();
    for noisy in &record.noise {
        let fields = Fields::new().words(NOISE_KEY, "noisy because", noise::words(&noisy.noise)).count(
            "segments",
            "segments",
            noisy.segments,
        );
        rows.add(fields, kept_trials(record));
    }
    let mut table = rows.table("soak-care", "Reasons of noise, by their number of segments")?;
    if record.further_noise > 0 {
        table.notes.push(format!("Further reasons came up {}.", many(record.further_noise, "time", "times")));
    }
    Some(table)
}
