//! The words of facts about how the rate of a method grows with its members, what stops it, and how many members a load needs.

mod stop;

use capbench_judge::finding::sweep::members::{MembersGrowth, MembersLaw, MembersNeeded, MembersRate};
use capbench_judge::finding::sweep::members_answer::{MembersAnswer, Scales};
use capbench_judge::sweep::scaling::{Cause, Needed};
use capbench_model::statistics::scalability::{Constant, LEAST_NUMBERS, ScalabilityFit, Unfit};

use super::MOST;
use crate::figures::significant;
use crate::model::Sentence;
use crate::naming::{self, many};
use crate::sentences::first_of;

/// How each method scales, and how many members it needs: one sentence.
pub(super) fn answer(methods: &[MembersAnswer]) -> Sentence {
    let mut words = Vec::new();
    for method in methods {
        words.push((scales(method), method.trials.clone()));
    }
    first_of(&words, MOST)
}

fn scales(answer: &MembersAnswer) -> String {
    let method = &answer.method;
    let load = naming::rate(answer.load_pps);
    match &answer.scales {
        Scales::Needs { members } => format!("{method} needs {} for {load}", number_of_members(*members)),
        Scales::NeedsByLaw { members, other_limit } => format!(
            "{method} needs {} for {load} by the fitted law{}",
            number_of_members(*members),
            once_out_of_the_way(*other_limit)
        ),
        Scales::NoNumberIsEnough { limit } => {
            format!("{method} reads {load} with no number of members{}", the_limit(*limit))
        }
        Scales::LessThanLoad { last, limit } => {
            format!("{method} does not read {load}; it reads {}{}", reads(last), the_limit(*limit))
        }
        Scales::NotAtAll { one, next, limit } => format!(
            "{method} does not scale: it reads {} and {}{}",
            reads(one),
            reads(next),
            the_limit(Some(*limit))
        ),
        Scales::UpTo { best, limit } => {
            format!("{method} scales up to {}{}", reads(best), the_limit(Some(*limit)))
        }
        Scales::UpToLast { last } => {
            format!("{method} scales up to {}, the most that were measured", reads(last))
        }
    }
}

fn the_limit(cause: Option<Cause>) -> String {
    cause.map_or_else(String::new, |cause| format!("; the limit is {}", limit(cause)))
}

/// A cause as the limit.
fn limit(cause: Cause) -> &'static str {
    match cause {
        Cause::Load => "the load, all of which they read",
        Cause::Generator => "the generator",
        Cause::Kernel => "the kernel's receive work on one CPU",
        Cause::Sharing => "the sharing of the frames, of which one member gets too many",
        Cause::SharedCpus => "the number of CPUs",
        Cause::Contention => "contention: a part of the work that one member does at a time",
        Cause::Coherence => "coherence: members slow each other",
        Cause::Members => "something that busy members share",
        Cause::Unknown => "unknown",
    }
}

/// The law is of members that nothing else limits.
fn once_out_of_the_way(other_limit: Option<Cause>) -> String {
    match other_limit {
        None => String::new(),
        Some(Cause::Unknown) => ", once the unknown limit is no longer in the way".into(),
        Some(cause) => format!(", once {} is no longer in the way", limit(cause)),
    }
}

/// What a number of members reads.
fn reads(rate: &MembersRate) -> String {
    format!("{} with {}", naming::rate(rate.pps), rate.point.label)
}

fn number_of_members(members: u32) -> String {
    many(members.into(), "member", "members")
}

/// A share in percent, to a tenth.
fn percent(ratio: f64) -> String {
    naming::percent((ratio * 1e3).round() / 1e3)
}

/// How the rate grows, and what stops it.
pub(super) fn growth(fact: &MembersGrowth) -> String {
    let method = &fact.series.method;
    let Some(stop) = &fact.stop else {
        return match fact.numbers {
            1 => format!("{method}: it reads {}; no other number was measured.", reads(&fact.best)),
            _ => format!("{method}: {}, the last number. More --points show where that ends.", grows(fact)),
        };
    };
    format!(
        "{method}: {}. Beyond, more members bring less than half of what as many brought before: {}. {}",
        grows(fact),
        reads(&stop.next),
        stop::figures(&stop.cause)
    )
}

fn grows(fact: &MembersGrowth) -> String {
    if fact.best.point.index == fact.first.point.index {
        return format!("it does not scale: it reads {}", reads(&fact.best));
    }
    format!(
        "it scales up to {}, {} times that with {}",
        reads(&fact.best),
        significant(fact.best.pps / fact.first.pps, 3),
        fact.first.point.label
    )
}

/// How many members a load needs.
pub(super) fn needed(fact: &MembersNeeded) -> String {
    let method = &fact.series.method;
    let load = naming::rate(fact.load_pps);
    match fact.needed {
        Needed::Measured { members } => format!(
            "{method}: for {load} this host needs {}: the fewest that lost nothing in any trial.",
            number_of_members(members)
        ),
        Needed::ByLaw { members } => format!(
            "{method}: for {load} this host needs {} by the fitted law{}; no measured number was enough.",
            number_of_members(members),
            once_out_of_the_way(fact.other_limit)
        ),
        Needed::NoNumber { most_pps } => format!(
            "{method}: for {load} no number of members is enough: by the fitted law they read up to {}.",
            naming::rate(most_pps.round())
        ),
        Needed::Unknown => format!(
            "{method}: how many members {load} needs is unknown: no measured number was enough, and no law is fitted."
        ),
    }
}

/// The fitted law, or why there is none.
pub(super) fn law(fact: &MembersLaw) -> String {
    let law = match (&fact.law, fact.no_law_because) {
        (Some(law), _) => fitted(law),
        (None, Some(unfit)) => without_law(unfit),
        (None, None) => "no scalability law is fitted.".into(),
    };
    format!("{}: {law}", fact.series.method)
}

fn fitted(law: &ScalabilityFit) -> String {
    let peak = match law.peak {
        None => "and more members never read less".into(),
        Some(peak) => format!("and the rate is highest with {} members", significant(peak, 3)),
    };
    format!(
        "by the Universal Scalability Law one member reads λ = {} packets/s, contention σ is {}, coherence κ is {}, {peak}; the points \
         are within {} of it.",
        constant(&law.lambda_pps, whole_rate),
        constant(&law.sigma, share),
        constant(&law.kappa, share),
        percent(law.largest_error)
    )
}

/// A constant with its interval.
fn constant(found: &Constant, words: fn(f64) -> String) -> String {
    match (found.low, found.high) {
        (Some(low), Some(high)) => format!("{} ({} to {})", words(found.value), words(low), words(high)),
        _ => words(found.value),
    }
}

fn whole_rate(pps: f64) -> String {
    naming::whole(pps.round())
}

fn share(value: f64) -> String {
    significant(if value < 1e-9 { 0.0 } else { value }, 3)
}

fn without_law(unfit: Unfit) -> String {
    match unfit {
        Unfit::TooFewNumbers { numbers } => {
            let there = match numbers {
                1 => "is 1".into(),
                several => format!("are {several}"),
            };
            format!(
                "no scalability law is fitted: it needs {LEAST_NUMBERS} numbers of members at which the members are the limit, each \
                 on a CPU, and there {there}."
            )
        }
        Unfit::OffTheLaw { error } => format!(
            "no scalability law is fitted: the rates differ from the closest one by up to {}. The host was not quiet, or members have \
             unequal CPUs.",
            percent(error)
        ),
    }
}
