//! The writing thread.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::buffer::{Buffer, Cut};
use super::closer::{Closer, Complete, Completion};
use super::counts::Gauge;
use super::failure::Failure;
use super::files::{Opened, Opener};
use super::names::FileNames;
use super::pool::{Pool, Work};
use super::sink::Sink;
use crate::error::RecordError;
use crate::file::{Extent, ReadExtent};

/// Maximum bytes per write. A larger write is not faster with direct I/O, and occupies its buffers longer. A smaller one lets the
/// disk idle between writes.
const AT_ONCE: usize = 4 << 20;

/// Why a recording ended.
#[derive(Debug)]
pub enum Ending {
    /// The caller finished it.
    Finished,
    /// The last requested file is complete.
    FileLimit,
    /// The reader of the output pipe has closed it.
    ReaderGone,
    /// It failed. Everything before is in the files.
    Failed(RecordError),
}

/// Writes buffers to files, in order.
pub(super) struct Writer {
    pool: Arc<Pool>,
    gauge: Arc<Gauge>,
    closer: Closer,
    completion: Completion,
    names: FileNames,
    opener: Opener,
    reader: ReadExtent,
    /// The current file; `None` after it ended and the next one could not be opened.
    current: Option<Current>,
    /// Buffers that are not secured yet, with their end offsets in the file.
    held: VecDeque<(u64, Buffer)>,
}

impl Writer {
    pub(super) fn new(
        pool: Arc<Pool>,
        gauge: Arc<Gauge>,
        closer: Closer,
        completion: Completion,
        names: FileNames,
        opener: Opener,
        reader: ReadExtent,
    ) -> Self {
        let (current, held) = (None, VecDeque::new());
        Self { pool, gauge, closer, completion, names, opener, reader, current, held }
    }

    /// Opens the first file. So an error in its name or place shows before the capture begins.
    pub(super) fn open(mut self, first: &Cut) -> Result<Self, RecordError> {
        self.names.path(first.second, first.number)?;
        self.begin_file(first).map_err(Failure::into_error)?;
        Ok(self)
    }

    /// Writes until no more buffers come, or until it fails. Then waits until all files are complete.
    pub(super) fn run(mut self) -> Ending {
        let mut batch = Vec::new();
        let failure = loop {
            match self.pool.take_full(&mut batch, AT_ONCE) {
                Work::Buffers => {
                    if let Err(failure) = self.write(&mut batch) {
                        break Some(failure);
                    }
                }
                Work::Close(trailer) => break self.end_file(&trailer).err(),
                // The closer has the error.
                Work::Stop => break None,
            }
        };
        self.gauge.write_ends();
        self.settle();
        for buffer in batch.drain(..).chain(self.pool.end()) {
            self.gauge.count(buffer.packets_of(), |of| &of.unwritten);
        }
        let incomplete = self.closer.finish();
        match failure.or(incomplete) {
            None => Ending::Finished,
            Some(failure) if failure.is_broken_pipe() => Ending::ReaderGone,
            Some(failure) => Ending::Failed(failure.into_error()),
        }
    }

    fn write(&mut self, batch: &mut Vec<Buffer>) -> Result<(), Failure> {
        while let Some(first) = batch.first_mut() {
            self.gauge.write_begins();
            if let Some(cut) = first.cut.take() {
                self.end_file(&cut.trailer)?;
                self.begin_file(&cut).map_err(Failure::once_confined)?;
            }
            let Some(current) = &mut self.current else { return Ok(()) };
            let last = batch.iter().position(|buffer| buffer.trailer.is_some()).unwrap_or(batch.len() - 1);
            let count = batch[..=last].iter().skip(1).take_while(|buffer| buffer.cut.is_none()).count() + 1;
            let buffers = &mut batch[..count];
            let mut done = current.sink.put_buffers(buffers);
            if done.is_ok() && buffers.iter().any(|buffer| buffer.flush) {
                done = current.sink.flush();
            }
            self.gauge.write_ends();
            let trailer = batch[count - 1].trailer.take();
            for buffer in batch.drain(..count) {
                current.end += buffer.length() as u64;
                self.held.push_back((current.end, buffer));
            }
            done.map_err(Failure::of("write", &current.path))?;
            self.release();
            if let Some(trailer) = trailer {
                self.end_file(&trailer)?;
            }
        }
        Ok(())
    }

    /// Counts and returns the buffers that readers of the file can see.
    fn release(&mut self) {
        let Self { pool, gauge, closer, current: Some(current), held, .. } = self else {
            return;
        };
        let secured = current.sink.secured();
        let safe = held.iter().take_while(|(end, _)| *end <= secured).count();
        for (_, buffer) in held.iter().take(safe) {
            current.written(buffer.packets_of(), gauge);
        }
        pool.give_back(held.drain(..safe).map(|(_, buffer)| buffer), gauge);
        current.report(gauge);
        if let Some(file) = current.due_back() {
            closer.write_back(file);
        }
    }

    fn begin_file(&mut self, cut: &Cut) -> Result<(), Failure> {
        let Self { gauge, closer, completion, names, opener, .. } = self;
        let path = names.path(cut.second, cut.number);
        let path = path.map_err(|error| Failure::of("name", Path::new("a file"))(io::Error::other(error)))?;
        if completion.is_ring {
            closer.wait_for(&path);
        }
        let current = self.current.insert(Current::open(path, opener, &cut.header, gauge.interfaces())?);
        gauge.file_begun(&current.path);
        closer.begin();
        current.report(gauge);
        Ok(())
    }

    fn end_file(&mut self, trailer: &[u8]) -> Result<(), Failure> {
        let Some(current) = &mut self.current else { return Ok(()) };
        current
            .sink
            .put(trailer)
            .and_then(|()| current.sink.finish())
            .map_err(Failure::of("write the end of", &current.path))?;
        current.end += trailer.len() as u64;
        self.release();
        if let Some(current) = self.current.take() {
            self.closer.complete(current.complete());
        }
        Ok(())
    }

    /// After a failure: cuts the file after its last whole record, and counts the packets after it.
    fn settle(&mut self) {
        let Some(mut current) = self.current.take() else { return };
        let gauge = &self.gauge;
        let secured = current.sink.secured();
        let mut keep =
            self.held.front().map_or(current.end.min(secured), |(end, first)| end - first.length() as u64);
        let mut is_whole = true;
        for (end, buffer) in self.held.drain(..) {
            let mut rest = buffer.packets_of().to_vec();
            let mut kept = vec![0; rest.len()];
            if is_whole {
                let limit = secured.saturating_sub(keep).min(buffer.length() as u64) as usize;
                keep += whole(buffer.records(), limit, self.reader, |record| {
                    let Some(interface) = record.packet_of.map(|number| number as usize) else { return };
                    if let (Some(kept), Some(rest)) = (kept.get_mut(interface), rest.get_mut(interface)) {
                        (*kept, *rest) = (*kept + record.frames, rest.saturating_sub(record.frames));
                    }
                }) as u64;
                is_whole = keep == end;
                current.written(&kept, gauge);
            }
            gauge.count(&rest, |of| &of.unwritten);
        }
        if let Some(complete) = current.salvage(keep, gauge) {
            self.closer.complete(complete);
        }
    }
}

impl Drop for Writer {
    /// After any end of the thread, no other thread waits for a buffer any more.
    fn drop(&mut self) {
        self.pool.end();
    }
}

/// Bytes after which the kernel begins to write them to the disk.
const WRITE_BACK: u64 = 32 << 20;

#[derive(Debug)]
struct Current {
    path: PathBuf,
    sink: Sink,
    /// Bytes up to the last record.
    end: u64,
    /// Bytes, before and after compression, that the gauge has.
    known: (u64, u64),
    /// Its packets by interface that the kernel accepted.
    packets_of: Box<[u64]>,
    /// Bytes for which writeback was started.
    begun_back: u64,
}

impl Current {
    /// Opens a file and writes its header. If the header fails, the file is removed again.
    fn open(path: PathBuf, opener: &mut Opener, header: &[u8], interfaces: usize) -> Result<Self, Failure> {
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
    fn written(&mut self, packets_of: &[u64], gauge: &Gauge) {
        gauge.written(packets_of);
        for (sum, packets) in self.packets_of.iter_mut().zip(packets_of) {
            *sum += packets;
        }
        if !self.sink.medium().has_disk() {
            gauge.count(packets_of, |of| &of.synced);
        }
    }

    /// Reports new bytes to the gauge.
    fn report(&mut self, gauge: &Gauge) {
        let now = (self.end, self.sink.stored());
        gauge.stored(std::mem::replace(&mut self.known, now), now);
    }

    /// The file, if more of its pages are due for writeback.
    fn due_back(&mut self) -> Option<Arc<File>> {
        let stored = self.sink.stored();
        if stored.saturating_sub(self.begun_back) < WRITE_BACK {
            return None;
        }
        self.begun_back = stored;
        self.sink.medium().dirty()
    }

    /// After a failure: cuts the file at `keep`, after its last whole record, and reports the result. Removes a file without
    /// packets and returns `None`.
    fn salvage(mut self, keep: u64, gauge: &Gauge) -> Option<Complete> {
        let has_packets = self.packets_of.iter().any(|packets| *packets > 0);
        if !has_packets && self.sink.medium().discard().unwrap_or(false) {
            gauge.stored(self.known, (0, 0));
            gauge.files.fetch_sub(1, Relaxed);
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

    fn complete(mut self) -> Complete {
        if !self.sink.medium().has_disk() {
            self.packets_of.fill(0);
        }
        Complete { path: self.path, sink: self.sink, packets_of: self.packets_of }
    }
}

/// Passes to `each` the whole records in the first `limit` bytes. Returns their total length.
fn whole(bytes: &[u8], limit: usize, reader: ReadExtent, mut each: impl FnMut(Extent)) -> usize {
    let limit = limit.min(bytes.len());
    let mut at = 0;
    while let Some(record) = reader(&bytes[at..]) {
        match at.checked_add(record.length).filter(|&end| end > at && end <= limit) {
            Some(end) => at = end,
            None => break,
        }
        each(record);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::{Extent, whole};
    use crate::writing::tests::fake::{read_record, record};

    #[test]
    fn records_are_counted_up_to_the_limit_and_never_in_part() {
        let bytes: Vec<u8> = (0..4).flat_map(|number| record(number, 0, 10)).collect();
        let length = bytes.len() / 4;
        for limit in 0..=bytes.len() + 1 {
            let mut packets = 0;
            let kept = whole(&bytes, limit, read_record, |record| {
                packets += usize::from(record.packet_of == Some(0));
            });
            assert_eq!(
                (kept, packets),
                (limit.min(bytes.len()) / length * length, limit.min(bytes.len()) / length),
                "{limit}"
            );
        }
    }

    #[test]
    fn bytes_that_are_no_record_end_it() {
        assert_eq!(
            whole(&[0; 64], 64, |_| Some(Extent { length: 0, packet_of: None, frames: 0 }), |_| {}),
            0
        );
        assert_eq!(whole(&[0; 64], 64, |_| None, |_| {}), 0);
    }
}
