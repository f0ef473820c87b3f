//! The bounded pool of buffers between the encoding thread and the writing thread.
//!
//! The pool locks once per buffer, never per packet. It reuses the most recently returned buffer first: its memory is most likely
//! in a cache. While the writer keeps up, only a few buffers are touched at all.
//!
//! The writer may wait for several buffers, because a direct write costs about the same for any size. It does not wait if a
//! thread waits for the end of a file, or if no buffer is left to fill.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::buffer::Buffer;
use super::counts::Gauge;

/// Why there is no room for a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRoom {
    /// All buffers wait for the writer. The packet counts as refused.
    Full,
    /// The record is larger than a buffer. The packet counts as refused.
    TooLong,
    /// The recording has ended: [`super::Output::finish`] returns why. The packet counts as refused if writing failed.
    Ended,
}

/// Empty and full buffers.
#[derive(Debug)]
pub(super) struct Pool {
    state: Mutex<State>,
    /// Signals work for the writer.
    work: Condvar,
    /// Signals that a buffer was returned, or that none ever will be.
    room: Condvar,
    buffers: usize,
    /// Bytes of memory to fill before a write.
    gather: usize,
}

#[derive(Debug)]
struct State {
    empty: Vec<Buffer>,
    full: VecDeque<Buffer>,
    full_bytes: usize,
    /// Write full buffers without waiting for more.
    is_urgent: bool,
    is_idle: bool,
    closing: Closing,
    /// The writer has ended and accepts no more buffers.
    ended: bool,
}

/// Whether more buffers will come.
#[derive(Debug)]
enum Closing {
    No,
    /// No: these bytes end the last file.
    With(Vec<u8>),
    Done,
}

pub(super) enum Work {
    /// Buffers were appended to its batch.
    Buffers,
    /// No more buffers will come; the last bytes of the file, unless already returned.
    Close(Vec<u8>),
    /// Another thread has stopped the writer: a written file could not be synced.
    Stop,
}

impl Pool {
    /// The writer waits until `gather` bytes of memory in `buffers` are full.
    pub(super) fn new(buffers: Vec<Buffer>, gather: usize) -> Self {
        let count = buffers.len();
        let state = State {
            full: VecDeque::with_capacity(count),
            full_bytes: 0,
            is_urgent: false,
            is_idle: true,
            empty: buffers,
            closing: Closing::No,
            ended: false,
        };
        Self { state: Mutex::new(state), work: Condvar::new(), room: Condvar::new(), buffers: count, gather }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change below is complete before a panic is possible.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an empty buffer; waits for one if `waits`. The writer may have ended.
    pub(super) fn take_empty(&self, waits: bool, gauge: &Gauge) -> Result<Buffer, NoRoom> {
        let mut state = self.lock();
        loop {
            if state.ended {
                return Err(NoRoom::Ended);
            }
            if let Some(buffer) = state.empty.pop() {
                gauge.in_use(state.empty.len());
                return Ok(buffer);
            }
            if !waits {
                return Err(NoRoom::Full);
            }
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn buffers(&self) -> usize {
        self.buffers
    }

    /// Whether fewer than this many buffers are empty while the writer runs, after waiting up to `timeout` for more.
    pub(super) fn stays_short_of(&self, buffers: usize, timeout: Duration) -> bool {
        let is_short = |state: &mut State| !state.ended && state.empty.len() < buffers;
        let waited = self.room.wait_timeout_while(self.lock(), timeout, is_short);
        waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Passes a full buffer to the writer. Returns it if the writer has ended.
    pub(super) fn pass_on(&self, buffer: Buffer) -> Option<Buffer> {
        let mut state = self.lock();
        if state.ended {
            return Some(buffer);
        }
        state.full_bytes += buffer.footprint();
        state.is_urgent |= buffer.flush;
        state.full.push_back(buffer);
        let is_due = self.is_due(&state);
        drop(state);
        if is_due {
            self.work.notify_one();
        }
        None
    }

    /// Whether the writer should start with the full buffers.
    fn is_due(&self, state: &State) -> bool {
        let is_short = state.empty.len() * 2 <= self.buffers;
        let is_enough = state.full_bytes >= self.gather || state.is_urgent || is_short;
        !state.full.is_empty() && (is_enough || !matches!(state.closing, Closing::No))
    }

    /// Asks the writer not to wait for more buffers. Returns whether it would start at once with one more buffer: it is idle,
    /// and has handled the last call.
    pub(super) fn hurry(&self) -> bool {
        let mut state = self.lock();
        let is_free = state.is_idle && !state.is_urgent;
        if !state.full.is_empty() {
            state.is_urgent = true;
            drop(state);
            self.work.notify_one();
        }
        is_free
    }

    /// Notes that no more buffers will come, and the last bytes of the last file.
    pub(super) fn close(&self, trailer: Vec<u8>) {
        self.lock().closing = Closing::With(trailer);
        self.work.notify_one();
    }

    /// Waits for full buffers and moves them to the end of `batch`, in order: up to `most` bytes, and at least one.
    pub(super) fn take_full(&self, batch: &mut Vec<Buffer>, most: usize) -> Work {
        let mut state = self.lock();
        state.is_idle = true;
        loop {
            if state.ended {
                return Work::Stop;
            }
            if self.is_due(&state) {
                let mut bytes = 0;
                while let Some(length) = state.full.front().map(Buffer::length)
                    && (bytes == 0 || bytes + length <= most)
                {
                    bytes += length.max(1);
                    let buffer = state.full.pop_front();
                    state.full_bytes -= buffer.as_ref().map_or(0, Buffer::footprint);
                    batch.extend(buffer);
                }
                state.is_urgent &= !state.full.is_empty();
                state.is_idle = false;
                return Work::Buffers;
            }
            match std::mem::replace(&mut state.closing, Closing::Done) {
                Closing::With(trailer) => return Work::Close(trailer),
                Closing::Done => return Work::Close(Vec::new()),
                Closing::No => state.closing = Closing::No,
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes buffers back; ring blocks return to their ring.
    pub(super) fn give_back(&self, buffers: impl Iterator<Item = Buffer>, gauge: &Gauge) {
        let mut state = self.lock();
        state.empty.extend(buffers.filter(Buffer::is_of_pool));
        gauge.in_use(state.empty.len());
        drop(state);
        self.room.notify_one();
    }

    /// Ends the writer. Returns the buffers that it had not begun.
    pub(super) fn end(&self) -> VecDeque<Buffer> {
        let mut state = self.lock();
        state.ended = true;
        let left = std::mem::take(&mut state.full);
        drop(state);
        self.room.notify_one();
        left
    }

    /// Ends the pool, and stops the writer before its next buffer.
    pub(super) fn abort(&self) {
        self.lock().ended = true;
        self.work.notify_one();
        self.room.notify_all();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.lock().ended
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Closing, Gauge, Pool, Work};
    use crate::writing::buffer::Buffer;
    use capbench_sys::memory::{ALIGNMENT, carve};

    const BUFFERS: usize = 32;

    fn pool(gather: usize) -> (Pool, Gauge) {
        let memory = carve(BUFFERS, ALIGNMENT).unwrap();
        let buffers = memory.into_iter().map(|pages| Buffer::new(pages, 1)).collect();
        (Pool::new(buffers, gather * ALIGNMENT), Gauge::new(1, BUFFERS, true))
    }

    fn fill(pool: &Pool, gauge: &Gauge, flush: bool) {
        let mut buffer = pool.take_empty(false, gauge).unwrap();
        buffer.flush = flush;
        assert!(pool.pass_on(buffer).is_none());
    }

    fn is_due(pool: &Pool) -> bool {
        pool.is_due(&pool.lock())
    }

    fn buffers(pool: &Pool) -> usize {
        let mut batch = Vec::new();
        assert!(matches!(pool.take_full(&mut batch, usize::MAX), Work::Buffers));
        batch.len()
    }

    #[test]
    fn the_writer_waits_for_several_buffers_unless_somebody_waits_for_them() {
        let (pool, gauge) = pool(4);
        (0..3).for_each(|_| fill(&pool, &gauge, false));
        assert!(!is_due(&pool));
        fill(&pool, &gauge, false);
        assert!(is_due(&pool));
        assert_eq!(buffers(&pool), 4);
        fill(&pool, &gauge, false);
        assert!(!is_due(&pool) && !pool.hurry(), "it has four buffers");
        assert!(is_due(&pool));
        assert_eq!(buffers(&pool), 1);
        fill(&pool, &gauge, false);
        assert!(!is_due(&pool), "what was urgent is written");
        fill(&pool, &gauge, true);
        assert!(!pool.hurry(), "it was asked, and has not come yet");
        assert_eq!(buffers(&pool), 2);
        fill(&pool, &gauge, false);
        assert!(!is_due(&pool));
        pool.lock().closing = Closing::With(Vec::new());
        assert_eq!(buffers(&pool), 1);
    }

    #[test]
    fn it_stays_short_of_buffers_until_they_come_back_or_never_will() {
        let ((pool, gauge), at_once) = (pool(0), Duration::ZERO);
        (0..BUFFERS - 2).for_each(|_| fill(&pool, &gauge, false));
        assert_eq!([2, 3].map(|buffers| pool.stays_short_of(buffers, at_once)), [false, true]);
        assert_eq!(gauge.empty(), 2);
        let mut batch = Vec::new();
        assert!(matches!(pool.take_full(&mut batch, usize::MAX), Work::Buffers));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| pool.stays_short_of(BUFFERS / 2, Duration::from_secs(60)));
            pool.give_back(batch.drain(..BUFFERS / 2 - 2), &gauge);
            assert!(!waiting.join().unwrap(), "half of them are empty");
        });
        while pool.take_empty(false, &gauge).is_ok() {}
        assert!(pool.stays_short_of(1, at_once));
        pool.end();
        assert!(!pool.stays_short_of(1, at_once), "nobody waits for a writer that has ended");
    }

    #[test]
    fn the_writer_does_not_wait_while_buffers_are_short() {
        let (pool, gauge) = pool(BUFFERS);
        (1..BUFFERS / 2).for_each(|_| fill(&pool, &gauge, false));
        assert!(!is_due(&pool));
        fill(&pool, &gauge, false);
        assert_eq!(buffers(&pool), BUFFERS / 2);
    }
}
