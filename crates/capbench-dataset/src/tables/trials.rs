//! `trials`: a row is a trial.

use capbench_judge::comparison::sampled::{CommonLoads, SampledTrial};
use capbench_model::latency::{Delays, Latency};
use capbench_model::trial::{Phase, TrialResult};
use capbench_report::sentences::noise;
use capbench_results::column::{Column, Values};
use capbench_results::tidy::{SavedTrial, saved};
use capbench_results::trial_columns::column;

use super::{ExportedRun, receiving, word};
use crate::compared_trials::is_compared;

/// The table's name.
pub const NAME: &str = "trials";

/// A trial of a run.
#[derive(Clone, Debug)]
pub struct TrialRow<'r> {
    run: &'r ExportedRun<'r>,
    saved: SavedTrial<'r>,
    /// Whether comparisons of the dataset use the trial.
    is_compared: bool,
    /// Whether its load was sent and delivered.
    is_load_delivered: bool,
    /// Whether its method may deliver more.
    is_rate_at_least: bool,
}

impl TrialRow<'_> {
    fn trial(&self) -> &TrialResult {
        self.saved.trial
    }
}

/// The trials of a run, with discarded attempts and probes.
pub fn rows<'r>(run: &'r ExportedRun<'r>) -> Vec<TrialRow<'r>> {
    let results: Vec<SampledTrial> = run.results.trials.iter().map(sampled).collect();
    let common = CommonLoads::of_trials(&results);
    let mut rows = Vec::new();
    for saved in saved(run.results) {
        let trial = sampled(saved.trial);
        rows.push(TrialRow {
            run,
            saved,
            is_compared: is_compared(Some(saved.kept), &trial, &common),
            is_load_delivered: trial.is_load_delivered(),
            is_rate_at_least: trial.is_rate_at_least(),
        });
    }
    rows
}

/// A trial as comparisons of the dataset see it: its rows do not have the point of a sweep.
fn sampled(trial: &TrialResult) -> SampledTrial {
    SampledTrial { is_unknown_point: trial.phase == Phase::Sweep, ..SampledTrial::from_result(trial, None) }
}

type Trials<'r> = Column<'r, TrialRow<'r>>;

/// The columns, in order.
pub fn columns<'r>() -> Vec<Trials<'r>> {
    let mut columns = vec![
        Trials::text(
            "run_id",
            "`run_id`; of older files derived from start and content",
            |row: &TrialRow<'_>| Some(row.run.id.clone()),
        ),
        trial_column("number"),
        Column {
            name: "started_at",
            values: Values::Time(Box::new(|row| row.run.started_us())),
            origin: "`started_unix_s`: the start of the run",
        },
        Trials::text("kept", "`result`; `set_aside` and `probe` are no results", |row| {
            Some(row.saved.kept.into())
        }),
        Trials::count(
            "belongs_to",
            "the `number` of the result that an attempt or a probe belongs to",
            |row| Some(row.saved.belongs_to.into()),
        ),
        Trials::text("command", "the second word of `command`", |row| row.run.command()),
        trial_column("phase"),
        Column {
            name: "labels",
            values: Values::Map(Box::new(|row| row.run.labels.clone())),
            origin: "`--label`, without the campaign, which is a partition",
        },
    ];
    columns.extend(of_host());
    columns.extend([
        trial_column("method"),
        Trials::text("engine", "`trials[].capture.engine`", |row| word(row.saved.trial.engine())),
        trial_column("frame_size"),
        Trials::text("traffic", "`trials[].traffic`", |row| word(&row.saved.trial.profile.traffic)),
        trial_column("placement"),
        trial_column("work"),
        trial_column("intended_pps"),
        trial_column("offered_pps"),
        trial_column("delivered_pps"),
        trial_column("duration_s"),
        trial_column("intended"),
        trial_column("sent"),
        trial_column("delivered"),
        trial_column("duplicates"),
        trial_column("reordered"),
        trial_column("foreign"),
        trial_column("truncated"),
        trial_column("corrupt"),
        trial_column("unexplained"),
        trial_column("loss_ratio"),
        Trials::number(
            "app_ns_per_packet",
            "`trials[].cpu.app_ns_per_packet`; NULL if only a range is known, whose ends are `app_ns_per_packet_at_least` and `_at_most`",
            |row| {
                let cpu = &row.saved.trial.cpu;
                cpu.app_ns_per_packet.filter(|_| !cpu.split_is_sampled)
            },
        ),
        trial_column("kernel_ns_per_packet"),
        trial_column("busy_cores"),
    ]);
    columns.extend(latencies());
    columns.extend([
        trial_column("clock_class"),
        trial_column("clock_error_ns"),
        Trials::count("windows", "`trials[].loss_shape.windows`: windows of 100 ms", |row| {
            Some(row.saved.trial.loss_pattern.as_ref()?.windows)
        }),
        Trials::count("lossy_windows", "`trials[].loss_shape.lossy_windows`", |row| {
            Some(row.saved.trial.loss_pattern.as_ref()?.lossy_windows)
        }),
        Trials::count(
            "generators",
            "the number of `trials[].generators`; 1 in capbench's own process",
            |row| Some(row.saved.trial.generators.len().max(1) as u64),
        ),
        Trials::count("start_spread_ns", "the largest `trials[].generators[].start_ns`", |row| {
            start_spread(row.saved.trial)
        }),
        trial_column("verdict"),
        Trials::text("invalid_because", "`trials[].invalid_because`", |row| {
            row.saved.trial.invalid_because.clone()
        }),
        Column {
            name: "noise",
            values: Values::List(Box::new(|row| row.saved.trial.noise.reasons.iter().map(noise::words).collect())),
            origin: "`trials[].noise`",
        },
        Trials::text("transmit", "`trials[].transmit`", |row| word(&row.saved.trial.profile.transmit)),
        trial_column("load_independent"),
        trial_column("total_ns_per_packet"),
        Trials::number(
            "app_ns_per_packet_at_least",
            "`trials[].cpu.app_ns_per_packet`: the lower end of the range; `app_ns_per_packet` where that is known",
            |row| row.saved.trial.cpu.app_ns_per_packet,
        ),
        Trials::number(
            "app_ns_per_packet_at_most",
            "`trials[].cpu.app_ns_per_packet_at_most`: the upper end of the range; `app_ns_per_packet` where that is known",
            |row| {
                let cpu = &row.saved.trial.cpu;
                cpu.app_ns_per_packet_at_most.or(cpu.app_ns_per_packet.filter(|_| !cpu.split_is_sampled))
            },
        ),
        Trials::flag(
            "is_compared",
            "whether `compare --dataset` uses the trial: a result with the load of the user, the maximum, or the lowest common one",
            |row| Some(row.is_compared),
        ),
        Trials::flag(
            "is_load_delivered",
            "whether the load was sent and all of it delivered: only then is the CPU time per packet that of the load",
            |row| Some(row.is_load_delivered),
        ),
        Trials::flag(
            "is_rate_at_least",
            "whether the method may deliver more than `delivered_pps`: nothing was lost, and the receiver does not slow the generator",
            |row| Some(row.is_rate_at_least),
        ),
    ]);
    columns
}

/// What is known of the host.
fn of_host<'r>() -> [Trials<'r>; 7] {
    let facts = |row: &TrialRow<'_>| {
        let placement = &row.saved.trial.profile.placement;
        receiving(&row.run.results.environment, Some(placement)).cloned()
    };
    [
        Trials::text("host_id", "`--host-id`, else `host_id`", |row: &TrialRow<'_>| row.run.host_id.clone()),
        Trials::text("kernel_release", "`environment.kernel_release`", |row| {
            row.run.results.environment.kernel_release.clone()
        }),
        Trials::text("cpu_model", "`environment.cpu_model`", |row| {
            row.run.results.environment.cpu_model.clone()
        }),
        Trials::text("driver", "`environment.interfaces[].driver` of the receiving interface", move |row| {
            facts(row)?.driver
        }),
        Trials::text(
            "firmware",
            "`environment.interfaces[].firmware` of the receiving interface",
            move |row| facts(row)?.firmware,
        ),
        Trials::text("capbench_version", "`environment.capbench_version`", |row| {
            word(&row.run.results.environment.capbench_version)
        }),
        Trials::text("source_hash", "`environment.program.source_hash`", |row| {
            row.run.results.environment.program.as_ref()?.source_hash.clone()
        }),
    ]
}

/// Delays in nanoseconds, by their part and percentile.
fn latencies<'r>() -> Vec<Trials<'r>> {
    let of = |name, from, find: fn(&Latency) -> Option<i64>| {
        Trials::signed(name, from, move |row: &TrialRow<'_>| find(row.saved.trial.latency.as_ref()?))
    };
    let part = "`trials[].latency.to_application`";
    let all = "`trials[].latency.total`";
    let variation = "the same percentile of `total` less its minimum; between hosts with unlike clocks, of `relative.total`";
    vec![
        of("latency_to_application_p50_ns", part, |latency| Some(latency.to_application.as_ref()?.p50_ns)),
        of("latency_to_application_p99_ns", part, |latency| Some(latency.to_application.as_ref()?.p99_ns)),
        of("latency_to_application_p99_9_ns", part, |latency| {
            Some(latency.to_application.as_ref()?.p99_9_ns)
        }),
        of("latency_pdv_p50_ns", variation, |latency| above_least(latency, |delays| delays.p50_ns)),
        of("latency_pdv_p99_ns", variation, |latency| above_least(latency, |delays| delays.p99_ns)),
        of("latency_pdv_p99_9_ns", variation, |latency| above_least(latency, |delays| delays.p99_9_ns)),
        of("latency_total_p50_ns", all, |latency| Some(latency.total.as_ref()?.p50_ns)),
        of("latency_total_p99_ns", all, |latency| Some(latency.total.as_ref()?.p99_ns)),
        of("latency_total_p99_9_ns", all, |latency| Some(latency.total.as_ref()?.p99_9_ns)),
        Column {
            name: "latency_histogram",
            values: Values::Octets(Box::new(|row| {
                let latency = row.saved.trial.latency.as_ref()?;
                Some(latency.total.as_ref().or(latency.to_application.as_ref())?.positive_octets())
            })),
            origin: "`histogram` of `total`, else of `to_application`: HdrHistogram V2, deflated; delays below zero are 0",
        },
    ]
}

/// A percentile of the delay variation (RFC 5481 4.2).
fn above_least(latency: &Latency, percentile: fn(&Delays) -> i64) -> Option<i64> {
    let relative = || latency.relative.as_ref()?.total.as_ref();
    let delays = latency.total.as_ref().or_else(relative)?;
    Some(percentile(delays).saturating_sub(delays.min_ns))
}

/// How long after the first the last generator began; `None` for one generator, or if one start is unknown.
fn start_spread(trial: &TrialResult) -> Option<u64> {
    let starts: Option<Vec<u64>> = trial.generators.iter().map(|generator| generator.start_ns).collect();
    starts.filter(|starts| starts.len() > 1)?.into_iter().max()
}

/// A column that trials.csv has under the same name. Empty text is unknown.
fn trial_column<'r>(name: &str) -> Trials<'r> {
    column(name).with_empty_text_as_unknown().in_rows(TrialRow::trial)
}
