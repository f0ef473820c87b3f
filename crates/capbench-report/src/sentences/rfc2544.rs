//! Throughput, and the results of the tests relative to it.
use capbench_judge::rfc2544::frame_loss::LossPoint;
use capbench_judge::rfc2544::recovery::Recovery;
use capbench_judge::rfc2544::{Found, Tested};
use capbench_judge::search::{GoalResult, SearchOutcome, Status};
use capbench_model::trial::{Phase, TrialResult};
use capbench_results::Results;

use super::{capital, first_of, sentence};
use crate::groups::of_search;
use crate::model::Sentence;
use crate::naming::{frames, is_sound, many, percent, rate, time};

/// Most set-ups that are listed one by one.
const NAMED: usize = 3;

pub(super) fn answers(results: &Results) -> Vec<Sentence> {
    let throughput = contradicted(results).or_else(|| throughput(results));
    let sentences = [
        throughput,
        tests(results, |found| matches!(found, Found::FrameLoss(_) | Found::BackToBack(_))),
        tests(results, |found| matches!(found, Found::Latency(_) | Found::Recovery(_))),
    ];
    sentences.into_iter().flatten().collect()
}

/// A throughput at or below which other trials of the run lost frames.
fn contradicted(results: &Results) -> Option<Sentence> {
    results.searches.iter().find_map(|search| {
        let goal = search.goals.first()?;
        let (words, trials) = not_repeatable(search, goal, &results.trials)?;
        let text = format!(
            "Not repeatable: the search found a throughput for {} of {words}; run it again with longer trials or on a quiet host.",
            of_search(search)
        );
        Some(sentence(text, trials))
    })
}

/// What contradicts a throughput, and the trials of both.
pub(crate) fn not_repeatable(
    search: &SearchOutcome,
    goal: &GoalResult,
    trials: &[TrialResult],
) -> Option<(String, Vec<u32>)> {
    let lower = goal.lower.as_ref()?;
    let trial = contradiction(search, lower.achieved_pps, trials)?;
    let words = format!(
        "{}, but {} of the frames were lost at {} in the same run",
        rate(lower.achieved_pps),
        percent(trial.sent_loss_ratio()),
        rate(trial.offered_pps)
    );
    Some((words, lower.trials.iter().copied().chain([trial.number]).collect()))
}

/// The trial of another test that lost the largest share at a load that the search found to be lossless.
fn contradiction<'t>(search: &SearchOutcome, pps: f64, trials: &'t [TrialResult]) -> Option<&'t TrialResult> {
    let is_own = |trial: &&TrialResult| {
        search.method.as_ref() == Some(&trial.profile.method)
            && search.frame_size.as_ref() == Some(&trial.profile.frame_size)
            && search.placement.as_ref() == Some(&trial.profile.placement)
    };
    // Loads of one rate differ by less than one frame.
    let is_below = |trial: &&TrialResult| trial.offered_pps <= pps * 1.001;
    let is_other = |trial: &&TrialResult| matches!(trial.phase, Phase::FrameLoss | Phase::Latency);
    let own = trials.iter().filter(is_own).filter(is_other).filter(is_below);
    let lossy = own.filter(|trial| is_sound(trial) && trial.lost() > 0);
    lossy.max_by(|a, b| a.sent_loss_ratio().total_cmp(&b.sent_loss_ratio()))
}

fn throughput(results: &Results) -> Option<Sentence> {
    let of = |search: &SearchOutcome| {
        let goal = search.goals.first()?;
        let of = of_search(search);
        let Some(lower) = &goal.lower else { return Some((format!("{of} sustained no load"), Vec::new())) };
        let pps = rate(lower.achieved_pps);
        let words = match goal.status {
            Status::Regular => format!("the throughput of {of} is {pps}"),
            Status::AtLeast => {
                let reason = goal.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
                format!("the throughput of {of} is at least {pps}{reason}")
            }
            Status::Irregular => format!("the throughput of {of} is not settled; {pps} was sustained"),
        };
        Some((words, lower.trials.clone()))
    };
    let found: Vec<_> = results.searches.iter().filter_map(of).collect();
    let Sentence { text, trials } = first_of(&found, NAMED)?;
    Some(Sentence { text: capital(&text), trials })
}

fn tests(results: &Results, is_such: fn(&Found) -> bool) -> Option<Sentence> {
    let such: Vec<&Tested> = results.rfc2544.iter().filter(|tested| is_such(&tested.found)).collect();
    let has_several = results.rfc2544.iter().any(|tested| scene(tested) != scene(&results.rfc2544[0]));
    let found = such.iter().filter_map(|tested| {
        let words = outcome(&tested.found)?;
        let words = if has_several { format!("{}: {words}", scene(tested)) } else { words };
        Some((words, tested.trials.clone()))
    });
    let Sentence { text, trials } = first_of(&found.take(NAMED).collect::<Vec<_>>(), NAMED)?;
    Some(Sentence { text: capital(&text), trials })
}

fn scene(tested: &Tested) -> String {
    format!("{} ({}, placement {})", tested.method, frames(&tested.frame_size), tested.placement)
}

/// The result of a test in a clause; `None` if it found nothing.
pub(crate) fn outcome(found: &Found) -> Option<String> {
    let text = match found {
        Found::Latency(latency) => {
            let (leg, way) = match (&latency.total, &latency.relative_total, &latency.to_application) {
                (Some(total), ..) => (total, ""),
                (None, Some(relative), _) => (relative, " longer than the fastest frame"),
                (None, None, Some(part)) => (part, " from the kernel's timestamp to the application"),
                (None, None, None) => return None,
            };
            let signed = |ns: i64| {
                format!("{}{}", if ns < 0 { "-" } else { "" }, time(ns.unsigned_abs() as f64 / 1e9))
            };
            let lossy = match latency.lossy.len() {
                0 => String::new(),
                lossy => {
                    let trials = many(latency.repetitions.into(), "trial", "trials");
                    format!(" ({lossy} of {trials} lost frames: buffers were full)")
                }
            };
            format!(
                "frames take {} (median) and {} at worst (99.9 %){way} at {}{lossy}",
                signed(leg.typical.median_ns),
                signed(leg.worst.median_ns),
                rate(latency.rate_pps.get())
            )
        }
        Found::FrameLoss(loss) => {
            let first = loss.points.first()?;
            let load = format!("{} % of {}", first.load_percent, rate(loss.maximum.pps.get()));
            let lost = |point: &LossPoint| percent(point.loss_percent / 100.0);
            if first.loss_percent == 0.0 {
                let lossy = loss
                    .points
                    .iter()
                    .max_by(|a, b| a.loss_percent.total_cmp(&b.loss_percent))
                    .filter(|point| point.loss_percent > 0.0);
                let lossy = lossy.map_or_else(String::new, |point| {
                    format!(", but {} at {} %", lost(point), point.load_percent)
                });
                return Some(format!("no frame is lost at {load}{lossy}"));
            }
            let clean =
                loss.points.iter().find(|point| point.loss_percent == 0.0 && !point.generator_limited);
            let clean = clean.map_or_else(
                || ", and some at every load tried".into(),
                |point| format!(", and none at {} %", point.load_percent),
            );
            format!("{} of the frames are lost at {load}{clean}", lost(first))
        }
        Found::BackToBack(bursts) => {
            let benchmark = bursts.benchmark.as_ref()?;
            let valid = match &bursts.invalid_because {
                Some(why) => format!(" (not valid: {why})"),
                None => String::new(),
            };
            format!(
                "bursts of up to {:.0} frames lose nothing (average of the longest): buffers for {}{valid}",
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
                None if unknown == all => format!("whether it recovers is unknown for {overloads}"),
                None if unknown > 0 => {
                    format!("it recovered from {recovered} of {overloads}; {unknown} are unknown")
                }
                None => format!("it recovered from {recovered} of {overloads}"),
            }
        }
    };
    Some(text)
}
