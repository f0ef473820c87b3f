//! Buffers for `recvmsg` and `recvmmsg` on a packet socket, with the kernel's metadata of each frame.

use std::io::ErrorKind;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

use super::frame::{Frame, PacketType, VlanTag};
use super::socket::PacketSocket;
use crate::error::{Result, SysError};

/// Room for the control messages `SCM_TIMESTAMPNS` and `PACKET_AUXDATA`, in words so that it is aligned (cmsg(3)).
type Control = [u64; 12];

/// Buffers for a number of frames, all allocated here; receiving allocates nothing.
#[derive(Debug)]
pub struct ReceiveVector {
    room: usize,
    bytes: Vec<u8>,
    control: Vec<Control>,
    addresses: Vec<libc::sockaddr_ll>,
    vectors: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    filled: usize,
}

// SAFETY: the pointers in `vectors` and `headers` lead into the heap buffers of the same value, which move with it. Only
// the call that made them uses them, and the code that reads the control messages of that call.
unsafe impl Send for ReceiveVector {}

impl ReceiveVector {
    /// Buffers for `frames` frames of up to `room` bytes each, at least one of each.
    pub fn new(frames: usize, room: usize) -> Self {
        let (frames, room) = (frames.max(1), room.max(1));
        let empty = libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 };
        // SAFETY: sockaddr_ll and mmsghdr are plain data; all zeroes is a valid value of either.
        let (address, header): (libc::sockaddr_ll, libc::mmsghdr) = unsafe { (zeroed(), zeroed()) };
        Self {
            room,
            bytes: vec![0; frames * room],
            control: vec![[0; 12]; frames],
            addresses: vec![address; frames],
            vectors: vec![empty; frames],
            headers: vec![header; frames],
            filled: 0,
        }
    }

    /// Receives one frame with recvmsg(2); waits for it unless `dont_wait`. `false` if there is none (yet).
    #[inline]
    pub fn receive_one(&mut self, socket: &PacketSocket, dont_wait: bool) -> Result<bool> {
        self.filled = 0;
        let flags = libc::MSG_TRUNC | if dont_wait { libc::MSG_DONTWAIT } else { 0 };
        self.reset(1);
        // SAFETY: the first header's pointers lead to live buffers of the stated lengths, exclusively borrowed here.
        let code =
            unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut self.headers[0].msg_hdr, flags) };
        if code < 0 {
            return Self::nothing("recvmsg of a packet socket").map(|()| false);
        }
        self.headers[0].msg_len = code as libc::c_uint;
        self.filled = 1;
        Ok(true)
    }

    /// Receives available frames, up to the vector's length, with recvmmsg(2); waits for the first one unless `dont_wait`.
    /// Returns their number, 0 if there is none (yet).
    #[inline]
    pub fn receive_many(&mut self, socket: &PacketSocket, dont_wait: bool) -> Result<usize> {
        self.filled = 0;
        let flags = libc::MSG_TRUNC | if dont_wait { libc::MSG_DONTWAIT } else { libc::MSG_WAITFORONE };
        self.reset(self.headers.len());
        // SAFETY: every header's pointers lead to live buffers of the stated lengths, exclusively borrowed here; there is
        // no timeout (recvmmsg checks its timeout only after each frame, so it bounds nothing).
        let code = unsafe {
            libc::recvmmsg(
                socket.as_fd().as_raw_fd(),
                self.headers.as_mut_ptr(),
                self.headers.len() as libc::c_uint,
                flags as _,
                ptr::null_mut(),
            )
        };
        if code < 0 {
            return Self::nothing("recvmmsg of a packet socket").map(|()| 0);
        }
        self.filled = code as usize;
        Ok(self.filled)
    }

    /// The frames of the last receive.
    #[inline]
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        (0..self.filled).map(|index| self.frame(index))
    }

    /// Number of frames of the last receive.
    pub fn len(&self) -> usize {
        self.filled
    }

    /// Whether the last receive returned nothing.
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Points the first headers to their buffers and sets all lengths, which the kernel overwrites at every receive. The
    /// pointers, too, are made for every call: one made before a buffer was last borrowed must not be used any more.
    #[inline]
    fn reset(&mut self, count: usize) {
        let buffers = self.bytes.chunks_exact_mut(self.room).zip(&mut self.control);
        let parts =
            self.headers[..count].iter_mut().zip(&mut self.vectors).zip(&mut self.addresses).zip(buffers);
        for (((header, vector), address), (buffer, control)) in parts {
            vector.iov_base = buffer.as_mut_ptr().cast();
            vector.iov_len = self.room;
            let header = &mut header.msg_hdr;
            header.msg_name = ptr::from_mut(address).cast();
            header.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            header.msg_iov = vector;
            header.msg_iovlen = 1;
            header.msg_control = ptr::from_mut(control).cast();
            header.msg_controllen = size_of::<Control>() as _;
        }
    }

    /// Distinguishes "no frame" (nothing there, the timeout passed, a signal came) from a failure.
    fn nothing(what: &str) -> Result<()> {
        match std::io::Error::last_os_error().kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(()),
            _ => Err(SysError::last(|| what.into())),
        }
    }

    #[inline]
    fn frame(&self, index: usize) -> Frame<'_> {
        let start = index * self.room;
        let length = self.headers[index].msg_len as usize;
        let captured = length.min(self.room);
        let packet_type = PacketType::from(self.addresses[index].sll_pkttype);
        let data = &self.bytes[start..start + captured];
        let mut frame = Frame { packet_type, ..Frame::new(data, length as u32, 0) };
        self.read_control(index, &mut frame);
        frame
    }

    /// Reads the control messages of a frame (cmsg(3)).
    #[inline]
    fn read_control<'a>(&'a self, index: usize, frame: &mut Frame<'a>) {
        let header = &raw const self.headers[index].msg_hdr;
        // SAFETY: the header describes the control buffer as the kernel filled it; CMSG_FIRSTHDR checks its length.
        let mut message = unsafe { libc::CMSG_FIRSTHDR(header) };
        while !message.is_null() {
            // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR give null or a complete header inside the control buffer.
            let (level, kind, data) =
                unsafe { ((*message).cmsg_level, (*message).cmsg_type, libc::CMSG_DATA(message)) };
            if level == libc::SOL_SOCKET && kind == libc::SCM_TIMESTAMPNS {
                // SAFETY: the kernel puts a timespec into this message; it may be unaligned.
                let time = unsafe { data.cast::<libc::timespec>().read_unaligned() };
                frame.time_ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
            } else if level == libc::SOL_PACKET && kind == libc::PACKET_AUXDATA {
                // SAFETY: the kernel puts a tpacket_auxdata into this message; it may be unaligned.
                let auxiliary = unsafe { data.cast::<libc::tpacket_auxdata>().read_unaligned() };
                frame.status = auxiliary.tp_status;
                frame.wire_length = auxiliary.tp_len;
                frame.vlan =
                    VlanTag::from_status(auxiliary.tp_status, auxiliary.tp_vlan_tci, auxiliary.tp_vlan_tpid);
            }
            // SAFETY: the message is in the header's control buffer.
            message = unsafe { libc::CMSG_NXTHDR(header, message) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ReceiveVector;

    #[test]
    fn an_unused_vector_has_no_frames_and_can_be_moved() {
        let vector = Box::new(ReceiveVector::new(8, 0));
        let mut moved = *vector;
        assert!(moved.is_empty());
        assert_eq!(moved.frames().count(), 0);
        moved.reset(8);
        assert_eq!(moved.headers[3].msg_hdr.msg_iov.cast_const(), &raw const moved.vectors[3]);
        assert_eq!(moved.vectors[3].iov_base.cast_const().cast(), &raw const moved.bytes[3 * moved.room]);
    }
}
