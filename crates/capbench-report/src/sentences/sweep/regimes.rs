//! Cost regimes of a work sweep.
use capbench_judge::sweep::outcome::{Reading, Series, Swept, numbers};
use capbench_judge::sweep::regimes::{CostRegimes, Plateau, cost_regimes};
use capbench_model::figures::grouped;
use capbench_model::places::Place;
use capbench_model::trial::TrialResult;
use capbench_results::Finding;

use super::about;
use crate::naming::many;
use crate::sentences::{percent, time};

/// A quantity that changes by this factor between two plateaus is reported with the change.
const NOTABLE: f64 = 1.5;
/// A place whose share of the loss changes by this much is reported with the change.
const MOVED: f64 = 0.25;

pub(super) fn of(swept: &Swept<'_>, series: &Series) -> Vec<Finding> {
    [limited_by_kernel(swept, series), costs(swept, series)].into_iter().flatten().collect()
}

fn costs(swept: &Swept<'_>, series: &Series) -> Option<Finding> {
    let Some(CostRegimes { readings: saturated, found, changes }) = cost_regimes(swept, series) else {
        let saturated: Vec<&Reading> =
            series.readings.iter().filter(|reading| reading.is_saturated()).collect();
        let points = many(saturated.len() as u64, "point", "points");
        let text = format!(
            "the application is the limit at {points}: too few points, or too uneven a line, to compute what a packet costs."
        );
        return (!saturated.is_empty()).then(|| about(series, text, numbers(saturated)));
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
    let plateaus = &found.plateaus;
    let mut text = match plateaus.as_slice() {
        [] => {
            let (first, last) = (found.costs_ns[0], found.costs_ns[found.costs_ns.len() - 1]);
            format!(
                "besides the work a packet costs {} at {} and {} at {}, without a plateau.",
                time(first),
                label(0),
                time(last),
                label(saturated.len() - 1)
            )
        }
        [one] => format!("one cost regime: besides the work a packet costs {}.", span(one)),
        several => {
            let list: Vec<_> = several.iter().map(span).collect();
            format!(
                "{} cost regimes: besides the work a packet costs {}.",
                several.len(),
                list.join(", then ")
            )
        }
    };
    for (pair, change) in plateaus.windows(2).zip(&changes) {
        let (before, after) =
            (&saturated[pair[0].first..=pair[0].last], &saturated[pair[1].first..=pair[1].last]);
        text.push_str(&format!(
            " Between {} and {} {}; the costs differ by more than chance explains ({change}).",
            label(pair[0].last),
            label(pair[1].first),
            goes_with(swept, before, after)
        ));
    }
    if found.unit.is_fitted && !plateaus.is_empty() {
        text.push_str(&match series.unit_ns {
            Some(alone) => {
                let share = alone / found.unit.ns;
                let own: Vec<_> =
                    plateaus.iter().map(|plateau| time(plateau.cost_ns * share)).collect();
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
    Some(about(series, text, numbers(saturated)))
}

/// Points where the kernel is the limit: they do not show the application's cost per packet.
fn limited_by_kernel(swept: &Swept<'_>, series: &Series) -> Option<Finding> {
    let limited: Vec<_> = series.readings.iter().filter(|reading| reading.is_limited_by_kernel()).collect();
    let (first, last) = (limited.first()?, limited.last()?);
    let at = match limited.len() {
        1 => format!("at {}", swept.label(first)),
        several => format!("at {several} points, from {} to {}", swept.label(first), swept.label(last)),
    };
    let worst = limited
        .iter()
        .max_by(|a, b| a.sent_loss_ratio.median.total_cmp(&b.sent_loss_ratio.median))
        .unwrap_or(first);
    let place = worst.lost.first().map_or("before the method", |most| most.place.words());
    let kernel = swept.median(worst, |trial| trial.cpu.kernel_ns_per_packet).map_or(String::new(), |ns| {
        let busy = ns * worst.reached_pps() * 1e-9;
        format!(
            " Its receive work takes {} for every frame that it lets through, {} of a CPU.",
            time(ns),
            percent(busy)
        )
    });
    let text = format!(
        "kernel-limited {at}: up to {} of the frames are lost {place}, and the application reads those that are left, {} \
         packets/s.{kernel} That is not a cost of the application, so no cost regime is computed there.",
        percent(worst.sent_loss_ratio.median),
        grouped(worst.taken_pps.median)
    );
    Some(about(series, text, numbers(limited)))
}

/// Quantities that change between two plateaus together with the cost. This is a correlation, not a cause.
fn goes_with(swept: &Swept<'_>, before: &[&Reading], after: &[&Reading]) -> String {
    let mean = |readings: &[&Reading], of: &dyn Fn(&Reading) -> Option<f64>| {
        let values: Option<Vec<f64>> = readings.iter().map(|reading| of(reading)).collect();
        values.map(|values| values.iter().sum::<f64>() / values.len() as f64)
    };
    let both = |of: &dyn Fn(&Reading) -> Option<f64>| Some((mean(before, of)?, mean(after, of)?));
    let of_trials = |of: fn(&TrialResult) -> Option<f64>| {
        both(&|reading| swept.median(reading, of)).filter(|(a, b)| a.max(*b) > NOTABLE * a.min(*b))
    };
    let wakeups =
        of_trials(|trial| Some(trial.cpu.voluntary_switches? as f64 / trial.delivered.max(1) as f64));
    let batch = of_trials(|trial| trial.cpu.frames_per_batch);
    let mut changes = Vec::new();
    changes.extend(wakeups.map(|(a, b)| format!("wake-ups per packet go from {a:.3} to {b:.3}")));
    changes.extend(batch.map(|(a, b)| format!("frames per batch from {a:.1} to {b:.1}")));
    for (place, words) in [(Place::Backlog, "the backlog"), (Place::Ring, "the ring or socket queue")] {
        let share = |reading: &Reading| {
            let all: u64 = reading.lost.iter().map(|lost| lost.frames).sum();
            let here = reading.lost.iter().find(|lost| lost.place == place).map_or(0, |lost| lost.frames);
            (all > 0).then(|| here as f64 / all as f64)
        };
        let moved = both(&share).filter(|(a, b)| (a - b).abs() > MOVED);
        changes.extend(
            moved.map(|(a, b)| {
                format!("the share of {words} in the loss from {} to {}", percent(a), percent(b))
            }),
        );
    }
    if changes.is_empty() {
        "no counter here changes with it: neither wake-ups, batches, backlog nor ring".into()
    } else {
        changes.join(", ")
    }
}
