//! The file being written.

use std::path::PathBuf;

use super::closer::Complete;
use super::counts::Gauge;
use super::failure::Failure;
use super::files::{Opened, Opener};
use super::sink::Sink;

/// Bytes after which the kernel begins to write them to the disk.
const WRITE_BACK: u64 = 32 << 20;

/// The file being written.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) path: PathBuf,
    pub(super) sink: Box<dyn Sink>,
    /// Bytes up to the last record.
    pub(super) end: u64,
    /// Bytes, before and after compression, that the gauge has.
    known: (u64, u64),
    /// Its packets by interface that the kernel accepted.
    packets_of: Box<[u64]>,
    /// Bytes for which writeback was started.
    begun_back: u64,
}

impl Current {
    /// Opens a file and writes its header. If the header fails, the file is removed again.
    pub(super) fn open(
        path: PathBuf,
        opener: &mut Opener,
        header: &[u8],
        interfaces: usize,
    ) -> Result<Self, Failure> {
        let Opened { path, mut sink } = opener(&path).map_err(Failure::of("open", &path))?;
        // Readers that follow a file, or find it after a crash, need the header.
        if let Err(error) = sink.put(header).and_then(|()| sink.flush()) {
            let _ = sink.medium().discard();
            return Err(Failure::of("write", &path)(error));
        }
        let packets_of = vec![0; interfaces].into();
        Ok(Self { path, sink, end: header.len() as u64, known: (0, 0), packets_of, begun_back: 0 })
    }

    /// Counts packets that the kernel accepted.
    pub(super) fn written(&mut self, packets_of: &[u64], gauge: &Gauge) {
        gauge.written(packets_of);
        for (sum, packets) in self.packets_of.iter_mut().zip(packets_of) {
            *sum += packets;
        }
        if !self.sink.medium().has_disk() {
            gauge.synced(packets_of);
        }
    }

    /// Reports new bytes to the gauge.
    pub(super) fn report(&mut self, gauge: &Gauge) {
        let now = (self.end, self.sink.stored());
        gauge.stored(std::mem::replace(&mut self.known, now), now);
    }

    /// The file, if more of its pages are due for writeback.
    pub(super) fn due_back(&mut self) -> Option<std::sync::Arc<std::fs::File>> {
        let stored = self.sink.stored();
        if stored.saturating_sub(self.begun_back) < WRITE_BACK {
            return None;
        }
        self.begun_back = stored;
        self.sink.medium().dirty()
    }

    /// After a failure: cuts the file at `keep`, after its last whole record, and reports the result. Removes a file without
    /// packets and returns `None`.
    pub(super) fn salvage(mut self, keep: u64, gauge: &Gauge) -> Option<Complete> {
        let has_packets = self.packets_of.iter().any(|packets| *packets > 0);
        if !has_packets && self.sink.medium().discard().unwrap_or(false) {
            gauge.stored(self.known, (0, 0));
            gauge.file_discarded();
            return None;
        }
        // The earlier failure is the one to report to the user.
        let now = match self.sink.salvage(keep) {
            Ok(Some(length)) => (keep, length),
            Ok(None) | Err(_) => (self.sink.secured(), self.sink.stored()),
        };
        gauge.stored(self.known, now);
        Some(self.complete())
    }

    /// Ends writing to it.
    pub(super) fn complete(mut self) -> Complete {
        if !self.sink.medium().has_disk() {
            self.packets_of.fill(0);
        }
        Complete { path: self.path, sink: self.sink, packets_of: self.packets_of }
    }
}
