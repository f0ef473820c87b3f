//! What a soak keeps: its ledger, the stretches that lost frames, and the largest bursts.

use capbench_measure::places;
use capbench_measure::results::Results;
use capbench_measure::soak::record::{Interval, SoakRecord};

use crate::figures::count;
use crate::model::{Cell, Column, Row, Table, Trials, Unit};

/// Rows at most of what is long.
const ROWS: usize = 100;

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let Some(record) = &results.soak else { return Vec::new() };
    [ledger(record), stretches(record), bursts(record), care(record)].into_iter().flatten().collect()
}

fn kept(record: &SoakRecord) -> Trials {
    record.kept.iter().map(|trial| trial.number).collect()
}

/// The columns of [`stretch_cells`].
pub(crate) fn stretch_columns() -> Vec<Column> {
    vec![
        Column::named("from_s", "from"),
        Column::named("sending_s", "sending"),
        Column::new("segments", "segments", Unit::Count),
        Column::new("lossy", "with loss", Unit::Count),
        Column::new("sent", "sent", Unit::Count),
        Column::new("delivered", "delivered", Unit::Count),
        Column::new("lost", "lost", Unit::Count),
        Column::named("sent_loss_ratio", "lost"),
        Column::words("lost_where", "where"),
        Column::new("unexplained", "unexplained", Unit::Count),
        Column::new("worst_100ms_lost", "most lost in 100 ms", Unit::Count),
        Column::new("untaken", "only because of pauses", Unit::Count),
        Column::named("app_ns_per_packet", "application"),
        Column::named("latest_ns", "generator late by at most"),
    ]
}

/// A stretch of a soak.
pub(crate) fn stretch_cells(interval: &Interval) -> Vec<Cell> {
    let lost: Vec<String> =
        interval.lost.iter().map(|(place, frames)| format!("{place} {}", count(*frames))).collect();
    let sent = interval.counts.sent;
    vec![
        Cell::number(Some(interval.from_s)),
        Cell::number(Some(interval.sending_s)),
        Cell::Count(interval.segments),
        Cell::Count(interval.lossy),
        Cell::Count(sent),
        Cell::Count(interval.counts.delivered),
        Cell::Count(interval.lost()),
        Cell::number((sent > 0).then(|| interval.lost() as f64 / sent as f64)),
        Cell::text(lost.join(", ")),
        Cell::Signed(interval.counts.unexplained),
        Cell::count(interval.worst_100ms_lost),
        Cell::Count(interval.untaken),
        Cell::number(interval.app_ns_per_packet),
        Cell::number(interval.latest_ns.map(|ns| ns as f64)),
    ]
}

fn ledger(record: &SoakRecord) -> Option<Table> {
    let rows = record
        .ledger
        .iter()
        .map(|entry| {
            let cells = vec![
                Cell::text(places::about(entry.place).key),
                Cell::text(places::about(entry.place).meaning),
                Cell::count(entry.count),
                Cell::text(entry.source.as_str()),
            ];
            Row::new(cells, kept(record))
        })
        .collect();
    let columns = vec![
        Column::words("place", "place"),
        Column::words("meaning", "a frame stands here because of"),
        Column::new("lost", "lost", Unit::Count),
        Column::words("source", "who counted"),
    ];
    Table::of(
        "soak-ledger",
        "The ledger of the whole soak; unknown where one segment could not tell",
        columns,
        rows,
    )
}

fn stretches(record: &SoakRecord) -> Option<Table> {
    let mut lossy: Vec<&Interval> = record.intervals.iter().filter(|interval| interval.lost() > 0).collect();
    let all = lossy.len();
    lossy.sort_by_key(|interval| std::cmp::Reverse(interval.lost()));
    lossy.truncate(ROWS);
    lossy.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    let rows = lossy.iter().map(|interval| Row::new(stretch_cells(interval), kept(record))).collect();
    let caption = format!(
        "Stretches that lost frames, {} of {all}; each of {} segments",
        lossy.len(),
        count(record.segments_per_interval)
    );
    Table::of("soak-stretches", &caption, stretch_columns(), rows)
}

fn bursts(record: &SoakRecord) -> Option<Table> {
    let mut events: Vec<_> = record.events.iter().collect();
    events.sort_by_key(|event| std::cmp::Reverse(event.frames));
    events.truncate(ROWS);
    events.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    let rows = events
        .iter()
        .map(|event| {
            let cells = vec![
                Cell::number(Some(event.at_s)),
                Cell::text(crate::figures::utc(event.unix_s)),
                Cell::Count(event.frames),
                Cell::number(Some(event.length_s)),
            ];
            Row::new(cells, kept(record))
        })
        .collect();
    let columns = vec![
        Column::named("at_s", "after"),
        Column::words("at_utc", "time of day (UTC)"),
        Column::new("frames", "frames", Unit::Count),
        Column::named("length_s", "lasted"),
    ];
    let caption = format!("The largest bursts of loss, {} of {}", events.len(), count(record.bursts));
    Table::of("soak-bursts", &caption, columns, rows)
}

fn care(record: &SoakRecord) -> Option<Table> {
    let rows = record
        .noise
        .iter()
        .map(|(reason, segments)| {
            Row::new(vec![Cell::text(reason.as_str()), Cell::Count(*segments)], kept(record))
        })
        .collect();
    let columns = vec![
        Column::words("care", "to be taken with care because"),
        Column::new("segments", "segments", Unit::Count),
    ];
    let table = Table::of("soak-care", "Reasons for care, by how many segments had them", columns, rows)?;
    let further = (record.further_noise > 0)
        .then(|| format!("Further reasons came up {} times.", count(record.further_noise)));
    Some(table.with_notes(further))
}
