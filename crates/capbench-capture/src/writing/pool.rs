//! The bounded pool of buffers between whoever encodes packets and the thread that writes them.
//!
//! A lock is taken once for a buffer, never for a packet. The buffer that came back last is given out first: its memory is
//! the most likely to be in a cache, and while the writer keeps up only a few buffers are touched at all.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::buffer::Buffer;
use super::counts::Gauge;

/// Empty and full buffers.
#[derive(Debug)]
pub(super) struct Pool {
    state: Mutex<State>,
    /// Something for the writer to do.
    work: Condvar,
    /// A buffer has come back, or none ever will.
    room: Condvar,
}

#[derive(Debug)]
struct State {
    empty: Vec<Buffer>,
    full: VecDeque<Buffer>,
    closing: Closing,
    /// The writer has ended and takes nothing any more.
    ended: bool,
}

/// Whether more will come.
#[derive(Debug)]
enum Closing {
    No,
    /// This ends the last file.
    With(Vec<u8>),
    Done,
}

/// What the writer is to do.
pub(super) enum Work {
    /// Buffers were put into its hands.
    Buffers,
    /// There are none and will be none; the last bytes of the file, unless they were taken already.
    Close(Vec<u8>),
}

/// Why there is no buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// All are in use.
    Full,
    /// The writer has ended.
    Ended,
}

impl Pool {
    pub(super) fn new(buffers: Vec<Buffer>) -> Self {
        let state = State {
            full: VecDeque::with_capacity(buffers.len()),
            empty: buffers,
            closing: Closing::No,
            ended: false,
        };
        Self { state: Mutex::new(state), work: Condvar::new(), room: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change below is complete before anything could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An empty buffer; waiting for one where `waits`.
    pub(super) fn take_empty(&self, waits: bool, gauge: &Gauge) -> Result<Buffer, Refusal> {
        let mut state = self.lock();
        loop {
            if state.ended {
                return Err(Refusal::Ended);
            }
            if let Some(buffer) = state.empty.pop() {
                gauge.in_use(state.empty.len());
                return Ok(buffer);
            }
            if !waits {
                return Err(Refusal::Full);
            }
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives a full buffer to the writer; back again where it has ended.
    pub(super) fn hand_over(&self, buffer: Buffer) -> Option<Buffer> {
        let mut state = self.lock();
        if state.ended {
            return Some(buffer);
        }
        state.full.push_back(buffer);
        drop(state);
        self.work.notify_one();
        None
    }

    /// Whether the writer has nothing left to begin with.
    pub(super) fn is_drained(&self) -> bool {
        self.lock().full.is_empty()
    }

    /// Says that nothing more will come, and how the last file ends.
    pub(super) fn close(&self, trailer: Vec<u8>) {
        self.lock().closing = Closing::With(trailer);
        self.work.notify_one();
    }

    /// Waits for full buffers and moves them behind `batch`, in order: as many as `most` bytes, and at least one.
    pub(super) fn take_full(&self, batch: &mut Vec<Buffer>, most: usize) -> Work {
        let mut state = self.lock();
        loop {
            let mut bytes = 0;
            while let Some(length) = state.full.front().map(Buffer::length)
                && (bytes == 0 || bytes + length <= most)
            {
                bytes += length.max(1);
                batch.extend(state.full.pop_front());
            }
            if bytes > 0 {
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

    /// Takes buffers back; those of a ring go back there.
    pub(super) fn give_back(&self, buffers: impl Iterator<Item = Buffer>, gauge: &Gauge) {
        let mut state = self.lock();
        state.empty.extend(buffers.filter(Buffer::is_of_pool));
        gauge.in_use(state.empty.len());
        drop(state);
        self.room.notify_one();
    }

    /// The writer takes nothing from here on; what it had not begun with.
    pub(super) fn end(&self) -> VecDeque<Buffer> {
        let mut state = self.lock();
        state.ended = true;
        let left = std::mem::take(&mut state.full);
        drop(state);
        self.room.notify_one();
        left
    }

    /// Whether the writer has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.lock().ended
    }
}
