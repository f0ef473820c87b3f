//! The words of `MembersAnswer`, `MembersGrowth`, `MembersNeeded` and `MembersLaw`: how the rate of a method grows with its members,
//! what stops it (`stop`), and how many members a load needs.

mod stop;
#[cfg(test)]
mod tests;

use capbench_judge::finding::sweep::members::{MembersGrowth, MembersLaw, MembersNeeded, MembersRate};
use capbench_judge::finding::sweep::members_answer::{MembersAnswer, Scales};
use capbench_judge::limit::Limit;
use capbench_judge::sweep::scaling::Needed;
use capbench_judge::thresholds::USEFUL_MEMBERS_GAIN;
use capbench_statistics::scalability::{Constant, ScalabilityFit, Unfit};
use capbench_statistics::thresholds::SCALABILITY_NUMBERS;

use super::NAMED;
use crate::figures::significant;
use crate::model::Sentence;
use crate::naming::{self, many};
use crate::sentences::{Clause, first_clauses};

/// How each method scales, and how many members it needs: one sentence.
pub(super) fn answer(methods: &[MembersAnswer]) -> Sentence {
    let mut clauses = Vec::new();
    for method in methods {
        clauses.push(Clause { text: scaling_of_method(method), trials: method.trials.clone() });
    }
    first_clauses(&clauses, NAMED)
}

/// How one method scales.
fn scaling_of_method(answer: &MembersAnswer) -> String {
    let method = &answer.method;
    let load = naming::rate(answer.load_pps);
    match &answer.scales {
        Scales::Needs { members } => format!("{method} needs {} for {load}", number_of_members(*members)),
        Scales::NeedsByLaw { members, other_limit } => format!(
            "{method} needs {} for {load} by the fitted law{}",
            number_of_members(*members),
            once_limit_is_gone(*other_limit)
        ),
        Scales::NoNumberIsEnough { limit } => {
            format!("{method} reads {load} with no number of members{}", limit_clause(*limit))
        }
        Scales::LessThanLoad { last, limit } => {
            format!(
                "{method} does not read {load}; it reads {}{}",
                rate_with_members(last),
                limit_clause(*limit)
            )
        }
        Scales::NotAtAll { one, next, limit } => format!(
            "{method} does not scale: it reads {} and {}{}",
            rate_with_members(one),
            rate_with_members(next),
            limit_clause(Some(*limit))
        ),
        Scales::UpTo { best, limit } => {
            format!("{method} scales up to {}{}", rate_with_members(best), limit_clause(Some(*limit)))
        }
        Scales::UpToLast { last } => {
            format!("{method} scales up to {}, the most that were measured", rate_with_members(last))
        }
    }
}

/// `; the limit is the generator`; empty without a cause.
fn limit_clause(cause: Option<Limit>) -> String {
    match cause {
        Some(cause) => format!("; the limit is {}", limit_words(cause)),
        None => String::new(),
    }
}

/// A cause, named as the limit.
fn limit_words(cause: Limit) -> &'static str {
    match cause {
        Limit::Load => "the load, all of which they read",
        Limit::Generator => "the generator",
        Limit::Noise => "noise of the host",
        Limit::Backlog => "the kernel's receive work on one CPU",
        Limit::Sharing => "the sharing of the frames, of which one member gets too many",
        Limit::SharedCpus => "the number of CPUs",
        Limit::Contention => "contention: a part of the work that one member does at a time",
        Limit::Coherence => "coherence: members slow each other",
        Limit::Members => "something that busy members share",
        _ => "unknown",
    }
}

/// What has to change before the law applies: it is about members that nothing else limits.
fn once_limit_is_gone(other_limit: Option<Limit>) -> String {
    match other_limit {
        None => String::new(),
        Some(Limit::Unknown) => ", once the unknown limit is no longer in the way".into(),
        Some(cause) => format!(", once {} is no longer in the way", limit_words(cause)),
    }
}

/// What a number of members reads.
fn rate_with_members(rate: &MembersRate) -> String {
    format!("{} with {}", naming::rate(rate.pps), rate.point.label)
}

fn number_of_members(members: u32) -> String {
    many(members.into(), "member", "members")
}

/// A share, rounded to a tenth of a percent.
fn percent_to_a_tenth(ratio: f64) -> String {
    naming::percent((ratio * 1e3).round() / 1e3)
}

/// How the rate grows, and what stops it.
pub(super) fn growth(fact: &MembersGrowth) -> String {
    let method = &fact.series.method;
    let Some(stop) = &fact.stop else {
        return match fact.numbers {
            1 => {
                format!("{method}: it reads {}; no other number was measured.", rate_with_members(&fact.best))
            }
            _ => format!(
                "{method}: {}, the last number. More --points show where that ends.",
                growth_clause(fact)
            ),
        };
    };
    format!(
        "{method}: {}. Beyond, more members bring less than {} of what as many brought before: {}. {}",
        growth_clause(fact),
        naming::share(USEFUL_MEMBERS_GAIN),
        rate_with_members(&stop.next),
        stop::figures(&stop.cause)
    )
}

/// Up to which number of members the rate grows.
fn growth_clause(fact: &MembersGrowth) -> String {
    if !fact.scales() {
        return format!("it does not scale: it reads {}", rate_with_members(&fact.best));
    }
    format!(
        "it scales up to {}, {} times that with {}",
        rate_with_members(&fact.best),
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
            "{method}: for {load} this host needs {}: the fewest that read all of it.",
            number_of_members(members)
        ),
        Needed::ByLaw { members } => format!(
            "{method}: for {load} this host needs {} by the fitted law{}; no measured number was enough.",
            number_of_members(members),
            once_limit_is_gone(fact.other_limit)
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
        (Some(law), _) => fitted_law(law),
        (None, Some(unfit)) => no_law_because(unfit),
        (None, None) => "no scalability law is fitted.".into(),
    };
    format!("{}: {law}", fact.series.method)
}

/// The constants of the law, its peak, and how close it is to the points.
fn fitted_law(law: &ScalabilityFit) -> String {
    let peak = match law.peak {
        None => "and more members never read less".into(),
        Some(peak) => format!("and the rate is highest with {} members", significant(peak, 3)),
    };
    format!(
        "by the Universal Scalability Law one member reads λ = {} packets/s, contention σ is {}, coherence κ is {}, {peak}; the points \
         are within {} of it.",
        constant_with_interval(&law.lambda_pps, whole_rate),
        constant_with_interval(&law.sigma, small_share),
        constant_with_interval(&law.kappa, small_share),
        percent_to_a_tenth(law.largest_error)
    )
}

/// A constant of the law with its interval, each number as `in_words` gives it.
fn constant_with_interval(constant: &Constant, in_words: fn(f64) -> String) -> String {
    let value = in_words(constant.value);
    match (constant.low, constant.high) {
        (Some(low), Some(high)) => format!("{value} ({} to {})", in_words(low), in_words(high)),
        _ => value,
    }
}

/// A rate without its unit, rounded to a whole number.
fn whole_rate(pps: f64) -> String {
    naming::rate_number(pps.round())
}

/// A share with three digits. What a fit leaves of 0 is 0.
fn small_share(share: f64) -> String {
    significant(if share < 1e-9 { 0.0 } else { share }, 3)
}

/// Why no law is fitted.
fn no_law_because(unfit: Unfit) -> String {
    match unfit {
        Unfit::TooFewNumbers { numbers } => {
            let there_are = match numbers {
                1 => "there is 1".into(),
                several => format!("there are {several}"),
            };
            format!(
                "no scalability law is fitted: it needs {SCALABILITY_NUMBERS} numbers of members at which the members are the limit, each \
                 on a CPU, and {there_are}."
            )
        }
        Unfit::OffTheLaw { error } => format!(
            "no scalability law is fitted: the rates differ from the closest one by up to {}. The host was not quiet, or members have \
             unequal CPUs.",
            percent_to_a_tenth(error)
        ),
    }
}
