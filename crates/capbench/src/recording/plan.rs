//! What `record` does: made once from its flags, before anything is opened.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use capbench_capture::methods;
use capbench_lab::programs::Programs;
use capbench_model::method_spec::MethodSpec;
use capbench_record::file::HashAlgorithm;
use capbench_record::recording::{Plan, Workers};
use capbench_record::worker_pool::WhenFull;
use capbench_record::writing::{Retention, Rotation, WriteOptions};
use capbench_sys::host::identity::{self, Identity};

use super::account_file::AccountFile;
use super::flags::{OutputFlags, RecordFlags};
use super::{Wanted, auto};
use crate::exit::Usage;
use crate::flags::FULL_BLOCKS;
use crate::metrics::MetricsOutput;
use crate::{capture_files, flags};

/// What is recorded, to which files, and until when.
pub struct RecordPlan {
    /// The captures, the files and the threads.
    pub recording: Plan,
    /// The recording ends after this time.
    pub duration: Option<Duration>,
    /// The file of the account; `None` if the capture files have it, or are none.
    pub account: Option<AccountFile>,
    /// The user that the process becomes once interfaces are open, by name.
    pub user: Option<(String, Identity)>,
    /// Share of the packets that may be lost or cut.
    pub max_loss: Option<f64>,
    /// Whether the account is printed as JSON.
    pub json: bool,
    pub metrics: MetricsOutput,
}

impl RecordPlan {
    /// Makes the plan, with filters compiled for their interfaces.
    ///
    /// # Errors
    /// Flags that contradict each other, the method or an interface; an interface, a user or a group that does not exist.
    pub fn new(flags: RecordFlags) -> Result<Self> {
        let flags = flags.resolved()?;
        let path = path(&flags)?;
        // The user is looked up before anything is opened; the process becomes that user afterwards.
        let user = flags.user.as_deref().map(user).transpose()?;
        let recording = recording(&flags, path)?;
        recording.check()?;
        if let Some(contradiction) = capture_files::contradiction(flags.output.format, &recording.write.path)
        {
            tell!("capbench: {contradiction}");
        }
        Ok(Self {
            account: AccountFile::for_plan(&recording),
            recording,
            duration: flags.duration,
            user,
            max_loss: flags.max_loss,
            json: flags.json,
            metrics: flags.metrics.into(),
        })
    }

    /// Whether the user states when the recording ends.
    pub fn has_end(&self) -> bool {
        self.recording.packets.is_some() || self.duration.is_some()
    }
}

/// The name of the files, with an interface to record from.
fn path(flags: &RecordFlags) -> Result<PathBuf, Usage> {
    if flags.read.is_some() {
        return Err(Usage(
            "-r: record captures from interfaces; `capbench convert` rewrites files, `capbench verify` looks for frames of `send`"
                .into(),
        ));
    }
    if flags.interface.is_empty() {
        return Err(Usage("-i: which interface? -D lists them".into()));
    }
    let Some(file) = &flags.output.file else {
        return Err(Usage("-w: record writes files; give a name, or - for standard output".into()));
    };
    if file.as_os_str() == "-" && std::io::stdout().is_terminal() {
        return Err(Usage(
            "-w -: standard output is a terminal; give a file, or a pipe to a program that reads it".into(),
        ));
    }
    Ok(file.clone())
}

fn user(name: &str) -> Result<(String, Identity)> {
    let found = identity::of_user(name)?;
    let identity = found.ok_or_else(|| Usage(format!("-Z {name}: there is no such user")))?;
    Ok((name.into(), identity))
}

/// The recording to files of this name.
fn recording(flags: &RecordFlags, path: PathBuf) -> Result<Plan> {
    let write = write_options(&flags.output, path)?;
    flags.members.check()?;
    let method = method(&flags.method)?;
    flags.capture.check_used(std::slice::from_ref(&method), &Programs::default())?;
    let text = flags.filter.text()?;
    let mut options =
        flags.capture.options_of_packed_ring(methods::find(&method)?, retire_timeout(flags, &write));
    options.fanout = flags.members.group(&method)?;
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
    Ok(Plan {
        sources: flags.interface.iter().map(|name| wanted.on(name)).collect::<Result<_>>()?,
        format: capture_files::format_of(flags.output.format, &write.path),
        section: super::section(),
        snap_length,
        hash: HashAlgorithm::default(),
        write,
        packets: flags.count,
        packet_buffered: flags.output.packet_buffered || flags.immediate_mode,
        workers: workers(flags),
        cpus: flags.cpu.as_deref().map_or(Ok(Vec::new()), flags::cpus)?,
    })
}

/// Default time after which a partly filled block is delivered. Long for a file of one capture, which nobody reads yet, so that
/// blocks are full. Short for merged captures, which wait for each other and would fill their rings.
fn retire_timeout(flags: &RecordFlags, write: &WriteOptions) -> Option<Duration> {
    let is_alone = flags.interface.len() * flags.members.count() == 1 && flags.workers.is_none();
    let is_read = flags.output.packet_buffered || write.is_standard_output();
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

fn write_options(flags: &OutputFlags, path: PathBuf) -> Result<WriteOptions> {
    let default = WriteOptions::new(path);
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
