//! The AF_PACKET socket and its typed options.
//!
//! A socket is opened with protocol 0, so that it receives nothing, then configured, then bound. So it cannot contain a frame
//! of another interface or from before its ring or filter existed (packet(7)).

use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::block_ring::BlockRing;
use super::frame_ring::FrameRing;
use super::geometry::{BlockGeometry, FrameGeometry, FrameVersion};
use super::transmit_ring::{Prefix, TransmitRing};
use crate::error::{Result, check, named};
use crate::host::interface::{InterfaceIndex, LinkLayer};
use crate::host::wait;
use crate::memory::Mapping;
use crate::socket_option::{self, *};

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

/// The frames that a socket receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Every frame (`ETH_P_ALL`).
    All,
    /// Nothing: for sockets that only send.
    Nothing,
}

/// `PACKET_STATISTICS` since the last read: the kernel resets its counters on each read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketStatistics {
    /// Frames that passed the filter, *including* those dropped because there was no room (`tp_packets`).
    pub packets: u32,
    /// Frames dropped because ring or socket had no room (`tp_drops`).
    pub drops: u32,
    /// Number of times that a V3 ring froze because its next block was not free (`tp_freeze_q_cnt`).
    pub freezes: Option<u32>,
}

/// Memory of a socket's receive queue, in bytes of the kernel's own accounting (`SO_MEMINFO`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveMemory {
    /// Memory of the frames in the queue (`SK_MEMINFO_RMEM_ALLOC`). It can exceed the limit by one frame.
    pub used: u32,
    /// Its limit (`SK_MEMINFO_RCVBUF`).
    pub of: u32,
}

/// Result of waiting for frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// There is something to read.
    Ready,
    /// The timeout passed, or a signal arrived.
    Nothing,
}

/// Whether a block ring delivers flow hashes (`TP_FT_REQ_FILL_RXHASH` of linux/if_packet.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowHashes {
    /// Yes. The kernel computes hashes that the NIC did not, when it puts the frame into the ring.
    Filled,
    /// No.
    None,
}

/// An AF_PACKET socket of type SOCK_RAW, or of type SOCK_DGRAM for links without Ethernet.
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
        Self::open_on(LinkLayer::Ethernet)
    }

    /// Opens a socket for interfaces of this kind. On a link without Ethernet its packets are IP packets in both directions.
    ///
    /// # Errors
    /// As [`PacketSocket::open`].
    pub fn open_on(layer: LinkLayer) -> Result<Self> {
        let (kind, name) = match layer {
            LinkLayer::Ethernet => (SocketType::RAW, "SOCK_RAW"),
            LinkLayer::Ip => (SocketType::DGRAM, "SOCK_DGRAM"),
        };
        let fd = socket_with(AddressFamily::PACKET, kind, SocketFlags::CLOEXEC, None);
        Ok(Self { fd: named(fd, || format!("socket(AF_PACKET, {name})"))? })
    }

    /// The socket behind a descriptor, which is one of type SOCK_RAW, with its settings.
    pub(crate) fn adopt(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// Selects the ring header version (`PACKET_VERSION`).
    ///
    /// # Errors
    /// `EINVAL` if the kernel does not know the version; `EBUSY` if a ring exists.
    pub fn set_version(&self, version: Version) -> Result<()> {
        PACKET_VERSION.set(&self.fd, &(version as i32))
    }

    /// Allocates and maps a receive ring of slots (`PACKET_VERSION`, `PACKET_RX_RING`). Only the ring accesses its memory: a
    /// socket has one receive ring, and the kernel refuses a second one while it is mapped.
    ///
    /// # Errors
    /// `ENOMEM` if the kernel lacks memory; `EINVAL` if it refuses version or geometry.
    pub fn receive_frames(&self, geometry: FrameGeometry, version: FrameVersion) -> Result<FrameRing> {
        self.set_version(match version {
            FrameVersion::V1 => Version::V1,
            FrameVersion::V2 => Version::V2,
        })?;
        let map = self.frame_ring(geometry, PACKET_RX_RING)?;
        FrameRing::new(map, geometry, version)
    }

    /// Allocates and maps a transmit ring of slots (`PACKET_TX_RING` with TPACKET_V2) with this prefix per frame
    /// (`PACKET_VNET_HDR`).
    pub fn transmit_frames(&self, geometry: FrameGeometry, prefix: Prefix) -> Result<TransmitRing> {
        self.set_version(Version::V2)?;
        // Before the ring exists, or the kernel says EBUSY.
        PACKET_VNET_HDR.set(&self.fd, &i32::from(prefix != Prefix::None))?;
        let map = self.frame_ring(geometry, PACKET_TX_RING)?;
        TransmitRing::new(map, geometry, prefix)
    }

    fn frame_ring(&self, geometry: FrameGeometry, option: SocketOption<'_>) -> Result<Mapping> {
        let request = libc::tpacket_req {
            tp_block_size: geometry.block_size(),
            tp_block_nr: geometry.blocks(),
            tp_frame_size: geometry.frame_size(),
            tp_frame_nr: geometry.frames(),
        };
        option.set(&self.fd, &request)?;
        Mapping::of_file(self.as_fd(), geometry.bytes() as usize, 0, "a packet ring")
    }

    /// Allocates and maps a receive ring of blocks (`PACKET_RX_RING` with TPACKET_V3).
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
        PACKET_RX_RING.set(&self.fd, &request)?;
        let map = Mapping::of_file(self.as_fd(), geometry.bytes() as usize, 0, "a packet ring")?;
        BlockRing::new(map, geometry)
    }

    /// Attaches a classic BPF program (`SO_ATTACH_FILTER`, socket(7)).
    pub fn attach_filter(&self, filter: &Filter) -> Result<()> {
        attach_filter(&self.fd, filter)
    }

    /// The same socket with another descriptor (dup(2)): it exists until both are closed.
    pub fn duplicate(&self) -> Result<Self> {
        Self::duplicate_of(self.fd.as_fd())
    }

    /// The packet socket behind somebody else's descriptor, by another one (dup(2)).
    pub(crate) fn duplicate_of(descriptor: BorrowedFd<'_>) -> Result<Self> {
        Ok(Self { fd: named(descriptor.try_clone_to_owned(), || "dup of a packet socket".into())? })
    }

    /// Detaches the classic BPF program (`SO_DETACH_FILTER`).
    pub fn detach_filter(&self) -> Result<()> {
        SO_DETACH_FILTER.set(&self.fd, &0i32)
    }

    /// Sets the interface promiscuous for the life of this socket (`PACKET_MR_PROMISC`). The kernel counts such requests and
    /// cancels this one when the socket closes, even if the process is killed.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_RAW, `ENODEV` if the interface no longer exists.
    pub fn set_promiscuous(&self, interface: InterfaceIndex) -> Result<()> {
        let request = libc::packet_mreq {
            mr_ifindex: interface.as_int(),
            mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        PACKET_ADD_MEMBERSHIP.called("PACKET_ADD_MEMBERSHIP(PROMISC)").set(&self.fd, &request)
    }

    /// Omits frames that this host sends (`PACKET_IGNORE_OUTGOING`, Linux 4.20; before that `ENOPROTOOPT`).
    pub fn ignore_outgoing(&self) -> Result<()> {
        PACKET_IGNORE_OUTGOING.set(&self.fd, &1i32)
    }

    /// Requests the VLAN tag and original length of each received frame (`PACKET_AUXDATA`).
    pub fn set_auxiliary_data(&self) -> Result<()> {
        PACKET_AUXDATA.set(&self.fd, &1i32)
    }

    /// Requests a nanosecond time stamp of each received frame (`SO_TIMESTAMPNS`, socket(7)).
    pub fn set_timestamps(&self) -> Result<()> {
        SO_TIMESTAMPNS.set(&self.fd, &1i32)
    }

    /// Limits how long a blocking receive waits (`SO_RCVTIMEO`, socket(7)).
    pub fn set_receive_timeout(&self, timeout: Duration) -> Result<()> {
        let tv_usec = libc::suseconds_t::from(timeout.subsec_micros());
        SO_RCVTIMEO.set(&self.fd, &libc::timeval { tv_sec: timeout.as_secs() as libc::time_t, tv_usec })
    }

    /// Requests a receive buffer and returns the granted size in bytes of the kernel's accounting (the kernel doubles the
    /// request for its overhead, socket(7)). More than `net.core.rmem_max` needs CAP_NET_ADMIN.
    pub fn set_receive_buffer(&self, bytes: u32) -> Result<u32> {
        socket_option::set_buffer(&self.fd, RECEIVE_BUFFER, bytes)
    }

    /// Requests a send buffer; like [`PacketSocket::set_receive_buffer`] with `net.core.wmem_max`.
    pub fn set_send_buffer(&self, bytes: u32) -> Result<u32> {
        socket_option::set_buffer(&self.fd, SEND_BUFFER, bytes)
    }

    /// Passes frames directly to the driver, bypassing the queueing discipline (`PACKET_QDISC_BYPASS`).
    pub fn set_qdisc_bypass(&self, on: bool) -> Result<()> {
        PACKET_QDISC_BYPASS.set(&self.fd, &i32::from(on))
    }

    /// Skips malformed frames of a transmit ring instead of stopping at them (`PACKET_LOSS`).
    ///
    /// # Errors
    /// `EBUSY` if a ring exists.
    pub fn set_loss(&self, on: bool) -> Result<()> {
        PACKET_LOSS.set(&self.fd, &i32::from(on))
    }

    /// Binds to an interface. From then on frames arrive.
    ///
    /// # Errors
    /// `ENODEV` if the interface does not exist in the socket's namespace, `ENETDOWN` if it is down.
    pub fn bind(&self, interface: InterfaceIndex, protocol: Protocol) -> Result<()> {
        // SAFETY: sockaddr_ll is plain data; all zeroes is a valid value.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = interface.as_int();
        address.sll_protocol = match protocol {
            Protocol::All => (libc::ETH_P_ALL as u16).to_be(),
            Protocol::Nothing => 0,
        };
        let (place, length) = ((&raw const address).cast(), size_of_val(&address) as libc::socklen_t);
        // SAFETY: the address is valid for this length, and bind(2) only reads it.
        let code = unsafe { libc::bind(self.fd.as_raw_fd(), place, length) };
        check(code, || format!("bind of a packet socket to interface {interface}"))?;
        socket_option::pending_error(&self.fd, "packet socket")
    }

    /// Reads *and resets* the socket's counters (`PACKET_STATISTICS`).
    pub fn take_statistics(&self) -> Result<PacketStatistics> {
        let (value, length) = PACKET_STATISTICS.get_with_length::<libc::tpacket_stats_v3>(&self.fd)?;
        let freezes = (length == size_of_val(&value)).then_some(value.tp_freeze_q_cnt);
        Ok(PacketStatistics { packets: value.tp_packets, drops: value.tp_drops, freezes })
    }

    /// Used memory of the receive queue (`SO_MEMINFO`, Linux 4.12). Frames in a ring are not in the queue.
    ///
    /// # Errors
    /// `ENOPROTOOPT` on older kernels.
    pub fn receive_memory(&self) -> Result<ReceiveMemory> {
        let values: [u32; 9] = SO_MEMINFO.get(&self.fd)?;
        Ok(ReceiveMemory {
            used: values[libc::SK_MEMINFO_RMEM_ALLOC as usize],
            of: values[libc::SK_MEMINFO_RCVBUF as usize],
        })
    }

    /// Waits until there is something to read (poll(2)).
    pub fn wait_readable(&self, timeout: Duration) -> Result<Readiness> {
        let mut entry = [libc::pollfd { fd: self.fd.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
        wait::poll(&mut entry, timeout, "a packet socket")?;
        if entry[0].revents & !libc::POLLIN != 0 {
            socket_option::pending_error(&self.fd, "packet socket")?;
        }
        Ok(if entry[0].revents & libc::POLLIN != 0 { Readiness::Ready } else { Readiness::Nothing })
    }
}
