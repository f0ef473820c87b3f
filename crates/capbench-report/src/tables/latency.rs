//! Delays of frames: a row for each trial and leg. A leg is a part of a frame's way: from its planned send time to the kernel's
//! time stamp, from there to the application, or both together.

use capbench_model::latency::{Delays, Latency};
use capbench_model::trial::TrialResult;
use capbench_results::Results;

use super::rows::{Fields, Rows, set_up};
use crate::model::Table;
use crate::naming;

/// A row per trial and leg.
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
        // Trials of one method have the same note.
        if let Some(note) = absent_note(trial, latency)
            && !notes.contains(&note)
        {
            notes.push(note);
        }
    }
    let caption = "Latency of every frame, a row for each trial and leg; the figures are those of RFC 8219";
    let table = rows.table("latency-by-trial", caption);
    Vec::from_iter(table.map(|table| table.with_notes(notes)))
}

/// The legs whose delays a trial recorded, with their names in tidy files.
fn legs(latency: &Latency) -> Vec<(&'static str, &Delays)> {
    let mut legs = vec![
        ("to_kernel", &latency.to_kernel),
        ("to_application", &latency.to_application),
        ("total", &latency.total),
    ];
    // Between two hosts: the same delays less the smallest one, which is known even if the clocks are not synchronised.
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

/// Why a trial lacks legs.
fn absent_note(trial: &TrialResult, latency: &Latency) -> Option<String> {
    let reason = latency.absent_because.as_ref()?;
    Some(format!("{}: {reason}.", trial.profile.method))
}
