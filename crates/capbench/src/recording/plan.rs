//! Builds the recording plan from the flags.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use capbench_capture::methods;
use capbench_lab::programs::Programs;
use capbench_model::method_spec::MethodSpec;
use capbench_record::file::{FileFormat, HashAlgorithm, link_type_name};
use capbench_record::recording::{Plan, Source, Workers};
use capbench_record::worker_pool::{self, WhenFull};
use capbench_record::writing::{Retention, Rotation, WriteOptions};
use capbench_sys::host::clock::realtime_ns;
use capbench_sys::host::identity;

use super::flags::{OutputFlags, RecordFlags};
use super::{Wanted, auto};
use crate::capture_files;
use crate::exit::Usage;
use crate::flags::FULL_BLOCKS;

/// The plan, with filters compiled for their interfaces.
pub fn of(flags: &RecordFlags) -> Result<Plan> {
    let method = method(&flags.method)?;
    flags.capture.check_used(std::slice::from_ref(&method), &Programs::default())?;
    let text = flags.filter.text()?;
    let mut options = flags.capture.options_of_packed_ring(methods::find(&method)?, retire_timeout(flags));
    options.fanout = flags.members.fanout(&method)?;
    let snap_length = options.snap_length;
    let wanted = Wanted {
        method: &method,
        options,
        direction: flags.capture.direction,
        filter: text.as_ref(),
        optimise: flags.filter.optimise(),
        members: flags.members.count(),
        flow_hashes: flags.flow_hash,
    };
    let sources = flags.interface.iter().map(|name| wanted.on(name)).collect::<Result<_>>()?;
    Ok(Plan {
        sources,
        format: format(&flags.output),
        section: super::section(),
        snap_length,
        hash: HashAlgorithm::default(),
        write: write_options(&flags.output)?,
        packets: flags.count,
        packet_buffered: flags.output.packet_buffered || flags.immediate_mode,
        workers: workers(flags),
        cpus: flags.cpu.as_deref().map_or(Ok(Vec::new()), crate::flags::cpus)?,
    })
}

/// Default time after which a partly filled block is delivered. Long for a file of one capture, which nobody reads yet, so that
/// blocks are full. Short for merged captures, which wait for each other and would fill their rings.
fn retire_timeout(flags: &RecordFlags) -> Option<Duration> {
    let is_alone = flags.interface.len() * flags.members.count() == 1 && flags.workers.is_none();
    let is_read = flags.output.packet_buffered || is_standard_output(&flags.output);
    if flags.immediate_mode {
        Some(Duration::from_millis(1))
    } else {
        (is_alone && !is_read).then_some(FULL_BLOCKS)
    }
}

fn workers(flags: &RecordFlags) -> Option<Workers> {
    let when_full = if flags.worker_wait { WhenFull::Wait } else { WhenFull::Drop };
    flags.workers.map(|count| Workers {
        count: count.into(),
        queue: flags.worker_queue.map(|batches| batches as usize),
        when_full,
    })
}

/// The method that the user named, or the best one for this host.
fn method(text: &str) -> Result<MethodSpec> {
    if text == "auto" {
        let (method, why) = auto::choose();
        tell!("capbench: method {method}: {why}");
        return Ok(method);
    }
    super::method(text)
}

fn write_options(flags: &OutputFlags) -> Result<WriteOptions> {
    let default = WriteOptions::new(flags.file.clone().unwrap_or_default());
    let group = flags.group.as_deref().map(group).transpose()?;
    Ok(WriteOptions {
        rotation: Rotation {
            bytes: flags.file_size,
            packets: flags.file_packets,
            seconds: flags.file_seconds,
            files: flags.files,
            last: flags.last_file,
        },
        pool: flags.write_buffer.unwrap_or(default.pool),
        compression: flags.zstd,
        direct: flags.direct,
        syncs: !flags.no_sync,
        mode: flags.mode.unwrap_or(if group.is_some() { 0o640 } else { default.mode }),
        group,
        retention: Retention { files: flags.keep_files, free: flags.keep_free },
        ..default
    })
}

fn group(name: &str) -> Result<u32> {
    let found = identity::group_of_name(name)?;
    Ok(found.ok_or_else(|| Usage(format!("--group {name}: there is no such group")))?)
}

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

/// The format of the files.
fn format(flags: &OutputFlags) -> FileFormat {
    capture_files::of(flags.format, flags.file.as_deref().unwrap_or(Path::new("-")))
}

/// Whether packets go to standard output.
pub fn is_standard_output(flags: &OutputFlags) -> bool {
    flags.file.as_ref().is_some_and(|file| file.as_os_str() == "-")
}

/// File of the account, for which a classic pcap file has no room. With a pattern of strftime(3) the account is named after
/// `first`, the first file: the pattern may have added a number, and the account of an earlier recording must stay. `None` also
/// if the pattern has produced no file.
pub fn side_file(flags: &OutputFlags, first: Option<&Path>) -> Option<PathBuf> {
    let file = flags.file.as_deref().filter(|_| format(flags) == FileFormat::Pcap)?;
    let is_special = || file.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
    if is_standard_output(flags) || is_special() {
        return None;
    }
    let mut name = if flags.file_seconds.is_some() { first? } else { file }.as_os_str().to_owned();
    name.push(".ledger.json");
    Some(name.into())
}

/// What a recording leaves out although it arrives.
pub fn left_out(plan: &Plan) -> impl Iterator<Item = String> {
    let left_out = |source: &Source| super::left_out(&source.interface.name, source.options.direction);
    plan.sources.iter().filter_map(left_out)
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
    let names: Vec<_> = plan.sources.iter().map(|source| link_type_name(source.interface.layer)).collect();
    match &names[..] {
        [first, others @ ..] if others.iter().all(|other| other == first) => (*first).into(),
        _ => names.join(", "),
    }
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
