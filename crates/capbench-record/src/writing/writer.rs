//! The writing thread.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::buffer::{Buffer, Cut};
use super::closer::{Closer, Completion};
use super::counts::Gauge;
use super::current::Current;
use super::failure::Failure;
use super::files::Opener;
use super::names::FileNames;
use super::pool::{Pool, Work};
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

/// What the writer needs to start.
pub(super) struct Setup {
    pub(super) pool: Arc<Pool>,
    pub(super) gauge: Arc<Gauge>,
    pub(super) closer: Closer,
    pub(super) completion: Completion,
    pub(super) names: FileNames,
    pub(super) opener: Opener,
    pub(super) reader: ReadExtent,
}

/// Writes buffers to files, in order.
pub(super) struct Writer {
    setup: Setup,
    /// The current file; `None` after it ended and the next one could not be opened.
    current: Option<Current>,
    /// Buffers that are not secured yet, with their end offsets in the file.
    held: VecDeque<(u64, Buffer)>,
}

impl Writer {
    /// Opens the first file. So an error in its name or place shows before the capture begins.
    ///
    /// # Errors
    /// If it cannot be opened or its header cannot be written.
    pub(super) fn open(setup: Setup, first: Cut) -> Result<Self, RecordError> {
        setup.names.path(first.second, first.number)?;
        let mut writer = Self { setup, current: None, held: VecDeque::new() };
        writer.begin_file(&first).map_err(Failure::into_error)?;
        Ok(writer)
    }

    /// Writes until no more buffers come, or until it fails. Then waits until all files are complete.
    pub(super) fn run(mut self) -> Ending {
        let mut batch = Vec::new();
        let failure = loop {
            match self.setup.pool.take_full(&mut batch, AT_ONCE) {
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
        self.setup.gauge.write_ends();
        self.settle();
        for buffer in batch.drain(..).chain(self.setup.pool.end()) {
            self.setup.gauge.unwritten(buffer.packets_of());
        }
        let incomplete = self.setup.closer.finish();
        match failure.or(incomplete) {
            None => Ending::Finished,
            Some(failure) if failure.is_broken_pipe() => Ending::ReaderGone,
            Some(failure) => Ending::Failed(failure.into_error()),
        }
    }

    fn write(&mut self, batch: &mut Vec<Buffer>) -> Result<(), Failure> {
        while let Some(first) = batch.first_mut() {
            self.setup.gauge.write_begins();
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
            self.setup.gauge.write_ends();
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
        let Self { setup: Setup { pool, gauge, closer, .. }, current: Some(current), held } = self else {
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
        let Setup { gauge, closer, completion, names, opener, .. } = &mut self.setup;
        let path = names.path(cut.second, cut.number);
        let path = path.map_err(|error| Failure::of("name", Path::new("a file"))(io::Error::other(error)))?;
        if completion.is_ring {
            closer.wait_for(&path);
        }
        let current = self.current.insert(Current::open(path, opener, &cut.header, gauge.interfaces())?);
        gauge.file_begun(&current.path);
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
            self.setup.closer.complete(current.complete());
        }
        Ok(())
    }

    /// After a failure: cuts the file after its last whole record, and counts the packets after it.
    fn settle(&mut self) {
        let Some(mut current) = self.current.take() else { return };
        let gauge = &self.setup.gauge;
        let secured = current.sink.secured();
        let mut keep =
            self.held.front().map_or(current.end.min(secured), |(end, first)| end - first.length() as u64);
        let mut is_whole = true;
        for (end, buffer) in self.held.drain(..) {
            let mut rest = buffer.packets_of().to_vec();
            let mut kept = vec![0; rest.len()];
            if is_whole {
                let limit = secured.saturating_sub(keep).min(buffer.length() as u64) as usize;
                keep += whole(buffer.records(), limit, self.setup.reader, |record| {
                    let Some(interface) = record.packet_of.map(|number| number as usize) else { return };
                    if let (Some(kept), Some(rest)) = (kept.get_mut(interface), rest.get_mut(interface)) {
                        (*kept, *rest) = (*kept + record.frames, rest.saturating_sub(record.frames));
                    }
                }) as u64;
                is_whole = keep == end;
                current.written(&kept, gauge);
            }
            gauge.unwritten(&rest);
        }
        if let Some(complete) = current.salvage(keep, gauge) {
            self.setup.closer.complete(complete);
        }
    }
}

impl Drop for Writer {
    /// After any end of the thread, no other thread waits for a buffer any more.
    fn drop(&mut self) {
        self.setup.pool.end();
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
