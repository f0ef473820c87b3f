//! The sending half of one queue: its transmit ring, its completion ring and its chunks.
//!
//! A chunk goes free -> requested (we) -> taken (kernel) -> completed (kernel) -> free. In copy mode the kernel looks at
//! the transmit ring inside system calls on the socket only (`xsk_generic_xmit` of net/xdp/xsk.c), so between two calls a
//! request can be made void. Moving the producer's index back would not do: the kernel has its own copy of it.

use std::slice;
use std::sync::Arc;

use super::ring::{Consumer, Producer};
use super::umem::Umem;
use crate::error::{Result, SysError};

/// A descriptor that every kernel passes over: outside any UMEM, and with options that mean nothing.
const VOID: libc::xdp_desc = libc::xdp_desc { addr: u64::MAX, len: 0, options: u32::MAX };

/// The rings of one queue and the chunks that go round in them.
#[derive(Debug)]
pub struct TransmitQueue {
    umem: Arc<Umem>,
    requests: Producer<libc::xdp_desc>,
    completions: Consumer<u64>,
    /// Chunks that may be written, the next one last.
    free: Vec<u32>,
    /// Requested frames that the kernel is not known to have taken.
    pending: u32,
    /// Void requests in front of them that the kernel has not passed over.
    void: u32,
    /// Frames known to be taken, less those completed.
    in_flight: i64,
    impossible: u64,
}

impl TransmitQueue {
    /// Takes over fresh rings and all chunks of a UMEM.
    pub(crate) fn new(
        umem: Arc<Umem>,
        requests: Producer<libc::xdp_desc>,
        completions: Consumer<u64>,
    ) -> Self {
        let free = (0..umem.geometry().chunks()).rev().collect();
        Self { umem, requests, completions, free, pending: 0, void: 0, in_flight: 0, impossible: 0 }
    }

    /// How many slots may be written now, at most `most`.
    #[inline]
    pub fn room(&mut self, most: u32) -> u32 {
        if (self.free.len() as u32) < most {
            self.collect();
        }
        self.requests.room(most).min(self.free.len() as u32).min(most)
    }

    /// The bytes for frame `index` of the next request.
    ///
    /// # Panics
    /// When `index` is not below what [`Self::room`] said.
    #[inline]
    pub fn slot(&mut self, index: u32) -> &mut [u8] {
        let geometry = self.umem.geometry();
        let chunk = self.free[self.free.len() - 1 - index as usize];
        let length = geometry.chunk_size() as usize;
        // SAFETY: the bytes are one chunk of the live mapping. It is in no ring, and only this value, exclusively borrowed
        // here, hands out or requests free chunks.
        unsafe { slice::from_raw_parts_mut(self.umem.start(geometry.address(chunk), length), length) }
    }

    /// Requests that the first slots be sent, each with the length of its frame; nothing is sent before a system call.
    ///
    /// # Errors
    /// More frames than there is room for, or a frame longer than its slot.
    #[inline]
    pub fn request(&mut self, lengths: &[u16]) -> Result<()> {
        let count = lengths.len() as u32;
        let longest = u32::from(lengths.iter().copied().max().unwrap_or(0));
        if count > self.room(count) || longest > self.umem.geometry().chunk_size() {
            return Err(SysError::argument(
                "AF_XDP transmit ring",
                format!("{count} frames of up to {longest} bytes for {} free chunks", self.free.len()),
            ));
        }
        for (offset, &length) in (0..).zip(lengths) {
            let Some(chunk) = self.free.pop() else { break };
            let in_use = self.umem.begin_use(chunk);
            debug_assert!(in_use, "a free chunk is in use");
            let addr = self.umem.geometry().address(chunk);
            self.requests.write(offset, libc::xdp_desc { addr, len: u32::from(length), options: 0 });
        }
        if count > 0 {
            self.requests.publish(count);
        }
        self.pending += count;
        Ok(())
    }

    /// How many requested frames the kernel is newly known to have taken. It may have taken more: kernels tell when they
    /// have gone through all that they know of, newer ones after each system call that sent something.
    #[inline]
    pub fn take_count(&mut self) -> u32 {
        let left = self.requests.pending();
        let passed = (self.pending + self.void).saturating_sub(left);
        let void = passed.min(self.void);
        self.void -= void;
        let taken = passed - void;
        self.pending -= taken;
        self.in_flight += i64::from(taken);
        taken
    }

    /// Takes back the chunks that the kernel is done with.
    #[inline]
    fn collect(&mut self) {
        let mut count = self.completions.available();
        while count > 0 {
            for offset in 0..count {
                let address = self.completions.read(offset);
                self.complete(address);
            }
            self.completions.release(count);
            count = self.completions.available();
        }
    }

    #[inline]
    fn complete(&mut self, address: u64) {
        match self.umem.geometry().chunk_of(address, 0) {
            // The only user of a requested chunk is the kernel.
            Some(chunk) if self.umem.is_used(chunk) => {
                self.umem.end_use(chunk);
                self.free.push(chunk);
                // Below 0 when it is completed before it is known to be taken.
                self.in_flight -= 1;
            }
            _ => self.impossible += 1,
        }
    }

    /// Frames requested and not known to be taken.
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// Frames that the kernel has taken and not let go of.
    pub fn in_flight(&mut self) -> u32 {
        self.take_count();
        self.collect();
        self.in_flight.max(0) as u32
    }

    /// Completions that named no chunk that was being sent: always 0, unless the kernel is at fault.
    pub fn impossible(&self) -> u64 {
        self.impossible
    }

    /// Makes all pending requests void, so that the kernel passes over them at its next look, and returns the chunks of
    /// the frames in question, the newest first.
    ///
    /// # Safety
    /// No system call on the socket may be under way, and the socket must run in copy mode.
    pub(crate) unsafe fn void_pending(&mut self) -> Vec<u32> {
        self.take_count();
        let geometry = self.umem.geometry();
        let chunks = (1..=self.pending)
            .filter_map(|back| geometry.chunk_of(self.requests.read_newest(back).addr, 0))
            .collect();
        // SAFETY: the caller promises that the kernel does not look.
        unsafe { self.requests.overwrite_newest(self.pending, VOID) };
        chunks
    }

    /// Ends what [`Self::void_pending`] began: of the pending frames the kernel passed over `withdrawn`, the newest, or
    /// will do so; `flushed` says which. Their chunks are free again; the others it had taken before.
    pub(crate) fn withdrawn(&mut self, chunks: &[u32], withdrawn: u32, flushed: bool) {
        for &chunk in chunks.iter().take(withdrawn as usize) {
            if self.umem.end_use(chunk) {
                self.free.push(chunk);
            }
        }
        let taken = self.pending.saturating_sub(withdrawn);
        self.in_flight += i64::from(taken);
        self.pending = 0;
        self.void = if flushed { 0 } else { self.void + withdrawn };
    }
}
