//! Interfaces by name and by number, in the network namespace of the calling thread: netdevice(7).

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, netdevice, socket_with};

use crate::error::{check, named};
use crate::{Result, SysError};

/// The kernel's number of an interface, from 1, unique within its network namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceIndex(u32);

impl InterfaceIndex {
    /// The interface with this number; `None` for 0 and for numbers beyond a C `int`, which no interface has.
    pub fn new(number: u32) -> Option<Self> {
        (number > 0 && i32::try_from(number).is_ok()).then_some(Self(number))
    }

    /// The kernel's number.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The number as the type of `sockaddr_ll.sll_ifindex`.
    pub const fn as_int(self) -> i32 {
        self.0 as i32
    }
}

/// The flags of an interface (`IFF_*` of linux/if.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterfaceFlags(libc::c_short);

impl InterfaceFlags {
    /// Whether it is up.
    pub const fn up(self) -> bool {
        self.0 & libc::IFF_UP as libc::c_short != 0
    }

    /// The same, and up.
    pub(super) const fn with_up(self) -> Self {
        Self(self.0 | libc::IFF_UP as libc::c_short)
    }

    /// The numbers of the kernel.
    pub(super) const fn bits(self) -> libc::c_short {
        self.0
    }

    /// Whether the administrator set promiscuous mode. The mode of sockets is not included.
    pub const fn promiscuous(self) -> bool {
        self.0 & libc::IFF_PROMISC as libc::c_short != 0
    }
}

/// The flags of the interface `name` (`SIOCGIFFLAGS`, netdevice(7)).
pub fn flags_of(name: &str) -> Result<InterfaceFlags> {
    flags(&request_socket()?, name)
}

fn flags(socket: &OwnedFd, name: &str) -> Result<InterfaceFlags> {
    let empty = libc::__c_anonymous_ifr_ifru { ifru_flags: 0 };
    // SAFETY: SIOCGIFFLAGS reads the name only and writes `ifr_flags` (netdevice(7)).
    let answer = unsafe { request(socket, name, libc::SIOCGIFFLAGS, empty, "SIOCGIFFLAGS") }?;
    // SAFETY: the call succeeded, so the kernel has set the flags; every bit pattern is a number.
    Ok(InterfaceFlags(unsafe { answer.ifru_flags }))
}

/// An interface that is read often: its socket stays open.
#[derive(Debug)]
pub struct Watched {
    index: InterfaceIndex,
    socket: OwnedFd,
}

impl Watched {
    /// The interface `index` of the calling thread's network namespace.
    pub fn new(index: InterfaceIndex) -> Result<Self> {
        Ok(Self { index, socket: request_socket()? })
    }

    /// Its current flags, also after a rename.
    pub fn flags(&self) -> Result<InterfaceFlags> {
        flags(&self.socket, &name(&self.socket, self.index)?)
    }
}

/// The number of the interface `name`.
pub fn index_of(name: &str) -> Result<InterfaceIndex> {
    let what = || format!("if_nametoindex({name})");
    if name.contains('\0') {
        return Err(SysError::argument(what(), "the name contains a NUL"));
    }
    let number = named(netdevice::name_to_index(request_socket()?, name), what)?;
    InterfaceIndex::new(number)
        .ok_or_else(|| SysError::argument(what(), format!("impossible number {number}")))
}

/// The name of the interface `index`.
pub fn name_of(index: InterfaceIndex) -> Result<String> {
    name(&request_socket()?, index)
}

fn name(socket: &OwnedFd, index: InterfaceIndex) -> Result<String> {
    named(netdevice::index_to_name(socket, index.0), || format!("ioctl(SIOCGIFNAME, interface {index})"))
}

/// The link-layer address of the Ethernet interface `name` (`SIOCGIFHWADDR`).
pub fn hardware_address(name: &str) -> Result<[u8; 6]> {
    let octets = hardware(name)?.sa_data;
    Ok(std::array::from_fn(|index| octets[index] as u8))
}

/// The type of link of the interface `name`: `ARPHRD_*` of linux/if_arp.h (`SIOCGIFHWADDR`).
pub fn hardware_type(name: &str) -> Result<u16> {
    Ok(hardware(name)?.sa_family)
}

/// What the packets of an interface begin with, where capbench knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkLayer {
    /// An Ethernet header.
    Ethernet,
    /// The header of IPv4 or IPv6: there is no link-layer header, or it differs from device to device and the kernel removes it.
    Ip,
}

impl LinkLayer {
    /// By the type of link, `ARPHRD_*` of linux/if_arp.h; `None` for other links.
    ///
    /// A packet socket of type SOCK_RAW shows some of the links without Ethernet with a header and some without: PPP devices of some
    /// drivers, GRE tunnels without a fixed end. One of type SOCK_DGRAM shows the IP packet of each.
    pub const fn of_hardware_type(hardware_type: u16) -> Option<Self> {
        /// `ARPHRD_RAWIP`: modems. The crate libc lacks this and the next.
        const RAW_IP: u16 = 519;
        /// `ARPHRD_IP6GRE`.
        const IPV6_GRE: u16 = 823;
        match hardware_type {
            libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => Some(Self::Ethernet),
            // NONE: tun and WireGuard; TUNNEL, TUNNEL6 and SIT: IP in IP.
            libc::ARPHRD_NONE
            | RAW_IP
            | libc::ARPHRD_PPP
            | libc::ARPHRD_TUNNEL
            | libc::ARPHRD_TUNNEL6
            | libc::ARPHRD_SIT
            | libc::ARPHRD_IPGRE
            | IPV6_GRE => Some(Self::Ip),
            _ => None,
        }
    }

    /// Octets of the link-layer header without tags.
    pub const fn header_octets(self) -> u32 {
        match self {
            Self::Ethernet => 14,
            Self::Ip => 0,
        }
    }
}

fn hardware(name: &str) -> Result<libc::sockaddr> {
    // SAFETY: all zeroes is a value of the structure, which is plain data.
    let empty: libc::__c_anonymous_ifr_ifru = unsafe { std::mem::zeroed() };
    // SAFETY: SIOCGIFHWADDR reads the name only and writes `ifr_hwaddr` (netdevice(7)).
    let answer = unsafe { request(&request_socket()?, name, libc::SIOCGIFHWADDR, empty, "SIOCGIFHWADDR") }?;
    // SAFETY: the request has filled `ifr_hwaddr`, which is plain data.
    Ok(unsafe { answer.ifru_hwaddr })
}

/// A request about the interface called `name` (netdevice(7)): what it leaves in the structure. `call` is what errors call it.
///
/// # Safety
/// `data` must be what the request reads, and every address in it valid for what the request does with it.
pub(super) unsafe fn request(
    socket: &OwnedFd,
    name: &str,
    request: libc::c_ulong,
    data: libc::__c_anonymous_ifr_ifru,
    call: &str,
) -> Result<libc::__c_anonymous_ifr_ifru> {
    let what = || format!("ioctl({call}, {name})");
    let mut ifreq = libc::ifreq { ifr_name: name_field(name, what)?, ifr_ifru: data };
    // SAFETY: the request reads and writes one ifreq, exclusively ours and alive, whose name ends with a NUL; the rest is
    // the caller's promise.
    let code = unsafe { libc::ioctl(socket.as_raw_fd(), request as _, &mut ifreq) };
    check(code, what)?;
    Ok(ifreq.ifr_ifru)
}

/// The name as `struct ifreq` has it. `what` is what an error calls the request.
pub(super) fn name_field(
    name: &str,
    what: impl FnOnce() -> String,
) -> Result<[libc::c_char; libc::IFNAMSIZ]> {
    if name.len() >= libc::IFNAMSIZ || name.contains('\0') {
        return Err(SysError::argument(what(), "not a name that an interface can have"));
    }
    let mut field = [0 as libc::c_char; libc::IFNAMSIZ];
    for (to, from) in field.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(field)
}

/// A socket for requests about interfaces of the calling thread's network namespace.
pub(super) fn request_socket() -> Result<OwnedFd> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None);
    named(socket, || "socket(AF_INET)".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_belong_together() {
        let index = index_of("lo").unwrap();
        assert_eq!(name_of(index).unwrap(), "lo");
        assert_eq!(index.as_int() as u32, index.number());
        assert_eq!([0, u32::MAX].map(InterfaceIndex::new), [None; 2]);
    }

    #[test]
    fn a_missing_file_is_an_error_with_its_name() {
        assert_eq!(index_of("no-such-if").unwrap_err().errno(), Some(libc::ENODEV));
        assert!(index_of("no-such-if").unwrap_err().to_string().contains("no-such-if"));
        assert!(index_of("a\0b").unwrap_err().errno().is_none());
        assert!(index_of("").is_err());
        assert!(index_of(&"x".repeat(4000)).is_err());
        assert!(name_of(InterfaceIndex::new(i32::MAX as u32).unwrap()).is_err());
    }

    #[test]
    fn a_watched_interface_is_set_as_its_name_says_and_one_that_is_not_there_is_gone() {
        assert!(!flags_of("lo").unwrap().promiscuous());
        assert_eq!(flags_of("no-such-if").unwrap_err().errno(), Some(libc::ENODEV));
        assert!(flags_of("a-name-that-is-too-long").is_err() && flags_of("a\0b").is_err());
        let watched = Watched::new(index_of("lo").unwrap()).unwrap();
        assert_eq!([(); 2].map(|()| watched.flags().unwrap()), [flags_of("lo").unwrap(); 2]);
        let gone = Watched::new(InterfaceIndex::new(i32::MAX as u32).unwrap()).unwrap();
        assert_eq!(gone.flags().unwrap_err().errno(), Some(libc::ENODEV));
    }

    #[test]
    fn the_loopback_interface_has_an_address_of_zeroes_and_ethernet_frames() {
        assert_eq!(hardware_address("lo").unwrap(), [0; 6]);
        assert_eq!(hardware_address("no-such-if").unwrap_err().errno(), Some(libc::ENODEV));
        assert_eq!(hardware_type("lo").unwrap(), libc::ARPHRD_LOOPBACK);
        let layers = [libc::ARPHRD_LOOPBACK, libc::ARPHRD_NONE, libc::ARPHRD_PPP, libc::ARPHRD_CAN];
        let expected = [Some(LinkLayer::Ethernet), Some(LinkLayer::Ip), Some(LinkLayer::Ip), None];
        assert_eq!(layers.map(LinkLayer::of_hardware_type), expected);
    }
}
