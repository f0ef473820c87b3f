//! The words of `Rfc2544Answer`: the throughput, and the results of the tests of RFC 2544 relative to it.

use capbench_judge::finding::rfc2544::{
    Contradiction, FoundThroughput, Rfc2544Answer, TestFact, TestResult, TestSetUp, Throughput, Way,
};
use capbench_judge::finding::search::SetUp;
use capbench_judge::limit::Limit;
use capbench_judge::rfc2544::{MaximumRate, NotTested, Untested};
use capbench_judge::search::MaximumSource;
use capbench_model::figures::grouped;
use capbench_model::not_measured::NotMeasured;

use super::search::{after_colon, reason_words};
use super::{Clause, capitalised, first_clauses, with_trials};
use crate::model::Sentence;
use crate::naming::{frames, many, percent, rate, search_words, time};

/// Up to this number of set-ups are listed.
const NAMED_SET_UPS: usize = 3;

/// The sentence of an answer.
pub(super) fn answer(answer: &Rfc2544Answer) -> Sentence {
    match answer {
        Rfc2544Answer::NotRepeatable { set_up, contradiction } => contradicted(set_up, contradiction),
        Rfc2544Answer::Throughput { set_ups } => throughputs(set_ups),
        Rfc2544Answer::Loss { tests } | Rfc2544Answer::Time { tests } => test_results(tests),
    }
}

/// A throughput that another trial of the run contradicts.
fn contradicted(set_up: &SetUp, contradiction: &Contradiction) -> Sentence {
    let text = format!(
        "Not repeatable: the search found a throughput for {} of {}; run it again with longer trials or on a quiet host.",
        search_words(set_up),
        contradiction_words(contradiction)
    );
    with_trials(text, contradiction.trials.iter().copied())
}

/// What contradicts a throughput, in a clause.
pub(crate) fn contradiction_words(found: &Contradiction) -> String {
    format!(
        "{}, but {} of the frames were lost at {} in the same run",
        rate(found.throughput_pps),
        percent(found.loss_ratio),
        rate(found.at_pps)
    )
}

/// The throughput of each set-up.
fn throughputs(all: &[Throughput]) -> Sentence {
    let mut clauses = Vec::new();
    for throughput in all {
        let set_up = search_words(&throughput.set_up);
        let text = match &throughput.found {
            FoundThroughput::Nothing { reason, limit } => {
                let noise = match limit {
                    Some(Limit::Noise) => ", and noise of the host can explain that",
                    _ => "",
                };
                let reason = after_colon(reason.as_ref());
                format!("no load is known that {set_up} sustains{reason}{noise}")
            }
            FoundThroughput::Regular { pps } => format!("the throughput of {set_up} is {}", rate(*pps)),
            FoundThroughput::AtLeast { pps, reason } => {
                let reason = after_colon(reason.as_ref());
                format!("the throughput of {set_up} is at least {}{reason}", rate(*pps))
            }
            FoundThroughput::NotSettled { pps } => {
                format!("the throughput of {set_up} is not settled; {} was sustained", rate(*pps))
            }
        };
        clauses.push(Clause { text, trials: throughput.trials.clone() });
    }
    let Sentence { text, trials } = first_clauses(&clauses, NAMED_SET_UPS);
    Sentence { text: capitalised(&text), trials }
}

/// The results of tests.
fn test_results(results: &[TestResult]) -> Sentence {
    let mut clauses = Vec::new();
    // The sentence does not say how many further results there are.
    for result in results.iter().take(NAMED_SET_UPS) {
        let clause = test_words(&result.fact);
        let text = match &result.set_up {
            // The name of a method keeps its letters.
            Some(set_up) => format!("{}: {clause}", test_set_up_words(set_up)),
            None if clauses.is_empty() => capitalised(&clause),
            None => clause,
        };
        clauses.push(Clause { text, trials: result.trials.clone() });
    }
    first_clauses(&clauses, NAMED_SET_UPS)
}

fn test_set_up_words(set_up: &TestSetUp) -> String {
    format!("{} ({}, placement {})", set_up.method, frames(&set_up.frame_size), set_up.placement)
}

/// The result of a test, in a clause.
pub(crate) fn test_words(fact: &TestFact) -> String {
    match fact {
        TestFact::Latency { way, typical_ns, worst_ns, rate_pps, lossy_trials, trials } => {
            format!(
                "frames take {} (median) and {} at worst (99.9 %){} at {}{}",
                signed_time(*typical_ns),
                signed_time(*worst_ns),
                way_words(*way),
                rate(*rate_pps),
                lossy_trials_words(*lossy_trials, *trials)
            )
        }
        TestFact::NoneLost { at_percent, maximum_pps, worst } => {
            let lossy = match worst {
                Some(worst) => format!(", but {} at {} %", percent(worst.loss_ratio), worst.load_percent),
                None => String::new(),
            };
            format!("no frame is lost at {at_percent} % of {}{lossy}", rate(*maximum_pps))
        }
        TestFact::SomeLost { highest, maximum_pps, lossless_percent } => {
            let lossless = match lossless_percent {
                Some(load) => format!(", and none at {load} %"),
                None => ", and some at every load tried".into(),
            };
            format!(
                "{} of the frames are lost at {} % of {}{lossless}",
                percent(highest.loss_ratio),
                highest.load_percent,
                rate(*maximum_pps)
            )
        }
        TestFact::Bursts { average_frames, buffer_s, invalid_because } => {
            let valid = match invalid_because {
                Some(reason) => format!(" (not valid: {reason})"),
                None => String::new(),
            };
            format!(
                "bursts of up to {average_frames:.0} frames lose nothing (average of the longest): buffers for {}{valid}",
                time(*buffer_s)
            )
        }
        TestFact::RecoversAfter { overload_pps, average_s } => format!(
            "after an overload of {} the last frame is lost {} later",
            rate(*overload_pps),
            time(*average_s)
        ),
        TestFact::RecoveryUnknown { overloads } => {
            format!("whether it recovers is unknown for {}", number_of_overloads(*overloads))
        }
        TestFact::RecoveredFrom { recovered, overloads, unknown: 0 } => {
            format!("it recovered from {recovered} of {}", number_of_overloads(*overloads))
        }
        TestFact::RecoveredFrom { recovered, overloads, unknown } => {
            format!(
                "it recovered from {recovered} of {}; {unknown} are unknown",
                number_of_overloads(*overloads)
            )
        }
    }
}

/// Which part of a frame's way a latency is about; empty for the whole.
fn way_words(way: Way) -> &'static str {
    match way {
        Way::Whole => "",
        Way::LessFastest => " longer than the fastest frame",
        Way::KernelToApplication => " from the kernel's timestamp to the application",
    }
}

/// How many trials of a latency lost frames; empty if none did.
fn lossy_trials_words(lossy_trials: usize, trials: u32) -> String {
    if lossy_trials == 0 {
        return String::new();
    }
    let trials = many(trials.into(), "trial", "trials");
    format!(" ({lossy_trials} of {trials} lost frames: buffers were full)")
}

/// Why a test was not run because it would show nothing, in one line.
pub fn not_tested_words(because: &NotTested) -> String {
    match because {
        NotTested::NoThroughput => "no throughput was found that it could refer to".into(),
        NotTested::NoOverloadKnown { sustained_pps, reason } => format!(
            "at least {} packets/s are sustained ({}) and the throughput is unknown, so no load is known to be an overload",
            grouped(*sustained_pps),
            reason_words(reason)
        ),
        NotTested::NoOverload { throughput_pps, maximum } => format!(
            "the throughput, {} packets/s, is the maximum rate ({}), so no load is an overload",
            grouped(*throughput_pps),
            maximum_words(*maximum)
        ),
        NotTested::Unsupported { reason } => reason.clone(),
    }
}

/// The maximum rate of a frame size, and where it is from.
pub(crate) fn maximum_words(maximum: MaximumRate) -> String {
    let source = match maximum.source {
        MaximumSource::LineRate => "the line rate",
        MaximumSource::Generator => "the generator's maximum",
        MaximumSource::GeneratorAndReceiver => "the maximum of generator and receiver together",
        MaximumSource::Given => "as asked for",
    };
    format!("{} packets/s, {source}", grouped(maximum.pps.get()))
}

/// Tests that were not run, as results have them.
pub fn not_measured(untested: &[Untested]) -> Vec<NotMeasured> {
    let mut not_measured = Vec::new();
    for untested in untested {
        let missing = NotMeasured::new(untested.method.clone(), None, not_tested_words(&untested.because));
        not_measured.push(NotMeasured { test: Some(untested.test.into()), ..missing });
    }
    not_measured
}

fn number_of_overloads(overloads: usize) -> String {
    many(overloads as u64, "overload", "overloads")
}

/// A time that can be negative, because two clocks measure it.
fn signed_time(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{}", time(ns.unsigned_abs() as f64 / 1e9))
}

#[cfg(test)]
mod tests {
    use capbench_judge::finding::rfc2544::LossAtLoad;
    use capbench_judge::search::Reason;

    use super::{
        Contradiction, FoundThroughput, Limit, MaximumRate, MaximumSource, NotTested, SetUp, TestFact,
        Throughput, Untested, Way, contradicted, not_measured, test_words, throughputs,
    };

    #[test]
    fn each_result_of_a_test_has_its_clause() {
        let latency = |way, lossy_trials| TestFact::Latency {
            way,
            typical_ns: 20_000,
            worst_ns: -1000,
            rate_pps: 1000.0,
            lossy_trials,
            trials: 20,
        };
        let none = |worst| TestFact::NoneLost { at_percent: 100.0, maximum_pps: 1e6, worst };
        let at = |load_percent, loss_ratio| LossAtLoad { load_percent, loss_ratio };
        let some = |lossless_percent| TestFact::SomeLost {
            highest: at(100.0, 0.5),
            maximum_pps: 1e6,
            lossless_percent,
        };
        let bursts = |invalid_because: Option<&str>| TestFact::Bursts {
            average_frames: 511.7,
            buffer_s: 0.002,
            invalid_because: invalid_because.map(Into::into),
        };
        let clauses = [
            (
                latency(Way::Whole, 0),
                "frames take 20 µs (median) and -1 µs at worst (99.9 %) at 1,000 packets/s",
            ),
            (
                latency(Way::LessFastest, 3),
                "frames take 20 µs (median) and -1 µs at worst (99.9 %) longer than the fastest frame at 1,000 packets/s (3 of \
                 20 trials lost frames: buffers were full)",
            ),
            (
                latency(Way::KernelToApplication, 0),
                "frames take 20 µs (median) and -1 µs at worst (99.9 %) from the kernel's timestamp to the application at 1,000 \
                 packets/s",
            ),
            (none(None), "no frame is lost at 100 % of 1,000,000 packets/s"),
            (
                none(Some(at(80.0, 0.25))),
                "no frame is lost at 100 % of 1,000,000 packets/s, but 25 % at 80 %",
            ),
            (
                some(None),
                "50 % of the frames are lost at 100 % of 1,000,000 packets/s, and some at every load tried",
            ),
            (
                some(Some(70.0)),
                "50 % of the frames are lost at 100 % of 1,000,000 packets/s, and none at 70 %",
            ),
            (
                bursts(None),
                "bursts of up to 512 frames lose nothing (average of the longest): buffers for 2 ms",
            ),
            (
                bursts(Some("no burst")),
                "bursts of up to 512 frames lose nothing (average of the longest): buffers for 2 ms (not valid: no burst)",
            ),
            (
                TestFact::RecoversAfter { overload_pps: 1100.0, average_s: 0.5 },
                "after an overload of 1,100 packets/s the last frame is lost 500 ms later",
            ),
            (TestFact::RecoveryUnknown { overloads: 2 }, "whether it recovers is unknown for 2 overloads"),
            (
                TestFact::RecoveredFrom { recovered: 1, overloads: 3, unknown: 1 },
                "it recovered from 1 of 3 overloads; 1 are unknown",
            ),
            (
                TestFact::RecoveredFrom { recovered: 1, overloads: 3, unknown: 0 },
                "it recovered from 1 of 3 overloads",
            ),
        ];
        for (fact, clause) in clauses {
            assert_eq!(test_words(&fact), clause);
        }
    }

    #[test]
    fn a_test_that_was_not_run_has_its_reason() {
        let reason = Reason::MaximumLoad { limit: MaximumSource::Generator };
        let untested = [
            (NotTested::NoThroughput, "no throughput was found that it could refer to"),
            (
                NotTested::NoOverloadKnown { sustained_pps: 8e5, reason },
                "at least 800,000 packets/s are sustained (the generator sends no more) and the throughput is unknown, so no \
                 load is known to be an overload",
            ),
            (
                NotTested::NoOverload {
                    throughput_pps: 999_900.0,
                    maximum: MaximumRate { pps: "1M".parse().unwrap(), source: MaximumSource::Generator },
                },
                "the throughput, 999,900 packets/s, is the maximum rate (1,000,000 packets/s, the generator's maximum), so no \
                 load is an overload",
            ),
            (NotTested::Unsupported { reason: "no ring".into() }, "no ring"),
        ];
        for (because, expected) in untested {
            let saved = not_measured(&[Untested { method: "recv".into(), test: "recovery", because }]);
            assert_eq!(saved[0].test.as_deref(), Some("recovery"));
            assert_eq!(saved[0].reason, expected);
        }
    }

    #[test]
    fn a_throughput_is_named_with_its_quality() {
        let set_up =
            SetUp { method: Some("recv".into()), frame_size: None, placement: None, work: None, nth: None };
        let reason = Some(Reason::MaximumLoad { limit: MaximumSource::Generator });
        let nothing = |reason, limit| FoundThroughput::Nothing { reason: Some(reason), limit: Some(limit) };
        let found = [
            (
                nothing(Reason::LeastLoadNotHeld, Limit::Noise),
                "No load is known that recv sustains: the lowest load of the search is not sustained, and noise of the host can \
                 explain that.",
            ),
            (
                nothing(Reason::LeastLoadNotSent, Limit::Generator),
                "No load is known that recv sustains: the generator left frames unsent even at the lowest load of the search.",
            ),
            (FoundThroughput::Regular { pps: 1000.0 }, "The throughput of recv is 1,000 packets/s."),
            (
                FoundThroughput::AtLeast { pps: 1000.0, reason },
                "The throughput of recv is at least 1,000 packets/s: the generator sends no more.",
            ),
            (
                FoundThroughput::NotSettled { pps: 1000.0 },
                "The throughput of recv is not settled; 1,000 packets/s was sustained.",
            ),
        ];
        for (found, sentence) in found {
            let throughput = Throughput { set_up: set_up.clone(), found, trials: Vec::new() };
            assert_eq!(throughputs(&[throughput]).text, sentence);
        }
    }

    #[test]
    fn a_throughput_that_is_not_repeatable_is_said_with_the_contradiction() {
        let set_up =
            SetUp { method: Some("recv".into()), frame_size: None, placement: None, work: None, nth: None };
        let contradiction =
            Contradiction { throughput_pps: 1000.0, loss_ratio: 0.5, at_pps: 900.0, trials: vec![7] };
        let sentence = contradicted(&set_up, &contradiction);
        assert_eq!(
            sentence.text,
            "Not repeatable: the search found a throughput for recv of 1,000 packets/s, but 50 % of the frames were lost at 900 \
             packets/s in the same run; run it again with longer trials or on a quiet host."
        );
        assert_eq!(sentence.trials, [7]);
    }
}
