//! The file of a capture on its way to a client: its answer begins when it is known that it can be read.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};

use capbench_http::{AnswerBody, Parts};
use tokio::sync::OwnedSemaphorePermit;

use crate::error::{OtgError, Result};
use crate::session::Asked;
use crate::threads::spawn;

/// Writes the body, and says when its first octets are there.
struct Beginning {
    parts: Parts,
    /// Whoever answers the request waits for it; `None`: it has begun.
    waits: Option<SyncSender<Result<()>>>,
}

impl Beginning {
    fn begin(&mut self, with: Result<()>) {
        if let Some(waits) = self.waits.take() {
            // It waits for one.
            let _ = waits.send(with);
        }
    }
}

impl Write for Beginning {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.begin(Ok(()));
        self.parts.write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.parts.flush()
    }
}

/// A file of up to `most` octets as the body of an answer. Its place is free when the client has it.
///
/// # Errors
/// There is no such file, or it cannot be read.
pub fn body(asked: Asked, most: u64, folder: PathBuf, place: OwnedSemaphorePermit) -> Result<AnswerBody> {
    let (parts, body) = AnswerBody::parts(place);
    let (waits, has_begun) = sync_channel(1);
    let write = move || {
        let mut to = Beginning { parts, waits: Some(waits) };
        let written = asked.write(most, &folder, &mut to);
        let is_whole = written.is_ok();
        to.begin(written);
        if is_whole {
            // A client that leaves is no failure of ours.
            let _ = to.parts.finish();
        }
    };
    spawn("otg-capture", write)?;
    let ended = || OtgError::System { what: "the capture", source: io::ErrorKind::UnexpectedEof.into() };
    has_begun.recv().map_err(|_| ended())?.map(|()| body)
}
