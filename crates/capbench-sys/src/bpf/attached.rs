//! Which XDP program an interface has: the attribute `IFLA_XDP` of `RTM_GETLINK` (rtnetlink(7), `linux/if_link.h`).
//!
//! A link's own information (`BPF_OBJ_GET_INFO_BY_FD`) does not say whether the driver or the stack runs the program.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::call;
use crate::error::check;
use crate::host::InterfaceIndex;
use crate::{Result, SysError};

/// The part that runs the program (`IFLA_XDP_ATTACHED`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachedMode {
    /// The driver, before a socket buffer exists (native mode).
    Driver,
    /// The stack, with a socket buffer (generic mode).
    Generic,
    /// The interface's processor.
    Hardware,
    /// Several of them, each with its own program.
    Several,
}

/// An XDP program on an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// The part that runs it.
    pub mode: AttachedMode,
    /// The kernel's number of the program; `None` if there are several.
    pub program: Option<u32>,
    /// The program's name; `None` without CAP_SYS_ADMIN.
    pub name: Option<String>,
}

impl std::fmt::Display for Attached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.program, &self.name) {
            (Some(id), Some(name)) => write!(f, "program {id}, {name}"),
            (Some(id), None) => write!(f, "program {id}"),
            (None, _) => f.write_str("several programs"),
        }
    }
}

/// `nla_type` and its values (`linux/if_link.h`).
const IFLA_STATS64: u16 = 23;
const IFLA_XDP: u16 = 43;
const IFLA_XDP_ATTACHED: u16 = 2;
const IFLA_XDP_PROG_ID: u16 = 4;

/// `NLA_TYPE_MASK`: the rest of the type are flags.
const TYPE_MASK: u16 = 0x3fff;

/// `struct nlmsghdr` and `struct ifinfomsg`, the whole request.
#[repr(C)]
struct Request {
    header: libc::nlmsghdr,
    message: libc::ifinfomsg,
}

/// The state of an interface for XDP programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// Whether it is up (`IFF_UP`).
    pub up: bool,
    /// The program on it.
    pub attached: Option<Attached>,
    /// Frames passed to it for sending: those that it sent plus those that it dropped (`tx_packets` and `tx_dropped` of
    /// `IFLA_STATS64`); `None` if the kernel reported none.
    pub given: Option<u64>,
}

/// The state of `interface` in the calling thread's network namespace.
///
/// # Errors
/// `ENODEV` if the interface does not exist, or the kernel's answer cannot be parsed.
pub fn link_state(interface: InterfaceIndex) -> Result<LinkState> {
    let answer = ask(interface)?;
    let what = || format!("RTM_GETLINK(interface {interface})");
    let header = size_of::<libc::nlmsghdr>();
    let kind = answer.get(4..6).map_or(0, |octets| u16::from_ne_bytes([octets[0], octets[1]]));
    if i32::from(kind) == libc::NLMSG_ERROR {
        let code = answer.get(header..header + 4).and_then(|octets| octets.try_into().ok());
        let code = code.map_or(libc::EPROTO, |octets| -i32::from_ne_bytes(octets));
        return Err(SysError::Call { what: what(), source: std::io::Error::from_raw_os_error(code) });
    }
    let short = || SysError::argument(what(), "the kernel's answer is cut short");
    let message = answer.get(header..).ok_or_else(short)?;
    let flags = message.get(std::mem::offset_of!(libc::ifinfomsg, ifi_flags)..);
    let flags = flags.and_then(|octets| octets.first_chunk()).ok_or_else(short)?;
    let attributes = message.get(size_of::<libc::ifinfomsg>()..).ok_or_else(short)?;
    let attached = find(attributes, IFLA_XDP).and_then(read).map(|found| Attached {
        name: found.program.and_then(|id| call::program_name(id).ok()).filter(|name| !name.is_empty()),
        ..found
    });
    let given = find(attributes, IFLA_STATS64).and_then(|statistics| {
        let (words, _) = statistics.as_chunks::<8>();
        // `struct rtnl_link_stats64`.
        let [sent, dropped] = [words.get(1)?, words.get(7)?].map(|word| u64::from_ne_bytes(*word));
        Some(sent + dropped)
    });
    Ok(LinkState { up: u32::from_ne_bytes(*flags) & libc::IFF_UP as u32 != 0, attached, given })
}

/// The program attached to `interface` in the calling thread's network namespace; `None` without one.
pub fn attached_to(interface: InterfaceIndex) -> Result<Option<Attached>> {
    link_state(interface).map(|state| state.attached)
}

/// The answer to a request for one link: one message.
fn ask(interface: InterfaceIndex) -> Result<Vec<u8>> {
    // SAFETY: socket(2) takes three numbers.
    let code =
        unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE) };
    let socket = check(code, || "socket(NETLINK_ROUTE)".into())?;
    // SAFETY: the descriptor has just been made, so that it is open and nobody else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: the structures consist of integers, for which zero is a value.
    let mut request: Request = unsafe { std::mem::zeroed() };
    request.header.nlmsg_len = size_of::<Request>() as u32;
    request.header.nlmsg_type = libc::RTM_GETLINK;
    request.header.nlmsg_flags = libc::NLM_F_REQUEST as u16;
    request.message.ifi_index = interface.as_int();
    let what = || format!("RTM_GETLINK(interface {interface})");
    // SAFETY: send(2) reads as many octets as it is told: those of `request`, which is alive.
    let sent = unsafe {
        libc::send(socket.as_raw_fd(), std::ptr::from_ref(&request).cast(), size_of::<Request>(), 0)
    };
    check(sent as libc::c_int, what)?;
    // A link's message has a few KiB; the kernel's own limit for one is 32 KiB (NLMSG_GOODSIZE and what it grows to).
    let mut answer = vec![0; 32 << 10];
    // SAFETY: recv(2) writes at most as many octets as it is told: the length of `answer`, which is ours alone.
    let length = unsafe { libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
    answer.truncate(check(length as libc::c_int, what)? as usize);
    Ok(answer)
}

/// The content of the first attribute of this type (`struct nlattr`: length 16 bits, type 16 bits, content, padding).
fn find(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let [l0, l1, t0, t1] = *attributes.first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([l0, l1]));
        let content = attributes.get(4..length)?;
        if u16::from_ne_bytes([t0, t1]) & TYPE_MASK == wanted {
            return Some(content);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

/// Reads what is nested in `IFLA_XDP`.
fn read(nested: &[u8]) -> Option<Attached> {
    let mode = match find(nested, IFLA_XDP_ATTACHED)?.first()? {
        1 => AttachedMode::Driver,
        2 => AttachedMode::Generic,
        3 => AttachedMode::Hardware,
        4 => AttachedMode::Several,
        _ => return None,
    };
    let program = find(nested, IFLA_XDP_PROG_ID).and_then(|octets| octets.first_chunk().copied());
    Some(Attached { mode, program: program.map(u32::from_ne_bytes), name: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::interface::index_of;

    fn attribute(kind: u16, content: &[u8]) -> Vec<u8> {
        let mut octets = (content.len() as u16 + 4).to_ne_bytes().to_vec();
        octets.extend(kind.to_ne_bytes());
        octets.extend(content);
        octets.resize(octets.len().next_multiple_of(4), 0);
        octets
    }

    #[test]
    fn what_the_kernel_says_is_understood() {
        let xdp = [attribute(IFLA_XDP_ATTACHED, &[2]), attribute(IFLA_XDP_PROG_ID, &77_u32.to_ne_bytes())];
        let message = [attribute(3, b"eth0\0"), attribute(IFLA_XDP | 0x8000, &xdp.concat())].concat();
        let found = read(find(&message, IFLA_XDP).unwrap()).unwrap();
        assert_eq!(found, Attached { mode: AttachedMode::Generic, program: Some(77), name: None });
        assert_eq!(found.to_string(), "program 77");
        assert_eq!(read(&attribute(IFLA_XDP_ATTACHED, &[0])), None);
    }

    #[test]
    fn odd_messages_hold_nothing() {
        for octets in [&[][..], &[0; 3], &[0; 4], &[0; 40], &[255; 40], &[8, 0, 43, 0], &[3, 0, 43, 0, 1]] {
            assert!(find(octets, IFLA_XDP).and_then(read).is_none(), "{octets:?}");
        }
    }

    #[test]
    fn an_interface_without_a_program_has_none_and_one_that_is_not_there_is_an_error() {
        let state = link_state(index_of("lo").unwrap()).unwrap();
        assert!(state.attached.is_none() && state.given.is_some(), "{state:?}");
        let error = attached_to(InterfaceIndex::new(i32::MAX as u32).unwrap()).unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENODEV), "{error}");
    }
}
