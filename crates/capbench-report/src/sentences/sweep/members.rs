//! How the rate of a method grows with its members, what stops it, and how many members a load needs.
use capbench_judge::sweep::outcome::{Swept, numbers};
use capbench_judge::sweep::scaling::{Cause, Needed, Scaling, Stop};
use capbench_judge::sweep::{Reading, Series};
use capbench_model::members::imbalance;
use capbench_model::statistics::scalability::{Constant, LEAST_NUMBERS, ScalabilityFit, Unfit};
use capbench_model::trial::TrialResult;
use capbench_results::{Finding, Results};

use super::{MOST, about};
use crate::figures::significant;
use crate::model::Sentence;
use crate::naming::{self, many};
use crate::sentences::first_of;

/// How each method scales, and how many members it needs: one sentence. `None` without a sweep of members.
pub(super) fn answer(results: &Results) -> Option<Sentence> {
    let series = super::all(&results.sweeps).filter_map(|(sweep, series)| {
        let swept = Swept::new(sweep, &results.trials);
        Some((verdict(&swept, series, series.scaling.as_ref()?)?, numbers(&series.readings)))
    });
    first_of(&series.collect::<Vec<_>>(), MOST)
}

fn verdict(swept: &Swept<'_>, series: &Series, scaling: &Scaling) -> Option<String> {
    let (method, load) = (&series.method, naming::rate(scaling.load_pps));
    let last = series.readings.last()?;
    let is_of_rate = !swept.of(last).any(|trial| trial.intended_pps.is_none());
    let because = scaling.stop.map_or(String::new(), |stop| format!("; the limit is {}", words(stop.cause)));
    Some(match (scaling.needed, scaling.stop) {
        (Needed::Measured { members }, _) if is_of_rate => {
            format!("{method} needs {} for {load}", of(members))
        }
        (Needed::ByLaw { members }, _) if is_of_rate => {
            format!("{method} needs {} for {load} by the fitted law{}", of(members), unless_limited(scaling))
        }
        (Needed::NoNumber { .. }, _) if is_of_rate => {
            format!("{method} reads {load} with no number of members{because}")
        }
        (Needed::Unknown, _) if is_of_rate => {
            format!("{method} does not read {load}; it reads {}{because}", reads(swept, last))
        }
        (_, Some(stop)) => {
            let (best, next) = (at(swept, series, stop.after)?, at(swept, series, stop.next)?);
            let (best, next) = (reads(swept, best), reads(swept, next));
            match stop.after {
                1 => format!("{method} does not scale: it reads {best} and {next}{because}"),
                _ => format!("{method} scales up to {best}{because}"),
            }
        }
        (_, None) => format!("{method} scales up to {}, the most that were measured", reads(swept, last)),
    })
}

/// What a number of members reads.
fn reads(swept: &Swept<'_>, reading: &Reading) -> String {
    format!("{} with {}", naming::rate(swept.sustained_pps(reading)), swept.label(reading))
}

/// A share in percent, to a tenth.
fn percent(ratio: f64) -> String {
    naming::percent((ratio * 1e3).round() / 1e3)
}

fn of(members: u32) -> String {
    many(members.into(), "member", "members")
}

/// The reading with this number of members.
fn at<'r>(swept: &Swept<'_>, series: &'r Series, members: u32) -> Option<&'r Reading> {
    let number = |reading: &Reading| swept.outcome.points.get(reading.point)?.at;
    series.readings.iter().find(|reading| number(reading) == Some(members.into()))
}

/// A cause as the limit.
fn words(cause: Cause) -> &'static str {
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

/// Where the rate of a method stops to grow, and why; the fitted law; the members that the load needs.
pub(super) fn of_series(swept: &Swept<'_>, series: &Series) -> Vec<Finding> {
    let Some(scaling) = &series.scaling else { return Vec::new() };
    let growth = growth(swept, series, scaling);
    let law = match (&scaling.law, scaling.no_law_because) {
        (Some(law), _) => Some(fitted(law)),
        (None, Some(unfit)) => Some(without_law(unfit)),
        (None, None) => None,
    };
    let texts = growth.into_iter().chain([needed(scaling)]).chain(law);
    texts.map(|text| about(series, text, numbers(&series.readings))).collect()
}

fn growth(swept: &Swept<'_>, series: &Series, scaling: &Scaling) -> Option<String> {
    let (first, last) = (series.readings.first()?, series.readings.last()?);
    let times = |reading: &Reading| {
        let times = swept.sustained_pps(reading) / swept.sustained_pps(first);
        format!(", {} times that with {}", significant(times, 3), swept.label(first))
    };
    let scales = |best: &Reading| match best.point == first.point {
        true => format!("it does not scale: it reads {}", reads(swept, best)),
        false => format!("it scales up to {}{}", reads(swept, best), times(best)),
    };
    let Some(Stop { after, next, cause }) = scaling.stop else {
        return Some(match series.readings.len() {
            1 => format!("it reads {}; no other number was measured.", reads(swept, last)),
            _ => format!("{}, the last number. More --points show where that ends.", scales(last)),
        });
    };
    let (best, next) = (at(swept, series, after)?, at(swept, series, next)?);
    Some(format!(
        "{}. Beyond, more members bring less than half of what as many brought before: {}. {}",
        scales(best),
        reads(swept, next),
        evidence(swept, next, cause, scaling)
    ))
}

/// The figures that show the cause, and what to do about it.
fn evidence(swept: &Swept<'_>, there: &Reading, cause: Cause, scaling: &Scaling) -> String {
    let median = |of: &dyn Fn(&TrialResult) -> Option<f64>| {
        swept.median(there, of).map_or_else(|| "an unknown share".into(), percent)
    };
    let busy = |trial: &TrialResult, pick: fn(f64, f64) -> f64| {
        trial.members.iter().map(|member| trial.member_busy(member)).reduce(pick).map(|busy| busy.min(1.0))
    };
    let (idlest, busiest) = (median(&|trial| busy(trial, f64::min)), median(&|trial| busy(trial, f64::max)));
    let all_busy = if idlest == busiest { busiest.clone() } else { format!("{idlest} to {busiest}") };
    let trial = swept.of(there).next();
    match cause {
        Cause::Load => "They read the whole load, so no more are needed.".into(),
        Cause::Generator => format!(
            "The generator is the limit: it sends {}, of which they read all, and the busiest of them is busy for {busiest} of the \
             time.",
            naming::rate(there.offered_pps.median)
        ),
        Cause::Kernel => format!(
            "The kernel's receive work is the limit: {} does it for {} of the time, while members are busy for \
             {all_busy}. More receive queues, or RPS to more CPUs, share that work.",
            trial
                .and_then(|trial| trial.profile.cpus.kernel)
                .map_or_else(|| "one CPU".into(), |cpu| format!("CPU {cpu}")),
            median(&|trial| Some(trial.kernel_cpu_busy()?.min(1.0)))
        ),
        Cause::Sharing => format!(
            "The sharing of the frames is the limit: one member gets {} more than an equal share and loses some, while another is \
             busy for {idlest} of the time. More flows share more evenly; --fanout lb does so with any, and splits them.",
            median(&|trial| imbalance(&trial.members))
        ),
        Cause::SharedCpus => {
            let mut cpus: Vec<u32> =
                trial.iter().flat_map(|trial| &trial.members).map(|member| member.cpu).collect();
            cpus.sort_unstable();
            cpus.dedup();
            let cpus = many(cpus.len() as u64, "CPU", "CPUs");
            format!("The CPUs are the limit: these members share {cpus}, all of whose time they use.")
        }
        Cause::Contention | Cause::Coherence => {
            let law = scaling.law.as_ref().map(ScalabilityFit::law);
            let members = swept.outcome.points.get(there.point).and_then(|point| point.at);
            let each = law.zip(members).map_or_else(
                || "an unknown share".into(),
                |(law, members)| percent(law.rate(members) / members / law.lambda),
            );
            let which = match cause {
                Cause::Contention => {
                    "contention, such as the lock of the fanout group or the bandwidth of memory, is the larger part"
                }
                _ => "coherence is the larger part: they slow each other, as with shared cache lines",
            };
            format!("All members are busy, and each reads {each} of what one alone reads: {which}.")
        }
        Cause::Members => format!(
            "All members are busy, and each reads less than before: they share something. At least {LEAST_NUMBERS} numbers of members \
             show whether it is contention or coherence."
        ),
        Cause::Unknown => format!(
            "The figures do not show why: members are busy for {all_busy} of the time, and {} of the frames are lost{}. \
             The table of members has the figures of each.",
            percent(there.sent_loss_ratio.median),
            there.lost.first().map_or(String::new(), |most| format!(", most {}", most.place.words())),
        ),
    }
}

fn needed(scaling: &Scaling) -> String {
    let load = naming::rate(scaling.load_pps);
    match scaling.needed {
        Needed::Measured { members } => {
            format!("for {load} this host needs {}: the fewest that lost nothing in any trial.", of(members))
        }
        Needed::ByLaw { members } => format!(
            "for {load} this host needs {} by the fitted law{}; no measured number was enough.",
            of(members),
            unless_limited(scaling)
        ),
        Needed::NoNumber { most_pps } => format!(
            "for {load} no number of members is enough: by the fitted law they read up to {}.",
            naming::rate(most_pps.round())
        ),
        Needed::Unknown => {
            format!(
                "how many members {load} needs is unknown: no measured number was enough, and no law is fitted."
            )
        }
    }
}

/// The law is of members that nothing else limits.
fn unless_limited(scaling: &Scaling) -> String {
    match scaling.stop.map(|stop| stop.cause) {
        Some(cause @ (Cause::Kernel | Cause::Sharing | Cause::SharedCpus | Cause::Unknown)) => {
            let limit = if cause == Cause::Unknown { "the unknown limit" } else { words(cause) };
            format!(", once {limit} is no longer in the way")
        }
        _ => String::new(),
    }
}

fn fitted(law: &ScalabilityFit) -> String {
    let constant = |found: &Constant, words: fn(f64) -> String| match (found.low, found.high) {
        (Some(low), Some(high)) => format!("{} ({} to {})", words(found.value), words(low), words(high)),
        _ => words(found.value),
    };
    let share = |value: f64| significant(if value < 1e-9 { 0.0 } else { value }, 3);
    let peak = law.peak.map_or_else(
        || "and more members never read less".into(),
        |peak| format!("and the rate is highest with {} members", significant(peak, 3)),
    );
    format!(
        "by the Universal Scalability Law one member reads λ = {} packets/s, contention σ is {}, coherence κ is {}, {peak}; the points \
         are within {} of it.",
        constant(&law.lambda_pps, |pps| naming::whole(pps.round())),
        constant(&law.sigma, share),
        constant(&law.kappa, share),
        percent(law.largest_error)
    )
}

fn without_law(unfit: Unfit) -> String {
    match unfit {
        Unfit::TooFewNumbers { numbers } => format!(
            "no scalability law is fitted: it needs {LEAST_NUMBERS} numbers of members at which the members are the limit, each on a \
             CPU, and there {}.",
            match numbers {
                1 => "is 1".into(),
                several => format!("are {several}"),
            }
        ),
        Unfit::OffTheLaw { error } => format!(
            "no scalability law is fitted: the rates differ from the closest one by up to {}. The host was not quiet, or members have \
             unequal CPUs.",
            percent(error)
        ),
    }
}
