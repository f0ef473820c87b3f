//! TPACKET_V2 transmit rings: user space fills slots, and a system call ("kick") makes the kernel send them (packet_mmap.rst,
//! `tpacket_snd` in net/packet/af_packet.c).
//!
//! A slot goes AVAILABLE -> SEND_REQUEST (we) -> SENDING (kernel) -> AVAILABLE (kernel, after the driver released it). If the
//! driver refuses a frame, the kernel resets the slot to SEND_REQUEST, returns `ENOBUFS`, and starts with the same slot at the
//! next kick. The kernel reads requested slots only inside the system call, so between two calls a request can be withdrawn.

use std::io::Error;
use std::os::fd::{AsFd, AsRawFd};
use std::{ptr, slice};

use super::geometry::{FrameGeometry, FrameVersion, align};
use super::socket::PacketSocket;
use super::status::{StatusWord, give_release, read_acquire};
use crate::error::{Result, SysError};
use crate::memory::Mapping;

/// Where the frame (or its prefix) begins in a slot: `tp_hdrlen - sizeof(struct sockaddr_ll)`.
const DATA_OFFSET: usize = FrameVersion::V2.address_offset();

const VNET_HEADER_LENGTH: usize = 10;

const WHAT: &str = "packet transmit ring";

/// The header before each frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// None: the kernel copies the Ethernet header and attaches the rest of the frame as pages.
    None,
    /// A `struct virtio_net_hdr` (`PACKET_VNET_HDR`), all zero but `hdr_len`, the number of bytes that the kernel copies.
    VnetHeader {
        /// Frames up to this length are copied completely, which is cheaper for small ones.
        copied_up_to: usize,
        /// Of longer frames this many bytes are copied and the rest is attached as pages.
        head: usize,
    },
}

impl Prefix {
    const fn length(self) -> usize {
        match self {
            Self::None => 0,
            Self::VnetHeader { .. } => VNET_HEADER_LENGTH,
        }
    }
}

/// The result of a kick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kick {
    /// The kernel processed the ring as far as it could.
    Done,
    /// The kernel refused a frame (`ENOBUFS`) and left it in the ring.
    Refused,
}

/// A mapped transmit ring and the writer's position in it.
///
/// In ring order: `pending` slots that are requested and not yet known to be sent, then `free` slots, the first of which is
/// `next`.
#[derive(Debug)]
pub struct TransmitRing {
    map: Mapping,
    geometry: FrameGeometry,
    prefix: Prefix,
    next: u32,
    free: u32,
    pending: u32,
}

impl TransmitRing {
    /// Bytes of a slot for frames of up to `frame` bytes.
    pub const fn slot_size(frame: usize, prefix: Prefix) -> u32 {
        align(DATA_OFFSET + prefix.length() + frame) as u32
    }

    pub(crate) fn new(map: Mapping, geometry: FrameGeometry, prefix: Prefix) -> Result<Self> {
        if (map.length() as u64) < geometry.bytes() {
            let reason = format!("{} bytes are mapped, {} needed", map.length(), geometry.bytes());
            return Err(SysError::argument(WHAT, reason));
        }
        Ok(Self { map, geometry, prefix, next: 0, free: 0, pending: 0 })
    }

    /// Number of slots that can be written now, up to `most`.
    #[inline]
    pub fn room(&mut self, most: u32) -> u32 {
        if self.free == 0 {
            let most = most.min(self.geometry.frames() - self.pending);
            while self.free < most && self.status_of(self.index(self.free)) == libc::TP_STATUS_AVAILABLE {
                self.free += 1;
            }
        }
        self.free.min(most)
    }

    /// The bytes for frame `index` of the next request.
    ///
    /// # Panics
    /// If `index` is not below the result of [`TransmitRing::room`].
    #[inline]
    pub fn slot(&mut self, index: u32) -> &mut [u8] {
        assert!(index < self.free, "slot {index} of {} free ones", self.free);
        let before = DATA_OFFSET + self.prefix.length();
        let length = self.geometry.frame_size() as usize - before;
        let start = self.at(self.index(index)).wrapping_add(before);
        // SAFETY: the bytes lie inside one slot of the live mapping. Its status was read (acquire) as available, since
        // when only this value, exclusively borrowed here, may request it; the kernel does not touch it until then.
        unsafe { slice::from_raw_parts_mut(start, length) }
    }

    /// Requests the first slots, each with the length of its frame. Nothing is sent before a kick.
    #[inline]
    pub fn request(&mut self, lengths: &[u16]) -> Result<()> {
        let room = self.geometry.frame_size() as usize - DATA_OFFSET - self.prefix.length();
        let longest = usize::from(lengths.iter().copied().max().unwrap_or(0));
        if lengths.len() > self.free as usize || longest > room {
            let (frames, free) = (lengths.len(), self.free);
            let reason = format!("{frames} frames of up to {longest} bytes for {free} slots of {room}");
            return Err(SysError::argument(WHAT, reason));
        }
        for &length in lengths {
            self.request_next(usize::from(length));
        }
        Ok(())
    }

    #[inline]
    fn request_next(&mut self, length: usize) {
        let slot = self.at(self.next);
        // SAFETY: the slot is free, so user space owns it; header and prefix lie inside it, and the header is aligned.
        unsafe {
            if let Prefix::VnetHeader { copied_up_to, head } = self.prefix {
                let copied = if length <= copied_up_to { length } else { head.min(length) };
                let mut header = [0; VNET_HEADER_LENGTH];
                header[2..4].copy_from_slice(&(copied as u16).to_ne_bytes());
                slot.add(DATA_OFFSET).cast::<[u8; VNET_HEADER_LENGTH]>().write(header);
            }
            let header = slot.cast::<libc::tpacket2_hdr>();
            (&raw mut (*header).tp_len).write((length + self.prefix.length()) as u32);
        }
        self.set_status(self.next, libc::TP_STATUS_SEND_REQUEST);
        self.next = self.index(1);
        self.free -= 1;
        self.pending += 1;
    }

    /// Makes the kernel process the requested slots once, without waiting.
    ///
    /// # Errors
    /// The kernel's error, except `ENOBUFS`: `EMSGSIZE` beyond the MTU, `ENETDOWN` if the interface is down.
    #[inline]
    pub fn kick(&mut self, socket: &PacketSocket) -> Result<Kick> {
        // SAFETY: with a transmit ring send(2) looks at no buffer; a null one of length 0 is valid.
        let code = unsafe { libc::send(socket.as_fd().as_raw_fd(), ptr::null(), 0, libc::MSG_DONTWAIT) };
        if code >= 0 {
            return Ok(Kick::Done);
        }
        match Error::last_os_error().raw_os_error() {
            Some(libc::ENOBUFS) => Ok(Kick::Refused),
            // The send buffer is full, or a signal came: the rest stays in the ring for the next kick.
            Some(libc::EAGAIN | libc::EINTR) => Ok(Kick::Done),
            _ => Err(SysError::last(|| "send through a packet transmit ring".into())),
        }
    }

    /// Number of requested frames that the kernel has accepted since the last call.
    ///
    /// # Errors
    /// The kernel refused a frame's format, which stops the ring.
    #[inline]
    pub fn take_count(&mut self) -> Result<u32> {
        let before = self.pending;
        while self.pending > 0 {
            match self.status_of(self.oldest()) {
                libc::TP_STATUS_SEND_REQUEST => break,
                status if status & libc::TP_STATUS_WRONG_FORMAT != 0 => {
                    return Err(SysError::argument(WHAT, "the kernel refused a frame's format"));
                }
                _ => self.pending -= 1,
            }
        }
        Ok(before - self.pending)
    }

    /// Drops the oldest pending frame, which the kernel has just refused: the next kick skips its slot. Needs a prefix and
    /// `PACKET_LOSS`: the kernel finds a frame shorter than its prefix, treats it as malformed and continues with the next.
    pub fn give_up_oldest(&mut self) {
        if self.pending > 0 && self.prefix != Prefix::None {
            let slot = self.at(self.oldest());
            // SAFETY: the header is inside the slot, aligned. No kick is under way, since that needs this value
            // exclusively, so the kernel does not look at the slot.
            unsafe { (&raw mut (*slot.cast::<libc::tpacket2_hdr>()).tp_len).write(0) };
        }
    }

    /// Frames requested and not yet known to be accepted.
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// Withdraws the frames that the kernel has not accepted, so that no later kick sends them; returns their number. Call
    /// [`TransmitRing::take_count`] first: frames accepted since then cannot be distinguished from withdrawn ones.
    pub fn withdraw(&mut self) -> Result<u32> {
        // A frame that the kernel has accepted belongs to it until the driver releases it.
        self.take_count()?;
        let withdrawn = self.pending;
        for _ in 0..withdrawn {
            self.next = self.before_next(1);
            // No kick is under way, since that needs this value exclusively: the kernel does not look at the slot.
            self.set_status(self.next, libc::TP_STATUS_AVAILABLE);
        }
        self.free += withdrawn;
        self.pending = 0;
        Ok(withdrawn)
    }

    /// Frames that the kernel has accepted and the driver has not released.
    pub fn in_flight(&self) -> u32 {
        let sending = |index: &u32| self.status_of(*index) & libc::TP_STATUS_SENDING != 0;
        (0..self.geometry.frames()).filter(sending).count() as u32
    }

    #[inline]
    fn index(&self, offset: u32) -> u32 {
        let index = self.next + offset;
        if index >= self.geometry.frames() { index - self.geometry.frames() } else { index }
    }

    #[inline]
    fn before_next(&self, offset: u32) -> u32 {
        if self.next >= offset { self.next - offset } else { self.next + self.geometry.frames() - offset }
    }

    #[inline]
    fn oldest(&self) -> u32 {
        self.before_next(self.pending)
    }

    #[inline]
    fn at(&self, index: u32) -> *mut u8 {
        self.map
            .at(self.geometry.offset(index), self.geometry.frame_size() as usize)
            .expect("a slot of a checked geometry is in its mapping")
    }

    #[inline]
    fn status_of(&self, index: u32) -> u32 {
        // SAFETY: the status is the first, aligned word of a slot inside the live mapping.
        unsafe { read_acquire(StatusWord::Int(self.at(index).cast())) }
    }

    #[inline]
    fn set_status(&self, index: u32, status: u32) {
        // SAFETY: as above; callers own the slot (it is free, or pending with no kick under way), and borrow no part
        // of it.
        unsafe { give_release(StatusWord::Int(self.at(index).cast()), status) }
    }
}

#[cfg(test)]
mod tests;
