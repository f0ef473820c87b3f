//! Buffers for `send` and `sendmmsg` on a packet socket.
//!
//! Calls block, so that a full send buffer waits instead of failing. `ENOBUFS` means that the kernel accepted the frame and
//! lost it (`packet_snd` in net/packet/af_packet.c, after `dev_queue_xmit` or the driver refused it).

use std::io::Error;
use std::mem::{offset_of, zeroed};
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};

use super::socket::PacketSocket;
use crate::error::{Result, SysError};
use crate::host::interface::InterfaceIndex;

/// The result of a send call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The kernel accepted this many. If there was a next frame, the kernel refused it, and it is lost.
    Frames(usize),
    /// The kernel refused the first frame (`ENOBUFS`), which is lost.
    Refused,
}

/// Where an IP packet goes on a link without Ethernet (packet(7)): an interface, and the protocol, which the kernel cannot read from
/// a link-layer header.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct PacketAddress {
    address: libc::sockaddr_ll,
    /// The kernel refuses an address shorter than its link's (`MAX_ADDR_LEN`, 32 octets).
    longest: [u8; 24],
}

const _: () = assert!(size_of::<PacketAddress>() >= offset_of!(libc::sockaddr_ll, sll_addr) + 32);

impl PacketAddress {
    fn new(interface: InterfaceIndex) -> Self {
        // SAFETY: sockaddr_ll is plain data; all zeroes is a valid value.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = interface.as_int();
        Self { address, longest: [0; 24] }
    }

    /// Sets the protocol by the version in the first octet of an IP packet.
    #[inline]
    fn set_protocol(&mut self, packet: &[u8]) {
        let is_ipv6 = packet.first().is_some_and(|octet| octet >> 4 == 6);
        let protocol = if is_ipv6 { libc::ETH_P_IPV6 } else { libc::ETH_P_IP };
        self.address.sll_protocol = (protocol as u16).to_be();
    }
}

/// Buffers for a number of frames, all allocated here; sending allocates nothing.
#[derive(Debug)]
pub struct SendVector {
    room: usize,
    bytes: Vec<u8>,
    vectors: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    /// One for each buffer on a link without Ethernet; else none.
    addresses: Vec<PacketAddress>,
}

// SAFETY: the pointers in `vectors` and `headers` lead into the heap buffers of the same value, which move with it and
// are never reallocated after `new`.
unsafe impl Send for SendVector {}

impl SendVector {
    /// Zeroed buffers for `frames` frames of up to `room` bytes each, at least one of each.
    pub fn new(frames: usize, room: usize) -> Self {
        let (frames, room) = (frames.max(1), room.max(1));
        let empty = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        // SAFETY: mmsghdr is plain data; all zeroes (null pointers, no lengths) is a valid value.
        let header: libc::mmsghdr = unsafe { zeroed() };
        Self {
            room,
            bytes: vec![0; frames * room],
            vectors: vec![empty; frames],
            headers: vec![header; frames],
            addresses: Vec::new(),
        }
    }

    /// The same for IP packets on a link without Ethernet.
    pub fn of_packets(packets: usize, room: usize, interface: InterfaceIndex) -> Self {
        let vector = Self::new(packets, room);
        let addresses = vec![PacketAddress::new(interface); vector.frames()];
        Self { addresses, ..vector }
    }

    /// Number of buffers.
    pub fn frames(&self) -> usize {
        self.headers.len()
    }

    /// A buffer to write a frame into.
    ///
    /// # Panics
    /// If there is no such buffer.
    #[inline]
    pub fn slot(&mut self, index: usize) -> &mut [u8] {
        &mut self.bytes[index * self.room..(index + 1) * self.room]
    }

    /// Sets the lengths of the frames in the first buffers; a length is limited to its buffer.
    ///
    /// # Panics
    /// With more lengths than buffers.
    #[inline]
    pub fn set_lengths(&mut self, lengths: &[u16]) {
        for (vector, &length) in self.vectors[..lengths.len()].iter_mut().zip(lengths) {
            vector.iov_len = usize::from(length).min(self.room);
        }
    }

    /// Sends the frames in these buffers with one sendmmsg(2), with the last set lengths.
    ///
    /// # Errors
    /// The kernel's error for the first frame, except `ENOBUFS`. For a later frame the kernel only stops.
    ///
    /// # Panics
    /// If there are no such buffers.
    #[inline]
    pub fn send(&mut self, socket: &PacketSocket, range: Range<usize>) -> Result<Sent> {
        let count = self.prepare(range.clone());
        let first = self.headers[range].as_mut_ptr();
        loop {
            // SAFETY: `prepare` made `count` headers from `first` on lead to live buffers of this value, which is
            // exclusively borrowed; sendmmsg(2) reads them and writes only `msg_len` of the headers.
            let code = unsafe { libc::sendmmsg(socket.as_fd().as_raw_fd(), first, count, 0) };
            if let Some(sent) = outcome(code as isize, "sendmmsg on a packet socket")? {
                return Ok(sent);
            }
        }
    }

    /// Points the headers of a range to their buffers, and returns their number. Done for every call: a pointer made
    /// before a buffer was last borrowed must not be used any more.
    fn prepare(&mut self, range: Range<usize>) -> libc::c_uint {
        let count = range.len();
        if !self.addresses.is_empty() {
            for at in range.clone() {
                let (address, header) = (&mut self.addresses[at], &mut self.headers[at].msg_hdr);
                address.set_protocol(&self.bytes[at * self.room..]);
                header.msg_name = (&raw mut *address).cast();
                header.msg_namelen = size_of::<PacketAddress>() as libc::socklen_t;
            }
        }
        let buffers = self.bytes.chunks_exact_mut(self.room).skip(range.start);
        let parts = self.vectors[range.clone()].iter_mut().zip(&mut self.headers[range]).zip(buffers);
        for ((vector, header), buffer) in parts {
            vector.iov_base = buffer.as_mut_ptr().cast();
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
        }
        count as libc::c_uint
    }
}

impl PacketSocket {
    /// Sends one frame by send(2) to the interface that the socket is bound to.
    ///
    /// # Errors
    /// The kernel's error, except `ENOBUFS`: `EMSGSIZE` beyond the MTU, `ENETDOWN` if the interface is down.
    #[inline]
    pub fn send_frame(&self, frame: &[u8]) -> Result<Sent> {
        loop {
            // SAFETY: pointer and length describe a live slice, which send(2) only reads.
            let code = unsafe { libc::send(self.as_fd().as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
            // A frame is sent whole or not at all; the result is its length.
            if let Some(sent) = outcome(code.min(1), "send on a packet socket")? {
                return Ok(sent);
            }
        }
    }
}

/// Sends IP packets on a link without Ethernet, one a call.
#[derive(Debug)]
pub struct PacketDestination(PacketAddress);

impl PacketDestination {
    /// The interface.
    pub fn new(interface: InterfaceIndex) -> Self {
        Self(PacketAddress::new(interface))
    }

    /// Sends one packet by sendto(2).
    ///
    /// # Errors
    /// As [`PacketSocket::send_frame`].
    #[inline]
    pub fn send(&mut self, socket: &PacketSocket, packet: &[u8]) -> Result<Sent> {
        self.0.set_protocol(packet);
        let (address, length) = ((&raw const self.0).cast(), size_of::<PacketAddress>() as libc::socklen_t);
        loop {
            // SAFETY: pointers and lengths describe a live slice and a live address, which sendto(2) only reads.
            let code = unsafe {
                let fd = socket.as_fd().as_raw_fd();
                libc::sendto(fd, packet.as_ptr().cast(), packet.len(), 0, address, length)
            };
            if let Some(sent) = outcome(code.min(1), "sendto on a packet socket")? {
                return Ok(sent);
            }
        }
    }
}

/// The meaning of a return code; `None` after a signal, when the call is to be made again.
#[inline]
fn outcome(code: isize, what: &str) -> Result<Option<Sent>> {
    if code >= 0 {
        return Ok(Some(Sent::Frames(code as usize)));
    }
    match Error::last_os_error().raw_os_error() {
        Some(libc::ENOBUFS) => Ok(Some(Sent::Refused)),
        Some(libc::EINTR) => Ok(None),
        _ => Err(SysError::last(|| what.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::{InterfaceIndex, SendVector};

    #[test]
    fn headers_lead_to_their_own_buffers_after_a_move() {
        let mut vector = SendVector::new(4, 128);
        vector.slot(2)[..3].copy_from_slice(&[1, 2, 3]);
        vector.set_lengths(&[60, 61, 3, 1000]);
        let mut vector = *Box::new(vector);
        assert_eq!(vector.prepare(2..4), 2);
        let header = &vector.headers[2].msg_hdr;
        assert_eq!(header.msg_iov.cast_const(), &raw const vector.vectors[2]);
        assert_eq!(vector.vectors[2].iov_base.cast_const().cast(), &raw const vector.bytes[256]);
        assert_eq!(vector.vectors.iter().map(|v| v.iov_len).collect::<Vec<_>>(), [60, 61, 3, 128]);
        assert!(vector.headers[0].msg_hdr.msg_iov.is_null(), "outside the range");
    }

    #[test]
    fn each_ip_packet_has_the_protocol_of_its_version() {
        let interface = InterfaceIndex::new(7).unwrap();
        let mut vector = SendVector::of_packets(3, 64, interface);
        for (index, version) in [4, 6, 4].into_iter().enumerate() {
            vector.slot(index)[0] = version << 4;
        }
        vector.set_lengths(&[40; 3]);
        vector.prepare(1..3);
        assert!(vector.headers[0].msg_hdr.msg_name.is_null(), "outside the range");
        let protocols = [libc::ETH_P_IPV6, libc::ETH_P_IP].map(|protocol| (protocol as u16).to_be());
        assert_eq!([1, 2].map(|at: usize| vector.addresses[at].address.sll_protocol), protocols);
        let name = vector.headers[2].msg_hdr.msg_name.cast_const().cast();
        assert_eq!(name, &raw const vector.addresses[2]);
        assert_eq!(vector.headers[2].msg_hdr.msg_namelen, 44);
        assert_eq!(vector.addresses[2].address.sll_ifindex, 7);
    }

    #[test]
    #[should_panic]
    fn a_slot_beyond_the_last_is_refused() {
        SendVector::new(2, 64).slot(2);
    }
}
