//! Measurements of sweeps at each point.

use std::collections::BTreeMap;

use capbench_judge::bursts::BurstEnd;
use capbench_judge::limit::Limit;
use capbench_judge::sweep::back_to_back::BackToBack;
use capbench_judge::sweep::outcome::Swept;
use capbench_judge::sweep::{Reading, Series, SweepOutcome};
use capbench_model::ledger::LostAt;
use capbench_model::members::imbalance;
use capbench_model::trial::TrialResult;
use capbench_results::Results;

use super::shape::Columns;
use crate::figures::{count, significant};
use crate::model::{Cell, Column, Table, Unit};
use crate::sentences::limits;

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let mut tables = Vec::new();
    for (index, sweep) in results.sweeps.iter().enumerate() {
        // A single sweep needs no number.
        let mark = if results.sweeps.len() > 1 { format!("-{}", index + 1) } else { String::new() };
        let scaling = scaling(&Swept::new(sweep, &results.trials), &mark);
        let readings = readings(sweep, &mark).map(|table| Table { is_main: scaling.is_none(), ..table });
        tables.extend(scaling);
        tables.extend(readings);
        tables.extend(bursts(sweep, &mark));
    }
    tables
}

type OfPoint<'r> = (&'r Series, &'r Reading);

fn points(sweep: &SweepOutcome) -> impl Iterator<Item = OfPoint<'_>> {
    sweep.series.iter().flat_map(|series| series.readings.iter().map(move |reading| (series, reading)))
}

fn point<'c>(sweep: &'c SweepOutcome) -> Columns<'c, OfPoint<'c>> {
    let unit = match sweep.unit.as_deref() {
        Some("ns") => Unit::Nanoseconds,
        Some("iterations") => Unit::Iterations,
        Some("octets" | "bytes") => Unit::Bytes,
        Some("packets/s") => Unit::PacketsPerSecond,
        Some("members") => Unit::Count,
        _ => Unit::None,
    };
    let point = |reading: &Reading| sweep.points.get(reading.point);
    Columns::new()
        .words("method", "method", |(series, _): &OfPoint<'c>| series.method.to_string())
        .words("placement", "placement", |(series, _)| series.placement.as_ref().map(ToString::to_string))
        .words("load", "load", |(series, _)| series.load.as_deref())
        .words("point", "point", move |(_, reading)| {
            let added = if point(reading).is_some_and(|point| point.refined) { " (added)" } else { "" };
            format!("{}{added}", sweep.label(reading))
        })
        .with(Column::new("at", &sweep.axis.to_string(), unit).detail(), move |(_, reading)| {
            Cell::where_known(point(reading).and_then(|point| point.at))
        })
}

fn places<'r>(lost: impl IntoIterator<Item = &'r LostAt>, between: &str) -> String {
    let words = lost.into_iter().map(|lost| format!("{} {}", lost.place.key(), count(lost.frames)));
    words.collect::<Vec<_>>().join(between)
}

fn readings(sweep: &SweepOutcome, mark: &str) -> Option<Table> {
    let detail = |key, heading| Column::new(key, heading, Unit::Count).detail();
    let columns = point(sweep)
        .with(detail("visits", "visits"), |(_, reading)| reading.trials.len())
        .with(detail("lossless", "without loss"), |(_, reading)| reading.lossless)
        .named("offered_pps", "offered", |(_, reading)| &reading.offered_pps)
        .with(Column::named("read_pps", "read").whole(), |(_, reading)| &reading.taken_pps)
        .with(Column::named("delivered_pps", "delivered").detail(), |(_, reading)| &reading.delivered_pps)
        .named("sent_loss_ratio", "lost", |(_, reading)| &reading.sent_loss_ratio)
        .words("lost_where", "where", |(_, reading)| {
            let more = if reading.lost.len() > 1 { "+" } else { "" };
            reading.lost.first().map(|most| format!("{}{more}", most.place.key()))
        })
        .with(Column::words("lost", "lost, by place").detail(), |(_, reading)| places(&reading.lost, ", "))
        .named("total_ns_per_packet", "CPU time", |(_, one)| Cell::estimate(one.total_ns_per_packet.as_ref()))
        .with(detail("invalid", "invalid trials"), |(_, reading)| reading.invalid.len());
    let rows = points(sweep).filter(|(_, reading)| reading.back_to_back.is_none());
    let trials =
        |(_, reading): &OfPoint<'_>| reading.trials.iter().chain(&reading.invalid).copied().collect();
    let caption =
        format!("Sweep of {}: medians of up to {} visits with their intervals", sweep.axis, sweep.repeats);
    let table = columns.table(&format!("sweep{mark}-readings"), &caption, rows, trials)?;
    let table = table.without_empty_columns().with_notes([
        format!("Intervals: {}. Seed of the order {}.", sweep.interval, sweep.seed),
        levels(sweep),
        stopped(sweep),
    ]);
    Some(table)
}

/// What each number of members read, how busy they were, and what limited them.
fn scaling(swept: &Swept<'_>, mark: &str) -> Option<Table> {
    let median =
        |reading: &Reading, of: fn(&TrialResult) -> Option<f64>| Cell::number(swept.median(reading, of));
    let busy = |trial: &TrialResult, pick: fn(f64, f64) -> f64| {
        trial.members.iter().map(|member| trial.member_busy(member)).reduce(pick)
    };
    let columns = point(swept.outcome)
        .named("sustained_pps", "read", |(_, reading)| swept.sustained_pps(reading))
        .words("times_first", "times the first", |(series, reading)| {
            let first = swept.sustained_pps(series.readings.first()?);
            Some(significant(swept.sustained_pps(reading) / first, 3))
        })
        .named("sent_loss_ratio", "lost", |(_, reading)| reading.sent_loss_ratio.median)
        .named("app_ns_per_packet", "app CPU", move |(_, one)| {
            median(one, |trial| trial.cpu.app_ns_per_packet)
        })
        .named("total_ns_per_packet", "total CPU", move |(_, one)| {
            median(one, TrialResult::total_ns_per_packet)
        })
        .named("kernel_busy_ratio", "kernel CPU busy", move |(_, one)| {
            median(one, TrialResult::kernel_cpu_busy)
        })
        .named("members_busy_ratio", "members busy", move |(_, one)| {
            let ends = [f64::min as fn(f64, f64) -> f64, f64::max]
                .map(|pick| swept.median(one, |trial| busy(trial, pick)));
            match ends {
                [Some(low), Some(high)] => Cell::Range { low, high },
                _ => Cell::Unknown,
            }
        })
        .named("imbalance_ratio", "above equal share", move |(_, one)| {
            median(one, |trial| imbalance(&trial.members))
        })
        .words("limit", "limit", |(series, reading)| {
            let nth = series.readings.iter().position(|other| other.point == reading.point)?;
            series.scaling.as_ref()?.limits.get(nth).map(|limit| limit_of_members(*limit))
        });
    let rows = points(swept.outcome).filter(|(series, _)| series.scaling.is_some());
    let caption = "What each number of members read, how busy they were, and what limited them: medians";
    let table =
        columns.table(&format!("sweep{mark}-scaling"), caption, rows, |(_, one)| one.trials.clone())?;
    Some(table.without_empty_columns().with_notes([stopped(swept.outcome)]).main())
}

fn limit_of_members(limit: Limit) -> String {
    match limit {
        Limit::Backlog => "kernel's CPU".into(),
        other => limits::words(other),
    }
}

/// How far intervals can be trusted, which depends on the visits of a point.
fn levels(sweep: &SweepOutcome) -> String {
    let readings = sweep.series.iter().flat_map(|series| &series.readings);
    let levels: BTreeMap<u32, f64> = readings
        .filter_map(|reading| Some((reading.delivered_pps.repeats, reading.delivered_pps.level?)))
        .collect();
    let each = |(visits, level): (&u32, &f64)| format!("{:.1} % with {visits} visits", level * 100.0);
    match levels.iter().rev().map(each).collect::<Vec<_>>() {
        list if list.is_empty() => "One visit has no interval.".into(),
        list => format!("An interval holds the true median with a probability of {}.", list.join(", ")),
    }
}

fn stopped(sweep: &SweepOutcome) -> String {
    let text = "The sweep did not go to its end: points have fewer visits, or none.";
    if sweep.stopped { text.into() } else { String::new() }
}

type OfBursts<'r> = (OfPoint<'r>, &'r BackToBack);

fn bursts(sweep: &SweepOutcome, mark: &str) -> Option<Table> {
    let columns = Columns::new()
        .part(point(sweep), |(point, _): &OfBursts<'_>| *point)
        .count("mean_frames", "longest burst, mean", |(_, bursts)| Cell::number(bursts.mean_frames))
        .count("least_frames", "least", |(_, bursts)| Cell::count(bursts.least_frames))
        .count("most_frames", "most", |(_, bursts)| Cell::count(bursts.most_frames))
        .count("deviation_frames", "deviation", |(_, bursts)| Cell::where_known(bursts.deviation_frames))
        .named("implied_buffer_s", "implied buffer", |(_, bursts)| Cell::number(bursts.implied_buffer_s))
        .named("drain_corrected_buffer_s", "drain-corrected buffer", |(_, bursts)| {
            Cell::number(bursts.drain_corrected_buffer_s)
        })
        .words("ended", "how searches ended", |(_, bursts)| ends(bursts.searches.iter().map(|one| one.end)))
        .words("lost", "shortest burst with loss lost", |(_, bursts)| {
            places(bursts.searches.iter().filter_map(|search| search.lost.first()), "; ")
        });
    let rows = points(sweep).filter_map(|point| Some((point, point.1.back_to_back.as_ref()?)));
    let trials = |(_, bursts): &OfBursts<'_>| {
        bursts.searches.iter().flat_map(|search| search.trials.iter().copied()).collect()
    };
    let caption =
        format!("Sweep of {}: the longest burst without loss (RFC 2544 26.4, RFC 9004)", sweep.axis);
    let table = columns.table(&format!("sweep{mark}-bursts"), &caption, rows, trials)?;
    let note = "The drain-corrected time subtracts the rate at which frames were read in that overload, not the throughput of RFC 9004.";
    let means = format!("Means of up to {} visits. Seed {}.", sweep.repeats, sweep.seed);
    Some(table.without_empty_columns().with_notes([note.into(), means, stopped(sweep)]).main())
}

/// How burst searches ended, with the number of each end.
pub(super) fn ends(ends: impl Iterator<Item = BurstEnd> + Clone) -> String {
    const ALL: [(BurstEnd, &str); 7] = [
        (BurstEnd::Found, "found"),
        (BurstEnd::NoneHeld, "none sustained"),
        (BurstEnd::NeverFills, "never fills"),
        (BurstEnd::AtLimit, "at the limit"),
        (BurstEnd::GeneratorLimited, "generator-limited"),
        (BurstEnd::Invalid, "invalid"),
        (BurstEnd::NotRun, "not run"),
    ];
    let counted = ALL.map(|(end, words)| (words, ends.clone().filter(|one| *one == end).count()));
    let counted = counted.iter().filter(|(_, count)| *count > 0);
    counted.map(|(words, count)| format!("{words} {count}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use capbench_judge::sweep::AxisKind;
    use capbench_model::statistics::interval::Estimate;

    use super::*;
    use crate::model::Row;

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
        let series = Series {
            method: "recv".into(),
            placement: None,
            load: None,
            unit_ns: None,
            scaling: None,
            readings,
        };
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
