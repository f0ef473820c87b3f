//! Measurements of sweeps at each point: rates and losses, or the longest bursts without loss; and how members scale.

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

use super::rows::{Fields, Rows};
use crate::figures::{count, significant};
use crate::model::{Cell, Column, Table, Unit};
use crate::sentences::axes::shown_unit;
use crate::sentences::limits;
use crate::sentences::saved::interval_of_sweep;

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let mut tables = Vec::new();
    for (index, sweep) in results.sweeps.iter().enumerate() {
        // A single sweep needs no number.
        let mark = if results.sweeps.len() > 1 { format!("-{}", index + 1) } else { String::new() };
        let scaling = scaling_table(&Swept::new(sweep, &results.trials), &mark);
        let readings = readings_table(sweep, &mark);
        let bursts = bursts_table(sweep, &mark);
        // A terminal shows what answers the question of the sweep: how members scale, or else the readings; and bursts.
        if let Some(scaling) = scaling {
            tables.push(scaling.main());
            tables.extend(readings);
        } else {
            tables.extend(readings.map(Table::main));
        }
        tables.extend(bursts.map(Table::main));
    }
    tables
}

/// The fields that identify a point of a series.
fn point_fields(sweep: &SweepOutcome, series: &Series, reading: &Reading) -> Fields {
    let (unit, factor) = sweep.unit.map_or((Unit::None, 1.0), shown_unit);
    let point = sweep.points.get(reading.point);
    let added = if point.is_some_and(|point| point.refined) { " (added)" } else { "" };
    let at = Cell::number_or_empty(point.and_then(|point| point.at).map(|at| at * factor));
    Fields::new()
        .words("method", "method", series.method.to_string())
        .words("placement", "placement", series.placement.as_ref().map(ToString::to_string))
        .words("load", "load", series.load.as_deref())
        .words("point", "point", format!("{}{added}", sweep.label(reading)))
        .with(Column::new("at", &sweep.axis.to_string(), unit).detail(), at)
}

/// A column of counts that is omitted if there is no room.
fn detail(key: &str, heading: &str) -> Column {
    Column::new(key, heading, Unit::Count).detail()
}

/// Lost frames by place.
fn lost_words<'r>(losses: impl IntoIterator<Item = &'r LostAt>, separator: &str) -> String {
    let mut words = Vec::new();
    for lost in losses {
        words.push(format!("{} {}", lost.place.key(), count(lost.frames)));
    }
    words.join(separator)
}

/// Rates, losses and cost at each point, without points of burst searches.
fn readings_table(sweep: &SweepOutcome, mark: &str) -> Option<Table> {
    let mut rows = Rows::new();
    for series in &sweep.series {
        for reading in &series.readings {
            if reading.back_to_back.is_some() {
                continue;
            }
            let fields = point_fields(sweep, series, reading).and(reading_fields(reading));
            rows.add(fields, [reading.trials.as_slice(), &reading.invalid].concat());
        }
    }
    let caption =
        format!("Sweep of {}: medians of up to {} visits with their intervals", sweep.axis, sweep.repeats);
    let table = rows.table(&format!("sweep{mark}-readings"), &caption)?;
    let notes = [
        format!("Intervals: {}. Seed of the order {}.", interval_of_sweep(sweep), sweep.seed),
        confidence(sweep),
    ];
    Some(table.without_empty_columns().with_notes(notes).with_notes(stopped(sweep)))
}

/// Rates, losses and cost of a point.
fn reading_fields(reading: &Reading) -> Fields {
    Fields::new()
        .with(detail("visits", "visits"), reading.trials.len())
        .with(detail("lossless", "without loss"), reading.lossless)
        .figure("offered_pps", "offered", &reading.offered_pps)
        .with(Column::figure("read_pps", "read").whole(), &reading.taken_pps)
        .with(Column::figure("delivered_pps", "delivered").detail(), &reading.delivered_pps)
        .figure("sent_loss_ratio", "lost", &reading.sent_loss_ratio)
        .words("lost_where", "where", place_of_most_losses(&reading.lost))
        .with(Column::words("lost", "lost, by place").detail(), lost_words(&reading.lost, ", "))
        .figure(
            "total_ns_per_packet",
            "CPU time",
            Cell::estimate_or_unknown(reading.total_ns_per_packet.as_ref()),
        )
        .with(detail("invalid", "invalid trials"), reading.invalid.len())
}

/// The place that lost most, with a `+` if others lost frames, too. `losses` are sorted, most first.
fn place_of_most_losses(losses: &[LostAt]) -> Option<String> {
    match losses {
        [] => None,
        [only] => Some(only.place.key().into()),
        [most, ..] => Some(format!("{}+", most.place.key())),
    }
}

/// What each number of members read, how busy they were, and what limited them.
fn scaling_table(swept: &Swept<'_>, mark: &str) -> Option<Table> {
    let mut rows = Rows::new();
    for series in &swept.outcome.series {
        if series.scaling.is_none() {
            continue;
        }
        for (index, reading) in series.readings.iter().enumerate() {
            let fields = point_fields(swept.outcome, series, reading);
            let fields = fields.and(scaling_fields(swept, series, index, reading));
            rows.add(fields, reading.trials.clone());
        }
    }
    let caption = "What each number of members read, how busy they were, and what limited them: medians";
    let table = rows.table(&format!("sweep{mark}-scaling"), caption)?;
    Some(table.without_empty_columns().with_notes(stopped(swept.outcome)))
}

/// The fields of a number of members; `index` is the position of its reading in the series.
fn scaling_fields(swept: &Swept<'_>, series: &Series, index: usize, reading: &Reading) -> Fields {
    let sustained_pps = swept.sustained_pps(reading);
    let times_first = sustained_pps / swept.sustained_pps(&series.readings[0]);
    let limit = series.scaling.as_ref().and_then(|scaling| scaling.limits.get(index));
    let least_busy = swept.median(reading, |trial| busy_members(trial).into_iter().reduce(f64::min));
    let most_busy = swept.median(reading, |trial| busy_members(trial).into_iter().reduce(f64::max));
    let members_busy = match (least_busy, most_busy) {
        (Some(low), Some(high)) => Cell::Range { low, high },
        _ => Cell::Unknown,
    };
    let app_ns = swept.median(reading, |trial| trial.cpu.app_ns_per_packet);
    let total_ns = swept.median(reading, TrialResult::total_ns_per_packet);
    let kernel_busy = swept.median(reading, TrialResult::kernel_cpu_busy);
    let above_equal_share = swept.median(reading, |trial| imbalance(&trial.members));
    Fields::new()
        .figure("sustained_pps", "read", sustained_pps)
        .words("times_first", "times the first", significant(times_first, 3))
        .figure("sent_loss_ratio", "lost", reading.sent_loss_ratio.median)
        .figure("app_ns_per_packet", "app CPU", Cell::number_or_unknown(app_ns))
        .figure("total_ns_per_packet", "total CPU", Cell::number_or_unknown(total_ns))
        .figure("kernel_busy_ratio", "kernel CPU busy", Cell::number_or_unknown(kernel_busy))
        .figure("members_busy_ratio", "members busy", members_busy)
        .figure("imbalance_ratio", "above equal share", Cell::number_or_unknown(above_equal_share))
        .words("limit", "limit", limit.map(|limit| limit_of_members(*limit)))
}

/// What limited a number of members, in words. The words of [`limits`] for the backlog are a whole clause: too long for this
/// table, which a terminal shows.
fn limit_of_members(limit: Limit) -> String {
    match limit {
        Limit::Backlog => "kernel's CPU".into(),
        _ => limits::words(limit),
    }
}

/// How busy each member of a trial was.
fn busy_members(trial: &TrialResult) -> Vec<f64> {
    trial.members.iter().map(|member| trial.member_busy(member)).collect()
}

/// The probability that an interval holds the true median. It depends on the number of visits of a point.
fn confidence(sweep: &SweepOutcome) -> String {
    let mut level_by_visits = BTreeMap::new();
    for reading in sweep.series.iter().flat_map(|series| &series.readings) {
        if let Some(level) = reading.delivered_pps.level {
            level_by_visits.insert(reading.delivered_pps.repeats, level);
        }
    }
    let mut levels = Vec::new();
    for (visits, level) in level_by_visits.into_iter().rev() {
        levels.push(format!("{:.1} % with {visits} visits", level * 100.0));
    }
    if levels.is_empty() {
        return "One visit has no interval.".into();
    }
    format!("An interval holds the true median with a probability of {}.", levels.join(", "))
}

/// Says that a sweep ended early; `None` if it did not.
fn stopped(sweep: &SweepOutcome) -> Option<String> {
    if !sweep.stopped {
        return None;
    }
    Some("The sweep did not go to its end: points have fewer visits, or none.".into())
}

/// The longest bursts without loss at each point.
fn bursts_table(sweep: &SweepOutcome, mark: &str) -> Option<Table> {
    let mut rows = Rows::new();
    for series in &sweep.series {
        for reading in &series.readings {
            let Some(bursts) = &reading.back_to_back else { continue };
            let mut trials = Vec::new();
            for search in &bursts.searches {
                trials.extend(&search.trials);
            }
            rows.add(point_fields(sweep, series, reading).and(burst_fields(bursts)), trials);
        }
    }
    let caption =
        format!("Sweep of {}: the longest burst without loss (RFC 2544 26.4, RFC 9004)", sweep.axis);
    let table = rows.table(&format!("sweep{mark}-bursts"), &caption)?;
    let correction = "The drain-corrected time subtracts the rate at which frames were read in that overload, not the throughput of RFC 9004.";
    let means = format!("Means of up to {} visits. Seed {}.", sweep.repeats, sweep.seed);
    Some(table.without_empty_columns().with_notes([correction.into(), means]).with_notes(stopped(sweep)))
}

/// The longest bursts of a point, and the buffer times that they imply.
fn burst_fields(bursts: &BackToBack) -> Fields {
    let first_losses = bursts.searches.iter().filter_map(|search| search.lost.first());
    Fields::new()
        .count("mean_frames", "longest burst, mean", Cell::number_or_unknown(bursts.mean_frames))
        .count("least_frames", "least", Cell::count_or_unknown(bursts.least_frames))
        .count("most_frames", "most", Cell::count_or_unknown(bursts.most_frames))
        .count("deviation_frames", "deviation", Cell::number_or_empty(bursts.deviation_frames))
        .figure("implied_buffer_s", "implied buffer", Cell::number_or_unknown(bursts.implied_buffer_s))
        .figure(
            "drain_corrected_buffer_s",
            "drain-corrected buffer",
            Cell::number_or_unknown(bursts.drain_corrected_buffer_s),
        )
        .words("ended", "how searches ended", burst_ends(bursts.searches.iter().map(|search| search.end)))
        .words("lost", "shortest burst with loss lost", lost_words(first_losses, "; "))
}

/// How burst searches ended, with the number of searches for each end.
pub(super) fn burst_ends(ends: impl Iterator<Item = BurstEnd>) -> String {
    const WORDS: [(BurstEnd, &str); 7] = [
        (BurstEnd::Found, "found"),
        (BurstEnd::NoneHeld, "none sustained"),
        (BurstEnd::NeverFills, "never fills"),
        (BurstEnd::AtLimit, "at the limit"),
        (BurstEnd::GeneratorLimited, "generator-limited"),
        (BurstEnd::Invalid, "invalid"),
        (BurstEnd::NotRun, "not run"),
    ];
    let ends: Vec<BurstEnd> = ends.collect();
    let mut counted = Vec::new();
    for (end, words) in WORDS {
        let number = ends.iter().filter(|found| **found == end).count();
        if number > 0 {
            counted.push(format!("{words} {number}"));
        }
    }
    counted.join(", ")
}

#[cfg(test)]
mod tests {
    use capbench_judge::sweep::outcome::PointRecord;
    use capbench_judge::sweep::{AxisKind, PointUnit};
    use capbench_statistics::interval::Estimate;

    use super::{Reading, Series, SweepOutcome, Table, Unit, readings_table};
    use crate::model::Cell;

    /// The median of a figure's visits, with its interval.
    fn estimate(figures: &[f64]) -> Estimate {
        Estimate::of(figures.iter().copied()).unwrap()
    }

    /// A point that was visited once for each of these delivered rates. It reads what it delivers, and loses a fifth.
    fn reading(delivered_pps: &[f64]) -> Reading {
        Reading {
            point: 0,
            trials: (1..).take(delivered_pps.len()).collect(),
            invalid: Vec::new(),
            lossless: 0,
            offered_pps: estimate(&[1_234_567.0]),
            delivered_pps: estimate(delivered_pps),
            taken_pps: estimate(delivered_pps),
            sent_loss_ratio: estimate(&[0.2]),
            total_ns_per_packet: None,
            lost: Vec::new(),
            back_to_back: None,
        }
    }

    /// A sweep of one method with these points.
    fn sweep_of(readings: Vec<Reading>) -> SweepOutcome {
        let series = Series {
            method: "recv".into(),
            placement: None,
            load: None,
            unit_ns: None,
            scaling: None,
            readings,
        };
        SweepOutcome {
            axis: AxisKind::Work,
            unit: None,
            seed: 7,
            repeats: 6,
            quiet_s: 0.5,
            interval_method: None,
            interval: String::new(),
            points: Vec::new(),
            series: vec![series],
            stopped: false,
        }
    }

    fn table_of(readings: Vec<Reading>) -> Table {
        readings_table(&sweep_of(readings), "").unwrap()
    }

    #[test]
    fn an_interval_has_two_ends_and_its_level() {
        // Skewed, so that its median is not in the middle.
        let skewed = [1_000_001.0, 1_000_002.0, 1_000_003.0, 1_000_004.0, 1_000_005.0, 1_900_000.0];
        let table = table_of(vec![reading(&skewed), reading(&[5.0, 6.0, 7.0, 8.0, 9.0])]);
        let delivered = table.columns.iter().position(|column| column.key == "delivered_pps").unwrap();
        let of_skewed = Cell::Interval { middle: 1_000_003.5, low: 1_000_001.0, high: 1_900_000.0 };
        assert_eq!(table.rows[0].cells[delivered], of_skewed);
        assert_eq!(table.rows[1].cells[delivered], Cell::Interval { middle: 7.0, low: 5.0, high: 9.0 });
        // The smallest and the largest of n visits miss the true median with a probability of 2 / 2^n.
        let notes = table.notes.join(" ");
        assert!(notes.contains("96.9 % with 6 visits, 93.8 % with 5 visits"), "{notes}");
    }

    #[test]
    fn a_delay_of_interrupts_has_the_unit_of_its_chart() {
        let point = PointRecord { label: "50us".into(), at: Some(50.0), refined: false };
        let unit = Some(PointUnit::Microseconds);
        let sweep = SweepOutcome { unit, points: vec![point], ..sweep_of(vec![reading(&[5.0])]) };
        let table = readings_table(&sweep, "").unwrap();
        let at = table.columns.iter().position(|column| column.key == "at").unwrap();
        assert_eq!(table.columns[at].unit, Unit::Nanoseconds);
        assert_eq!(table.rows[0].cells[at], Cell::Number(50_000.0));
    }

    #[test]
    fn one_visit_has_no_interval() {
        let notes = table_of(vec![reading(&[5.0])]).notes.join(" ");
        assert!(notes.contains("One visit has no interval."), "{notes}");
    }
}
