//! The receiving half of one queue: fill ring, receive ring and chunks.
//!
//! ```text
//! fill ring ──> kernel fills the chunk ──> receive ring ──> take ──> FrameBatch ─┬─ dropped ──> fill ring
//!                                                                                └─ keep ──> OwnedFrame ─ last one dropped ──> fill ring
//! ```

use std::sync::Arc;

use super::ring::{Consumer, Producer};
use super::umem::{Returned, Umem};

#[derive(Clone, Copy, Debug)]
struct QueuedFrame {
    address: u64,
    length: u32,
    chunk: u32,
}

/// Which chunks of a UMEM a queue has, and how many frames it returns at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    pub(crate) first_chunk: u32,
    pub(crate) chunks: u32,
    pub(crate) batch: u32,
}

/// The rings of one queue and their chunks.
#[derive(Debug)]
pub struct FrameQueue {
    umem: Arc<Umem>,
    received: Consumer<libc::xdp_desc>,
    fill: Producer<u64>,
    share: Share,
    spare: Vec<u32>,
    returned: Arc<Returned>,
    batch: Vec<QueuedFrame>,
    frames_read: u64,
    impossible: u64,
}

impl FrameQueue {
    /// Takes over fresh rings and lends the kernel as many chunks as the fill ring holds.
    pub(crate) fn new(
        umem: Arc<Umem>,
        received: Consumer<libc::xdp_desc>,
        fill: Producer<u64>,
        share: Share,
    ) -> Self {
        // The first chunk is lent first.
        let spare = (share.first_chunk..share.first_chunk + share.chunks).rev().collect();
        let returned = Arc::new(Returned::new(share.first_chunk, share.chunks));
        let batch = Vec::with_capacity(share.batch as usize);
        let mut queue =
            Self { umem, received, fill, share, spare, returned, batch, frames_read: 0, impossible: 0 };
        queue.refill();
        queue
    }

    /// The next frames, if any. Their chunks return when the batch is dropped.
    #[inline]
    pub fn take(&mut self) -> Option<FrameBatch<'_>> {
        // Left over from a batch that was forgotten rather than dropped.
        self.give_back();
        self.refill();
        let count = self.received.available().min(self.share.batch);
        if count == 0 {
            return None;
        }
        for offset in 0..count {
            let frame = self.received.read(offset);
            self.accept(&frame);
        }
        // The descriptors are copied, so that the kernel may have their entries at once.
        self.received.release(count);
        self.frames_read += u64::from(count);
        Some(FrameBatch { queue: self })
    }

    #[inline]
    fn accept(&mut self, frame: &libc::xdp_desc) {
        let own = self.share.first_chunk..self.share.first_chunk + self.share.chunks;
        match self.umem.geometry().chunk_of(frame.addr, frame.len) {
            Some(chunk) if own.contains(&chunk) && self.umem.begin_use(chunk) => {
                self.batch.push(QueuedFrame { address: frame.addr, length: frame.len, chunk });
            }
            _ => self.impossible += 1,
        }
    }

    /// Ends the use of the batch's frames and lends the kernel the chunks that nobody else uses.
    #[inline]
    fn give_back(&mut self) {
        let room = self.fill.room(self.batch.len() as u32);
        let mut written = 0;
        for frame in self.batch.drain(..) {
            if !self.umem.end_use(frame.chunk) {
                continue;
            }
            if written < room {
                self.umem.lend(frame.chunk);
                self.fill.write(written, self.umem.geometry().address(frame.chunk));
                written += 1;
            } else {
                self.spare.push(frame.chunk);
            }
        }
        if written > 0 {
            // SAFETY: these entries were written just now, with chunks whose last use has ended and that are lent.
            unsafe { self.fill.publish(written) };
        }
    }

    /// Lends the kernel chunks that came back from elsewhere or had no room before.
    #[inline]
    fn refill(&mut self) {
        self.returned.take_all(|chunk| self.spare.push(chunk));
        if self.spare.is_empty() {
            return;
        }
        let wanted = self.spare.len() as u32;
        let count = self.fill.room(wanted).min(wanted);
        for offset in 0..count {
            let Some(chunk) = self.spare.pop() else { break };
            self.umem.lend(chunk);
            self.fill.write(offset, self.umem.geometry().address(chunk));
        }
        if count > 0 {
            // SAFETY: these entries were written just now, `count` being at most the spare chunks, which nobody uses and
            // which are lent.
            unsafe { self.fill.publish(count) };
        }
    }

    /// Whether there are unread frames.
    #[inline]
    pub fn is_ready(&mut self) -> bool {
        self.received.available() > 0
    }

    /// Unread frames in the receive ring, and its capacity.
    pub fn waiting(&self) -> (u32, u32) {
        self.received.waiting()
    }

    /// Whether the driver needs a system call before it uses the fill ring again.
    #[inline]
    pub fn needs_wakeup(&self) -> bool {
        self.fill.needs_wakeup()
    }

    /// Frames read so far.
    pub fn frames_read(&self) -> u64 {
        self.frames_read
    }

    /// Invalid descriptors from the kernel. They name no chunk of this queue, or one that the kernel does not own (in use,
    /// spare, or on its way back here). Always 0, unless kernel or driver have a bug. Such frames are not delivered. A chunk
    /// that the kernel owns but never filled cannot be detected.
    pub fn impossible(&self) -> u64 {
        self.impossible
    }

    #[cfg(test)]
    pub(super) fn rings(&mut self) -> (&mut Producer<u64>, &mut Consumer<libc::xdp_desc>) {
        (&mut self.fill, &mut self.received)
    }

    #[cfg(test)]
    pub(super) fn spare(&self) -> &[u32] {
        &self.spare
    }

    #[cfg(test)]
    pub(super) fn origin(&self) -> usize {
        self.umem.start(0, 0).addr()
    }

    /// Chunks lent to the kernel and not filled yet, and chunks kept here because the fill ring has no room.
    #[cfg(test)]
    pub(crate) fn idle(&mut self) -> (u32, usize) {
        (self.fill.pending(), self.spare.len())
    }
}

/// Frames in a UMEM. Dropping it returns their chunks to the kernel, except those that were kept.
#[derive(Debug)]
pub struct FrameBatch<'q> {
    queue: &'q mut FrameQueue,
}

impl FrameBatch<'_> {
    /// Number of frames.
    #[inline]
    pub fn len(&self) -> usize {
        self.queue.batch.len()
    }

    /// Whether it holds no frame, which only a kernel bug can cause.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The frames' octets in the kernel's order.
    #[inline]
    pub fn frames(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.queue.batch.iter().map(|frame| {
            // SAFETY: `take` began the use of this chunk and it ends when the batch is dropped, which needs the batch
            // exclusively; the bytes borrow from it.
            unsafe { self.queue.umem.bytes(frame.address, frame.length) }
        })
    }

    /// Keeps frame `index` beyond the batch; `None` if there is no such frame.
    pub fn keep(&self, index: usize) -> Option<OwnedFrame> {
        let frame = *self.queue.batch.get(index)?;
        self.queue.umem.share(frame.chunk);
        Some(OwnedFrame {
            umem: Arc::clone(&self.queue.umem),
            returned: Arc::clone(&self.queue.returned),
            frame,
        })
    }
}

impl Drop for FrameBatch<'_> {
    #[inline]
    fn drop(&mut self) {
        self.queue.give_back();
    }
}

/// A kept frame. It can be sent to other threads, cloned, and outlives its batch and its socket. When the last clone is
/// dropped, its chunk returns to its queue.
#[derive(Debug)]
pub struct OwnedFrame {
    umem: Arc<Umem>,
    returned: Arc<Returned>,
    frame: QueuedFrame,
}

impl OwnedFrame {
    /// The octets.
    #[inline]
    pub fn data(&self) -> &[u8] {
        // SAFETY: this value is one user of the chunk, until it is dropped; the bytes borrow from it.
        unsafe { self.umem.bytes(self.frame.address, self.frame.length) }
    }
}

impl Clone for OwnedFrame {
    fn clone(&self) -> Self {
        self.umem.share(self.frame.chunk);
        Self { umem: Arc::clone(&self.umem), returned: Arc::clone(&self.returned), frame: self.frame }
    }
}

impl Drop for OwnedFrame {
    fn drop(&mut self) {
        if self.umem.end_use(self.frame.chunk) {
            self.returned.push(self.frame.chunk);
        }
    }
}
