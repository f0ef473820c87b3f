//! Delays of frames: a row for each trial and leg.

use capbench_model::latency::{Delays, Latency};
use capbench_model::statistics::by_key as grouped;
use capbench_model::trial::TrialResult;
use capbench_results::Results;

use super::rows::{Fields, Rows, set_up};
use crate::model::Table;
use crate::naming;

pub(super) fn tables(results: &Results) -> Vec<Table> {
    let mut rows = Rows::new();
    let mut notes = Vec::new();
    for trial in &results.trials {
        let Some(latency) = &trial.latency else { continue };
        for (leg, delays) in legs(latency) {
            let fields = set_up(&trial.profile)
                .words("load", "load", naming::load(trial))
                .words("leg", "leg", leg)
                .and(delay_fields(delays))
                .count("lost", "lost in the trial", trial.lost());
            rows.add(fields, vec![trial.number]);
        }
        notes.extend(absent_note(trial, latency));
    }
    let caption = "Latency of every frame, a row for each trial and leg; the figures are those of RFC 8219";
    let Some(table) = rows.table("latency-by-trial", caption) else { return Vec::new() };
    let notes = grouped(notes, String::clone).into_iter().map(|(note, _)| note);
    vec![table.with_notes(notes)]
}

/// The legs whose delays a trial recorded.
fn legs(latency: &Latency) -> Vec<(&'static str, &Delays)> {
    let mut legs = vec![
        ("to_kernel", &latency.to_kernel),
        ("to_application", &latency.to_application),
        ("total", &latency.total),
    ];
    if let Some(relative) = &latency.relative {
        legs.push(("relative to_kernel", &relative.to_kernel));
        legs.push(("relative total", &relative.total));
    }
    let mut recorded = Vec::new();
    for (leg, delays) in legs {
        if let Some(delays) = delays {
            recorded.push((leg, delays));
        }
    }
    recorded
}

fn delay_fields(delays: &Delays) -> Fields {
    Fields::new()
        .count("frames", "frames", delays.frames)
        .figure("min_ns", "least", delays.min_ns as f64)
        .figure("mean_ns", "mean", delays.mean_ns)
        .figure("p50_ns", "median", delays.p50_ns as f64)
        .figure("p90_ns", "90 %", delays.p90_ns as f64)
        .figure("p99_ns", "99 %", delays.p99_ns as f64)
        .figure("p99_9_ns", "99.9 %", delays.p99_9_ns as f64)
        .figure("max_ns", "largest", delays.max_ns as f64)
        .figure("pdv_ns", "variation (PDV)", delays.pdv_ns as f64)
}

/// Why a leg of the trial was not recorded.
fn absent_note(trial: &TrialResult, latency: &Latency) -> Option<String> {
    let reason = latency.absent_because.as_ref()?;
    Some(format!("{}: {reason}.", trial.profile.method))
}
