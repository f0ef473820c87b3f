//! Results of the tests of RFC 2544 other than throughput.

use capbench_judge::rfc2544::back_to_back::BackToBackOutcome;
use capbench_judge::rfc2544::back_to_back::Benchmark;
use capbench_judge::rfc2544::frame_loss::FrameLossOutcome;
use capbench_judge::rfc2544::frame_loss::LossPoint;
use capbench_judge::rfc2544::latency::LatencyOutcome;
use capbench_judge::rfc2544::latency::{Across, Leg};
use capbench_judge::rfc2544::recovery::RecoveryOutcome;
use capbench_judge::rfc2544::recovery::{Recovery, Repetition};
use capbench_judge::rfc2544::{Ended, Found, Tested};
use capbench_judge::search::Status;

use super::shape::Columns;
use super::sweeps::ends;
use crate::model::{Cell, Table};
use crate::naming::{many, rate, time};
use capbench_results::trial_columns::key;

pub(super) fn tables(tested: &[Tested]) -> Vec<Table> {
    [latency, frame_loss, back_to_back, recovery].iter().filter_map(|table| table(tested)).collect()
}

pub(crate) fn name(found: &Found) -> &'static str {
    match found {
        Found::Latency(_) => "latency",
        Found::FrameLoss(_) => "frame loss rate",
        Found::BackToBack(_) => "back-to-back frames",
        Found::Recovery(_) => "system recovery",
    }
}

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
            Some(format!("trial {} is invalid: {because}", numbers.join(", ")))
        }
    }
}

pub(super) fn set_up<'c>() -> Columns<'c, &'c Tested> {
    Columns::new()
        .words("frame_size", "frame size", |tested: &&Tested| tested.frame_size.to_string())
        .words("placement", "placement", |tested| tested.placement.to_string())
        .words("work", "work", |tested| tested.work.to_string())
        .words("method", "method", |tested| tested.method.to_string())
}

fn notes(tested: &[Tested], is_such: fn(&Found) -> bool) -> Vec<String> {
    let such = tested.iter().filter(|tested| is_such(&tested.found));
    such.filter_map(|tested| {
        Some(format!("{}: not complete, {}.", tested.method, unfinished(&tested.found)?))
    })
    .collect()
}

type OfLeg<'r> = (&'r Tested, &'r LatencyOutcome, &'static str, Option<&'r Leg>);

fn latency(all: &[Tested]) -> Option<Table> {
    let across = |leg: Option<&Leg>, of: fn(&Leg) -> Across| {
        leg.map(of).map_or(Cell::Unknown, |across| Cell::Interval {
            middle: across.median_ns as f64,
            low: across.min_ns as f64,
            high: across.max_ns as f64,
        })
    };
    let columns = Columns::new()
        .part(set_up(), |(tested, ..): &OfLeg<'_>| *tested)
        .named("rate_pps", "at", |(_, outcome, ..)| outcome.rate_pps.get().floor())
        .words("leg", "leg", |(.., name, _)| *name)
        .count("repetitions", "trials", |(_, outcome, ..)| outcome.repetitions)
        .named("mean_ns", "mean", |(.., leg)| Cell::number(leg.map(|leg| leg.mean_ns)))
        .named("typical_ns", "median (range)", move |(.., leg)| across(*leg, |leg| leg.typical))
        .named("worst_ns", "99.9 % (range)", move |(.., leg)| across(*leg, |leg| leg.worst))
        .named("pdv_ns", "PDV (range)", move |(.., leg)| across(*leg, |leg| leg.pdv))
        .count("lossy", "trials with loss", |(_, outcome, ..)| outcome.lossy.len());
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
        let own = [
            ("planned to kernel", &outcome.to_kernel, false),
            ("kernel to application", &outcome.to_application, false),
            ("planned to application", &outcome.total, false),
            ("planned to kernel, less the least", &outcome.relative_to_kernel, true),
            ("planned to application, less the least", &outcome.relative_total, true),
        ];
        // On one host there is no relative time, and the other legs say that they are unknown.
        let known = own.into_iter().filter(|(_, leg, is_relative)| leg.is_some() || !is_relative);
        rows.extend(known.map(|(name, leg, _)| (tested, outcome, name, leg.as_ref())));
    }
    let caption = "Latency (26.2; figures of RFC 8219)";
    let table = columns.table("rfc2544-latency", caption, rows, |(tested, ..)| tested.trials.clone())?;
    Some(table.with_notes(notes(all, |found| matches!(found, Found::Latency(_)))).with_notes(worth).main())
}

/// The length of latency trials, and which of their frames count.
fn extent(outcome: &LatencyOutcome) -> String {
    let trials = many(outcome.repetitions.into(), "trial", "trials");
    format!("{trials} of {}, frames from {} on", time(outcome.duration_s), time(outcome.from_s))
}

fn frame_loss(all: &[Tested]) -> Option<Table> {
    type OfLoad<'r> = (&'r Tested, &'r FrameLossOutcome, &'r LossPoint);
    let columns = Columns::new()
        .part(set_up(), |(tested, ..): &OfLoad<'_>| *tested)
        .words("maximum", "100 % is", |(_, outcome, _)| outcome.maximum.to_string())
        .named("load_ratio", "load", |(.., point)| point.load_percent / 100.0)
        .named("offered_ratio", "offered", |(.., point)| point.offered_percent / 100.0)
        .count("sent", "sent", |(.., point)| point.sent)
        .count("delivered", "delivered", |(.., point)| point.delivered)
        .named("loss_ratio", "frame loss rate", |(.., point)| point.loss_percent / 100.0)
        .words("verdict", "verdict", |(.., point)| key(point.verdict));
    let outcomes = || {
        all.iter().filter_map(|tested| match &tested.found {
            Found::FrameLoss(outcome) => Some((tested, outcome)),
            _ => None,
        })
    };
    let rows = outcomes()
        .flat_map(|(tested, outcome)| outcome.points.iter().map(move |point| (tested, outcome, point)));
    let table = columns
        .table("rfc2544-frame-loss", "Frame loss rate (26.3)", rows, |(.., point)| vec![point.trial])?;
    let lossy = outcomes().filter(|(_, outcome)| !outcome.ends_without_loss).map(|(tested, _)| {
        format!(
            "{}: the test ended before two trials in a row sent every frame and lost none.",
            tested.method
        )
    });
    let limited = "Verdict generator_limited: the generator did not reach the load. Loss is a share of the frames sent; no loss there does \
                   not show that the load is sustained.";
    let mut points = outcomes().flat_map(|(_, outcome)| &outcome.points);
    let limited = points.any(|point| point.generator_limited).then(|| limited.to_string());
    let ended = notes(all, |found| matches!(found, Found::FrameLoss(_)));
    Some(table.with_notes(ended.into_iter().chain(lossy).chain(limited)).main())
}

fn back_to_back(all: &[Tested]) -> Option<Table> {
    type OfTest<'r> = (&'r Tested, &'r BackToBackOutcome);
    let number = |outcome: &BackToBackOutcome, of: fn(&Benchmark) -> f64| {
        Cell::number(outcome.benchmark.as_ref().map(of))
    };
    let frames = |outcome: &BackToBackOutcome, of: fn(&Benchmark) -> u64| {
        Cell::count(outcome.benchmark.as_ref().map(of))
    };
    let known = |outcome: &BackToBackOutcome, of: fn(&Benchmark) -> Option<f64>| {
        Cell::where_known(outcome.benchmark.as_ref().and_then(of))
    };
    let columns = Columns::new()
        .part(set_up(), |(tested, _): &OfTest<'_>| *tested)
        .words("maximum", "bursts at", |(_, outcome)| outcome.maximum.to_string())
        .named("throughput_pps", "throughput", |(_, outcome)| outcome.throughput_pps.get().floor())
        .count("searches", "searches", |(_, outcome)| outcome.searches.len())
        .count("average_frames", "longest burst, mean", move |(_, one)| {
            number(one, |found| found.average_frames)
        })
        .count("min_frames", "least", move |(_, one)| frames(one, |found| found.min_frames))
        .count("max_frames", "most", move |(_, one)| frames(one, |found| found.max_frames))
        .count("stdev_frames", "deviation", move |(_, one)| known(one, |found| found.stdev_frames))
        .named("implied_buffer_s", "implied buffer", move |(_, one)| {
            number(one, |found| found.implied_buffer_s)
        })
        .named("corrected_buffer_s", "corrected buffer", move |(_, one)| {
            number(one, |found| found.corrected_buffer_s)
        })
        .words("ended", "how searches ended", |(_, one)| ends(one.searches.iter().map(|search| search.end)))
        .words("invalid_because", "not valid because", |(_, outcome)| outcome.invalid_because.as_deref())
        .named("offered_ratio", "sent at, of that rate", move |(_, one)| {
            known(one, |found| found.offered_percent.map(|percent| percent / 100.0))
        });
    let rows = all.iter().filter_map(|tested| match &tested.found {
        Found::BackToBack(outcome) => Some((tested, outcome)),
        _ => None,
    });
    let caption = "Back-to-back frames (26.4, RFC 9004)";
    let table = columns.table("rfc2544-back-to-back", caption, rows, |(tested, _)| tested.trials.clone())?;
    let note = "The corrected time leaves out the frames that were read meanwhile.".to_string();
    let ended = notes(all, |found| matches!(found, Found::BackToBack(_)));
    Some(table.without_empty_columns().with_notes([note]).with_notes(ended).main())
}

fn recovery(all: &[Tested]) -> Option<Table> {
    type OfOverload<'r> = (&'r Tested, &'r RecoveryOutcome, &'r Repetition);
    let columns = Columns::new()
        .part(set_up(), |(tested, ..): &OfOverload<'_>| *tested)
        .words("load", "load", |(_, outcome, _)| {
            format!(
                "{} for {}, then {} for {}",
                rate(outcome.overload_pps.get()),
                time(outcome.overloaded_s),
                rate(outcome.after_pps.get()),
                time(outcome.observed_s)
            )
        })
        .words("outcome", "outcome", |(.., repetition)| match &repetition.recovery {
            Recovery::Recovered { .. } => "recovered".to_string(),
            Recovery::NothingLost => "nothing was lost: it was no overload".into(),
            Recovery::NotRecovered { .. } => "not recovered".into(),
            Recovery::Unknown { because } => format!("unknown: {because}"),
        })
        .named("after_s", "last frame lost after", |(.., repetition)| match repetition.recovery {
            Recovery::Recovered { after_s } => after_s.into(),
            Recovery::NothingLost => Cell::Empty,
            Recovery::NotRecovered { at_least_s } => Cell::AtLeast(at_least_s),
            Recovery::Unknown { .. } => Cell::Unknown,
        })
        .named("generator_late_ns", "generator late by at most", |(.., repetition)| {
            Cell::number(repetition.generator_late_ns.map(|ns| ns as f64))
        });
    let outcomes = || {
        all.iter().filter_map(|tested| match &tested.found {
            Found::Recovery(outcome) => Some((tested, outcome)),
            _ => None,
        })
    };
    let rows = outcomes()
        .flat_map(|(tested, outcome)| outcome.repetitions.iter().map(move |one| (tested, outcome, one)));
    let table =
        columns.table("rfc2544-recovery", "System recovery (26.5)", rows, |(.., one)| vec![one.trial])?;
    let averages = outcomes().filter(|(_, outcome)| outcome.repetitions.len() > 1);
    let averages = averages.filter_map(|(tested, outcome)| {
        Some(format!("{}: on average after {}.", tested.method, time(outcome.average_s?)))
    });
    let ended = notes(all, |found| matches!(found, Found::Recovery(_)));
    Some(table.with_notes(ended).with_notes(averages).main())
}
