//! A named pipe as the output, and its reader.

use std::fs::File;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use capbench_sys::host::filesystem::open_pipe;

use crate::stop::Stop;

/// How often to check for a reader of the pipe: no event reports it.
const READER: Duration = Duration::from_millis(10);

/// Returns the pipe once it has a reader. The open pipe never blocks, and the reader sees no end while it lives. `None` if the
/// user stops or the deadline passes first. `waits` is called once if there is no reader at first.
///
/// Opening a pipe blocks until a reader comes, and a signal does not interrupt it. So this opens without blocking, in a loop.
pub fn with_reader(
    path: &Path,
    stop: &Stop,
    until: Option<Instant>,
    waits: impl FnOnce(),
) -> io::Result<Option<File>> {
    let mut waits = Some(waits);
    loop {
        match open_pipe(path) {
            Ok(Some(pipe)) => return Ok(Some(pipe)),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if let Some(waits) = waits.take() {
            waits();
        }
        if stop.is_wanted() || until.is_some_and(|until| Instant::now() >= until) {
            return Ok(None);
        }
        thread::sleep(READER);
    }
}
