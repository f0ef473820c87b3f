//! The words of the verdict of a bench.

use capbench_judge::finding::bench::{
    BenchVerdict, NoAnswerBecause, NsRange, Rivals, SustainedRate, TimeOfThread,
};
use capbench_judge::recommendation::Certainty;
use capbench_model::places::Place;
use capbench_model::saved::SavedMethod;

use super::{in_ns, some, verb};
use crate::naming::{self, many, rate};

/// The sentence of a verdict.
pub(super) fn words(verdict: &BenchVerdict) -> String {
    match verdict {
        BenchVerdict::EveryTrialInvalid { reason } => {
            format!("No method can be named: every trial is invalid ({reason}).")
        }
        BenchVerdict::NoAnswer { because, noisy_trials, trials, place } => {
            let trials = many((*trials).into(), "trial", "trials");
            format!(
                "No answer: {}, and the host disturbed {noisy_trials} of {trials}.{} Stop other work and run it again.",
                not_shown(because),
                place.map_or_else(String::new, |place| format!(" Most frames were lost {}.", place.words()))
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
                three_digits(1e9 / ns_per_packet)
            )
        }
        BenchVerdict::Use { method, certainty, sustains, without_pauses, app_time, equal } => {
            let head = match certainty {
                Certainty::Certain => "Use",
                Certainty::Likely => "Probably best is",
            };
            let sustains = of_rate(sustains, *without_pauses);
            format!("{head} {method}: {sustains}{}{}.", of_time(*app_time), of_equal(equal))
        }
        BenchVerdict::OneOf { methods } => format!("Not decided: one of {}.", some(methods)),
        BenchVerdict::UseMeanwhile { method, sustains, without_pauses, app_time, rivals } => {
            let sustains = of_rate(sustains, *without_pauses);
            let rivals = of_rivals(rivals);
            format!("Not decided; use {method} meanwhile: {sustains}{}; {rivals}.", of_time(*app_time))
        }
        BenchVerdict::NoneLossless { asked_pps, is_some_unknown, closest, place } => {
            let sustains = if *is_some_unknown { "is shown to sustain" } else { "sustains" };
            let load = asked_pps.map_or_else(|| "any of the tried loads".into(), rate);
            let lost = of_loss(closest.as_ref(), *place);
            format!("No method {sustains} {load} without loss{lost}.")
        }
        BenchVerdict::NotSent { asked_pps, sent_pps } => format!(
            "No method was tested at {}: the generator sent up to {}.",
            rate(*asked_pps),
            rate(sent_pps.floor())
        ),
    }
}

/// What disturbed trials do not show.
fn not_shown(because: &NoAnswerBecause) -> String {
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
fn of_rate(sustains: &SustainedRate, without_pauses: bool) -> String {
    let without_loss = match without_pauses {
        true => "without loss (pauses of the host not counted)",
        false => "without loss",
    };
    match sustains {
        SustainedRate::Asked { pps } => format!("it sustains {} {without_loss}", rate(*pps)),
        SustainedRate::Limit { pps, precision_ratio } => {
            let percent = (precision_ratio * 100.0).max(1.0);
            format!("{} (±{percent:.0} %) {without_loss}", three_digits(*pps))
        }
        SustainedRate::AtLeast { pps } => format!("at least {} {without_loss}", three_digits(*pps)),
        SustainedRate::None => "no load without loss".into(),
        SustainedRate::Unknown => "its rate is unknown".into(),
    }
}

/// A rate with three digits, rounded down: `1.42 million packets/s`.
fn three_digits(pps: f64) -> String {
    if pps >= 1e6 {
        return format!("{} million packets/s", (pps / 1e4).floor() / 100.0);
    }
    let digit = 10f64.powf((pps.max(1.0).log10().floor() - 2.0).max(0.0));
    rate((pps / digit).floor() * digit)
}

fn of_time(app_time: Option<NsRange>) -> String {
    app_time.map_or_else(String::new, |time| format!(", {} of application CPU per packet", in_ns(time)))
}

fn of_equal(equal: &[SavedMethod]) -> String {
    if equal.is_empty() {
        return String::new();
    }
    format!("; {} {} equal within noise", some(equal), verb(equal, "is", "are"))
}

fn of_rivals(rivals: &Rivals) -> String {
    match rivals {
        Rivals::Rate { may_sustain_more } => format!("{} may sustain more", some(may_sustain_more)),
        Rivals::Cost { may_cost_less, may_sustain_it } if may_sustain_it.is_empty() => {
            format!("{} may cost less", some(may_cost_less))
        }
        Rivals::Cost { may_cost_less, may_sustain_it } if may_cost_less.is_empty() => {
            format!("{} may sustain it, too", some(may_sustain_it))
        }
        Rivals::Cost { may_cost_less, may_sustain_it } => {
            format!("{} may cost less, and {} may sustain it, too", some(may_cost_less), some(may_sustain_it))
        }
    }
}

/// Which method comes closest, and where frames are lost.
fn of_loss(closest: Option<&SavedMethod>, place: Option<Place>) -> String {
    match (closest, place) {
        (Some(closest), place) => {
            format!(": {closest} comes closest and loses most {}", place.map_or("", Place::words))
        }
        (None, Some(place)) => format!(": most frames are lost {}", place.words()),
        (None, None) => String::new(),
    }
}
