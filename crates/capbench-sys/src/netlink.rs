//! Requests to the kernel and their answers: netlink(7).

use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

use crate::error::{Result, named};

pub(crate) const HEADER: usize = 16;

/// `NLA_TYPE_MASK`: the rest of the type are flags.
const TYPE_MASK: u16 = 0x3fff;

/// A socket on which the kernel answers a request.
pub(crate) struct Answers(OwnedFd);

impl Answers {
    /// Sends a request of this type with these flags; errors call it `what`. `None` is NETLINK_ROUTE.
    pub(crate) fn of(
        protocol: Option<Protocol>,
        (kind, flags): (u16, libc::c_int),
        payload: &[u8],
        what: impl Fn() -> String,
    ) -> Result<Self> {
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol);
        let socket = named(socket, || "socket(AF_NETLINK)".into())?;
        let length = ((HEADER + payload.len()) as u32).to_ne_bytes();
        let (kind, flags) = (kind.to_ne_bytes(), (flags as u16).to_ne_bytes());
        let request = [&length[..], &kind, &flags, &[0; 8], payload].concat();
        named(send(&socket, &request, SendFlags::empty()), what)?;
        Ok(Self(socket))
    }

    pub(crate) fn next<'b>(&self, buffer: &'b mut [u8], what: impl Fn() -> String) -> Result<&'b [u8]> {
        let (length, _) = named(recv(&self.0, &mut *buffer, RecvFlags::empty()), what)?;
        Ok(&buffer[..length])
    }
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The content of the first attribute of this type (`struct nlattr`: length 16 bits, type 16 bits, content, padding).
pub(crate) fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let (length, kind) = (usize::from(u16_at(attributes, 0)?), u16_at(attributes, 2)?);
        let content = attributes.get(4..length)?;
        if kind & TYPE_MASK == wanted {
            return Some(content);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}
