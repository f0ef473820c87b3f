//! ntop's PF_RING: the kernel module's list of its rings and, with the feature `libraries`, libpfring.

#[cfg(feature = "libraries")]
mod abi;
#[cfg(feature = "libraries")]
mod library;
mod listing;
#[cfg(feature = "libraries")]
mod ring;

use std::num::NonZeroU32;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, socket_with};

#[cfg(feature = "libraries")]
pub use abi::MOST_CAPTURED;
#[cfg(feature = "libraries")]
pub use library::{Cluster, ClusterSharing, PfRing, Reading, RingOptions, Version, Way, can_lend};
pub use listing::{FOLDER, ListedRing, listed};
#[cfg(feature = "libraries")]
pub use ring::{Ring, Statistics};

use crate::error::{Result, named};

/// `PF_RING` of `linux/pf_ring.h`: the address family of the kernel module's sockets.
pub const FAMILY: i32 = 27;

/// Opens a socket of the kernel module, without a library and without a ring.
///
/// # Errors
/// `EAFNOSUPPORT` without the kernel module, `EPERM` without CAP_NET_RAW.
pub fn open_socket() -> Result<OwnedFd> {
    let every = NonZeroU32::new(u32::from((libc::ETH_P_ALL as u16).to_be())).map(Protocol::from_raw);
    let family = AddressFamily::from_raw(FAMILY as u16);
    let socket = socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, every);
    named(socket, || "socket(PF_RING, SOCK_RAW)".into())
}
