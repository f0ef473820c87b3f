//! Delays of frames.

use crate::results::Results;
use capbench_model::latency::Delays;
use capbench_model::trial::TrialResult;

use super::shape::{Columns, set_up};
use crate::model::Table;
use crate::naming;
use capbench_model::statistics::by_key as grouped;

pub(super) fn tables(results: &Results) -> Vec<Table> {
    table(results).into_iter().collect()
}

/// A leg of a trial's path.
type OfLeg<'r> = (&'r TrialResult, &'static str, &'r Delays);

fn table(results: &Results) -> Option<Table> {
    let columns = Columns::new()
        .part(set_up(), |(trial, ..): &OfLeg<'_>| &trial.profile)
        .words("load", "load", |(trial, ..)| naming::load(trial))
        .words("leg", "leg", |(_, leg, _)| *leg)
        .count("frames", "frames", |(.., delays)| delays.frames)
        .named("min_ns", "least", |(.., delays)| delays.min_ns as f64)
        .named("mean_ns", "mean", |(.., delays)| delays.mean_ns)
        .named("p50_ns", "median", |(.., delays)| delays.p50_ns as f64)
        .named("p90_ns", "90 %", |(.., delays)| delays.p90_ns as f64)
        .named("p99_ns", "99 %", |(.., delays)| delays.p99_ns as f64)
        .named("p99_9_ns", "99.9 %", |(.., delays)| delays.p99_9_ns as f64)
        .named("max_ns", "largest", |(.., delays)| delays.max_ns as f64)
        .named("pdv_ns", "variation (PDV)", |(.., delays)| delays.pdv_ns as f64)
        .count("lost", "lost in the trial", |(trial, ..)| trial.lost());
    let recorded = || results.trials.iter().filter_map(|trial| Some((trial, trial.latency.as_ref()?)));
    let rows = recorded().flat_map(|(trial, latency)| {
        let legs = [
            ("to_kernel", &latency.to_kernel),
            ("to_application", &latency.to_application),
            ("total", &latency.total),
        ];
        legs.into_iter().filter_map(move |(leg, delays)| Some((trial, leg, delays.as_ref()?)))
    });
    let absent = recorded().filter_map(|(trial, latency)| {
        Some(format!("{}: {}.", trial.profile.method, latency.absent_because.as_ref()?))
    });
    let caption = "Latency of every frame, a row for each trial and leg; the figures are those of RFC 8219";
    let table = columns.table("latency-by-trial", caption, rows, |(trial, ..)| vec![trial.number])?;
    Some(table.with_notes(grouped(absent, String::clone).into_iter().map(|(note, _)| note)))
}
