//! Where loss begins, where it is booked, and what limits.

use super::{Swept, about, numbers, percent};
use crate::findings::Finding;
use crate::limit::Limit;
use crate::sweep::outcome::{Reading, Series};

/// The finding about a series.
pub(super) fn of(swept: &Swept<'_>, series: &Series, findings: &mut Vec<Finding>) {
    let readings = &series.readings;
    let Some(last) = readings.last() else { return };
    let has_order = swept.outcome.unit.is_some();
    let Some(first_lossy) = readings.iter().position(Reading::loses) else {
        sometimes(swept, series, readings, findings);
        return;
    };
    if !has_order {
        let lossy: Vec<_> = readings.iter().filter(|reading| reading.loses()).collect();
        let list: Vec<_> =
            lossy.iter().map(|reading| format!("{} ({})", swept.label(reading), places(reading))).collect();
        findings.push(about(series, format!("frames are lost at {}.", list.join("; ")), numbers(lossy)));
        return;
    }
    let lossy = &readings[first_lossy];
    let clean = readings[..first_lossy].iter().rev().find(|reading| reading.is_clean());
    let whence = match clean {
        Some(clean) => {
            format!("loss begins between {} and {}", swept.label(clean), swept.label(lossy))
        }
        None => format!("frames are lost from the first point on, {}", swept.label(lossy)),
    };
    // The limit may change on the way, and loss may end again: loss by size does, as frames grow larger.
    let mut limits: Vec<(Limit, &Reading)> = Vec::new();
    for reading in readings[first_lossy..].iter().filter(|reading| reading.loses()) {
        let limit = Limit::of(&reading.lost, reading.sent_loss_ratio.median, swept.of(reading));
        let Some(limit) = limit else { continue };
        if limits.last().is_none_or(|(known, _)| *known != limit) {
            limits.push((limit, reading));
        }
    }
    // What cannot be told at a point is told by the others.
    if limits.iter().any(|(limit, _)| *limit != Limit::RingOrApplication) {
        limits.retain(|(limit, _)| *limit != Limit::RingOrApplication);
        limits.dedup_by_key(|(limit, _)| *limit);
    }
    let limits = match limits.as_slice() {
        [] => String::new(),
        [(limit, _)] => format!(" What limits is {}.", limit.words()),
        several => {
            let list: Vec<_> = several
                .iter()
                .map(|(limit, from)| format!("from {} on {}", swept.label(from), limit.words()))
                .collect();
            format!(" What limits: {}.", list.join("; "))
        }
    };
    let ends = readings[first_lossy..].iter().rev().take_while(|reading| reading.is_clean()).last();
    let ends = ends.map_or(String::new(), |reading| format!(" It ends at {}.", swept.label(reading)));
    let end = match last.point == lossy.point {
        true => String::new(),
        false if last.loses() => format!("; at {} it is {}", swept.label(last), places(last)),
        false => format!("; at {} there is none", swept.label(last)),
    };
    let text = format!("{whence}, where it is {}{end}.{ends}{limits}", places(lossy));
    findings.push(about(series, text, numbers(clean.into_iter().chain(&readings[first_lossy..]))));
}

/// Nothing is lost at most points, or only now and then.
fn sometimes(swept: &Swept<'_>, series: &Series, readings: &[Reading], findings: &mut Vec<Finding>) {
    let stained: Vec<_> = readings.iter().filter(|reading| !reading.is_clean()).collect();
    let limited = readings
        .iter()
        .flat_map(|reading| swept.of(reading))
        .any(|trial| !trial.held_load() || trial.intended_pps.is_none());
    let limits =
        if limited { format!(" What limits is {}.", Limit::Generator.words()) } else { String::new() };
    // A buffer hides for the length of a trial that more comes than is taken.
    let hidden = readings.iter().find(|reading| reading.is_saturated()).map_or(String::new(), |first| {
        format!(
            " From {} on that is due to its buffers: fewer frames are taken, {:.0} of {:.0} a second, than come, and the \
             rest lay in buffers when sending ended. Longer trials or a smaller --ring show where loss begins.",
            swept.label(first),
            first.taken_pps.median,
            first.offered_pps.median
        )
    });
    let limits = format!("{limits}{hidden}");
    let text = if stained.is_empty() {
        format!("no frame is lost at any point.{limits}")
    } else {
        let labels: Vec<_> = stained.iter().map(|reading| swept.label(reading)).collect();
        format!("frames are lost in some trials and not in most, at {}.{limits}", labels.join(", "))
    };
    findings.push(about(
        series,
        text,
        numbers(if stained.is_empty() { readings.iter().collect() } else { stained }),
    ));
}

/// How much was lost at a point, and where.
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
    let places = if list.is_empty() { "where nothing here counts".into() } else { list.join(", ") };
    format!("{} of the frames, {places}", percent(ratio))
}
