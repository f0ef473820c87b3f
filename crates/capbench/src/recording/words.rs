//! What the start of a recording says of its plan.

use std::time::Duration;

use capbench_record::file::link_type_name;
use capbench_record::recording::Plan;
use capbench_record::worker_pool::{self, WhenFull};
use capbench_record::writing::WriteOptions;
use capbench_sys::host::clock::realtime_ns;

/// Says at the start of a recording with `--max-loss` which packets without a file are not lost.
pub fn explain_limit(max_loss: Option<f64>, write: &WriteOptions) {
    if let (Some(limit), Some(flags)) = (max_loss, write.removes_files_by()) {
        tell!(
            "capbench: --max-loss {limit}: packets in files that are replaced or removed by {flags} were recorded and do not count as \
             lost; the account has their number"
        );
    }
}

/// Warns at the start if names of a pattern repeat, or numbered files replace those of an earlier recording.
pub fn warn_of_names(write: &WriteOptions) {
    if let Some(file) = write.first_replaced() {
        tell!(
            "capbench: {} exists: new files replace those of an earlier recording number by number. Names with the time of -G replace \
             nothing",
            file.display()
        );
    }
    let second = (realtime_ns() / 1_000_000_000).cast_signed();
    let Some(after) = write.names_repeat_after(second) else { return };
    tell!(
        "capbench: -w {}: names repeat after {}; where a file of that name exists, the new name gets -1, -2 and so on in front of its ending. %Y-%m-%dT%H:%M:%S%z never repeats",
        write.path.display(),
        humantime::format_duration(Duration::from_secs(after.into()))
    );
}

/// What a recording leaves out although it arrives.
pub fn left_out(plan: &Plan) -> impl Iterator<Item = String> {
    plan.sources.iter().filter_map(|source| super::left_out(&source.interface.name, source.options.direction))
}

/// The path from captures to the file, for the second line.
pub fn workers_in_words(plan: &worker_pool::Plan) -> String {
    let worker_pool::Plan { workers, queue, .. } = *plan;
    format!(
        "{workers} worker{} with up to {queue} batch{} waiting for each; {}",
        if workers == 1 { "" } else { "s" },
        if queue == 1 { "" } else { "es" },
        match plan.when_full {
            WhenFull::Drop => "more are dropped",
            WhenFull::Wait => "more stay in the ring",
        }
    )
}

/// The link types of the interfaces: one name, or a name for each interface if they differ.
fn link_types(plan: &Plan) -> String {
    let mut names: Vec<_> =
        plan.sources.iter().map(|source| link_type_name(source.interface.layer)).collect();
    if names.iter().all(|name| *name == names[0]) {
        names.truncate(1);
    }
    names.join(", ")
}

/// The interfaces and methods, for the first line.
pub fn in_words(plan: &Plan) -> String {
    let names: Vec<_> = plan.sources.iter().map(|source| source.interface.name.as_str()).collect();
    let method = plan.sources.first().map(|source| source.method.to_string()).unwrap_or_default();
    let members = match plan.sources.first().map_or(1, |source| source.members) {
        1 => String::new(),
        several => format!(" by {several} captures each"),
    };
    format!(
        "{}{members}, method {method}, link-type {}, snapshot length {} bytes, {} to {}",
        names.join(", "),
        link_types(plan),
        plan.snap_length.octets(),
        plan.format.name(),
        if plan.write.is_standard_output() {
            "standard output".into()
        } else {
            plan.write.path.display().to_string()
        }
    )
}
