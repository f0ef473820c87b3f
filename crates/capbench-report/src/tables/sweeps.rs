//! What sweeps measured at each point.

use std::collections::BTreeMap;

use capbench_measure::results::Results;
use capbench_measure::sweep::back_to_back::BurstEnd;
use capbench_measure::sweep::{Reading, Series, SweepOutcome};

use crate::figures::count;
use crate::model::{Cell, Column, Row, Table, Unit};

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let mut tables = Vec::new();
    for (index, sweep) in results.sweeps.iter().enumerate() {
        // One sweep needs no number.
        let mark = if results.sweeps.len() > 1 { format!("-{}", index + 1) } else { String::new() };
        tables.extend(readings(sweep, &mark));
        tables.extend(bursts(sweep, &mark));
    }
    tables
}

/// The first cells of a reading's row.
fn point_cells(sweep: &SweepOutcome, series: &Series, reading: &Reading) -> Vec<Cell> {
    let point = sweep.points.get(reading.point);
    let label = point.map_or("?", |point| point.label.as_str());
    let added = if point.is_some_and(|point| point.refined) { " (added)" } else { "" };
    vec![
        Cell::text(series.method.as_str()),
        Cell::words(series.placement.as_deref()),
        Cell::words(series.load.as_deref()),
        Cell::text(format!("{label}{added}")),
        Cell::where_known(point.and_then(|point| point.at)),
    ]
}

fn point_columns(sweep: &SweepOutcome) -> Vec<Column> {
    let unit = match sweep.unit.as_deref() {
        Some("ns") => Unit::Nanoseconds,
        Some("iterations") => Unit::Iterations,
        Some("octets" | "bytes") => Unit::Bytes,
        Some("packets/s") => Unit::PacketsPerSecond,
        _ => Unit::None,
    };
    vec![
        Column::words("method", "method"),
        Column::words("placement", "placement"),
        Column::words("load", "load"),
        Column::words("point", "point"),
        Column::new("at", &sweep.axis.to_string(), unit).detail(),
    ]
}

fn readings(sweep: &SweepOutcome, mark: &str) -> Option<Table> {
    let mut columns = point_columns(sweep);
    columns.extend([
        Column::new("visits", "visits", Unit::Count).detail(),
        Column::new("lossless", "without loss", Unit::Count).detail(),
        Column::named("offered_pps", "offered"),
        Column::named("delivered_pps", "delivered").whole(),
        Column::named("taken_pps", "taken").detail(),
        Column::named("sent_loss_ratio", "lost"),
        Column::words("lost_where", "where"),
        Column::words("lost", "lost, by place").detail(),
        Column::named("total_ns_per_packet", "CPU time"),
        Column::new("invalid", "trials that show nothing", Unit::Count).detail(),
    ]);
    let mut rows = Vec::new();
    for series in &sweep.series {
        for reading in series.readings.iter().filter(|reading| reading.back_to_back.is_none()) {
            let mut cells = point_cells(sweep, series, reading);
            let most = match &reading.lost[..] {
                [] => Cell::Empty,
                [only] => Cell::text(only.place.word()),
                [most, ..] => Cell::text(format!("{}+", most.place.word())),
            };
            let lost: Vec<String> = reading
                .lost
                .iter()
                .map(|lost| format!("{} {}", lost.place.word(), count(lost.frames)))
                .collect();
            cells.extend([
                Cell::Count(reading.trials.len() as u64),
                Cell::Count(reading.lossless.into()),
                Cell::estimate(Some(&reading.offered_pps)),
                Cell::estimate(Some(&reading.delivered_pps)),
                Cell::estimate(Some(&reading.taken_pps)),
                Cell::estimate(Some(&reading.sent_loss_ratio)),
                most,
                Cell::text(lost.join(", ")),
                Cell::estimate(reading.total_ns_per_packet.as_ref()),
                Cell::Count(reading.invalid.len() as u64),
            ]);
            rows.push(Row::new(cells, reading.trials.iter().chain(&reading.invalid).copied().collect()));
        }
    }
    let caption =
        format!("Sweep of {}: medians of up to {} visits with their intervals", sweep.axis, sweep.repeats);
    let table = Table::of(&format!("sweep{mark}-readings"), &caption, columns, rows)?.without_empty_columns();
    let table = table.with_notes([
        format!("Intervals: {}. Seed of the order {}.", sweep.interval, sweep.seed),
        levels(sweep),
        stopped(sweep),
    ]);
    Some(table.main())
}

/// How far intervals can be trusted: it depends on the visits that a point had.
fn levels(sweep: &SweepOutcome) -> String {
    let readings = sweep.series.iter().flat_map(|series| &series.readings);
    let levels: BTreeMap<u32, f64> = readings
        .filter_map(|reading| Some((reading.delivered_pps.repeats, reading.delivered_pps.level?)))
        .collect();
    let list: Vec<_> = levels
        .iter()
        .rev()
        .map(|(visits, level)| format!("{:.1} % with {visits} visits", level * 100.0))
        .collect();
    if list.is_empty() {
        return "One visit has no interval.".into();
    }
    format!("An interval holds the true median with a probability of {}.", list.join(", "))
}

fn stopped(sweep: &SweepOutcome) -> String {
    if sweep.stopped {
        "The sweep did not go to its end: points have fewer visits, or none.".into()
    } else {
        String::new()
    }
}

fn bursts(sweep: &SweepOutcome, mark: &str) -> Option<Table> {
    let mut columns = point_columns(sweep);
    columns.extend([
        Column::new("mean_frames", "longest burst, mean", Unit::Count),
        Column::new("least_frames", "least", Unit::Count),
        Column::new("most_frames", "most", Unit::Count),
        Column::new("deviation_frames", "deviation", Unit::Count),
        Column::named("implied_buffer_s", "implied buffer"),
        Column::named("drain_corrected_buffer_s", "drain-corrected buffer"),
        Column::words("ended", "how searches ended"),
        Column::words("lost", "shortest burst with loss lost"),
    ]);
    let mut rows = Vec::new();
    for series in &sweep.series {
        for reading in &series.readings {
            let Some(bursts) = &reading.back_to_back else { continue };
            let mut cells = point_cells(sweep, series, reading);
            let lost: Vec<String> = bursts
                .searches
                .iter()
                .flat_map(|search| search.lost.first())
                .map(|lost| format!("{} {}", lost.place.word(), count(lost.frames)))
                .collect();
            cells.extend([
                Cell::number(bursts.mean_frames),
                Cell::count(bursts.least_frames),
                Cell::count(bursts.most_frames),
                Cell::where_known(bursts.deviation_frames),
                Cell::number(bursts.implied_buffer_s),
                Cell::number(bursts.drain_corrected_buffer_s),
                Cell::text(ends(&bursts.searches.iter().map(|search| search.end).collect::<Vec<_>>())),
                Cell::text(lost.join("; ")),
            ]);
            rows.push(Row::new(
                cells,
                bursts.searches.iter().flat_map(|search| search.trials.clone()).collect(),
            ));
        }
    }
    let caption =
        format!("Sweep of {}: the longest burst without loss (RFC 2544 26.4, RFC 9004)", sweep.axis);
    let table = Table::of(&format!("sweep{mark}-bursts"), &caption, columns, rows)?.without_empty_columns();
    let note = "The drain-corrected time takes off the rate at which frames were taken in that overload, not the throughput of RFC 9004.";
    let means = format!("Means of up to {} visits. Seed {}.", sweep.repeats, sweep.seed);
    Some(table.with_notes([note.into(), means, stopped(sweep)]).main())
}

/// How searches for bursts ended, with how many of each.
pub(super) fn ends(ends: &[BurstEnd]) -> String {
    const ALL: [(BurstEnd, &str); 7] = [
        (BurstEnd::Found, "found"),
        (BurstEnd::NoneHeld, "none held"),
        (BurstEnd::NeverFills, "never fills"),
        (BurstEnd::AtLimit, "at the limit"),
        (BurstEnd::GeneratorLimited, "generator-limited"),
        (BurstEnd::Invalid, "shows nothing"),
        (BurstEnd::NotRun, "not run"),
    ];
    let counted = ALL.map(|(end, words)| (words, ends.iter().filter(|one| **one == end).count()));
    let words: Vec<String> = counted
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(words, count)| format!("{words} {count}"))
        .collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use capbench_measure::statistics::interval::Estimate;
    use capbench_measure::sweep::AxisKind;

    use super::*;

    /// A point with these delivered rates.
    fn reading(rates: &[f64]) -> Reading {
        let estimate = |rates: &[f64]| Estimate::of(rates.iter().copied()).unwrap();
        Reading {
            point: 0,
            trials: (1..).take(rates.len()).collect(),
            invalid: Vec::new(),
            lossless: 0,
            offered_pps: estimate(&[1_234_567.0]),
            delivered_pps: estimate(rates),
            taken_pps: estimate(rates),
            sent_loss_ratio: estimate(&[0.2]),
            total_ns_per_packet: None,
            lost: Vec::new(),
            back_to_back: None,
        }
    }

    fn table(readings: Vec<Reading>) -> Table {
        let series = Series { method: "recv".into(), placement: None, load: None, unit_ns: None, readings };
        let sweep = SweepOutcome {
            axis: AxisKind::Work,
            unit: None,
            seed: 7,
            repeats: 6,
            quiet_s: 0.5,
            interval: String::new(),
            points: Vec::new(),
            series: vec![series],
            stopped: false,
        };
        super::readings(&sweep, "").unwrap()
    }

    #[test]
    fn an_interval_has_two_ends_and_its_level() {
        // Skewed, so that its median is not in the middle.
        let skewed = [1_000_001.0, 1_000_002.0, 1_000_003.0, 1_000_004.0, 1_000_005.0, 1_900_000.0];
        let table = table(vec![reading(&skewed), reading(&[5.0, 6.0, 7.0, 8.0, 9.0])]);
        let at = table.columns.iter().position(|column| column.key == "delivered_pps").unwrap();
        let ends = |row: &Row| match row.cells[at] {
            Cell::Interval { low, high, .. } => (low, high),
            ref other => panic!("{other:?}"),
        };
        assert_eq!((ends(&table.rows[0]), ends(&table.rows[1])), ((1_000_001.0, 1_900_000.0), (5.0, 9.0)));
        let notes = table.notes.join(" ");
        assert!(notes.contains("96.9 % with 6 visits, 93.8 % with 5 visits"), "{notes}");
        let single = super::tests::table(vec![reading(&[5.0])]).notes.join(" ");
        assert!(single.contains("One visit has no interval."), "{single}");
    }
}
