//! Where loss starts, or would start in longer trials; where it is counted, and the limit.
use capbench_judge::limit::Limit;
use capbench_judge::sweep::outcome::{Reading, Series, Swept, numbers};
use capbench_model::figures::grouped;
use capbench_model::trial::{TrialResult, Verdict};
use capbench_results::Finding;

use super::about;
use crate::sentences::percent;

pub(super) fn of(swept: &Swept<'_>, series: &Series) -> Option<Finding> {
    let readings = &series.readings;
    let last = readings.last()?;
    let Some(first_lossy) = readings.iter().position(Reading::loses) else {
        return Some(sometimes(swept, series));
    };
    if swept.outcome.unit.is_none() {
        return Some(named(swept, series));
    }
    let lossy = &readings[first_lossy];
    let first_short = readings.iter().position(Reading::falls_short).unwrap_or(first_lossy);
    let clean = readings[..first_short].iter().rev().find(|reading| reading.is_clean());
    let begins = match clean {
        _ if first_short < first_lossy => before_loss(swept, clean, &readings[first_short], lossy),
        Some(clean) => {
            format!("loss begins between {} and {}", swept.label(clean), swept.label(lossy))
        }
        None => format!("frames are lost from the first point on, {}", swept.label(lossy)),
    };
    let end = match last.point == lossy.point {
        true => String::new(),
        false if last.loses() => format!(" At {} it loses {}.", swept.label(last), places(last)),
        false if last.falls_short() => format!(" At {} {}.", swept.label(last), read(last)),
        false => format!(" At {} no frame is lost.", swept.label(last)),
    };
    let text = format!(
        "{begins}: {}.{end}{}{}",
        places(lossy),
        ends(swept, &readings[first_lossy..]),
        limits(swept, &readings[first_short..])
    );
    Some(about(series, text, numbers(clean.into_iter().chain(&readings[first_short..]))))
}

/// Loss at points without an order.
fn named(swept: &Swept<'_>, series: &Series) -> Finding {
    let readings = &series.readings;
    let lossy = readings.iter().filter(|reading| reading.loses());
    let list: Vec<_> =
        lossy.map(|reading| format!("{} ({})", swept.label(reading), places(reading))).collect();
    let text = format!("frames are lost at {}.{}", list.join("; "), hidden(swept, readings));
    about(series, text, numbers(readings.iter().filter(|reading| reading.falls_short())))
}

/// Where the method does not keep up although it has not yet lost frames.
fn before_loss(swept: &Swept<'_>, clean: Option<&Reading>, short: &Reading, lossy: &Reading) -> String {
    let up_to = match clean {
        Some(clean) => {
            format!("it keeps up with the load up to {}. At {}", swept.label(clean), swept.label(short))
        }
        None => format!("at {} it does not keep up. There", swept.label(short)),
    };
    format!("{up_to} {}. Longer trials lose frames there. Loss begins at {}", read(short), swept.label(lossy))
}

/// The share of arriving frames that the application read.
fn read(reading: &Reading) -> String {
    format!(
        "it reads {} of {} frames per second, and buffers hold the rest",
        grouped(reading.taken_pps.median),
        grouped(reading.offered_pps.median)
    )
}

/// Where loss ends again, as it does when frames grow, and whether the method keeps up there.
fn ends(swept: &Swept<'_>, readings: &[Reading]) -> String {
    let from =
        |is_so: fn(&Reading) -> bool| readings.iter().rev().take_while(|reading| is_so(reading)).last();
    let Some(clean) = from(Reading::is_clean) else { return String::new() };
    let kept = from(|reading| reading.is_clean() && !reading.falls_short());
    let end = format!(" Loss ends at {}", swept.label(clean));
    if kept.is_some_and(|kept| kept.point == clean.point) {
        return format!("{end}.");
    }
    let kept = kept.map_or(String::new(), |kept| format!(" It keeps up from {} on.", swept.label(kept)));
    format!("{end} only because of its buffers: {}. Longer trials lose frames there.{kept}", read(clean))
}

/// The limit from the first point on at which the method does not keep up. It may change over the axis.
fn limits(swept: &Swept<'_>, readings: &[Reading]) -> String {
    let mut limits: Vec<(Limit, &Reading)> = Vec::new();
    for reading in readings.iter().filter(|reading| reading.falls_short()) {
        let Some(limit) = swept.limit(reading) else { continue };
        if limits.last().is_none_or(|(known, _)| *known != limit) {
            limits.push((limit, reading));
        }
    }
    // Other points decide if one point is inconclusive.
    if limits.iter().any(|(limit, _)| *limit != Limit::RingOrApplication) {
        limits.retain(|(limit, _)| *limit != Limit::RingOrApplication);
        limits.dedup_by_key(|(limit, _)| *limit);
    }
    match limits.as_slice() {
        [] => String::new(),
        [(limit, _)] => format!(" The limit is {}.", limit.words()),
        several => {
            let list: Vec<_> = several
                .iter()
                .map(|(limit, from)| format!("from {} on {}", swept.label(from), limit.words()))
                .collect();
            format!(" The limits: {}.", list.join("; "))
        }
    }
}

/// No loss at most points, or only in some visits.
fn sometimes(swept: &Swept<'_>, series: &Series) -> Finding {
    let readings = &series.readings;
    let stained: Vec<_> = readings.iter().filter(|reading| !reading.is_clean()).collect();
    let (short, kept): (Vec<&Reading>, Vec<&Reading>) =
        readings.iter().partition(|reading| reading.is_saturated());
    let is_limited = |trial: &TrialResult| {
        trial.intended_pps.is_none() || trial.verdict == Verdict::GeneratorLimited && !trial.sustained_load()
    };
    let mut limits = match kept.iter().any(|reading| swept.of(reading).any(is_limited)) {
        false => String::new(),
        true if short.is_empty() => format!(" The limit is {}.", Limit::Generator.words()),
        true => format!(" Where it keeps up, the limit is {}.", Limit::Generator.words()),
    };
    limits.push_str(&hidden(swept, readings));
    limits.push_str(&self::limits(swept, readings));
    if stained.is_empty() {
        return about(series, format!("no frame is lost at any point.{limits}"), numbers(readings));
    }
    let labels: Vec<_> = stained.iter().map(|reading| swept.label(reading)).collect();
    let text = format!("frames are lost in some trials and not in most, at {}.{limits}", labels.join(", "));
    about(series, text, numbers(stained))
}

/// Whether a point has no loss only because buffers absorb the backlog.
fn is_hidden(reading: &&Reading) -> bool {
    reading.is_saturated() && !reading.loses()
}

/// Points without loss where buffers hide, for the length of a trial, that frames arrive faster than they are read.
fn hidden(swept: &Swept<'_>, readings: &[Reading]) -> String {
    let all: Vec<_> = readings.iter().filter(is_hidden).collect();
    let Some(first) = all.first() else { return String::new() };
    // To the end without a gap.
    let reaches_end = readings.iter().rev().take_while(is_hidden).count() == all.len();
    let at = if swept.outcome.unit.is_some() && reaches_end {
        format!("From {} on", swept.label(first))
    } else {
        let labels: Vec<_> = all.iter().map(|reading| swept.label(reading)).collect();
        format!("At {}", labels.join(", "))
    };
    let there = if all.len() > 1 { format!("; at {} ", swept.label(first)) } else { ": ".into() };
    format!(
        " {at} that is due to its buffers{there}{}. Longer trials or a smaller --ring show where loss begins.",
        read(first)
    )
}

/// The loss at a point, by place.
fn places(reading: &Reading) -> String {
    let all: u64 = reading.lost.iter().map(|lost| lost.frames).sum();
    let ratio = reading.sent_loss_ratio.median;
    let list: Vec<_> = reading
        .lost
        .iter()
        .map(|lost| match reading.lost.len() {
            1 => lost.place.words().to_string(),
            _ => format!("{} of it {}", percent(lost.frames as f64 / all as f64), lost.place.words()),
        })
        .collect();
    let places =
        if list.is_empty() { "at a place that no counter here reports".into() } else { list.join(", ") };
    format!("{} of the frames, {places}", percent(ratio))
}
