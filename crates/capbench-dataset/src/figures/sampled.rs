//! A row of `trials` as the trial that is compared.

use capbench_judge::comparison::Setup;
use capbench_judge::comparison::sampled::SampledTrial;
use capbench_judge::comparison::setup::load_words;
use capbench_model::saved::Saved;
use capbench_model::trial::{Phase, Verdict};
use serde::de::{DeserializeOwned, IntoDeserializer, value::Error};

use crate::reader::Record;

/// The trial of a row. `None` if a later version wrote a purpose or a verdict that this one does not know.
pub(super) fn sampled(row: &Record) -> Option<SampledTrial> {
    let phase: Phase = parsed(row.text("phase")?)?;
    let verdict: Verdict = parsed(row.text("verdict")?)?;
    let intended_pps = row.number("intended_pps");
    Some(SampledTrial {
        setup: setup(row, load_words(phase, intended_pps, None)),
        phase,
        // A row does not have the point of its sweep.
        is_unknown_point: phase == Phase::Sweep,
        verdict,
        intended_pps,
        // Of the trials that are compared, only those of sweeps can have a shape.
        load: None,
        intended: count(row, "intended"),
        sent: count(row, "sent"),
        delivered: count(row, "delivered"),
        load_independent: row.flag("load_independent") == Some(true),
        delivered_pps: row.number("delivered_pps").unwrap_or_default(),
        total_ns_per_packet: row.number("total_ns_per_packet"),
        app_ns_per_packet: row.number("app_ns_per_packet"),
        median_latency_ns: row.whole("latency_total_p50_ns").map(|ns| ns as f64),
        worst_latency_ns: row.whole("latency_total_p99_9_ns").map(|ns| ns as f64),
    })
}

/// A value by its name in results files.
fn parsed<T: DeserializeOwned>(word: &str) -> Option<T> {
    let deserializer: serde::de::value::StrDeserializer<'_, Error> = word.into_deserializer();
    T::deserialize(deserializer).ok()
}

/// A count; 0 if the file has none, or one below 0.
fn count(row: &Record, column: &str) -> u64 {
    row.whole(column).and_then(|count| u64::try_from(count).ok()).unwrap_or_default()
}

/// The set-up of a row with this load.
pub(super) fn setup(row: &Record, load: String) -> Setup {
    Setup {
        method: row.text("method").map(Saved::from),
        placement: row.text("placement").map(Saved::from),
        frame_size: row.text("frame_size").map(String::from),
        traffic: row.text("traffic").map(Saved::from),
        transmit: row.text("transmit").map(Saved::from),
        work: row.text("work").map(Saved::from),
        load: Some(load),
        capture: None,
    }
}
