//! The thread that writes.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::buffer::{Buffer, Cut};
use super::counts::Gauge;
use super::files::Opener;
use super::names::FileNames;
use super::pool::{Pool, Work};
use super::records::{RecordReader, whole};
use super::sink::Sink;
use crate::error::CaptureError;

/// Bytes of the buffers that are written at once. More does not make direct writes faster, and would keep their buffers
/// longer; less keeps a disk waiting between two writes.
const AT_ONCE: usize = 4 << 20;

/// Why a recording ended.
#[derive(Debug)]
pub enum Ending {
    /// Whoever recorded wanted no more.
    Finished,
    /// The last file that was asked for is complete.
    FileLimit,
    /// Nobody reads the pipe any more.
    ReaderGone,
    /// It could not go on. Up to here everything is in the files.
    Failed(CaptureError),
}

/// The file being written.
#[derive(Debug)]
struct Current {
    path: PathBuf,
    sink: Box<dyn Sink>,
    /// Bytes up to the last record.
    end: u64,
    /// Bytes, before and after compression, that the gauge knows of.
    told: (u64, u64),
}

/// Writes buffers to files, in order.
pub(super) struct Writer {
    pub(super) pool: Arc<Pool>,
    pub(super) gauge: Arc<Gauge>,
    names: FileNames,
    opener: Opener,
    reader: RecordReader,
    current: Current,
    /// Buffers that are not secured yet, with where they end in the file.
    held: VecDeque<(u64, Buffer)>,
}

/// What could not be done to which file.
struct Failure {
    attempt: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl Failure {
    fn of<'a>(attempt: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + use<'a> {
        move |source| Self { attempt, path: path.into(), source }
    }

    /// What the user is told.
    fn into_error(self) -> CaptureError {
        let Self { attempt, path, source } = self;
        let next = match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                "free space, or limit the files with -C and -W"
            }
            ErrorKind::PermissionDenied => {
                "choose a place that the user who records (-Z) may write to, or change its owner"
            }
            ErrorKind::IsADirectory => "name a file in it",
            ErrorKind::ReadOnlyFilesystem => "choose another place with -w",
            ErrorKind::NotFound | ErrorKind::NotADirectory => "make the directory first",
            ErrorKind::FileTooLarge => "limit the size of a file with -C",
            ErrorKind::InvalidInput => "leave direct I/O out: this place has none",
            _ => "the kernel's log (dmesg) may say more",
        };
        CaptureError::Output { attempt, path, next, source }
    }
}

impl Writer {
    /// Opens the first file, so that what is wrong with its name or place shows before anything is captured.
    ///
    /// # Errors
    /// When it cannot be opened or its header cannot be written.
    pub(super) fn open(
        shared: (Arc<Pool>, Arc<Gauge>),
        names: FileNames,
        mut opener: Opener,
        reader: RecordReader,
        first: Cut,
    ) -> Result<Self, CaptureError> {
        let (pool, gauge) = shared;
        let path = names.path(first.second, first.number)?;
        let current = Current::open(path, &mut opener, &first.header).map_err(Failure::into_error)?;
        gauge.file_begun();
        let mut writer = Self { pool, gauge, names, opener, reader, current, held: VecDeque::new() };
        writer.tell();
        Ok(writer)
    }

    /// Writes until there is nothing more to come, or until it cannot.
    pub(super) fn run(mut self) -> Ending {
        let mut batch = Vec::new();
        let failure = loop {
            match self.pool.take_full(&mut batch, AT_ONCE) {
                Work::Buffers => {
                    if let Err(failure) = self.write(&mut batch) {
                        break failure;
                    }
                }
                Work::Close(trailer) => match self.end_file(&trailer) {
                    Ok(()) => {
                        self.pool.end();
                        return Ending::Finished;
                    }
                    Err(failure) => break failure,
                },
            }
        };
        self.settle();
        for buffer in batch.drain(..).chain(self.pool.end()) {
            self.gauge.unwritten(buffer.packets_of());
        }
        if failure.source.kind() == ErrorKind::BrokenPipe {
            return Ending::ReaderGone;
        }
        Ending::Failed(failure.into_error())
    }

    fn write(&mut self, batch: &mut Vec<Buffer>) -> Result<(), Failure> {
        while let Some(first) = batch.first_mut() {
            if let Some(cut) = first.cut.take() {
                self.begin_file(&cut)?;
            }
            let count = batch.iter().skip(1).take_while(|buffer| buffer.cut.is_none()).count() + 1;
            let buffers = &mut batch[..count];
            let started = Instant::now();
            let mut done = self.current.sink.put_buffers(buffers);
            if done.is_ok() && buffers.iter().any(|buffer| buffer.flush) {
                done = self.current.sink.flush();
            }
            self.gauge.wrote_for(started.elapsed());
            for buffer in batch.drain(..count) {
                self.current.end += buffer.length() as u64;
                self.held.push_back((self.current.end, buffer));
            }
            done.map_err(Failure::of("write", &self.current.path))?;
            self.release();
        }
        Ok(())
    }

    /// Counts and gives back the buffers that a reader of the file can have.
    fn release(&mut self) {
        let secured = self.current.sink.secured();
        let safe = self.held.iter().take_while(|(end, _)| *end <= secured).count();
        for (_, buffer) in self.held.iter().take(safe) {
            self.gauge.written(buffer.packets_of());
        }
        self.pool.give_back(self.held.drain(..safe).map(|(_, buffer)| buffer), &self.gauge);
        self.tell();
    }

    /// Tells the gauge of bytes that it does not know of.
    fn tell(&mut self) {
        let now = (self.current.end, self.current.sink.stored());
        let told = std::mem::replace(&mut self.current.told, now);
        self.gauge.stored(now.0.saturating_sub(told.0), now.1.saturating_sub(told.1));
    }

    fn begin_file(&mut self, cut: &Cut) -> Result<(), Failure> {
        self.end_file(&cut.trailer)?;
        let path = self.names.path(cut.second, cut.number).map_err(|error| Failure {
            attempt: "name",
            path: self.current.path.clone(),
            source: io::Error::other(error),
        })?;
        self.current = Current::open(path, &mut self.opener, &cut.header)?;
        self.gauge.file_begun();
        self.tell();
        Ok(())
    }

    fn end_file(&mut self, trailer: &[u8]) -> Result<(), Failure> {
        let current = &mut self.current;
        current
            .sink
            .put(trailer)
            .and_then(|()| current.sink.finish())
            .map_err(Failure::of("write the end of", &current.path))?;
        current.end += trailer.len() as u64;
        self.release();
        Ok(())
    }

    /// After a failure: makes the file end behind the last record of which all is there, and counts the packets behind it.
    fn settle(&mut self) {
        let secured = self.current.sink.secured();
        let mut keep = self.held.front().map_or(self.current.end, |(end, first)| end - first.length() as u64);
        let mut is_whole = true;
        for (end, buffer) in self.held.drain(..) {
            let mut rest = buffer.packets_of().to_vec();
            let mut kept = vec![0; rest.len()];
            if is_whole {
                let limit = secured.saturating_sub(keep).min(buffer.length() as u64) as usize;
                keep += whole(buffer.records(), limit, self.reader, |record| {
                    let Some(interface) = record.packet_of.map(|number| number as usize) else { return };
                    if let (Some(kept), Some(rest)) = (kept.get_mut(interface), rest.get_mut(interface)) {
                        (*kept, *rest) = (*kept + record.packets, rest.saturating_sub(record.packets));
                    }
                }) as u64;
                is_whole = keep == end;
                self.gauge.written(&kept);
            }
            self.gauge.unwritten(&rest);
        }
        // What failed before is what the user has to hear of.
        let _ = self.current.sink.salvage(keep);
    }
}

impl Drop for Writer {
    /// However the thread ends, nobody waits for a buffer any more.
    fn drop(&mut self) {
        self.pool.end();
    }
}

impl Current {
    fn open(path: PathBuf, opener: &mut Opener, header: &[u8]) -> Result<Self, Failure> {
        let mut sink = opener(&path).map_err(Failure::of("open", &path))?;
        // Readers that follow a file, or find it after a crash, need its beginning.
        sink.put(header).and_then(|()| sink.flush()).map_err(Failure::of("write", &path))?;
        Ok(Self { path, sink, end: header.len() as u64, told: (0, 0) })
    }
}
