//! Cost regimes of a work sweep, and whether more work per packet ever leads to more packets.

use super::{Swept, about, numbers, percent, time};
use crate::findings::Finding;
use crate::ledger::Place;
use crate::sweep::outcome::{Reading, Series};
use crate::sweep::regimes::{self, Plateau, Regimes, Saturated};

/// A quantity that changes by this factor between two plateaus goes with the change.
const NOTABLE: f64 = 1.5;
/// A place whose share of the loss changes by this much goes with the change.
const MOVED: f64 = 0.25;
/// Rates that differ by less, as a part of them, are the same.
const SAME: f64 = 0.01;

pub(super) fn of(swept: &Swept<'_>, series: &Series, findings: &mut Vec<Finding>) {
    rises(swept, series, findings);
    let saturated: Vec<&Reading> = series.readings.iter().filter(|reading| reading.is_saturated()).collect();
    if saturated.is_empty() {
        return;
    }
    let Some(found) = analyse(swept, &saturated) else {
        let text = format!(
            "the application is the limit at {} point{}: too few, or too crooked a line, to tell what a packet costs.",
            saturated.len(),
            if saturated.len() == 1 { "" } else { "s" }
        );
        findings.push(about(series, text, numbers(saturated)));
        return;
    };
    let label = |nth: usize| swept.label(saturated[nth]);
    let span = |plateau: &Plateau| {
        format!(
            "{} ({} to {}) from {} to {}",
            time(plateau.cost_ns),
            time(plateau.least_ns),
            time(plateau.most_ns),
            label(plateau.first),
            label(plateau.last)
        )
    };
    let mut text = match found.plateaus.as_slice() {
        [] => {
            let (first, last) = (found.costs_ns[0], found.costs_ns[found.costs_ns.len() - 1]);
            format!(
                "beside the work a packet costs {} at {} and {} at {}, without a plateau.",
                time(first),
                label(0),
                time(last),
                label(saturated.len() - 1)
            )
        }
        [one] => format!("one cost regime: beside the work a packet costs {}.", span(one)),
        several => {
            let list: Vec<_> = several.iter().map(span).collect();
            format!(
                "{} cost regimes: beside the work a packet costs {}.",
                several.len(),
                list.join(", then ")
            )
        }
    };
    for pair in found.plateaus.windows(2) {
        let (before, after) =
            (&saturated[pair[0].first..=pair[0].last], &saturated[pair[1].first..=pair[1].last]);
        text.push_str(&format!(
            " Between {} and {} {}.",
            label(pair[0].last),
            label(pair[1].first),
            goes_with(swept, before, after)
        ));
    }
    if found.unit.is_fitted && !found.plateaus.is_empty() {
        text.push_str(&match swept.outcome.unit_ns {
            Some(alone) => {
                let share = alone / found.unit.ns;
                let own: Vec<_> =
                    found.plateaus.iter().map(|plateau| time(plateau.cost_ns * share)).collect();
                format!(
                    " The work takes {:.2} times as long there as alone: the application has {} of its CPU, and of its \
                     own time a packet costs it {}.",
                    1.0 / share,
                    percent(share),
                    own.join(", then ")
                )
            }
            None => format!(
                " An iteration takes {:.3} ns there, the kernel's share of the CPU included.",
                found.unit.ns
            ),
        });
    }
    findings.push(about(series, text, numbers(saturated)));
}

/// Costs at points where the application is the limit.
fn analyse(swept: &Swept<'_>, saturated: &[&Reading]) -> Option<Regimes> {
    let points: Option<Vec<Saturated>> = saturated
        .iter()
        .map(|reading| {
            let rate = reading.taken_pps;
            let time_ns = 1e9 / rate.median;
            Some(Saturated {
                work: swept.outcome.points.get(reading.point)?.at?,
                time_ns,
                spread_ns: time_ns * rate.half_width() / rate.median,
            })
        })
        .collect();
    regimes::find(&points?, swept.outcome.unit_ns)
}

/// What changes between two plateaus together with the cost: it goes with it, which is not yet to cause it.
fn goes_with(swept: &Swept<'_>, before: &[&Reading], after: &[&Reading]) -> String {
    let mean = |readings: &[&Reading], of: &dyn Fn(&Reading) -> Option<f64>| {
        let values: Option<Vec<f64>> = readings.iter().map(|reading| of(reading)).collect();
        values.map(|values| values.iter().sum::<f64>() / values.len() as f64)
    };
    let mut changes = Vec::new();
    let wakeups = |reading: &Reading| {
        swept.median(reading, |trial| {
            Some(trial.cpu.voluntary_switches? as f64 / trial.delivered.max(1) as f64)
        })
    };
    if let (Some(a), Some(b)) = (mean(before, &wakeups), mean(after, &wakeups))
        && (a.max(b) > NOTABLE * a.min(b))
    {
        changes.push(format!("wake-ups per packet go from {a:.3} to {b:.3}"));
    }
    let batch = |reading: &Reading| swept.median(reading, |trial| trial.cpu.frames_per_batch);
    if let (Some(a), Some(b)) = (mean(before, &batch), mean(after, &batch))
        && (a.max(b) > NOTABLE * a.min(b))
    {
        changes.push(format!("frames per batch from {a:.1} to {b:.1}"));
    }
    for (place, words) in [(Place::Backlog, "the backlog"), (Place::Ring, "the ring or socket queue")] {
        let share = |reading: &Reading| {
            let all: u64 = reading.lost.iter().map(|lost| lost.frames).sum();
            let here = reading.lost.iter().find(|lost| lost.place == place).map_or(0, |lost| lost.frames);
            (all > 0).then(|| here as f64 / all as f64)
        };
        if let (Some(a), Some(b)) = (mean(before, &share), mean(after, &share))
            && (a - b).abs() > MOVED
        {
            changes.push(format!("the share of {words} in the loss from {} to {}", percent(a), percent(b)));
        }
    }
    if changes.is_empty() {
        "nothing that is counted here changes with it: neither wake-ups, batches, backlog nor ring".into()
    } else {
        changes.join(", ")
    }
}

/// Whether more work ever leads to more packets: the first question of Dain.
fn rises(swept: &Swept<'_>, series: &Series, findings: &mut Vec<Finding>) {
    if series.readings.len() < 2 || swept.outcome.unit.is_none() {
        return;
    }
    let rate = |reading: &Reading| reading.delivered_pps;
    let mut steepest: Option<(&Reading, &Reading)> = None;
    for (nth, low) in series.readings.iter().enumerate() {
        for high in &series.readings[nth + 1..] {
            let gain = rate(high).median - rate(low).median;
            let shows = low.loses() && gain > SAME * rate(low).median && rate(high).is_apart_from(&rate(low));
            let known = steepest.map_or(0.0, |(low, high)| rate(high).median - rate(low).median);
            if shows && gain > known {
                steepest = Some((low, high));
            }
        }
    }
    let share = |reading: &Reading| percent(1.0 - reading.sent_loss_ratio.median);
    if let Some((low, high)) = steepest {
        let text = format!(
            "more work per packet, more packets: {} are delivered at {} and {} at {}.",
            share(low),
            swept.label(low),
            share(high),
            swept.label(high)
        );
        findings.push(about(series, text, numbers([low, high])));
    } else if series.readings.iter().any(Reading::loses) {
        let is_told = series.readings.iter().all(|reading| rate(reading).can_be_told());
        let doubt = if is_told { "" } else { ", as far as so few repeats can tell" };
        let text = format!("nowhere does more work per packet lead to more packets{doubt}.");
        findings.push(about(series, text, numbers(&series.readings)));
    }
}
