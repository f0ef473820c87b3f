//! The sending half of one queue: transmit ring, completion ring and chunks.
//!
//! A chunk goes free -> requested (we) -> accepted (kernel) -> completed (kernel) -> free. In copy mode the kernel reads the
//! transmit ring only inside system calls on the socket (`xsk_generic_xmit` of net/xdp/xsk.c). So between two calls a request
//! can be voided. Moving the producer's index back would not work: the kernel has its own copy of it.

use std::slice;
use std::sync::Arc;

use super::ring::{Consumer, Producer};
use super::umem::Umem;
use crate::error::{Result, SysError};

/// A descriptor that every kernel skips: outside any UMEM, and with options that mean nothing. The option for a frame that
/// continues in the next descriptor is not set: recent kernels would skip that one, too.
const VOID: libc::xdp_desc = libc::xdp_desc { addr: u64::MAX, len: 0, options: !libc::XDP_PKT_CONTD };

/// The rings of one queue and their chunks.
#[derive(Debug)]
pub struct TransmitQueue {
    umem: Arc<Umem>,
    requests: Producer<libc::xdp_desc>,
    completions: Consumer<u64>,
    /// Free chunks, the next one last.
    free: Vec<u32>,
    /// Requested frames that are not yet known to be accepted by the kernel.
    pending: u32,
    /// Void requests before them that the kernel has not yet skipped.
    void: u32,
    in_flight: i64,
    /// How many entries of the ring came before the one that each chunk was last in.
    places: Box<[u64]>,
    requested: u64,
    /// The chunk with the latest request among those completed since this was cleared.
    latest: Option<u32>,
    impossible: u64,
}

impl TransmitQueue {
    /// Takes over fresh rings and all chunks of a UMEM.
    pub(crate) fn new(
        umem: Arc<Umem>,
        requests: Producer<libc::xdp_desc>,
        completions: Consumer<u64>,
    ) -> Self {
        let chunks = umem.geometry().chunks();
        Self {
            umem,
            requests,
            completions,
            free: (0..chunks).rev().collect(),
            pending: 0,
            void: 0,
            in_flight: 0,
            places: vec![0; chunks as usize].into(),
            requested: 0,
            latest: None,
            impossible: 0,
        }
    }

    /// Number of slots that can be written now, up to `most`.
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
    /// If `index` is not below the result of [`Self::room`].
    #[inline]
    pub fn slot(&mut self, index: u32) -> &mut [u8] {
        let geometry = self.umem.geometry();
        let chunk = self.free[self.free.len() - 1 - index as usize];
        let length = geometry.chunk_size() as usize;
        // SAFETY: the bytes are one chunk of the live mapping. It is in no ring, and only this value, exclusively borrowed
        // here, lends or requests free chunks.
        unsafe { slice::from_raw_parts_mut(self.umem.start(geometry.address(chunk), length), length) }
    }

    /// Requests the first slots, each with the length of its frame. Nothing is sent before a system call.
    #[inline]
    pub fn request(&mut self, lengths: &[u16]) -> Result<()> {
        let count = lengths.len() as u32;
        let longest = u32::from(lengths.iter().copied().max().unwrap_or(0));
        if count > self.room(count) || longest > self.umem.geometry().chunk_size() {
            let free = self.free.len();
            let reason = format!("{count} frames of up to {longest} bytes for {free} free chunks");
            return Err(SysError::argument("AF_XDP transmit ring", reason));
        }
        for (offset, &length) in (0..).zip(lengths) {
            let Some(chunk) = self.free.pop() else { break };
            let request = self.describe(chunk, u32::from(length));
            self.requests.write(offset, request);
        }
        if count > 0 {
            // SAFETY: these entries were written just now, `count` being at most the free chunks; their chunks were free and
            // are lent, and a slot of one cannot be borrowed while `self` is, exclusively.
            unsafe { self.requests.publish(count) };
        }
        self.pending += count;
        Ok(())
    }

    /// The request for a free chunk, which is lent to the kernel from now on.
    #[inline]
    fn describe(&mut self, chunk: u32, length: u32) -> libc::xdp_desc {
        self.umem.lend(chunk);
        self.places[chunk as usize] = self.requested;
        self.requested += 1;
        libc::xdp_desc { addr: self.umem.geometry().address(chunk), len: length, options: 0 }
    }

    /// Number of requested frames newly known to be accepted by the kernel. It may have accepted more: old kernels report this
    /// only after all known requests, newer ones after each system call that sent frames.
    #[inline]
    pub fn take_count(&mut self) -> u32 {
        let left = self.requests.pending();
        let passed = (self.pending + self.void).saturating_sub(left);
        let void = passed.min(self.void);
        self.void -= void;
        let accepted = passed - void;
        self.pending -= accepted;
        self.in_flight += i64::from(accepted);
        accepted
    }

    /// Collects the chunks that the kernel has completed. The kernel stops sending while the completion ring is full.
    #[inline]
    pub fn collect(&mut self) {
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
            Some(chunk) if self.umem.take_back(chunk) => {
                self.free.push(chunk);
                let place = self.places[chunk as usize];
                if self.latest.is_none_or(|latest| self.places[latest as usize] < place) {
                    self.latest = Some(chunk);
                }
                // Below 0 when it is completed before it is known to be accepted.
                self.in_flight -= 1;
            }
            // Recent kernels (6.18.44) complete void requests, too.
            None if address == VOID.addr => {}
            _ => self.impossible += 1,
        }
    }

    /// Frames requested and not yet known to be accepted.
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// Requests in the ring, void ones included, that the kernel has not reported as done.
    pub(crate) fn left(&mut self) -> u32 {
        self.requests.pending()
    }

    /// Frames that the kernel has accepted and not completed.
    pub fn in_flight(&mut self) -> u32 {
        self.take_count();
        self.collect();
        self.in_flight.max(0) as u32
    }

    /// Completions with a chunk that was not being sent: always 0, unless the kernel has a bug.
    pub fn impossible(&self) -> u64 {
        self.impossible
    }

    /// Requests once more the frame that the kernel has just dropped, in front of those that it has not looked at, so that
    /// the order stays. `false` when that cannot be, and then the frame is lost.
    ///
    /// Its completion identifies the frame: the kernel accepts a dropped frame last and completes it inside the same call.
    /// So its request is the latest of the completed ones.
    ///
    /// # Safety
    /// As for [`Self::void_pending`]; and the last system call must have ended by dropping a frame (`EBUSY`).
    pub(crate) unsafe fn repeat_dropped(&mut self) -> bool {
        self.latest = None;
        self.collect();
        let Some(chunk) = self.latest else { return false };
        // It is near the end.
        let Some(at) = self.free.iter().rposition(|&free| free == chunk) else { return false };
        if self.requests.room(1) == 0 {
            return false;
        }
        // Behind the dropped frame come those that the kernel has not accepted, even if its counters say otherwise.
        let behind = (self.requested - self.places[chunk as usize] - 1) as u32;
        let request = self.requests.read_newest(behind + 1);
        self.free.remove(at);
        self.umem.lend(chunk);
        // SAFETY: the caller promises that the kernel does not look, and it has not consumed the entries behind. The chunk
        // was completed and is lent again, and a slot of it cannot be borrowed while `self` is, exclusively.
        unsafe { self.requests.insert(behind, request) };
        self.requested += 1;
        for back in 1..=behind + 1 {
            let moved = self.umem.geometry().chunk_of(self.requests.read_newest(back).addr, 0);
            if let Some(moved) = moved {
                self.places[moved as usize] = self.requested - u64::from(back);
            }
        }
        self.pending += 1;
        true
    }

    /// Makes all pending requests void, so that the kernel skips them at its next look. Returns the chunks of their frames,
    /// the newest first.
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

    /// Ends what [`Self::void_pending`] began. Of the pending frames the kernel skipped the newest `withdrawn`, or will
    /// (`flushed` says which): their chunks are free again. It had accepted the others before.
    pub(crate) fn withdrawn(&mut self, chunks: &[u32], withdrawn: u32, flushed: bool) {
        for &chunk in chunks.iter().take(withdrawn as usize) {
            if self.umem.take_back(chunk) {
                self.free.push(chunk);
            }
        }
        let accepted = self.pending.saturating_sub(withdrawn);
        self.in_flight += i64::from(accepted);
        self.pending = 0;
        self.void = if flushed { 0 } else { self.void + withdrawn };
    }
}
