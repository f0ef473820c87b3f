//! Throughput, and the results of the tests relative to it.
use crate::results::Results;
use capbench_plan::rfc2544::recovery::Recovery;
use capbench_plan::rfc2544::{Found, Tested};
use capbench_plan::search::{SearchOutcome, Status};

use super::{capital, sentence};
use crate::groups::of_search;
use crate::model::Sentence;
use crate::naming::{frames, many, percent, rate, time};

/// Most set-ups that are listed one by one.
const TOLD: usize = 3;

/// The verdict.
pub(super) fn verdict(results: &Results) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    sentences.extend(throughput(results));
    sentences.extend(tests(results, |found| matches!(found, Found::FrameLoss(_) | Found::BackToBack(_))));
    sentences.extend(tests(results, |found| matches!(found, Found::Latency(_) | Found::Recovery(_))));
    sentences
}

fn throughput(results: &Results) -> Option<Sentence> {
    let of = |search: &SearchOutcome| {
        let goal = search.goals.first()?;
        let lower = goal.lower.as_ref();
        let words = match (goal.status, lower) {
            (Status::Regular, Some(lower)) => {
                format!("the throughput of {} is {}", of_search(search), rate(lower.achieved_pps))
            }
            (Status::AtLeast, Some(lower)) => {
                format!(
                    "at least {} is held by {}, which is no throughput",
                    rate(lower.achieved_pps),
                    of_search(search)
                )
            }
            (_, Some(lower)) => {
                format!(
                    "the throughput of {} is not settled, and {} is held",
                    of_search(search),
                    rate(lower.achieved_pps)
                )
            }
            (_, None) => format!("no load was held by {}", of_search(search)),
        };
        let trials = lower.map(|lower| lower.trials.clone()).unwrap_or_default();
        Some((words, trials))
    };
    let told: Vec<_> = results.searches.iter().filter_map(of).take(TOLD).collect();
    if told.is_empty() {
        return None;
    }
    let words: Vec<&str> = told.iter().map(|(words, _)| words.as_str()).collect();
    let more = results.searches.len().saturating_sub(told.len());
    let rest = if more > 0 { format!("; {more} more stand in the table") } else { String::new() };
    let text = format!("{}{rest}.", capital(&words.join("; ")));
    Some(sentence(text, told.iter().flat_map(|(_, trials)| trials.clone())))
}

fn tests(results: &Results, is_such: fn(&Found) -> bool) -> Option<Sentence> {
    let such: Vec<&Tested> = results.rfc2544.iter().filter(|tested| is_such(&tested.found)).collect();
    let told: Vec<(&Tested, String)> =
        such.iter().filter_map(|tested| Some((*tested, outcome(&tested.found)?))).take(TOLD).collect();
    if told.is_empty() {
        return None;
    }
    let has_several = results.rfc2544.iter().any(|tested| scene(tested) != scene(such[0]));
    let words: Vec<String> = told
        .iter()
        .map(
            |(tested, words)| if has_several { format!("{}: {words}", scene(tested)) } else { words.clone() },
        )
        .collect();
    let text = format!("{}.", capital(&words.join("; ")));
    Some(sentence(text, told.iter().flat_map(|(tested, _)| tested.trials.clone())))
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
