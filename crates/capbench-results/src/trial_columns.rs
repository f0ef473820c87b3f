//! The columns of a trial, with the names of results files: `trials.csv`, the table of trials and the tidy rows have them from
//! here.

use capbench_model::latency::Delays;
use capbench_model::loss_pattern::LossPattern;
use capbench_model::places::{self, Place};
use capbench_model::trial::TrialResult;

/// The type of a column, and the function that returns its value in a row. `None` is unknown; text and flags are always known.
pub enum Of<R> {
    /// Text; empty where there is none.
    Text(fn(&R) -> String),
    /// A count.
    Count(fn(&R) -> Option<u64>),
    /// A number that can be negative.
    Signed(fn(&R) -> Option<i64>),
    /// A measured or computed number.
    Number(fn(&R) -> Option<f64>),
    /// A yes or no.
    Flag(fn(&R) -> bool),
}
use Of::{Count, Flag, Number, Signed, Text};

impl<R> Of<R> {
    /// The value in a CSV file; empty if it is unknown.
    pub fn field(&self, row: &R) -> String {
        fn known<T: ToString>(value: Option<T>) -> String {
            value.map_or_else(String::new, |value| value.to_string())
        }
        match self {
            Text(of) => of(row),
            Count(of) => known(of(row)),
            Signed(of) => known(of(row)),
            Number(of) => known(of(row)),
            Flag(of) => of(row).to_string(),
        }
    }
}

/// All columns besides the places of the ledger, in order, by their names.
#[rustfmt::skip]
pub const COLUMNS: [(&str, Of<TrialResult>); 55] = [
    ("number", Count(|trial| Some(trial.number.into()))),
    ("phase", Text(|trial| key(trial.phase))),
    ("method", Text(|trial| trial.profile.method.to_string())),
    ("frame_size", Text(|trial| trial.profile.frame_size.to_string())),
    ("mean_frame_size", Number(|trial| Some(trial.profile.mean_frame_size))),
    ("placement", Text(|trial| trial.profile.placement.to_string())),
    ("generator_cpu", Count(|trial| Some(trial.profile.cpus.generator.into()))),
    ("kernel_cpu", Count(|trial| trial.profile.cpus.kernel.map(u64::from))),
    ("application_cpu", Count(|trial| Some(trial.profile.cpus.application.into()))),
    ("load_independent", Flag(|trial| trial.profile.load_independent)),
    ("work", Text(|trial| trial.profile.work.to_string())),
    ("intended_pps", Number(|trial| trial.intended_pps)),
    ("duration_s", Number(|trial| Some(trial.duration_s))),
    ("sending_s", Number(|trial| Some(trial.sending_s))),
    ("drain_s", Number(|trial| Some(trial.drain_s))),
    ("intended", Count(|trial| Some(trial.intended))),
    ("sent", Count(|trial| Some(trial.sent))),
    ("delivered", Count(|trial| Some(trial.delivered))),
    ("duplicates", Count(|trial| Some(trial.duplicates))),
    ("reordered", Count(|trial| Some(trial.reordered))),
    ("foreign", Count(|trial| Some(trial.foreign))),
    ("truncated", Count(|trial| Some(trial.truncated))),
    ("corrupt", Count(|trial| Some(trial.corrupt))),
    ("offered_pps", Number(|trial| Some(trial.offered_pps))),
    ("delivered_pps", Number(|trial| Some(trial.delivered_pps))),
    ("loss_ratio", Number(|trial| Some(trial.loss_ratio))),
    ("unexplained", Signed(|trial| Some(trial.unexplained))),
    ("loss_bursts", Count(|trial| Some(trial.loss_pattern.as_ref()?.bursts.count))),
    ("longest_burst", Count(|trial| Some(trial.loss_pattern.as_ref()?.bursts.max.unwrap_or(0)))),
    ("worst_100ms_loss_ratio", Number(|trial| trial.loss_pattern.as_ref().map(LossPattern::worst_ratio))),
    ("latency_min_ns", Signed(|trial| Some(total(trial)?.min_ns))),
    ("latency_p50_ns", Signed(|trial| Some(total(trial)?.p50_ns))),
    ("latency_p99_9_ns", Signed(|trial| Some(total(trial)?.p99_9_ns))),
    ("latency_max_ns", Signed(|trial| Some(total(trial)?.max_ns))),
    ("latency_pdv_ns", Count(|trial| Some(total(trial)?.pdv_ns))),
    ("latency_to_kernel_p50_ns", Signed(|trial| Some(trial.latency.as_ref()?.to_kernel.as_ref()?.p50_ns))),
    ("latency_to_kernel_p99_9_ns", Signed(|trial| Some(trial.latency.as_ref()?.to_kernel.as_ref()?.p99_9_ns))),
    ("latency_to_application_p50_ns", Signed(|trial| Some(trial.latency.as_ref()?.to_application.as_ref()?.p50_ns))),
    ("latency_to_application_p99_9_ns", Signed(|trial| Some(trial.latency.as_ref()?.to_application.as_ref()?.p99_9_ns))),
    ("verdict", Text(|trial| key(trial.verdict))),
    ("app_ns_per_packet", Number(|trial| trial.cpu.app_ns_per_packet)),
    ("app_ns_per_packet_at_most", Number(|trial| trial.cpu.app_ns_per_packet_at_most)),
    ("kernel_ns_per_packet", Number(|trial| trial.cpu.kernel_ns_per_packet)),
    ("total_ns_per_packet", Number(TrialResult::total_ns_per_packet)),
    ("busy_cores", Number(|trial| trial.cpu.busy_cores)),
    ("waits", Count(|trial| Some(trial.cpu.waits))),
    ("frames_per_wakeup", Number(|trial| trial.cpu.frames_per_wakeup)),
    ("voluntary_switches", Count(|trial| trial.cpu.voluntary_switches)),
    ("involuntary_switches", Count(|trial| trial.cpu.involuntary_switches)),
    ("steal_ratio", Number(|trial| trial.cpu.steal_ratio)),
    ("attempt", Count(|trial| Some(trial.guarding.as_ref().map_or(1, |guarding| guarding.attempt.into())))),
    ("probes", Count(|trial| {
        let recovery = trial.guarding.as_ref().and_then(|guarding| guarding.recovery.as_ref());
        Some(recovery.map_or(0, |recovery| recovery.probes.len() as u64))
    })),
    ("latency_relative_pdv_ns", Count(|trial| Some(trial.latency.as_ref()?.relative.as_ref()?.total.as_ref()?.pdv_ns))),
    ("clock_class", Text(|trial| trial.clock_class.map_or_else(String::new, key))),
    ("clock_error_ns", Count(|trial| trial.clock_error_ns)),
];

/// The delays of a trial's frames from the planned time to the application.
fn total(trial: &TrialResult) -> Option<&Delays> {
    trial.latency.as_ref()?.total.as_ref()
}

/// The names of the columns of frames that places of the ledger lost, behind [`COLUMNS`].
pub fn place_keys() -> impl Iterator<Item = String> {
    places::ALL.into_iter().map(|place| format!("lost_{}", key(place)))
}

/// The values of these columns.
pub fn lost(trial: &TrialResult) -> impl Iterator<Item = Option<u64>> {
    let count = |place: Place| trial.ledger.iter().find(|entry| entry.place == place)?.count;
    places::ALL.into_iter().map(count)
}

/// The name of a value in results files.
pub fn key<T: serde::Serialize>(value: T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(other) => other.to_string(),
        Err(error) => error.to_string(),
    }
}
