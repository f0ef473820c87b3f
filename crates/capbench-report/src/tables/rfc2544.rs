//! What the tests of RFC 2544 beside throughput found.

use capbench_measure::results::Results;
use capbench_measure::rfc2544::latency::Leg;
use capbench_measure::rfc2544::recovery::Recovery;
use capbench_measure::rfc2544::{Ended, Found, LatencyOutcome, Tested};
use capbench_measure::search::Status;

use crate::groups::Group;
use crate::model::{Cell, Column, Row, Table, Unit};
use crate::naming::{key, many, rate, time};

use super::sweeps::ends;

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let tested = &results.rfc2544;
    [latency(tested), frame_loss(tested), back_to_back(tested), recovery(tested)]
        .into_iter()
        .flatten()
        .collect()
}

/// What a test is called.
pub(crate) fn name(found: &Found) -> &'static str {
    match found {
        Found::Latency(_) => "latency",
        Found::FrameLoss(_) => "frame loss rate",
        Found::BackToBack(_) => "back-to-back frames",
        Found::Recovery(_) => "system recovery",
    }
}

/// How a test ended, where that was not its end.
pub(crate) fn unfinished(found: &Found) -> Option<String> {
    let ended = match found {
        Found::Latency(outcome) => &outcome.ended,
        Found::FrameLoss(outcome) => &outcome.ended,
        Found::BackToBack(outcome) => &outcome.ended,
        Found::Recovery(outcome) => &outcome.ended,
    };
    match ended {
        Ended::Complete => None,
        Ended::Stopped => Some("the user stopped it".into()),
        Ended::NotRun => Some("a trial could not be run".into()),
        Ended::Invalid { trials, because } => {
            let numbers: Vec<String> = trials.iter().map(ToString::to_string).collect();
            Some(format!("trial {} shows nothing: {because}", numbers.join(", ")))
        }
    }
}

pub(crate) fn scene_columns() -> Vec<Column> {
    let mut columns = Group::columns();
    columns.truncate(4);
    columns
}

pub(crate) fn scene_cells(tested: &Tested) -> Vec<Cell> {
    vec![
        Cell::text(tested.frame_size.to_string()),
        Cell::text(tested.placement.as_str()),
        Cell::text(tested.work.as_str()),
        Cell::text(tested.method.as_str()),
    ]
}

fn notes(tested: &[Tested], is_such: fn(&Found) -> bool) -> Vec<String> {
    let such = tested.iter().filter(|tested| is_such(&tested.found));
    such.filter_map(|tested| {
        Some(format!("{}: not complete, {}.", tested.method, unfinished(&tested.found)?))
    })
    .collect()
}

fn latency(all: &[Tested]) -> Option<Table> {
    let mut columns = scene_columns();
    columns.extend([
        Column::named("rate_pps", "at"),
        Column::words("leg", "leg"),
        Column::new("repetitions", "trials", Unit::Count),
        Column::named("mean_ns", "mean"),
        Column::named("typical_ns", "median (range)"),
        Column::named("worst_ns", "99.9 % (range)"),
        Column::named("pdv_ns", "PDV (range)"),
        Column::new("lossy", "trials with loss", Unit::Count),
    ]);
    let (mut rows, mut worth) = (Vec::new(), Vec::new());
    for tested in all {
        let Found::Latency(outcome) = &tested.found else { continue };
        if tested.throughput_status == Some(Status::AtLeast) {
            let pps = rate(outcome.rate_pps.get());
            worth.push(format!("{}: at {pps}, where the throughput is at least that.", tested.method));
        }
        worth.push(format!("{}: {}.", tested.method, extent(outcome)));
        if !outcome.lossy.is_empty() {
            worth.push(format!(
                "{}: trials {:?} lost frames: the rate was above the throughput then, and latency is that of full buffers.",
                tested.method, outcome.lossy
            ));
        }
        let legs: [(&str, &Option<Leg>); 3] = [
            ("planned to kernel", &outcome.to_kernel),
            ("kernel to application", &outcome.to_application),
            ("planned to application", &outcome.total),
        ];
        for (name, leg) in legs {
            let mut cells = scene_cells(tested);
            cells.extend([
                Cell::Number(outcome.rate_pps.get().floor()),
                Cell::text(name),
                Cell::Count(outcome.repetitions.into()),
            ]);
            let across = |of: fn(&Leg) -> capbench_measure::rfc2544::latency::Across| {
                leg.as_ref().map_or(Cell::Unknown, |leg| {
                    let across = of(leg);
                    Cell::Interval {
                        middle: across.median_ns as f64,
                        low: across.min_ns as f64,
                        high: across.max_ns as f64,
                    }
                })
            };
            cells.extend([
                Cell::number(leg.as_ref().map(|leg| leg.mean_ns)),
                across(|leg| leg.typical),
                across(|leg| leg.worst),
                across(|leg| leg.pdv),
                Cell::Count(outcome.lossy.len() as u64),
            ]);
            rows.push(Row::new(cells, tested.trials.clone()));
        }
    }
    let table = Table::of("rfc2544-latency", "Latency (26.2; figures of RFC 8219)", columns, rows)?;
    Some(table.with_notes(notes(all, |found| matches!(found, Found::Latency(_)))).with_notes(worth).main())
}

/// How long trials of latency are, and which of their frames count.
fn extent(outcome: &LatencyOutcome) -> String {
    let trials = many(outcome.repetitions.into(), "trial", "trials");
    format!("{trials} of {}, frames from {} on", time(outcome.duration_s), time(outcome.from_s))
}

fn frame_loss(all: &[Tested]) -> Option<Table> {
    let mut columns = scene_columns();
    columns.extend([
        Column::words("maximum", "100 % is"),
        Column::new("load_ratio", "load", Unit::Ratio),
        Column::new("offered_ratio", "offered", Unit::Ratio),
        Column::new("sent", "sent", Unit::Count),
        Column::new("delivered", "delivered", Unit::Count),
        Column::new("loss_ratio", "frame loss rate", Unit::Ratio),
        Column::words("verdict", "verdict"),
    ]);
    let mut rows = Vec::new();
    let mut notes = notes(all, |found| matches!(found, Found::FrameLoss(_)));
    for tested in all {
        let Found::FrameLoss(outcome) = &tested.found else { continue };
        for point in &outcome.points {
            let mut cells = scene_cells(tested);
            cells.extend([
                Cell::text(outcome.maximum.to_string()),
                Cell::number(Some(point.load_percent / 100.0)),
                Cell::number(Some(point.offered_percent / 100.0)),
                Cell::Count(point.sent),
                Cell::Count(point.delivered),
                Cell::number(Some(point.loss_percent / 100.0)),
                Cell::text(key(point.verdict)),
            ]);
            rows.push(Row::new(cells, vec![point.trial]));
        }
        if !outcome.ends_without_loss {
            notes.push(format!(
                "{}: the last two trials did not both send everything and lose nothing.",
                tested.method
            ));
        }
    }
    if all.iter().any(|tested| matches!(&tested.found, Found::FrameLoss(outcome) if outcome.points.iter().any(|point| point.generator_limited))) {
        notes.push(
            "Verdict generator_limited: the load was not reached. Loss is that of what was sent, and no loss shows nothing of that \
             load."
                .into(),
        );
    }
    Some(Table::of("rfc2544-frame-loss", "Frame loss rate (26.3)", columns, rows)?.with_notes(notes).main())
}

fn back_to_back(all: &[Tested]) -> Option<Table> {
    let mut columns = scene_columns();
    columns.extend([
        Column::words("maximum", "bursts at"),
        Column::named("throughput_pps", "throughput"),
        Column::new("searches", "searches", Unit::Count),
        Column::new("average_frames", "longest burst, mean", Unit::Count),
        Column::new("min_frames", "least", Unit::Count),
        Column::new("max_frames", "most", Unit::Count),
        Column::new("stdev_frames", "deviation", Unit::Count),
        Column::named("implied_buffer_s", "implied buffer"),
        Column::named("corrected_buffer_s", "corrected buffer"),
        Column::words("ended", "how searches ended"),
        Column::words("invalid_because", "not valid because"),
        Column::named("offered_ratio", "sent at, of that rate"),
    ]);
    let mut rows = Vec::new();
    for tested in all {
        let Found::BackToBack(outcome) = &tested.found else { continue };
        let benchmark = outcome.benchmark.as_ref();
        let mut cells = scene_cells(tested);
        cells.extend([
            Cell::text(outcome.maximum.to_string()),
            Cell::Number(outcome.throughput_pps.get().floor()),
            Cell::Count(outcome.searches.len() as u64),
            Cell::number(benchmark.map(|benchmark| benchmark.average_frames)),
            Cell::count(benchmark.map(|benchmark| benchmark.min_frames)),
            Cell::count(benchmark.map(|benchmark| benchmark.max_frames)),
            Cell::where_known(benchmark.and_then(|benchmark| benchmark.stdev_frames)),
            Cell::number(benchmark.map(|benchmark| benchmark.implied_buffer_s)),
            Cell::number(benchmark.map(|benchmark| benchmark.corrected_buffer_s)),
            Cell::text(ends(&outcome.searches.iter().map(|search| search.end).collect::<Vec<_>>())),
            Cell::words(outcome.invalid_because.as_deref()),
            Cell::where_known(
                benchmark.and_then(|benchmark| benchmark.offered_percent).map(|percent| percent / 100.0),
            ),
        ]);
        rows.push(Row::new(cells, tested.trials.clone()));
    }
    let caption = "Back-to-back frames (26.4, RFC 9004)";
    let table = Table::of("rfc2544-back-to-back", caption, columns, rows)?.without_empty_columns();
    let table =
        table.with_notes(["The corrected time takes off the frames that were taken out meanwhile.".into()]);
    Some(table.with_notes(notes(all, |found| matches!(found, Found::BackToBack(_)))).main())
}

fn recovery(all: &[Tested]) -> Option<Table> {
    let mut columns = scene_columns();
    columns.extend([
        Column::words("load", "load"),
        Column::words("outcome", "outcome"),
        Column::named("after_s", "last frame lost after"),
        Column::named("generator_late_ns", "generator late by at most"),
    ]);
    let (mut rows, mut averages) = (Vec::new(), Vec::new());
    for tested in all {
        let Found::Recovery(outcome) = &tested.found else { continue };
        if let Some(average) = outcome.average_s.filter(|_| outcome.repetitions.len() > 1) {
            averages.push(format!("{}: on average after {}.", tested.method, time(average)));
        }
        let load = format!(
            "{} for {}, then {} for {}",
            rate(outcome.overload_pps.get()),
            time(outcome.overloaded_s),
            rate(outcome.after_pps.get()),
            time(outcome.observed_s)
        );
        for repetition in &outcome.repetitions {
            let (words, after) = match &repetition.recovery {
                Recovery::Recovered { after_s } => ("recovered".to_string(), Cell::number(Some(*after_s))),
                Recovery::NothingLost => ("nothing was lost: it was no overload".into(), Cell::Empty),
                Recovery::NotRecovered { at_least_s } => ("not recovered".into(), Cell::AtLeast(*at_least_s)),
                Recovery::Unknown { because } => (format!("unknown: {because}"), Cell::Unknown),
            };
            let mut cells = scene_cells(tested);
            cells.extend([
                Cell::text(load.as_str()),
                Cell::text(words),
                after,
                Cell::number(repetition.generator_late_ns.map(|ns| ns as f64)),
            ]);
            rows.push(Row::new(cells, vec![repetition.trial]));
        }
    }
    let table = Table::of("rfc2544-recovery", "System recovery (26.5)", columns, rows)?;
    Some(
        table.with_notes(notes(all, |found| matches!(found, Found::Recovery(_)))).with_notes(averages).main(),
    )
}
