//! The AF_PACKET socket and its typed options.
//!
//! A socket is opened with protocol 0, so that it receives nothing, then configured, then bound: no frame of another
//! interface and no frame from before its ring or filter existed can be in it (packet(7)).

use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::block_ring::BlockRing;
use super::frame_ring::FrameRing;
use super::geometry::{BlockGeometry, FrameGeometry, FrameVersion};
use super::transmit_ring::{Prefix, TransmitRing};
use crate::error::{Result, SysError, check, named};
use crate::host::interface::InterfaceIndex;
use crate::memory::Mapping;
use crate::socket_option::{self, Buffer, FilterInstruction};

/// `asm-generic/socket.h`.
const SO_MEMINFO: libc::c_int = 55;

/// A classic BPF program. Its return value is the number of bytes to capture; 0 drops the frame uncounted.
pub type Filter = [FilterInstruction];

/// Attaches a classic BPF program to a socket of any kind (`SO_ATTACH_FILTER`, socket(7)); it needs no privilege.
///
/// # Errors
/// `EINVAL` when the kernel's checker refuses the program.
pub fn attach_filter(socket: &impl AsRawFd, filter: &Filter) -> Result<()> {
    socket_option::attach_filter(socket, filter)
}

/// Ring header version (`enum tpacket_versions`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Version {
    /// TPACKET_V1.
    V1 = 0,
    /// TPACKET_V2.
    V2 = 1,
    /// TPACKET_V3.
    V3 = 2,
}

/// What a socket is bound to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Every frame (`ETH_P_ALL`).
    All,
    /// Nothing: for sockets that only send.
    Nothing,
}

/// `PACKET_STATISTICS` since the last read: the kernel resets its counters whenever they are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketStatistics {
    /// Frames that passed the filter, *including* those dropped for want of room (`tp_packets`).
    pub packets: u32,
    /// Frames dropped for want of room in ring or socket (`tp_drops`).
    pub drops: u32,
    /// How often a V3 ring froze because its next block was not free (`tp_freeze_q_cnt`).
    pub freezes: Option<u32>,
}

/// Memory of a socket's receive queue, in bytes of the kernel's own accounting (`SO_MEMINFO`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveMemory {
    /// What the frames in the queue take (`SK_MEMINFO_RMEM_ALLOC`). It can be more than there may be by one frame.
    pub used: u32,
    /// What they may take (`SK_MEMINFO_RCVBUF`).
    pub of: u32,
}

/// How waiting for frames ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// There is something to read.
    Ready,
    /// The time passed, or a signal arrived.
    Nothing,
}

/// Whether frames of a ring of blocks come with hashes of their flows (`TP_FT_REQ_FILL_RXHASH` of linux/if_packet.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowHashes {
    /// They do. What the NIC has not computed, the kernel computes when it puts the frame into the ring.
    Filled,
    /// They do not.
    None,
}

/// An AF_PACKET socket of type SOCK_RAW.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl PacketSocket {
    /// Opens a socket that receives nothing yet, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_RAW in the namespace's user namespace.
    pub fn open() -> Result<Self> {
        let fd = socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None);
        Ok(Self { fd: named(fd, || "socket(AF_PACKET, SOCK_RAW)".into())? })
    }

    /// The socket behind a descriptor, which is one of type SOCK_RAW, with whatever it was set to.
    #[cfg(feature = "dpdk")]
    pub(crate) fn adopt(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// Selects the ring header version (`PACKET_VERSION`).
    ///
    /// # Errors
    /// `EINVAL` when the kernel does not know the version; `EBUSY` when a ring exists.
    pub fn set_version(&self, version: Version) -> Result<()> {
        socket_option::set(
            &self.fd,
            libc::SOL_PACKET,
            libc::PACKET_VERSION,
            &(version as i32),
            "PACKET_VERSION",
        )
    }

    /// Allocates and maps a receive ring of slots (`PACKET_VERSION`, `PACKET_RX_RING`). The ring is the only way to its
    /// memory: a socket has one receive ring, and the kernel refuses to make another one while it is mapped.
    ///
    /// # Errors
    /// `ENOMEM` when the kernel has not the memory; `EINVAL` when it refuses version or geometry.
    pub fn receive_frames(&self, geometry: FrameGeometry, version: FrameVersion) -> Result<FrameRing> {
        self.set_version(match version {
            FrameVersion::V1 => Version::V1,
            FrameVersion::V2 => Version::V2,
        })?;
        let map = self.frame_ring(geometry, libc::PACKET_RX_RING, "PACKET_RX_RING")?;
        FrameRing::new(map, geometry, version)
    }

    /// Allocates and maps a transmit ring of slots (`PACKET_TX_RING` with TPACKET_V2) whose frames have this prefix
    /// (`PACKET_VNET_HDR`).
    ///
    /// # Errors
    /// As for [`PacketSocket::receive_frames`].
    pub fn transmit_frames(&self, geometry: FrameGeometry, prefix: Prefix) -> Result<TransmitRing> {
        self.set_version(Version::V2)?;
        // Before the ring exists, or the kernel says EBUSY.
        self.set_vnet_header(prefix != Prefix::None)?;
        let map = self.frame_ring(geometry, libc::PACKET_TX_RING, "PACKET_TX_RING")?;
        TransmitRing::new(map, geometry, prefix)
    }

    fn frame_ring(&self, geometry: FrameGeometry, option: libc::c_int, name: &str) -> Result<Mapping> {
        let request = libc::tpacket_req {
            tp_block_size: geometry.block_size(),
            tp_block_nr: geometry.blocks(),
            tp_frame_size: geometry.frame_size(),
            tp_frame_nr: geometry.frames(),
        };
        socket_option::set(&self.fd, libc::SOL_PACKET, option, &request, name)?;
        Mapping::of_file(self.as_fd(), geometry.bytes() as usize, 0, "a packet ring")
    }

    /// Allocates and maps a receive ring of blocks (`PACKET_RX_RING` with TPACKET_V3).
    ///
    /// # Errors
    /// As for [`PacketSocket::receive_frames`].
    pub fn receive_blocks(&self, geometry: BlockGeometry, hashes: FlowHashes) -> Result<BlockRing> {
        self.set_version(Version::V3)?;
        let frame_size = 2048.min(geometry.block_size());
        let request = libc::tpacket_req3 {
            tp_block_size: geometry.block_size(),
            tp_block_nr: geometry.blocks(),
            // The kernel only checks that frames fill blocks evenly; V3 packs frames of any size.
            tp_frame_size: frame_size,
            tp_frame_nr: geometry.blocks() * (geometry.block_size() / frame_size),
            tp_retire_blk_tov: geometry.retire_timeout_ms(),
            tp_sizeof_priv: 0,
            tp_feature_req_word: match hashes {
                FlowHashes::Filled => libc::TP_FT_REQ_FILL_RXHASH,
                FlowHashes::None => 0,
            },
        };
        socket_option::set(&self.fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request, "PACKET_RX_RING")?;
        BlockRing::new(
            Mapping::of_file(self.as_fd(), geometry.bytes() as usize, 0, "a packet ring")?,
            geometry,
        )
    }

    /// Attaches a classic BPF program (`SO_ATTACH_FILTER`, socket(7)).
    ///
    /// # Errors
    /// `EINVAL` when the kernel's checker refuses the program.
    pub fn attach_filter(&self, filter: &Filter) -> Result<()> {
        attach_filter(&self.fd, filter)
    }

    /// The same socket by another descriptor (dup(2)): it lives until both are closed.
    ///
    /// # Errors
    /// `EMFILE` when the process may have no more descriptors.
    pub fn duplicate(&self) -> Result<Self> {
        Self::duplicate_of(self.fd.as_fd())
    }

    /// The packet socket behind somebody else's descriptor, by another one (dup(2)).
    pub(crate) fn duplicate_of(descriptor: BorrowedFd<'_>) -> Result<Self> {
        let copy = descriptor.try_clone_to_owned();
        let fd = copy.map_err(|source| SysError::Call { what: "dup of a packet socket".into(), source })?;
        Ok(Self { fd })
    }

    /// Takes the classic BPF program off again (`SO_DETACH_FILTER`).
    ///
    /// # Errors
    /// `ENOENT` when there is none.
    pub fn detach_filter(&self) -> Result<()> {
        socket_option::set(&self.fd, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, &0i32, "SO_DETACH_FILTER")
    }

    /// Puts the interface into promiscuous mode for the life of this socket (`PACKET_MR_PROMISC`). The kernel counts
    /// such requests and undoes this one when the socket closes, however the process ends.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_RAW, `ENODEV` when the interface is gone.
    pub fn set_promiscuous(&self, interface: InterfaceIndex) -> Result<()> {
        let request = libc::packet_mreq {
            mr_ifindex: interface.as_int(),
            mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        socket_option::set(
            &self.fd,
            libc::SOL_PACKET,
            libc::PACKET_ADD_MEMBERSHIP,
            &request,
            "PACKET_ADD_MEMBERSHIP(PROMISC)",
        )
    }

    /// Leaves out frames that this host sends (`PACKET_IGNORE_OUTGOING`, Linux 4.20).
    ///
    /// # Errors
    /// `ENOPROTOOPT` on older kernels.
    pub fn ignore_outgoing(&self) -> Result<()> {
        socket_option::set(
            &self.fd,
            libc::SOL_PACKET,
            libc::PACKET_IGNORE_OUTGOING,
            &1i32,
            "PACKET_IGNORE_OUTGOING",
        )
    }

    /// Asks for VLAN tag and original length beside each received frame (`PACKET_AUXDATA`).
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn set_auxiliary_data(&self) -> Result<()> {
        socket_option::set(&self.fd, libc::SOL_PACKET, libc::PACKET_AUXDATA, &1i32, "PACKET_AUXDATA")
    }

    /// Asks for a nanosecond time stamp beside each received frame (`SO_TIMESTAMPNS`, socket(7)).
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn set_timestamps(&self) -> Result<()> {
        socket_option::set(&self.fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1i32, "SO_TIMESTAMPNS")
    }

    /// Limits how long a blocking receive waits (`SO_RCVTIMEO`, socket(7)).
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn set_receive_timeout(&self, timeout: Duration) -> Result<()> {
        let value = libc::timeval {
            tv_sec: timeout.as_secs() as libc::time_t,
            tv_usec: libc::suseconds_t::from(timeout.subsec_micros()),
        };
        socket_option::set(&self.fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &value, "SO_RCVTIMEO")
    }

    /// Asks for a receive buffer and returns what the kernel granted, in bytes of its own accounting (it doubles the
    /// request for its overhead, socket(7)). Beyond `net.core.rmem_max` only CAP_NET_ADMIN gets more.
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn set_receive_buffer(&self, bytes: u32) -> Result<u32> {
        socket_option::set_buffer(&self.fd, Buffer::Receive, bytes)
    }

    /// Asks for a send buffer; as [`PacketSocket::set_receive_buffer`] with `net.core.wmem_max`.
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn set_send_buffer(&self, bytes: u32) -> Result<u32> {
        socket_option::set_buffer(&self.fd, Buffer::Send, bytes)
    }

    /// Hands frames straight to the driver, past the queueing discipline (`PACKET_QDISC_BYPASS`).
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn set_qdisc_bypass(&self, on: bool) -> Result<()> {
        socket_option::set(
            &self.fd,
            libc::SOL_PACKET,
            libc::PACKET_QDISC_BYPASS,
            &i32::from(on),
            "PACKET_QDISC_BYPASS",
        )
    }

    /// Puts a `struct virtio_net_hdr` in front of each frame (`PACKET_VNET_HDR`); before any ring exists.
    ///
    /// # Errors
    /// `EBUSY` when a ring exists.
    fn set_vnet_header(&self, on: bool) -> Result<()> {
        socket_option::set(
            &self.fd,
            libc::SOL_PACKET,
            libc::PACKET_VNET_HDR,
            &i32::from(on),
            "PACKET_VNET_HDR",
        )
    }

    /// Passes over malformed frames of a transmit ring instead of stopping at them (`PACKET_LOSS`).
    ///
    /// # Errors
    /// `EBUSY` when a ring exists.
    pub fn set_loss(&self, on: bool) -> Result<()> {
        socket_option::set(&self.fd, libc::SOL_PACKET, libc::PACKET_LOSS, &i32::from(on), "PACKET_LOSS")
    }

    /// Binds to an interface. From here on frames arrive.
    ///
    /// # Errors
    /// `ENODEV` when there is no such interface in the socket's namespace, `ENETDOWN` when it is down.
    pub fn bind(&self, interface: InterfaceIndex, protocol: Protocol) -> Result<()> {
        // SAFETY: sockaddr_ll is plain data; all zeroes is a valid value.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = interface.as_int();
        address.sll_protocol = match protocol {
            Protocol::All => (libc::ETH_P_ALL as u16).to_be(),
            Protocol::Nothing => 0,
        };
        // SAFETY: the address is valid for the length given, and bind(2) only reads it.
        let code = unsafe {
            libc::bind(
                self.fd.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        check(code, || format!("bind of a packet socket to interface {interface}"))?;
        socket_option::pending_error(&self.fd, "packet socket")
    }

    /// Reads *and resets* the socket's counters (`PACKET_STATISTICS`).
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn take_statistics(&self) -> Result<PacketStatistics> {
        let (value, length): (libc::tpacket_stats_v3, usize) =
            socket_option::get(&self.fd, libc::SOL_PACKET, libc::PACKET_STATISTICS, "PACKET_STATISTICS")?;
        let freezes = (length == size_of::<libc::tpacket_stats_v3>()).then_some(value.tp_freeze_q_cnt);
        Ok(PacketStatistics { packets: value.tp_packets, drops: value.tp_drops, freezes })
    }

    /// How much of the memory of the receive queue is in use (`SO_MEMINFO`, Linux 4.12). Frames in a ring are not in the
    /// queue.
    ///
    /// # Errors
    /// `ENOPROTOOPT` on older kernels.
    pub fn receive_memory(&self) -> Result<ReceiveMemory> {
        let (values, _): ([u32; 9], usize) =
            socket_option::get(&self.fd, libc::SOL_SOCKET, SO_MEMINFO, "SO_MEMINFO")?;
        Ok(ReceiveMemory {
            used: values[libc::SK_MEMINFO_RMEM_ALLOC as usize],
            of: values[libc::SK_MEMINFO_RCVBUF as usize],
        })
    }

    /// Waits until there is something to read (poll(2)).
    ///
    /// # Errors
    /// What the socket reports, for example `ENETDOWN` after its interface went down.
    pub fn wait_readable(&self, timeout: Duration) -> Result<Readiness> {
        let mut entry = [PollFd::new(&self.fd, PollFlags::IN)];
        // Whole milliseconds, rounded up: a wait of under a millisecond must not become a spin.
        let milliseconds = timeout.as_micros().div_ceil(1000).min(i32::MAX as u128) as i64;
        let timeout = Timespec { tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000 };
        match poll(&mut entry, Some(&timeout)) {
            Err(Errno::INTR) => return Ok(Readiness::Nothing),
            waited => named(waited, || "poll of a packet socket".into())?,
        };
        let found = entry[0].revents();
        if found.intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL) {
            socket_option::pending_error(&self.fd, "packet socket")?;
        }
        Ok(if found.contains(PollFlags::IN) { Readiness::Ready } else { Readiness::Nothing })
    }
}
