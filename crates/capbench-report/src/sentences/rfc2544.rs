//! Throughput, and the results of the tests relative to it.
use crate::results::Results;
use capbench_plan::rfc2544::recovery::Recovery;
use capbench_plan::rfc2544::{Found, Tested};
use capbench_plan::search::{SearchOutcome, Status};

use super::{capital, first_of};
use crate::groups::of_search;
use crate::model::Sentence;
use crate::naming::{frames, many, percent, rate, time};

/// Most set-ups that are listed one by one.
const TOLD: usize = 3;

pub(super) fn verdict(results: &Results) -> Vec<Sentence> {
    let sentences = [
        throughput(results),
        tests(results, |found| matches!(found, Found::FrameLoss(_) | Found::BackToBack(_))),
        tests(results, |found| matches!(found, Found::Latency(_) | Found::Recovery(_))),
    ];
    sentences.into_iter().flatten().collect()
}

fn throughput(results: &Results) -> Option<Sentence> {
    let of = |search: &SearchOutcome| {
        let goal = search.goals.first()?;
        let of = of_search(search);
        let Some(lower) = &goal.lower else { return Some((format!("no load was held by {of}"), Vec::new())) };
        let pps = rate(lower.achieved_pps);
        let words = match goal.status {
            Status::Regular => format!("the throughput of {of} is {pps}"),
            Status::AtLeast => format!("at least {pps} is held by {of}, which is no throughput"),
            Status::Irregular => format!("the throughput of {of} is not settled, and {pps} is held"),
        };
        Some((words, lower.trials.clone()))
    };
    let told: Vec<_> = results.searches.iter().filter_map(of).collect();
    let Sentence { text, trials } = first_of(&told, TOLD)?;
    Some(Sentence { text: capital(&text), trials })
}

fn tests(results: &Results, is_such: fn(&Found) -> bool) -> Option<Sentence> {
    let such: Vec<&Tested> = results.rfc2544.iter().filter(|tested| is_such(&tested.found)).collect();
    let has_several = results.rfc2544.iter().any(|tested| scene(tested) != scene(&results.rfc2544[0]));
    let told = such.iter().filter_map(|tested| {
        let words = outcome(&tested.found)?;
        let words = if has_several { format!("{}: {words}", scene(tested)) } else { words };
        Some((words, tested.trials.clone()))
    });
    let Sentence { text, trials } = first_of(&told.take(TOLD).collect::<Vec<_>>(), TOLD)?;
    Some(Sentence { text: capital(&text), trials })
}

fn scene(tested: &Tested) -> String {
    format!("{} ({}, placement {})", tested.method, frames(&tested.frame_size), tested.placement)
}

/// The result of a test in a clause; `None` if it found nothing.
pub(crate) fn outcome(found: &Found) -> Option<String> {
    let text = match found {
        Found::Latency(latency) => {
            let total = latency.total.as_ref().or(latency.to_application.as_ref())?;
            format!(
                "frames take {} (median) and {} at worst (99.9 %) at {}",
                time(total.typical.median_ns as f64 / 1e9),
                time(total.worst.median_ns as f64 / 1e9),
                rate(latency.rate_pps.get())
            )
        }
        Found::FrameLoss(loss) => {
            let first = loss.points.first()?;
            let clean =
                loss.points.iter().find(|point| point.loss_percent == 0.0 && !point.generator_limited);
            let held = clean.map_or_else(
                || ", and some at every load tried".into(),
                |point| format!(", and none at {} %", point.load_percent),
            );
            format!(
                "at {} % of {} {} of the frames are lost{held}",
                first.load_percent,
                rate(loss.maximum.pps.get()),
                percent(first.loss_percent / 100.0)
            )
        }
        Found::BackToBack(bursts) => {
            let benchmark = bursts.benchmark.as_ref()?;
            let valid = if bursts.invalid_because.is_some() { ", which is not valid" } else { "" };
            format!(
                "the longest burst without loss has {:.0} frames on average, which is {} of buffer{valid}",
                benchmark.average_frames,
                time(benchmark.corrected_buffer_s)
            )
        }
        Found::Recovery(recovery) => {
            let count = |is_such: fn(&Recovery) -> bool| {
                recovery.repetitions.iter().filter(|repetition| is_such(&repetition.recovery)).count()
            };
            let recovered = count(|recovery| matches!(recovery, Recovery::Recovered { .. }));
            let unknown = count(|recovery| matches!(recovery, Recovery::Unknown { .. }));
            let all = recovery.repetitions.len();
            let overloads = many(all as u64, "overload", "overloads");
            match recovery.average_s {
                Some(average) => format!(
                    "after an overload of {} the last frame is lost {} later",
                    rate(recovery.overload_pps.get()),
                    time(average)
                ),
                None if all == 0 => return None,
                None if unknown == all => format!("whether it recovers cannot be told of {overloads}"),
                None if unknown > 0 => {
                    format!("it recovered from {recovered} of {overloads}, and of {unknown} nobody can tell")
                }
                None => format!("it recovered from {recovered} of {overloads}"),
            }
        }
    };
    Some(text)
}
