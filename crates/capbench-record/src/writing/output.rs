//! The encoder's interface to the writer: reserves room in buffers, and ends files at exact packet boundaries.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use capbench_model::units::ByteCount;
use capbench_sys::memory::ALIGNMENT;
use capbench_sys::packet::Block;

use super::buffer::{Buffer, Cut, Origin};
use super::closer::{Closer, Completion};
use super::counts::{Gauge, WriterCounts, WriterGauge};
use super::failure::Failure;
use super::files::{Opener, opener};
use super::keeper::Keeper;
use super::lock::RecordingLock;
use super::options::{WhenFull, WriteOptions};
use super::pool::{NoRoom, Pool};
use super::rotation::{Next, Position};
use super::writer::{Ending, Writer};
use crate::error::{RecordError, Result};
use crate::file::ReadExtent;

/// First and last records of files in a format. The encoding thread calls it between two records.
pub trait FileEnds {
    /// Appends the first records of a new file.
    fn header(&mut self, out: &mut Vec<u8>);

    /// Appends the last records of a file; many formats have none.
    fn trailer(&mut self, out: &mut Vec<u8>);
}

/// Writes a record. Functions can implement it; a type whose method is always inlined costs no call per packet.
pub trait EncodeRecord {
    /// Writes the record at the beginning of `room`, and returns its length in bytes; `None` if it does not fit.
    fn encode(&self, room: &mut [u8]) -> Option<usize>;
}

impl<F: Fn(&mut [u8]) -> Option<usize>> EncodeRecord for F {
    fn encode(&self, room: &mut [u8]) -> Option<usize> {
        self(room)
    }
}

/// Records on their way to files. Dropped without [`Output::finish`], it still writes all its records.
#[derive(Debug)]
pub struct Output {
    pool: Arc<Pool>,
    gauge: Arc<Gauge>,
    thread: Option<JoinHandle<Ending>>,
    current: Option<Buffer>,
    pub(super) position: Position,
    is_aligned: bool,
    waits: bool,
    is_complete: bool,
    interfaces: usize,
    buffer: ByteCount,
    /// Released when all files are complete; `None` if the output is not a file.
    lock: Option<RecordingLock>,
}

/// Result of a recording's output.
#[derive(Debug)]
pub struct Recorded {
    /// Why it ended.
    pub ending: Ending,
    /// Counters of the writer.
    pub counts: WriterCounts,
}

impl Output {
    /// Opens the first file and starts the writing thread. `now_ns`, in ns since 1970-01-01 UTC, is the time of the file's name,
    /// and the start of the first rotation interval.
    ///
    /// # Errors
    /// Invalid options, or a file that cannot be opened.
    pub fn open(
        options: &WriteOptions,
        reader: ReadExtent,
        now_ns: u64,
        ends: &mut impl FileEnds,
    ) -> Result<Self> {
        options.check()?;
        // Locked before any file is created or removed.
        let lock = lock(options, now_ns)?;
        let mut output = Self::open_with(options, opener(options), reader, now_ns, ends)?;
        output.lock = lock;
        Ok(output)
    }

    pub(super) fn open_with(
        options: &WriteOptions,
        opener: Opener,
        reader: ReadExtent,
        now_ns: u64,
        ends: &mut impl FileEnds,
    ) -> Result<Self> {
        let buffers = options.buffers()?;
        let gauge = Arc::new(Gauge::new(options.interfaces, buffers.len(), options.syncs));
        let pool = Arc::new(Pool::new(buffers, options.gathered()));
        let names = options.names();
        let mut position = Position::new(options.rotation, now_ns);
        let mut header = Vec::new();
        ends.header(&mut header);
        position.add(header.len(), 0);
        let first = Cut { trailer: Vec::new(), header, second: position.second, number: position.number };
        let completion = Completion { syncs: options.syncs, is_ring: options.rotation.is_ring() };
        let no_thread = |source| RecordError::Output {
            attempt: "start the threads that write",
            path: options.path.clone(),
            next: "the host may have too many threads",
            source,
        };
        let keeper = keeper(options, &gauge)?;
        let closer =
            Closer::start(Arc::clone(&pool), Arc::clone(&gauge), completion, keeper).map_err(no_thread)?;
        let (its_pool, its_gauge) = (Arc::clone(&pool), Arc::clone(&gauge));
        let writer =
            Writer::new(its_pool, its_gauge, closer, completion, names, opener, reader).open(&first)?;
        let thread =
            thread::Builder::new().name("writer".into()).spawn(|| writer.run()).map_err(no_thread)?;
        Ok(Self {
            pool,
            gauge,
            thread: Some(thread),
            current: None,
            position,
            is_aligned: options.direct,
            waits: options.when_full == WhenFull::Wait,
            is_complete: false,
            interfaces: options.interfaces,
            buffer: options.buffer,
            lock: None,
        })
    }

    /// Records a packet, and begins a new file before it if one is due. A record that does not fit is encoded once more, into an
    /// empty buffer.
    ///
    /// # Errors
    /// Why there is no room.
    ///
    /// # Panics
    /// For an interface outside of [`WriteOptions::interfaces`].
    #[inline(always)]
    pub fn packet(
        &mut self,
        origin: Origin,
        ends: &mut impl FileEnds,
        record: impl EncodeRecord,
    ) -> std::result::Result<(), NoRoom> {
        let (mut next, mut is_new_room) = (self.position.next(origin.time_ns), false);
        loop {
            if next == Next::Same
                && let Some(buffer) = &mut self.current
                && let Some(length) = record.encode(buffer.spare())
            {
                buffer.commit_packet(length, origin);
                self.position.add(length, 1);
                return Ok(());
            }
            let made = if is_new_room {
                Err(NoRoom::TooLong)
            } else {
                self.make_packet_room(next, origin.time_ns, ends)
            };
            if let Err(refusal) = made {
                if !self.is_complete {
                    self.gauge.refused(origin.interface);
                }
                return Err(refusal);
            }
            (next, is_new_room) = (Next::Same, true);
        }
    }

    /// Writes complete records that are not packets to the file of the last packet, unless that file has ended.
    ///
    /// # Errors
    /// Why there is no room; nothing is counted.
    pub fn record(&mut self, bytes: &[u8]) -> std::result::Result<(), NoRoom> {
        if self.position.has_ended() {
            return Err(NoRoom::Ended);
        }
        let fits = |buffer: &Buffer| buffer.spare_length() >= bytes.len();
        if !self.current.as_ref().is_some_and(fits) {
            self.make_room()?;
        }
        let Some(buffer) = self.current.as_mut().filter(|buffer| fits(buffer)) else {
            return Err(NoRoom::TooLong);
        };
        buffer.spare()[..bytes.len()].copy_from_slice(bytes);
        buffer.commit(bytes.len());
        self.position.add(bytes.len(), 0);
        Ok(())
    }

    /// Records a ring block straight from the ring. Its first `length` octets are one record with packets of interface 0, whose
    /// timestamps span `times`. The ring gets the block back after it is written.
    ///
    /// # Errors
    /// The block, unrecorded: it would exceed the end of a file, or the recording has ended. The caller then records its packets
    /// one by one.
    pub fn block(
        &mut self,
        block: Block,
        length: usize,
        times: (u64, u64),
    ) -> std::result::Result<(), Block> {
        let packets = block.len() as u64;
        if self.is_complete || self.pool.has_ended() || !self.position.takes(packets, times) {
            return Err(block);
        }
        if let Some(buffer) = self.current.take_if(|buffer| buffer.length() > 0 || buffer.cut.is_some()) {
            self.pass_on(buffer);
        }
        self.position.add(length, packets);
        self.pass_on(Buffer::of_block(block, length, self.interfaces));
        Ok(())
    }

    /// Empty buffers for this many bytes of records, limited to half of all buffers: that many are always returned.
    pub fn buffers_for(&self, bytes: ByteCount) -> usize {
        usize::try_from(bytes.0.div_ceil(self.buffer.0)).unwrap_or(usize::MAX).min(self.pool.buffers() / 2)
    }

    /// Whether the writer has fewer empty buffers. Callers should then leave packets in their ring, if they can.
    #[inline]
    pub fn is_short_of(&self, buffers: usize) -> bool {
        self.gauge.empty() < buffers as u64
    }

    /// As [`Self::is_short_of`], after waiting up to `timeout` for buffers. Returns false once the writer has ended.
    pub fn stays_short_of(&self, buffers: usize, timeout: Duration) -> bool {
        self.pool.stays_short_of(buffers, timeout)
    }

    /// Bytes in the current file, before compression.
    pub fn file_bytes(&self) -> u64 {
        self.position.bytes
    }

    /// Flushes all records so far to readers of the file. Does not wait. With direct I/O, this writes a block that is written
    /// again later.
    pub fn flush(&mut self) {
        if self.position.has_ended() {
            return;
        }
        let buffer = self.current.take().or_else(|| self.empty(false).ok());
        if let Some(mut buffer) = buffer {
            buffer.flush = true;
            self.pass_on(buffer);
        }
    }

    /// As [`Self::flush`], but only if the writer is idle. Otherwise older buffers are written first anyway, and a partly filled
    /// buffer would be one fewer for new packets. Call it after every few packets, and when there are none.
    pub fn flush_if_idle(&mut self) {
        let has_records = self.current.as_ref().is_some_and(|buffer| buffer.length() > 0);
        if self.pool.hurry() && has_records {
            self.flush();
        }
    }

    /// Ends a file whose interval ended well before `now_ns` (ns since 1970-01-01 UTC), so that it gets its name without a new
    /// packet. The next packet begins the next file. Call it when no packets wait.
    pub fn end_interval(&mut self, now_ns: u64, ends: &mut impl FileEnds) {
        if !self.position.is_over(now_ns) || self.has_ended() {
            return;
        }
        // Without an empty buffer, the next call tries again.
        let Some(mut buffer) = self.current.take().or_else(|| self.empty(false).ok()) else { return };
        let mut trailer = Vec::new();
        ends.trailer(&mut trailer);
        (buffer.trailer, buffer.flush) = (Some(trailer), true);
        self.pass_on(buffer);
        self.position.end();
    }

    /// Whether the recording has ended without [`Output::finish`], which returns why.
    pub fn has_ended(&self) -> bool {
        self.is_complete || self.pool.has_ended()
    }

    /// Whether it has ended after the last requested file: later packets are not counted.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// A reader of the writer's counters, for any thread.
    pub fn gauge(&self) -> WriterGauge {
        WriterGauge(Arc::clone(&self.gauge))
    }

    /// Ends the file, and waits until everything is written.
    pub fn finish(mut self, ends: &mut impl FileEnds) -> Recorded {
        let mut trailer = Vec::new();
        ends.trailer(&mut trailer);
        let ending = match self.close(trailer) {
            Some(Ending::Finished) if self.is_complete => Ending::FileLimit,
            Some(ending) => ending,
            None => Ending::Finished,
        };
        Recorded { ending, counts: self.gauge.read() }
    }

    fn close(&mut self, trailer: Vec<u8>) -> Option<Ending> {
        let thread = self.thread.take()?;
        if let Some(buffer) = self.current.take() {
            self.pass_on(buffer);
        }
        self.pool.close(trailer);
        match thread.join() {
            Ok(ending) => Some(ending),
            Err(panic) if thread::panicking() => {
                drop(panic);
                None
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    #[cold]
    fn make_packet_room(
        &mut self,
        next: Next,
        time_ns: u64,
        ends: &mut impl FileEnds,
    ) -> std::result::Result<(), NoRoom> {
        match next {
            Next::Same => self.make_room(),
            Next::File => self.begin_file(time_ns, ends),
            Next::End => {
                self.is_complete = true;
                Err(NoRoom::Ended)
            }
        }
    }

    fn make_room(&mut self) -> std::result::Result<(), NoRoom> {
        if self.is_complete {
            return Err(NoRoom::Ended);
        }
        if let Some(buffer) = self.current.take() {
            self.pass_on(buffer);
        }
        self.current = Some(self.empty(self.waits)?);
        Ok(())
    }

    /// Ends the file and begins the next one, only once a buffer for its first packet is available.
    fn begin_file(&mut self, time_ns: u64, ends: &mut impl FileEnds) -> std::result::Result<(), NoRoom> {
        self.make_room()?;
        let (mut trailer, mut header) = (Vec::new(), Vec::new());
        ends.trailer(&mut trailer);
        ends.header(&mut header);
        self.position.advance(time_ns);
        self.position.add(header.len(), 0);
        let start = self.start();
        if let Some(buffer) = &mut self.current {
            buffer.clear(start);
            buffer.cut =
                Some(Cut { trailer, header, second: self.position.second, number: self.position.number });
        }
        Ok(())
    }

    fn empty(&self, waits: bool) -> std::result::Result<Buffer, NoRoom> {
        let mut buffer = self.pool.take_empty(waits, &self.gauge)?;
        buffer.clear(self.start());
        Ok(buffer)
    }

    /// Offset of the file's end in a block, if its writes are aligned.
    fn start(&self) -> usize {
        if self.is_aligned { (self.position.bytes % ALIGNMENT as u64) as usize } else { 0 }
    }

    fn pass_on(&self, buffer: Buffer) {
        if let Some(buffer) = self.pool.pass_on(buffer) {
            self.gauge.count(buffer.packets_of(), |of| &of.unwritten);
        }
    }
}

fn lock(options: &WriteOptions, now_ns: u64) -> Result<Option<RecordingLock>> {
    if options.is_standard_output() {
        return Ok(None);
    }
    let (names, position) = (options.names(), Position::new(options.rotation, now_ns));
    let first = names.path(position.second, position.number)?;
    RecordingLock::take(&first, &names.pattern())
        .map_err(Failure::of("open", &first))
        .map_err(Failure::into_error)
}

/// Creates the keeper of old files, after it made room for the first new file.
fn keeper(options: &WriteOptions, gauge: &Gauge) -> Result<Option<Keeper>> {
    if options.retention.is_nothing() {
        return Ok(None);
    }
    let names = options.own_names();
    let names =
        names.map_err(|reason| RecordError::Option { option: "--keep-files or --keep-free", reason })?;
    let mut keeper = Keeper::new(&options.path, names, options.retention)
        .map_err(Failure::of("remove old files in the folder of", &options.path))
        .map_err(Failure::into_error)?;
    // As later: the recording continues, and its status reports the failure.
    // The first file follows.
    gauge.retained(keeper.sweep(gauge, 1).err().map(|error| error.to_string()));
    Ok(Some(keeper))
}

impl Drop for Output {
    fn drop(&mut self) {
        self.close(Vec::new());
    }
}
