//! Captures into the pipe that Wireshark reads, until it goes away or says so.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use capbench_capture::file::{FileFormat, HashAlgorithm};
use capbench_capture::recording::{Opened, Plan, Source};
use capbench_capture::writing::WriteOptions;
use capbench_sys::host::filesystem::NONBLOCK;

use crate::commands::recording;
use crate::exit::Exit;
use crate::stop::Stop;

/// How long until it is looked again whether the pipe has a reader: no event tells.
const READER: Duration = Duration::from_millis(10);
/// How long a reader is waited for that would only see the end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Captures into the file, a pipe mostly, until nobody reads it any more or the user stops it. `source` says from where.
///
/// Where that fails, whoever reads the pipe is shown its end: dumpcap would wait for its beginning for ever.
pub fn capture_to(path: &Path, stop: &Stop, source: impl FnOnce() -> Result<Source>) -> Result<Exit> {
    let captured = source().and_then(|source| capture(path, stop, source));
    if captured.is_err() {
        // What kept it from capturing is the news, not what becomes of the pipe.
        let _ = pipe_with_reader(path, stop, Some(Instant::now() + PATIENCE));
    }
    captured
}

fn capture(path: &Path, stop: &Stop, source: Source) -> Result<Exit> {
    let opened = Opened::open(Plan {
        snap_length: source.options.snap_length,
        sources: vec![source],
        format: FileFormat::Pcapng,
        section: recording::describe::section(),
        hash: HashAlgorithm::default(),
        write: WriteOptions::new(path),
        packets: None,
        packet_buffered: true,
        workers: None,
        cpus: Vec::new(),
    })?;
    let held = match pipe_with_reader(path, stop, None) {
        Ok(Some(pipe)) => Some(pipe),
        Ok(None) => return Ok(Exit::Done),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            return Err(error).with_context(|| format!("--fifo {}: cannot open it", path.display()));
        }
    };
    let session = opened.start()?;
    drop(held);
    recording::drive(&session, stop, |_| ControlFlow::Continue(()));
    // What was lost stands in the file. Whatever is printed, Wireshark shows as an error.
    recording::outcome(session.finish().failures)?;
    Ok(Exit::Done)
}

/// The pipe, once somebody reads it: opened then, it does not wait, and while this lives the reader sees no end. `None` when
/// the user stops it before, or its time is over.
///
/// Opening a pipe waits for its reader, and a signal does not end that: so it is tried again and again.
fn pipe_with_reader(path: &Path, stop: &Stop, until: Option<Instant>) -> io::Result<Option<File>> {
    // ENXIO (open(2)).
    const NO_READER: i32 = 6;
    let mut how = OpenOptions::new();
    how.write(true).custom_flags(NONBLOCK);
    loop {
        match how.open(path) {
            Ok(pipe) => return Ok(Some(pipe)),
            Err(error) if error.raw_os_error() == Some(NO_READER) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if stop.is_wanted() || until.is_some_and(|until| Instant::now() >= until) {
            return Ok(None);
        }
        thread::sleep(READER);
    }
}
