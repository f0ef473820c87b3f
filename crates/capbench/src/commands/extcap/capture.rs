//! Captures into the pipe that Wireshark reads, until it goes away or says so.

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

/// How long a reader is waited for that would only see the end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Captures into the file, a pipe mostly, until nobody reads it any more or the user stops it. `source` says from where.
///
/// Where that fails, whoever reads the pipe is shown its end: dumpcap would wait for its beginning for ever.
pub fn capture_to(path: &Path, stop: &Stop, source: impl FnOnce() -> Result<Source>) -> Result<Exit> {
    let captured = source().and_then(|source| capture(path, stop, source));
    if captured.is_err() {
        // What kept it from capturing is the news, not what becomes of the pipe.
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
    // Where it is not confined, nothing is said: Wireshark shows whatever is printed as an error.
    privileges::keep_and_confine(opened.plan(), None)?;
    let session = opened.start()?;
    drop(held);
    recording::drive(&session, stop, |_| ControlFlow::Continue(()));
    // What was lost stands in the file. Whatever is printed, Wireshark shows as an error.
    recording::outcome(session.finish().failures)?;
    Ok(Exit::Done)
}
