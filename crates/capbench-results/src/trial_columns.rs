//! The columns of a trial: `trials.csv`, tidy rows, the table of trials in reports, and Parquet files have them from here.

use std::io;

use capbench_model::csv_text::CsvText;
use capbench_model::latency::Delays;
use capbench_model::loss_pattern::LossPattern;
use capbench_model::places::{self, Place};
use capbench_model::trial::TrialResult;

use crate::column::Column;

/// A column of a table of trials.
type Trials = Column<'static, TrialResult>;

/// The columns of `trials.csv`, in order, each with its name, its origin and its value. In the file, the columns of
/// [`place_names`] follow.
#[rustfmt::skip]
pub fn columns() -> Vec<Trials> {
    vec![
        Trials::count("number", "`trials[].number`", |trial| Some(trial.number.into())),
        Trials::text("phase", "`trials[].phase`", |trial| Some(key(trial.phase))),
        Trials::text("method", "`trials[].method`", |trial| Some(trial.profile.method.to_string())),
        Trials::text("frame_size", "`trials[].frame_size`: octets, or the name of a mix", |trial| Some(trial.profile.frame_size.to_string())),
        Trials::number("mean_frame_size", "`trials[].mean_frame_size`", |trial| Some(trial.profile.mean_frame_size)),
        Trials::text("placement", "`trials[].placement`", |trial| Some(trial.profile.placement.to_string())),
        Trials::count("generator_cpu", "`trials[].cpus.generator`", |trial| Some(trial.profile.cpus.generator.into())),
        Trials::count("kernel_cpu", "`trials[].cpus.kernel`", |trial| trial.profile.cpus.kernel.map(u64::from)),
        Trials::count("application_cpu", "`trials[].cpus.application`", |trial| Some(trial.profile.cpus.application.into())),
        Trials::flag("load_independent", "`trials[].load_independent`", |trial| Some(trial.profile.load_independent)),
        Trials::text("work", "`trials[].work`", |trial| Some(trial.profile.work.to_string())),
        Trials::number("intended_pps", "`trials[].intended_pps`; NULL at maximum load", |trial| trial.intended_pps),
        Trials::number("duration_s", "`trials[].duration_s`", |trial| Some(trial.duration_s)),
        Trials::number("sending_s", "`trials[].sending_s`", |trial| Some(trial.sending_s)),
        Trials::number("drain_s", "`trials[].drain_s`", |trial| Some(trial.drain_s)),
        Trials::count("intended", "`trials[].intended`", |trial| Some(trial.intended)),
        Trials::count("sent", "`trials[].sent`", |trial| Some(trial.sent)),
        Trials::count("delivered", "`trials[].delivered`", |trial| Some(trial.delivered)),
        Trials::count("duplicates", "`trials[].duplicates`", |trial| Some(trial.duplicates)),
        Trials::count("reordered", "`trials[].reordered`", |trial| Some(trial.reordered)),
        Trials::count("foreign", "`trials[].foreign`", |trial| Some(trial.foreign)),
        Trials::count("truncated", "`trials[].truncated`", |trial| Some(trial.truncated)),
        Trials::count("corrupt", "`trials[].corrupt`", |trial| Some(trial.corrupt)),
        Trials::number("offered_pps", "`trials[].offered_pps`", |trial| Some(trial.offered_pps)),
        Trials::number("delivered_pps", "`trials[].delivered_pps`", |trial| Some(trial.delivered_pps)),
        Trials::number("loss_ratio", "`trials[].loss_ratio`", |trial| Some(trial.loss_ratio)),
        Trials::signed("unexplained", "`trials[].unexplained`", |trial| Some(trial.unexplained)),
        Trials::count("loss_bursts", "`trials[].loss_shape.bursts.count`", |trial| Some(trial.loss_pattern.as_ref()?.bursts.count)),
        Trials::count("longest_burst", "`trials[].loss_shape.bursts.max`", |trial| Some(trial.loss_pattern.as_ref()?.bursts.max.unwrap_or(0))),
        Trials::number("worst_100ms_loss_ratio", "`trials[].loss_shape.worst_window`: the share lost of its frames", |trial| trial.loss_pattern.as_ref().map(LossPattern::worst_ratio)),
        Trials::signed("latency_min_ns", "`trials[].latency.total.min_ns`", |trial| Some(total(trial)?.min_ns)),
        Trials::signed("latency_p50_ns", "`trials[].latency.total.p50_ns`", |trial| Some(total(trial)?.p50_ns)),
        Trials::signed("latency_p99_9_ns", "`trials[].latency.total.p99_9_ns`", |trial| Some(total(trial)?.p99_9_ns)),
        Trials::signed("latency_max_ns", "`trials[].latency.total.max_ns`", |trial| Some(total(trial)?.max_ns)),
        Trials::count("latency_pdv_ns", "`trials[].latency.total.pdv_ns`", |trial| Some(total(trial)?.pdv_ns)),
        Trials::signed("latency_to_kernel_p50_ns", "`trials[].latency.to_kernel.p50_ns`", |trial| Some(to_kernel(trial)?.p50_ns)),
        Trials::signed("latency_to_kernel_p99_9_ns", "`trials[].latency.to_kernel.p99_9_ns`", |trial| Some(to_kernel(trial)?.p99_9_ns)),
        Trials::signed("latency_to_application_p50_ns", "`trials[].latency.to_application.p50_ns`", |trial| Some(to_application(trial)?.p50_ns)),
        Trials::signed("latency_to_application_p99_9_ns", "`trials[].latency.to_application.p99_9_ns`", |trial| Some(to_application(trial)?.p99_9_ns)),
        Trials::text("verdict", "`trials[].verdict`", |trial| Some(key(trial.verdict))),
        Trials::number("app_ns_per_packet", "`trials[].cpu.app_ns_per_packet`", |trial| trial.cpu.app_ns_per_packet),
        Trials::number("app_ns_per_packet_at_most", "`trials[].cpu.app_ns_per_packet_at_most`", |trial| trial.cpu.app_ns_per_packet_at_most),
        Trials::number("kernel_ns_per_packet", "`trials[].cpu.kernel_ns_per_packet`", |trial| trial.cpu.kernel_ns_per_packet),
        Trials::number("total_ns_per_packet", "application and kernel together, as in trials.csv", TrialResult::total_ns_per_packet),
        Trials::number("busy_cores", "`trials[].cpu.busy_cores`", |trial| trial.cpu.busy_cores),
        Trials::count("waits", "`trials[].cpu.waits`", |trial| Some(trial.cpu.waits)),
        Trials::number("frames_per_wakeup", "`trials[].cpu.frames_per_wakeup`", |trial| trial.cpu.frames_per_wakeup),
        Trials::count("voluntary_switches", "`trials[].cpu.voluntary_switches`", |trial| trial.cpu.voluntary_switches),
        Trials::count("involuntary_switches", "`trials[].cpu.involuntary_switches`", |trial| trial.cpu.involuntary_switches),
        Trials::number("steal_ratio", "`trials[].cpu.steal_ratio`", |trial| trial.cpu.steal_ratio),
        Trials::count("attempt", "`trials[].guarding.attempt`; 1 without guards", number_of_attempt),
        Trials::count("probes", "the number of `trials[].guarding.recovery.probes`", number_of_probes),
        Trials::count("latency_relative_pdv_ns", "`trials[].latency.relative.total.pdv_ns`", |trial| Some(trial.latency.as_ref()?.relative.as_ref()?.total.as_ref()?.pdv_ns)),
        Trials::text("clock_class", "`trials[].clock_class`; NULL on one host", |trial| trial.clock_class.map(key)),
        Trials::count("clock_error_ns", "`trials[].clock_error_ns`", |trial| trial.clock_error_ns),
    ]
}

/// The column with this name.
///
/// # Panics
/// If there is none.
pub fn column(name: &str) -> Trials {
    let found = columns().into_iter().find(|column| column.name == name);
    found.unwrap_or_else(|| unreachable!("{name} is no column of trials.csv"))
}

/// The delays of a trial's frames from the planned time to the application.
fn total(trial: &TrialResult) -> Option<&Delays> {
    trial.latency.as_ref()?.total.as_ref()
}

/// The delays from the planned time to the kernel.
fn to_kernel(trial: &TrialResult) -> Option<&Delays> {
    trial.latency.as_ref()?.to_kernel.as_ref()
}

/// The delays from the kernel to the application.
fn to_application(trial: &TrialResult) -> Option<&Delays> {
    trial.latency.as_ref()?.to_application.as_ref()
}

/// Which attempt at the trial this one is, from 1.
fn number_of_attempt(trial: &TrialResult) -> Option<u64> {
    match &trial.guarding {
        Some(guarding) => Some(guarding.attempt.into()),
        None => Some(1),
    }
}

/// Low loads that were sent after the trial to see whether the path had recovered.
fn number_of_probes(trial: &TrialResult) -> Option<u64> {
    match trial.guarding.as_ref().and_then(|guarding| guarding.recovery.as_ref()) {
        Some(recovery) => Some(recovery.probes.len() as u64),
        None => Some(0),
    }
}

/// The names of the columns of frames that places of the ledger lost: `lost_ring`.
pub fn place_names() -> Vec<String> {
    let mut names = Vec::new();
    for place in places::ALL {
        names.push(format!("lost_{}", key(place)));
    }
    names
}

/// The values of the columns of [`place_names`], in their order; `None` if the place's count is unknown.
pub fn lost_by_place(trial: &TrialResult) -> Vec<Option<u64>> {
    let mut counts = Vec::new();
    for place in places::ALL {
        counts.push(lost_at(trial, place));
    }
    counts
}

/// Frames that a trial lost at a place; `None` if unknown.
fn lost_at(trial: &TrialResult, place: Place) -> Option<u64> {
    trial.ledger.iter().find(|entry| entry.place == place)?.count
}

/// The table of trials: one row per trial, names as in `results.json`, units in the names, unknown values empty.
///
/// # Errors
/// Only when memory is exhausted.
pub fn trials_csv(trials: &[TrialResult]) -> io::Result<Vec<u8>> {
    let columns = columns();
    let mut names = Vec::new();
    for column in &columns {
        names.push(column.name.to_string());
    }
    names.extend(place_names());
    let mut table = CsvText::new(names)?;
    for trial in trials {
        let mut fields = Vec::new();
        for column in &columns {
            fields.push(column.csv_field(trial));
        }
        for count in lost_by_place(trial) {
            fields.push(match count {
                Some(count) => count.to_string(),
                None => String::new(),
            });
        }
        table.row(fields)?;
    }
    Ok(table.into_octets()?)
}

/// The name of an enum's value in results files.
pub fn key<T: serde::Serialize>(value: T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(other) => other.to_string(),
        Err(error) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase};

    use super::{TrialResult, places, trials_csv};

    /// A trial at maximum load: of 1000 frames the ring lost 300, and no counter reports what the stack lost.
    fn trial() -> TrialResult {
        let measured = measured(1000, 1000, 700, 300);
        let second = Duration::from_secs(1);
        measured.result(1, Phase::BestEffort, &profile("packet-v3"), Load::Maximum, second)
    }

    #[test]
    fn rows_have_a_field_for_every_column_and_unknown_is_empty() {
        let text = String::from_utf8(trials_csv(&[trial()]).unwrap()).unwrap();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(lines[0].len(), lines[1].len());
        let value = |name: &str| lines[1][lines[0].iter().position(|&head| head == name).unwrap()];
        assert_eq!(value("delivered"), "700");
        assert_eq!(value("lost_ring"), "300");
        assert_eq!(value("unexplained"), "0");
        assert_eq!(value("lost_stack"), "");
        assert_eq!(value("intended_pps"), "");
        assert_eq!(places::ALL.len(), trial().ledger.len(), "each place of the ledger has a column");
    }

    #[test]
    fn a_trial_survives_json() {
        let text = serde_json::to_string(&trial()).unwrap();
        assert_eq!(serde_json::from_str::<TrialResult>(&text).unwrap(), trial());
        for member in [
            "\"method\":\"packet-v3\"",
            "\"frame_size\":64",
            "\"verdict\":\"lossy\"",
            "\"placement\":\"same\"",
        ] {
            assert!(text.contains(member), "{member} in {text}");
        }
    }
}
