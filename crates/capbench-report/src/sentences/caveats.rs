//! One line each: how noisy the trials are, and what could not be measured.

use super::sentence;
use crate::groups::grouped;
use crate::model::Sentence;
use crate::naming::{frames, list, many, time};
use capbench_model::clocks::ClockClass;
use capbench_model::not_measured::NotMeasured;
use capbench_results::Results;

/// Noise that makes a method slower.
const SLOWS: [&str; 4] = [
    "a CPU ran slower than its best (shared core or lowered clock)",
    "the hypervisor took CPU time away",
    "other work ran on their CPUs",
    "a CPU stalled",
];
/// Reasons of noise in a few words, by a part of their text in results files, the first that fits.
const CAUSES: [(&str, &str); 9] = [
    ("slower than", SLOWS[0]),
    (
        "from the tracer",
        "the tracer missed some receive work of the kernel, so the kernel's CPU time is too low",
    ),
    ("steal", SLOWS[1]),
    ("foreign load", SLOWS[2]),
    ("stood still", SLOWS[3]),
    ("stalled", SLOWS[3]),
    ("clock", "the host's clock was changed"),
    ("suspended", "the host was suspended"),
    ("CPU chosen", "the kernel's receive work ran on another CPU than the chosen one"),
];

/// How statements of what a bench left out begin.
const LEFT_OUT: &str = "not measured: ";

/// The caveats of a run.
pub(crate) fn caveats(results: &Results) -> Vec<Sentence> {
    noise(results)
        .into_iter()
        .chain(clocks(results))
        .chain(not_measured(&results.not_measured))
        .chain(left_out(results))
        .collect()
}

/// How noisy the trials of two runs are, in one line.
pub(crate) fn of_both(runs: [(&str, &Results); 2]) -> Option<Sentence> {
    let words = runs.into_iter().filter_map(|(name, run)| Some(format!("{name}: {}", noise(run)?.text)));
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| sentence(words.join(" "), []))
}

/// What the clocks of two hosts allowed to be known of one-way times: the class of most trials, and the first reason.
fn clocks(results: &Results) -> Option<Sentence> {
    let classified = results.trials.iter().filter_map(|trial| Some((trial, trial.clock_class?)));
    let (class, trials) =
        grouped(classified, |(_, class)| *class).into_iter().max_by_key(|(_, trials)| trials.len())?;
    let reason = trials.iter().find_map(|(trial, _)| trial.latency.as_ref()?.absent_because.as_deref());
    let because = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    let text = match class {
        ClockClass::Absolute => {
            let error_ns = trials.iter().filter_map(|(trial, _)| trial.clock_error_ns).max().unwrap_or(0);
            format!(
                "One-way times have an error of up to ±{} (clock class absolute).",
                time(error_ns as f64 / 1e9)
            )
        }
        ClockClass::Relative => {
            let skew =
                trials.iter().find_map(|(trial, _)| trial.latency.as_ref()?.relative.as_ref()?.skew.first());
            let skew = skew.map_or_else(String::new, |skew| match skew.error_ppm {
                Some(error) if skew.removed => format!(", skew {:.1} ± {error:.1} ppm removed", skew.ppm),
                Some(error) if skew.ppm.abs() > error => {
                    format!(", skew {:.1} ppm not removed: clocks do not differ that much", skew.ppm)
                }
                Some(error) => format!(", skew below {error:.1} ppm not removed"),
                None => ", skew unknown".into(),
            });
            format!(
                "One-way times are known relative to the fastest frame only (clock class relative{skew}){because}."
            )
        }
        ClockClass::None if reason.is_none() => "No one-way time was recorded (clock class none).".into(),
        ClockClass::None => format!("One-way times are unknown (clock class none){because}."),
    };
    Some(sentence(text, trials.iter().map(|(trial, _)| trial.number)))
}

/// How many trials are noisy, and the most frequent reason.
fn noise(results: &Results) -> Option<Sentence> {
    if let Some(record) = &results.soak {
        let (reason, segments) = record.noise.iter().max_by_key(|(_, segments)| **segments)?;
        let all = record.whole.as_ref().map_or(0, |whole| whole.segments);
        let are = if *segments == 1 { "is" } else { "are" };
        let all = many(all, "segment", "segments");
        let text = format!("{segments} of {all} {are} noisy: {}.", cause(reason));
        return Some(sentence(text, []));
    }
    let noisy: Vec<_> = results.trials.iter().filter(|trial| !trial.noise.is_empty()).collect();
    let reasons = grouped(noisy.iter().flat_map(|trial| &trial.noise), |reason| cause(reason));
    let (reason, _) = reasons.into_iter().max_by_key(|(_, all)| all.len())?;
    let are = if noisy.len() == 1 { "is" } else { "are" };
    let all = many(results.trials.len() as u64, "trial", "trials");
    let advice = if SLOWS.contains(&reason.as_str()) { " On a quiet host, rates can be higher." } else { "" };
    let text = format!("{} of {all} {are} noisy: {reason}.{advice}", noisy.len());
    Some(sentence(text, noisy.iter().map(|trial| trial.number)))
}

fn cause(reason: &str) -> String {
    let known = CAUSES.iter().find(|(part, _)| reason.contains(part));
    known.map_or_else(|| reason.into(), |(_, words)| (*words).into())
}

/// What could not be measured, by the reason.
fn not_measured(missing: &[NotMeasured]) -> Option<Sentence> {
    let by_reason = grouped(missing, |one| one.reason.trim_end_matches('.').to_string());
    let words = by_reason.iter().map(|(reason, own)| {
        let names: Vec<String> = own.iter().map(|one| what(one)).collect();
        format!("{} ({reason})", list(&names))
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| sentence(format!("Not measured: {}.", words.join("; ")), []))
}

/// What a bench left out to end in time.
fn left_out(results: &Results) -> Option<Sentence> {
    let parts = results.statements.iter().filter_map(|statement| statement.strip_prefix(LEFT_OUT));
    // One reason is enough for a set-up: that which includes the others.
    let parts = grouped(parts, |part| part.rsplit_once(": ").map_or(*part, |(set_up, _)| set_up)).into_iter();
    let includes_all = |part: &&str| part.contains("trials, to end");
    let parts: Vec<&str> =
        parts.map(|(_, own)| own.iter().copied().find(includes_all).unwrap_or(own[0])).collect();
    (!parts.is_empty()).then(|| sentence(format!("Not measured: {}.", parts.join("; ")), []))
}

fn what(missing: &NotMeasured) -> String {
    let mut what = vec![missing.method.to_string()];
    what.extend(missing.test.iter().map(|test| format!("test {test}")));
    what.extend(missing.frame_size.iter().map(frames));
    what.extend(missing.placement.iter().map(|placement| format!("placement {placement}")));
    what.join(" ")
}
