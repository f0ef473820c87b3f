//! Which XDP program an interface has: the attribute `IFLA_XDP` of `RTM_GETLINK` (rtnetlink(7), `linux/if_link.h`).
//!
//! A link's own information (`BPF_OBJ_GET_INFO_BY_FD`) does not say whether the driver or the stack runs the program.

use std::mem::offset_of;

use super::call;
use crate::error::by_code;
use crate::host::InterfaceIndex;
use crate::netlink::{Answers, HEADER, attribute, u16_at, u32_at};
use crate::{Result, SysError};

/// The part that runs the program (`IFLA_XDP_ATTACHED`, `XDP_ATTACHED_*` of `linux/if_link.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub enum XdpAttachment {
    /// None: there is no program.
    Detached,
    /// The driver, before a socket buffer exists (native mode).
    Driver,
    /// The stack, with a socket buffer (generic mode).
    Generic,
    /// The interface's processor.
    Hardware,
    /// Several of them, each with its own program.
    Several,
}

impl XdpAttachment {
    /// What the content of `IFLA_XDP` says; `None` for a part of later kernels.
    pub fn parse(nested: &[u8]) -> Option<Self> {
        let all = [Self::Detached, Self::Driver, Self::Generic, Self::Hardware, Self::Several];
        all.get(usize::from(*attribute(nested, IFLA_XDP_ATTACHED)?.first()?)).copied()
    }

    /// Its name in results; `None` if there is no program.
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Self::Detached => None,
            Self::Driver => Some("driver"),
            Self::Generic => Some("generic"),
            Self::Hardware => Some("hardware"),
            Self::Several => Some("several"),
        }
    }
}

/// An XDP program on an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// The part that runs it.
    pub mode: XdpAttachment,
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
/// Where the interface's number is in `struct ifinfomsg`.
const INDEX: usize = offset_of!(libc::ifinfomsg, ifi_index);

/// The state of an interface for XDP programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// Whether it is up (`IFF_UP`).
    pub up: bool,
    /// The program on it.
    pub attached: Option<Attached>,
    /// Frames passed to it for sending: those that it sent plus those that it dropped (`tx_packets` and `tx_dropped` of
    /// `IFLA_STATS64`); `None` if the kernel reported none.
    pub offered: Option<u64>,
}

/// The state of `interface` in the calling thread's network namespace.
pub fn link_state(interface: InterfaceIndex) -> Result<LinkState> {
    let what = || format!("RTM_GETLINK(interface {interface})");
    let mut message = [0; size_of::<libc::ifinfomsg>()];
    message[INDEX..INDEX + 4].copy_from_slice(&interface.as_int().to_ne_bytes());
    let answers = Answers::of(None, (libc::RTM_GETLINK, libc::NLM_F_REQUEST), &message, what)?;
    // A link's message has a few KiB; the kernel's own limit for one is 32 KiB (NLMSG_GOODSIZE and what it grows to).
    let mut answer = vec![0; 32 << 10];
    let answer = answers.next(&mut answer, what)?;
    if u16_at(answer, 4).is_some_and(|kind| i32::from(kind) == libc::NLMSG_ERROR) {
        return Err(by_code(what(), u32_at(answer, HEADER).map_or(libc::EPROTO, u32::cast_signed)));
    }
    let short = || SysError::argument(what(), "the kernel's answer is cut short");
    let flags = u32_at(answer, HEADER + offset_of!(libc::ifinfomsg, ifi_flags)).ok_or_else(short)?;
    let attributes = answer.get(HEADER + size_of::<libc::ifinfomsg>()..).ok_or_else(short)?;
    let attached = attribute(attributes, IFLA_XDP).and_then(read).map(|found| Attached {
        name: found.program.and_then(|id| call::program_name(id).ok()).filter(|name| !name.is_empty()),
        ..found
    });
    let offered = attribute(attributes, IFLA_STATS64).and_then(|statistics| {
        let (words, _) = statistics.as_chunks::<8>();
        // `struct rtnl_link_stats64`.
        let [sent, dropped] = [words.get(1)?, words.get(7)?].map(|word| u64::from_ne_bytes(*word));
        Some(sent + dropped)
    });
    Ok(LinkState { up: flags & libc::IFF_UP as u32 != 0, attached, offered })
}

/// The program attached to `interface` in the calling thread's network namespace; `None` without one.
pub fn attached_to(interface: InterfaceIndex) -> Result<Option<Attached>> {
    link_state(interface).map(|state| state.attached)
}

/// Reads what is nested in `IFLA_XDP`.
fn read(nested: &[u8]) -> Option<Attached> {
    let mode = XdpAttachment::parse(nested).filter(|mode| *mode != XdpAttachment::Detached)?;
    let program = attribute(nested, IFLA_XDP_PROG_ID).and_then(|content| u32_at(content, 0));
    Some(Attached { mode, program, name: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::interface::index_of;

    fn encoded(kind: u16, content: &[u8]) -> Vec<u8> {
        let mut octets = (content.len() as u16 + 4).to_ne_bytes().to_vec();
        octets.extend(kind.to_ne_bytes());
        octets.extend(content);
        octets.resize(octets.len().next_multiple_of(4), 0);
        octets
    }

    #[test]
    fn the_kernels_answers_are_parsed() {
        let xdp = [encoded(IFLA_XDP_ATTACHED, &[2]), encoded(IFLA_XDP_PROG_ID, &77_u32.to_ne_bytes())];
        let message = [encoded(3, b"eth0\0"), encoded(IFLA_XDP | 0x8000, &xdp.concat())].concat();
        let found = read(attribute(&message, IFLA_XDP).unwrap()).unwrap();
        assert_eq!(found, Attached { mode: XdpAttachment::Generic, program: Some(77), name: None });
        assert_eq!(found.to_string(), "program 77");
        assert_eq!(read(&encoded(IFLA_XDP_ATTACHED, &[0])), None);
    }

    #[test]
    fn odd_messages_hold_nothing() {
        for octets in [&[][..], &[0; 3], &[0; 4], &[0; 40], &[255; 40], &[8, 0, 43, 0], &[3, 0, 43, 0, 1]] {
            assert!(attribute(octets, IFLA_XDP).and_then(read).is_none(), "{octets:?}");
        }
    }

    #[test]
    fn an_interface_without_a_program_has_none_and_one_that_is_not_there_is_an_error() {
        let state = link_state(index_of("lo").unwrap()).unwrap();
        assert!(state.attached.is_none() && state.offered.is_some(), "{state:?}");
        let error = attached_to(InterfaceIndex::new(i32::MAX as u32).unwrap()).unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENODEV), "{error}");
    }
}
