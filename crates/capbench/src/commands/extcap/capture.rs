//! Captures into the pipe of Wireshark until the reader closes it or Wireshark stops the capture.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use capbench_record::file::{FileFormat, HashAlgorithm};
use capbench_record::recording::{Opened, Plan, Source};
use capbench_record::writing::WriteOptions;

use crate::commands::recording::{self, pipe};
use crate::exit::Exit;
use crate::privileges;
use crate::stop::Stop;

/// How long to wait for a reader when only the end is left to send.
const PATIENCE: Duration = Duration::from_secs(5);

/// Captures into the file, usually a pipe, until its reader closes it or the user stops the capture. `source` selects what to
/// capture.
///
/// On failure the reader of the pipe still gets an end of file: dumpcap would wait forever for the first octet.
pub fn capture_to(path: &Path, stop: &Stop, source: impl FnOnce() -> Result<Source>) -> Result<Exit> {
    let captured = source().and_then(|source| capture(path, stop, source));
    if captured.is_err() {
        // Return the error of the capture, not that of the pipe.
        let _ = pipe::with_reader(path, stop, Some(Instant::now() + PATIENCE), || {});
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
    let held = match pipe::with_reader(path, stop, None, || {}) {
        Ok(Some(pipe)) => Some(pipe),
        Ok(None) => return Ok(Exit::Done),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            return Err(error).with_context(|| format!("--fifo {}: cannot open it", path.display()));
        }
    };
    // Print no warning if the process is not confined: Wireshark shows every output as an error.
    privileges::keep_and_confine(opened.plan(), None)?;
    let session = opened.start()?;
    drop(held);
    recording::drive(&session, stop, |_| ControlFlow::Continue(()));
    // The file records the losses. Print nothing: Wireshark shows every output as an error.
    recording::outcome(session.finish().failures)?;
    Ok(Exit::Done)
}
