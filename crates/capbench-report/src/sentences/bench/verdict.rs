//! The words of `BenchVerdict`: which method to use and what it sustains, or why no method is named.

use capbench_judge::finding::bench::{
    BenchVerdict, NoAnswerBecause, NsRange, Rivals, SustainedRate, TimeOfThread, WorseMethod,
};
use capbench_judge::recommendation::Certainty;
use capbench_judge::recommendation::turns::BelowBy;
use capbench_model::figures::percent;
use capbench_model::places::Place;
use capbench_model::saved::SavedMethod;

use super::turns::{share_range, times};
use super::{first_methods, range_in_ns, verb};
use crate::naming::{self, list, many, rate};
use crate::sentences::{capitalised, places};

/// The text of a verdict.
pub(super) fn words(verdict: &BenchVerdict) -> String {
    match verdict {
        BenchVerdict::EveryTrialInvalid { reason } => {
            format!("No method can be named: every trial is invalid ({reason}).")
        }
        BenchVerdict::NoAnswer { because, noisy_trials, trials, place } => {
            let trials = many((*trials).into(), "trial", "trials");
            let most_lost = match place {
                Some(place) => format!(" Most frames were lost {}.", places::words(*place)),
                None => String::new(),
            };
            format!(
                "No answer: {}, and the host disturbed {noisy_trials} of {trials}.{most_lost} Stop other work and run it again.",
                reason_words(because)
            )
        }
        BenchVerdict::NoTime { asked_pps, time_of, ns_per_packet } => {
            let needs = match time_of {
                TimeOfThread::Work => "the work takes",
                TimeOfThread::Application => "the application needs at least",
            };
            format!(
                "No method sustains {} without loss: {needs} {} of CPU time per packet, so one thread processes up to {}.",
                rate(*asked_pps),
                naming::time(ns_per_packet / 1e9),
                rate_of_three_digits(1e9 / ns_per_packet)
            )
        }
        BenchVerdict::Use {
            method,
            certainty,
            sustains,
            without_pauses,
            app_time,
            equal,
            equal_within_ratio,
            may_be_as_good,
            worse,
        } => {
            let head = match certainty {
                Certainty::Certain => "Use",
                Certainty::Likely => "Probably best is",
            };
            let rate = sustained_words(sustains, *without_pauses);
            let app_time = app_time_words(*app_time);
            let equal = equal_methods_words(equal, *equal_within_ratio, may_be_as_good);
            if worse.is_empty() {
                return format!("{head} {method}: {rate}{app_time}{equal}.");
            }
            format!("{head} {method}{equal}; {}. {}{app_time}.", worse_words(worse), capitalised(&rate))
        }
        BenchVerdict::OneOf { methods } => format!("Not decided: one of {}.", first_methods(methods)),
        BenchVerdict::UseMeanwhile { method, sustains, without_pauses, app_time, rivals, worse } => {
            let rate = sustained_words(sustains, *without_pauses);
            let app_time = app_time_words(*app_time);
            let rivals = rivals_words(rivals);
            if worse.is_empty() {
                return format!("Not decided; use {method} meanwhile: {rate}{app_time}; {rivals}.");
            }
            let worse = worse_words(worse);
            format!("Use {method} meanwhile: {rivals}, {worse}. {}{app_time}.", capitalised(&rate))
        }
        BenchVerdict::NoneLossless {
            asked_pps,
            sent,
            is_some_unknown,
            closest,
            place,
            equal,
            equal_within_ratio,
            may_be_as_good,
            worse,
        } => {
            let sustains = if *is_some_unknown { "is shown to sustain" } else { "sustains" };
            let load = asked_pps.map_or_else(|| "any of the tried loads".into(), rate);
            let sent = match sent {
                Some(sent) => format!(" (the generator sent {} of it)", share_range(sent)),
                None => String::new(),
            };
            let lost = closest_words(closest.as_ref(), *place);
            let equal = equal_methods_words(equal, *equal_within_ratio, may_be_as_good);
            let worse = match worse.is_empty() {
                true => String::new(),
                false => format!("; {}", worse_words(worse)),
            };
            format!("No method {sustains} {load} without loss{sent}{lost}{equal}{worse}.")
        }
        BenchVerdict::NotSent { asked_pps, sent_pps } => format!(
            "No method was tested at {}: the generator sent up to {}.",
            rate(*asked_pps),
            rate(sent_pps.floor())
        ),
    }
}

/// Why there is no answer.
fn reason_words(because: &NoAnswerBecause) -> String {
    match because {
        NoAnswerBecause::NotSent { asked_pps, sent_pps } => {
            format!("the generator sent up to {} of {}", rate(*sent_pps), rate(*asked_pps))
        }
        NoAnswerBecause::NotSustained { asked_pps } => {
            format!("no method sustained {} without loss", rate(*asked_pps))
        }
        NoAnswerBecause::NoneSustained => "no method sustained any of the tried loads without loss".into(),
    }
}

/// What a method sustains, with its precision.
fn sustained_words(sustains: &SustainedRate, without_pauses: bool) -> String {
    let without_loss = match without_pauses {
        true => "without loss (pauses of the host not counted)",
        false => "without loss",
    };
    match sustains {
        SustainedRate::Asked { pps } => format!("it sustains {} {without_loss}", rate(*pps)),
        SustainedRate::Sent { asked_pps, sent_pps } => format!(
            "it sustains all that the generator sent of {}, {}, {without_loss}",
            rate(*asked_pps),
            rate(sent_pps.floor())
        ),
        SustainedRate::Limit { pps, precision_ratio } => {
            let percent = (precision_ratio * 100.0).max(1.0);
            format!("{} (±{percent:.0} %) {without_loss}", rate_of_three_digits(*pps))
        }
        SustainedRate::AtLeast { pps } => format!("at least {} {without_loss}", rate_of_three_digits(*pps)),
        SustainedRate::None => "no tried load was without loss".into(),
        SustainedRate::Unknown => "its rate is unknown".into(),
        SustainedRate::UnknownAt { asked_pps } => {
            format!("whether it sustains {} is not shown", rate(*asked_pps))
        }
    }
}

/// A rate with three digits, rounded down: `1.42 million packets/s`.
fn rate_of_three_digits(pps: f64) -> String {
    if pps >= 1e6 {
        return format!("{} million packets/s", (pps / 1e4).floor() / 100.0);
    }
    let third_digit = 10f64.powf((pps.max(1.0).log10().floor() - 2.0).max(0.0));
    rate((pps / third_digit).floor() * third_digit)
}

/// What a packet costs the application; empty if unknown.
fn app_time_words(app_time: Option<NsRange>) -> String {
    match app_time {
        Some(time) => format!(", {} of application CPU per packet", range_in_ns(time)),
        None => String::new(),
    }
}

/// The methods that are equal to the named one, within this difference or within noise, and those that may be; empty without one.
fn equal_methods_words(
    equal: &[SavedMethod],
    within_ratio: Option<f64>,
    may_be_as_good: &[SavedMethod],
) -> String {
    let mut words = String::new();
    if !equal.is_empty() {
        let within = within_ratio.map_or_else(|| "noise".into(), percent);
        words += &format!("; {} {} equal within {within}", first_methods(equal), verb(equal, "is", "are"));
    }
    if !may_be_as_good.is_empty() {
        words += &format!("; {} may be as good", first_methods(may_be_as_good));
    }
    words
}

/// The methods that are worse: `packet-v2 (2.1 times the CPU time per packet) and recv (captures 44 % fewer frames at 1.2 million packets/s) are
/// worse`. The load at which they capture less is the same for all.
fn worse_words(worse: &[WorseMethod]) -> String {
    let mut parts = Vec::new();
    let mut is_load_named = false;
    for WorseMethod { method, by, factor, at_pps } in worse {
        let by = match (by, at_pps) {
            (BelowBy::Cost, _) => format!("{} the CPU time per packet", times(*factor)),
            (BelowBy::ApplicationCost, _) => {
                format!("{} the application CPU time per packet", times(*factor))
            }
            (BelowBy::Loss, at_pps) => {
                let load = at_pps.filter(|_| !is_load_named).map_or_else(String::new, |pps| {
                    is_load_named = true;
                    format!(" at {}", rate_of_three_digits(pps))
                });
                format!("captures {} fewer frames{load}", percent(1.0 - 1.0 / factor))
            }
        };
        parts.push(format!("{method} ({by})"));
    }
    format!("{} {} worse", list(&parts), if worse.len() == 1 { "is" } else { "are" })
}

/// The methods that may be better than the named one.
fn rivals_words(rivals: &Rivals) -> String {
    match rivals {
        Rivals::Rate { may_sustain_more } => format!("{} may sustain more", first_methods(may_sustain_more)),
        Rivals::Turns { may_be_better, may_be_as_good } => {
            let mut parts = Vec::new();
            for (methods, may_be) in [(may_be_better, "better"), (may_be_as_good, "as good")] {
                if !methods.is_empty() {
                    parts.push(format!("{} may be {may_be}", first_methods(methods)));
                }
            }
            parts.join(", ")
        }
        Rivals::Cost { may_cost_less, may_sustain_it } if may_sustain_it.is_empty() => {
            format!("{} may cost less", first_methods(may_cost_less))
        }
        Rivals::Cost { may_cost_less, may_sustain_it } if may_cost_less.is_empty() => {
            format!("{} may sustain it, too", first_methods(may_sustain_it))
        }
        Rivals::Cost { may_cost_less, may_sustain_it } => {
            format!(
                "{} may cost less, and {} may sustain it, too",
                first_methods(may_cost_less),
                first_methods(may_sustain_it)
            )
        }
    }
}

/// Which method comes closest to the load, and where frames are lost.
fn closest_words(closest: Option<&SavedMethod>, place: Option<Place>) -> String {
    match (closest, place) {
        (Some(closest), Some(place)) => {
            format!(": {closest} comes closest and loses most {}", places::words(place))
        }
        (Some(closest), None) => format!(": {closest} comes closest"),
        (None, Some(place)) => format!(": most frames are lost {}", places::words(place)),
        (None, None) => String::new(),
    }
}
