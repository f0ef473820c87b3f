//! A named pipe as the output, and its reader.

use std::fs::File;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use capbench_sys::host::filesystem::open_pipe;

use crate::stop::Stop;

/// How long until it is looked again whether the pipe has a reader: no event tells.
const READER: Duration = Duration::from_millis(10);

/// The pipe, once somebody reads it: opened then, it does not wait, and while this lives the reader sees no end. `None` when
/// the user stops it before, or its time is over. `waits` is called once if there is no reader at first.
///
/// Opening a pipe waits for its reader, and a signal does not end that: so it is tried again and again.
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
