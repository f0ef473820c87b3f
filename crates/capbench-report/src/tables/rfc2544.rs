//! Results of the tests of RFC 2544 other than throughput.

use capbench_judge::rfc2544::back_to_back::BackToBackOutcome;
use capbench_judge::rfc2544::frame_loss::{FrameLossOutcome, LossPoint};
use capbench_judge::rfc2544::latency::{Across, LatencyOutcome, Leg};
use capbench_judge::rfc2544::recovery::{Recovery, RecoveryOutcome, Repetition};
use capbench_judge::rfc2544::{Ended, Found, Tested};
use capbench_judge::search::Status;
use capbench_results::Results;
use capbench_results::trial_columns::key;

use super::rows::{Fields, Rows};
use super::sweeps::burst_ends;
use crate::model::{Cell, Table};
use crate::naming::{many, rate, time};
use crate::sentences::rfc2544::maximum_words;

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let tables = [latency, frame_loss, back_to_back, recovery];
    tables.iter().filter_map(|table| table(&results.rfc2544)).collect()
}

/// The name of a test.
pub(super) fn name(found: &Found) -> &'static str {
    match found {
        Found::Latency(_) => "latency",
        Found::FrameLoss(_) => "frame loss rate",
        Found::BackToBack(_) => "back-to-back frames",
        Found::Recovery(_) => "system recovery",
    }
}

/// Why a test is not complete; `None` if it is.
pub(super) fn unfinished(found: &Found) -> Option<String> {
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
            let numbers: Vec<String> = trials.iter().map(u32::to_string).collect();
            Some(format!("trial {} is invalid: {because}", numbers.join(", ")))
        }
    }
}

/// The fields of a test's set-up.
pub(super) fn set_up(tested: &Tested) -> Fields {
    Fields::new()
        .words("frame_size", "frame size", tested.frame_size.to_string())
        .words("placement", "placement", tested.placement.to_string())
        .words("work", "work", tested.work.to_string())
        .words("method", "method", tested.method.to_string())
}

/// A note about a test that is not complete.
fn note_of_unfinished(tested: &Tested) -> Option<String> {
    Some(format!("{}: not complete, {}.", tested.method, unfinished(&tested.found)?))
}

/// A row per test of latency and leg.
fn latency(all: &[Tested]) -> Option<Table> {
    let mut rows = Rows::new();
    let mut unfinished_notes = Vec::new();
    let mut notes = Vec::new();
    for tested in all {
        let Found::Latency(outcome) = &tested.found else { continue };
        for (name, leg) in legs(outcome) {
            rows.add(set_up(tested).and(leg_fields(outcome, name, leg)), tested.trials.clone());
        }
        unfinished_notes.extend(note_of_unfinished(tested));
        notes.extend(latency_notes(tested, outcome));
    }
    let table = rows.table("rfc2544-latency", "Latency (26.2; figures of RFC 8219)")?;
    Some(table.with_notes(unfinished_notes).with_notes(notes).main())
}

/// The legs of a latency test, with their names. A leg that was not measured is unknown. Relative legs exist only between two
/// hosts.
fn legs(outcome: &LatencyOutcome) -> Vec<(&'static str, Option<&Leg>)> {
    let mut legs = vec![
        ("planned to kernel", outcome.to_kernel.as_ref()),
        ("kernel to application", outcome.to_application.as_ref()),
        ("planned to application", outcome.total.as_ref()),
    ];
    if let Some(leg) = &outcome.relative_to_kernel {
        legs.push(("planned to kernel, less the least", Some(leg)));
    }
    if let Some(leg) = &outcome.relative_total {
        legs.push(("planned to application, less the least", Some(leg)));
    }
    legs
}

fn leg_fields(outcome: &LatencyOutcome, name: &str, leg: Option<&Leg>) -> Fields {
    Fields::new()
        .figure("rate_pps", "at", outcome.rate_pps.get().floor())
        .words("leg", "leg", name)
        .count("repetitions", "trials", outcome.repetitions)
        .figure("mean_ns", "mean", Cell::number_or_unknown(leg.map(|leg| leg.mean_ns)))
        .figure("typical_ns", "median (range)", across_trials(leg.map(|leg| leg.typical)))
        .figure("worst_ns", "99.9 % (range)", across_trials(leg.map(|leg| leg.worst)))
        .figure("pdv_ns", "PDV (range)", across_trials(leg.map(|leg| leg.pdv)))
        .count("lossy", "trials with loss", outcome.lossy.len())
}

/// A figure across the trials of a test: its median and its range.
fn across_trials(across: Option<Across>) -> Cell {
    match across {
        None => Cell::Unknown,
        Some(across) => Cell::Interval {
            middle: across.median_ns as f64,
            low: across.min_ns as f64,
            high: across.max_ns as f64,
        },
    }
}

/// At which load the latency of a test was measured, of which frames, and whether they were in full buffers.
fn latency_notes(tested: &Tested, outcome: &LatencyOutcome) -> Vec<String> {
    let method = &tested.method;
    let mut notes = Vec::new();
    if tested.throughput_status == Some(Status::AtLeast) {
        let pps = rate(outcome.rate_pps.get());
        notes.push(format!("{method}: at {pps}, where the throughput is at least that."));
    }
    let trials = many(outcome.repetitions.into(), "trial", "trials");
    let (duration, from) = (time(outcome.duration_s), time(outcome.from_s));
    notes.push(format!("{method}: {trials} of {duration}, frames from {from} on."));
    if !outcome.lossy.is_empty() {
        notes.push(format!(
            "{method}: trials {:?} lost frames: the rate was above the throughput then, and latency is that of full buffers.",
            outcome.lossy
        ));
    }
    notes
}

/// A row per test of frame loss and load.
fn frame_loss(all: &[Tested]) -> Option<Table> {
    let mut rows = Rows::new();
    let mut unfinished_notes = Vec::new();
    let mut notes = Vec::new();
    let mut has_limited = false;
    for tested in all {
        let Found::FrameLoss(outcome) = &tested.found else { continue };
        for point in &outcome.points {
            rows.add(set_up(tested).and(loss_fields(outcome, point)), vec![point.trial]);
            has_limited |= point.has_unsent_frames;
        }
        unfinished_notes.extend(note_of_unfinished(tested));
        if !outcome.ends_without_loss {
            notes.push(format!(
                "{}: the test ended before two trials in a row sent every frame and lost none.",
                tested.method
            ));
        }
    }
    if has_limited {
        notes.push(
            "Verdict generator_limited: the generator did not reach the load. Loss is a share of the frames sent; no loss there does \
             not show that the load is sustained."
                .into(),
        );
    }
    let table = rows.table("rfc2544-frame-loss", "Frame loss rate (26.3)")?;
    Some(table.with_notes(unfinished_notes).with_notes(notes).main())
}

fn loss_fields(outcome: &FrameLossOutcome, point: &LossPoint) -> Fields {
    Fields::new()
        .words("maximum", "100 % is", maximum_words(outcome.maximum))
        .figure("load_ratio", "load", point.load_percent / 100.0)
        .figure("offered_ratio", "offered", point.offered_percent / 100.0)
        .count("sent", "sent", point.sent)
        .count("delivered", "delivered", point.delivered)
        .figure("loss_ratio", "frame loss rate", point.loss_percent / 100.0)
        .words("verdict", "verdict", key(point.verdict))
}

/// A row per test of back-to-back frames.
fn back_to_back(all: &[Tested]) -> Option<Table> {
    let mut rows = Rows::new();
    let mut notes = vec!["The corrected time leaves out the frames that were read meanwhile.".to_string()];
    for tested in all {
        let Found::BackToBack(outcome) = &tested.found else { continue };
        rows.add(set_up(tested).and(burst_fields(outcome)), tested.trials.clone());
        notes.extend(note_of_unfinished(tested));
    }
    let table = rows.table("rfc2544-back-to-back", "Back-to-back frames (26.4, RFC 9004)")?;
    Some(table.without_empty_columns().with_notes(notes).main())
}

fn burst_fields(outcome: &BackToBackOutcome) -> Fields {
    let found = outcome.benchmark.as_ref();
    let offered_percent = found.and_then(|found| found.offered_percent);
    let ends = burst_ends(outcome.searches.iter().map(|search| search.end));
    Fields::new()
        .words("maximum", "bursts at", maximum_words(outcome.maximum))
        .figure("throughput_pps", "throughput", outcome.throughput_pps.get().floor())
        .count("searches", "searches", outcome.searches.len())
        .count(
            "average_frames",
            "longest burst, mean",
            Cell::number_or_unknown(found.map(|found| found.average_frames)),
        )
        .count("min_frames", "least", Cell::count_or_unknown(found.map(|found| found.min_frames)))
        .count("max_frames", "most", Cell::count_or_unknown(found.map(|found| found.max_frames)))
        .count("stdev_frames", "deviation", Cell::number_or_empty(found.and_then(|found| found.stdev_frames)))
        .figure(
            "implied_buffer_s",
            "implied buffer",
            Cell::number_or_unknown(found.map(|found| found.implied_buffer_s)),
        )
        .figure(
            "corrected_buffer_s",
            "corrected buffer",
            Cell::number_or_unknown(found.map(|found| found.corrected_buffer_s)),
        )
        .words("ended", "how searches ended", ends)
        .words("invalid_because", "not valid because", outcome.invalid_because.as_deref())
        .figure(
            "offered_ratio",
            "sent at, of that rate",
            Cell::number_or_empty(offered_percent.map(|percent| percent / 100.0)),
        )
}

/// A row per test of recovery and overload.
fn recovery(all: &[Tested]) -> Option<Table> {
    let mut rows = Rows::new();
    let mut unfinished_notes = Vec::new();
    let mut notes = Vec::new();
    for tested in all {
        let Found::Recovery(outcome) = &tested.found else { continue };
        for repetition in &outcome.repetitions {
            rows.add(set_up(tested).and(recovery_fields(outcome, repetition)), vec![repetition.trial]);
        }
        unfinished_notes.extend(note_of_unfinished(tested));
        if let Some(average_s) = outcome.average_s
            && outcome.repetitions.len() > 1
        {
            notes.push(format!("{}: on average after {}.", tested.method, time(average_s)));
        }
    }
    let table = rows.table("rfc2544-recovery", "System recovery (26.5)")?;
    Some(table.with_notes(unfinished_notes).with_notes(notes).main())
}

fn recovery_fields(outcome: &RecoveryOutcome, repetition: &Repetition) -> Fields {
    let load = format!(
        "{} for {}, then {} for {}",
        rate(outcome.overload_pps.get()),
        time(outcome.overloaded_s),
        rate(outcome.after_pps.get()),
        time(outcome.observed_s)
    );
    let words = match &repetition.recovery {
        Recovery::Recovered { .. } => "recovered".to_string(),
        Recovery::NothingLost => "nothing was lost: it was no overload".into(),
        Recovery::NotRecovered { .. } => "not recovered".into(),
        Recovery::Unknown { because } => format!("unknown: {because}"),
    };
    let last_lost_after = match repetition.recovery {
        Recovery::Recovered { after_s } => after_s.into(),
        Recovery::NothingLost => Cell::Empty,
        Recovery::NotRecovered { at_least_s } => Cell::AtLeast(at_least_s),
        Recovery::Unknown { .. } => Cell::Unknown,
    };
    let generator_late_ns = repetition.generator_late_ns.map(|ns| ns as f64);
    Fields::new()
        .words("load", "load", load)
        .words("outcome", "outcome", words)
        .figure("after_s", "last frame lost after", last_lost_after)
        .figure("generator_late_ns", "generator late by at most", Cell::number_or_unknown(generator_late_ns))
}
