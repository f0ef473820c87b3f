//! Results of a soak: its ledger, the intervals with losses, and the largest bursts.

use capbench_judge::soak::noise::NoisySegments;
use capbench_judge::soak::record::{Interval, LossEvent, SoakRecord};
use capbench_model::ledger::Entry;

use super::shape::Columns;
use crate::figures::{count, utc};
use crate::model::{Cell, Table, Trials};
use crate::sentences::noise;
use crate::sentences::places;

/// Most rows of a long table.
const ROWS: usize = 100;

pub(super) fn tables(record: &SoakRecord) -> Vec<Table> {
    [ledger, stretches, bursts, care].iter().filter_map(|table| table(record)).collect()
}

pub(super) fn kept(record: &SoakRecord) -> Trials {
    record.kept.iter().map(|trial| trial.number).collect()
}

/// What was sent in a stretch of a soak, and what was lost of it.
pub(super) fn losses<'c>() -> Columns<'c, &'c Interval> {
    let places = |stretch: &Interval| {
        let words = stretch.lost.iter().map(|(place, frames)| format!("{} {}", place.key(), count(*frames)));
        words.collect::<Vec<_>>().join(", ")
    };
    let ratio = |stretch: &Interval| {
        let sent = stretch.counts.sent;
        Cell::number((sent > 0).then(|| stretch.lost() as f64 / sent as f64))
    };
    Columns::new()
        .named("from_s", "from", |stretch: &&Interval| stretch.from_s)
        .named("sending_s", "sending", |stretch| stretch.sending_s)
        .count("sent", "sent", |stretch| stretch.counts.sent)
        .count("lost", "lost", |stretch| stretch.lost())
        .named("sent_loss_ratio", "lost", move |stretch| ratio(stretch))
        .words("lost_where", "where", move |stretch| places(stretch))
        .count("unexplained", "unexplained", |stretch| stretch.counts.unexplained)
}

/// All that is known of a stretch.
fn stretch<'c>() -> Columns<'c, &'c Interval> {
    losses()
        .count("segments", "segments", |stretch| stretch.segments)
        .count("lossy", "with loss", |stretch| stretch.lossy)
        .count("delivered", "delivered", |stretch| stretch.counts.delivered)
        .count("worst_100ms_lost", "most lost in 100 ms", |stretch| Cell::count(stretch.worst_100ms_lost))
        .count("backlogged", "only because of pauses", |stretch| stretch.untaken)
        .named("app_ns_per_packet", "application", |stretch| Cell::number(stretch.app_ns_per_packet))
        .named("latest_ns", "generator late by up to", |stretch| {
            Cell::number(stretch.latest_ns.map(|ns| ns as f64))
        })
}

fn ledger(record: &SoakRecord) -> Option<Table> {
    let columns = Columns::new()
        .words("place", "place", |entry: &&Entry| entry.place.key())
        .words("meaning", "frames counted here", |entry| places::about(entry.place).meaning)
        .count("lost", "lost", |entry| Cell::count(entry.count))
        .words("source", "who counted", |entry| entry.source.as_str());
    let caption = "The ledger of the whole soak; unknown where one segment does not know it";
    columns.table("soak-ledger", caption, &record.ledger, |_| kept(record))
}

fn stretches(record: &SoakRecord) -> Option<Table> {
    let mut lossy: Vec<&Interval> = record.intervals.iter().filter(|interval| interval.lost() > 0).collect();
    let all = lossy.len();
    lossy.sort_by_key(|interval| std::cmp::Reverse(interval.lost()));
    lossy.truncate(ROWS);
    lossy.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    let caption = format!(
        "The whole soak, and stretches that lost frames: {} of {all}, each of {} segments",
        lossy.len(),
        count(record.segments_per_interval)
    );
    stretch().table("soak-stretches", &caption, record.whole.iter().chain(lossy), |_| kept(record))
}

fn bursts(record: &SoakRecord) -> Option<Table> {
    let mut events: Vec<_> = record.events.iter().collect();
    events.sort_by_key(|event| std::cmp::Reverse(event.frames));
    events.truncate(ROWS);
    events.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    let caption = format!("The largest bursts of loss, {} of {}", events.len(), count(record.bursts));
    let columns = Columns::new()
        .named("at_s", "after", |event: &&LossEvent| event.at_s)
        .words("at_utc", "time of day (UTC)", |event| utc(event.unix_s))
        .count("frames", "frames", |event| event.frames)
        .named("length_s", "lasted", |event| event.length_s);
    columns.table("soak-bursts", &caption, events, |_| kept(record))
}

fn care(record: &SoakRecord) -> Option<Table> {
    let columns = Columns::new()
        .words("care", "noisy because", |noisy: &&NoisySegments| noise::words(&noisy.noise))
        .count("segments", "segments", |noisy| noisy.segments);
    let caption = "Reasons of noise, by their number of segments";
    let table = columns.table("soak-care", caption, &record.noise, |_| kept(record))?;
    let further = (record.further_noise > 0)
        .then(|| format!("Further reasons came up {} times.", count(record.further_noise)));
    Some(table.with_notes(further))
}
