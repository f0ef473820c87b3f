//! `trials`: a row is a trial.

use capbench_model::latency::{Delays, Latency};
use capbench_model::trial::TrialResult;
use capbench_report::sentences::noise;
use capbench_results::tidy::{SavedTrial, saved};
use capbench_results::trial_columns::{COLUMNS, Of as TrialOf};

use super::{ExportedRun, receiving, word};
use crate::table::{Column, Of};

/// The table's name.
pub const NAME: &str = "trials";

/// A trial of a run.
#[derive(Clone, Debug)]
pub struct TrialRow<'r> {
    run: &'r ExportedRun<'r>,
    saved: SavedTrial<'r>,
}

/// The trials of a run, with discarded attempts and probes.
pub fn rows<'r>(run: &'r ExportedRun<'r>) -> Vec<TrialRow<'r>> {
    saved(run.results).into_iter().map(|saved| TrialRow { run, saved }).collect()
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
        of_trial("number", "`trials[].number`"),
        Column {
            name: "started_at",
            of: Of::Time(Box::new(|row| row.run.started_us())),
            from: "`started_unix_s`: the start of the run",
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
        of_trial("phase", "`trials[].phase`"),
        Column {
            name: "labels",
            of: Of::Map(Box::new(|row| row.run.labels.clone())),
            from: "`--label`, without the campaign, which is a partition",
        },
    ];
    columns.extend(of_host());
    columns.extend([
        of_trial("method", "`trials[].method`"),
        Trials::text("engine", "`trials[].capture.engine`", |row| word(row.saved.trial.engine())),
        of_trial("frame_size", "`trials[].frame_size`: octets, or the name of a mix"),
        Trials::text("traffic", "`trials[].traffic`", |row| word(&row.saved.trial.profile.traffic)),
        of_trial("placement", "`trials[].placement`"),
        of_trial("work", "`trials[].work`"),
        of_trial("intended_pps", "`trials[].intended_pps`; NULL at maximum load"),
        of_trial("offered_pps", "`trials[].offered_pps`"),
        of_trial("delivered_pps", "`trials[].delivered_pps`"),
        of_trial("duration_s", "`trials[].duration_s`"),
        of_trial("intended", "`trials[].intended`"),
        of_trial("sent", "`trials[].sent`"),
        of_trial("delivered", "`trials[].delivered`"),
        of_trial("duplicates", "`trials[].duplicates`"),
        of_trial("reordered", "`trials[].reordered`"),
        of_trial("foreign", "`trials[].foreign`"),
        of_trial("truncated", "`trials[].truncated`"),
        of_trial("corrupt", "`trials[].corrupt`"),
        of_trial("unexplained", "`trials[].unexplained`"),
        of_trial("loss_ratio", "`trials[].loss_ratio`"),
        Trials::number(
            "app_ns_per_packet",
            "`trials[].cpu.app_ns_per_packet`; NULL if only a range is known, whose ends are `app_ns_per_packet_at_least` and `_at_most`",
            |row| {
                let cpu = &row.saved.trial.cpu;
                cpu.app_ns_per_packet.filter(|_| !cpu.split_is_sampled)
            },
        ),
        of_trial("kernel_ns_per_packet", "`trials[].cpu.kernel_ns_per_packet`"),
        of_trial("busy_cores", "`trials[].cpu.busy_cores`"),
    ]);
    columns.extend(latencies());
    columns.extend([
        of_trial("clock_class", "`trials[].clock_class`; NULL on one host"),
        of_trial("clock_error_ns", "`trials[].clock_error_ns`"),
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
        of_trial("verdict", "`trials[].verdict`"),
        Trials::text("invalid_because", "`trials[].invalid_because`", |row| {
            row.saved.trial.invalid_because.clone()
        }),
        Column {
            name: "noise",
            of: Of::List(Box::new(|row| row.saved.trial.noise.reasons.iter().map(noise::words).collect())),
            from: "`trials[].noise`",
        },
        Trials::text("transmit", "`trials[].transmit`", |row| word(&row.saved.trial.profile.transmit)),
        of_trial("load_independent", "`trials[].load_independent`"),
        of_trial("total_ns_per_packet", "application and kernel together, as in trials.csv"),
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
            of: Of::Octets(Box::new(|row| {
                let latency = row.saved.trial.latency.as_ref()?;
                Some(latency.total.as_ref().or(latency.to_application.as_ref())?.positive_octets())
            })),
            from: "`histogram` of `total`, else of `to_application`: HdrHistogram V2, deflated; delays below zero are 0",
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
fn of_trial<'r>(name: &'static str, from: &'static str) -> Trials<'r> {
    let found = COLUMNS.iter().find(|(key, _)| *key == name).map(|(_, of)| of);
    let trial = |row: &TrialRow<'r>| row.saved.trial;
    let of = match found {
        Some(TrialOf::Text(of)) => Of::Text(Box::new(move |row| word(of(trial(row))))),
        Some(TrialOf::Count(of)) => Of::Count(Box::new(move |row| of(trial(row)))),
        Some(TrialOf::Signed(of)) => Of::Signed(Box::new(move |row| of(trial(row)))),
        Some(TrialOf::Number(of)) => Of::Number(Box::new(move |row| of(trial(row)))),
        Some(TrialOf::Flag(of)) => Of::Flag(Box::new(move |row| Some(of(trial(row))))),
        None => unreachable!("{name} is no column of trials.csv"),
    };
    Column { name, of, from }
}
