//! The AF_XDP socket and its typed options (Documentation/networking/af_xdp.rst, `linux/if_xdp.h`).
//!
//! Code that makes rings or registers memory is private to this crate: [`super::receive`] and [`super::transmit`] combine the
//! parts so that each chunk has one owner.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt::{xdp_mmap_offsets, xdp_options, xdp_statistics};
use rustix::net::xdp::{XdpMmapOffsets, XdpOptionsFlags, XdpRingOffset};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::ring::{Consumer, Entry, Offsets, Producer};
use super::umem::Umem;
use crate::error::{Result, SysError, check, named};
use crate::host::interface::InterfaceIndex;
use crate::memory::Mapping;
use crate::socket_option::{self, *};

/// How long the kernel may take to give a queue free: it waits for RCU, a worker and the lock of all interfaces.
const RELEASE: Duration = Duration::from_secs(30);
/// How long a queue is waited for that another socket may have.
const RELEASE_AMONG_OTHERS: Duration = Duration::from_secs(1);

/// How frames move between driver and UMEM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyMode {
    /// The kernel's choice: zero-copy if the driver supports it, else copy.
    Any,
    /// Copied by the kernel (`XDP_COPY`).
    Copy,
    /// By the NIC itself (`XDP_ZEROCOPY`); refused if the driver lacks support.
    ZeroCopy,
}

/// Bind settings of a socket (`sxdp_flags`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindOptions {
    /// How frames move between driver and UMEM.
    pub mode: CopyMode,
    /// Whether the kernel reports when it needs a system call (`XDP_USE_NEED_WAKEUP`, Linux 5.4).
    pub need_wakeup: bool,
}

/// `XDP_STATISTICS`, cumulative since the socket was made; reading does not reset them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XdpStatistics {
    /// Frames dropped in copy mode because no chunk was free or the frame was too long. Before Linux 5.9 includes
    /// `rx_ring_full`.
    pub rx_dropped: u64,
    /// Invalid descriptors in the fill ring.
    pub rx_invalid_descs: u64,
    /// Invalid descriptors in the transmit ring.
    pub tx_invalid_descs: u64,
    /// Frames dropped because the receive ring was full; `None` before Linux 5.9.
    pub rx_ring_full: Option<u64>,
    /// Number of times that the fill ring was empty; `None` before Linux 5.9.
    pub rx_fill_ring_empty_descs: Option<u64>,
    /// Number of times that the transmit ring was empty; `None` before Linux 5.9.
    pub tx_ring_empty_descs: Option<u64>,
}

/// An AF_XDP socket.
#[derive(Debug)]
pub struct XdpSocket {
    fd: OwnedFd,
}

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl XdpSocket {
    /// Opens an unbound socket in the network namespace of the calling thread.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_RAW, `EAFNOSUPPORT` from a kernel without AF_XDP.
    pub fn open() -> Result<Self> {
        let fd = socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC, None);
        Ok(Self { fd: named(fd, || "socket(AF_XDP, SOCK_RAW)".into())? })
    }

    /// The socket behind a descriptor, which is one of AF_XDP, with its settings.
    #[cfg(feature = "dpdk")]
    pub(crate) fn adopt(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// Registers memory (`XDP_UMEM_REG`). The kernel pins its pages.
    ///
    /// # Errors
    /// `ENOBUFS` when that is more than the limit on locked memory (RLIMIT_MEMLOCK) and CAP_IPC_LOCK is missing.
    pub(super) fn register(&self, umem: &Umem) -> Result<()> {
        // SAFETY: the kernel pins the pages that the registration names and so has them until the socket is closed. They
        // are a mapping that holds chunks and nothing else (`Umem::of_pages`), each of which has one owner at a time.
        unsafe { XDP_UMEM_REG.set_with_addresses(&self.fd, &umem.registration()) }
    }

    /// Makes and maps the fill ring. A socket has one ring of each kind: a second call fails.
    pub(super) fn fill_ring(&self, entries: u32) -> Result<Producer<u64>> {
        let page = libc::XDP_UMEM_PGOFF_FILL_RING;
        let (map, offsets) =
            self.ring::<u64>(XDP_UMEM_FILL_RING, entries, page, |all| all.fr, "fill ring")?;
        Producer::new(map, offsets, entries)
    }

    pub(super) fn completion_ring(&self, entries: u32) -> Result<Consumer<u64>> {
        let page = libc::XDP_UMEM_PGOFF_COMPLETION_RING;
        let (map, offsets) =
            self.ring::<u64>(XDP_UMEM_COMPLETION_RING, entries, page, |all| all.cr, "completion ring")?;
        Consumer::new(map, offsets, entries)
    }

    pub(super) fn receive_ring(&self, entries: u32) -> Result<Consumer<libc::xdp_desc>> {
        let page = libc::XDP_PGOFF_RX_RING as u64;
        let (map, offsets) =
            self.ring::<libc::xdp_desc>(XDP_RX_RING, entries, page, |all| all.rx, "receive ring")?;
        Consumer::new(map, offsets, entries)
    }

    pub(super) fn transmit_ring(&self, entries: u32) -> Result<Producer<libc::xdp_desc>> {
        let page = libc::XDP_PGOFF_TX_RING as u64;
        let (map, offsets) =
            self.ring::<libc::xdp_desc>(XDP_TX_RING, entries, page, |all| all.tx, "transmit ring")?;
        Producer::new(map, offsets, entries)
    }

    fn ring<T: Entry>(
        &self,
        option: SocketOption<'_>,
        entries: u32,
        page: u64,
        which: impl FnOnce(XdpMmapOffsets) -> XdpRingOffset,
        what: &str,
    ) -> Result<(Mapping, Offsets)> {
        option.called(&format!("AF_XDP {what} of {entries} entries")).set(&self.fd, &entries)?;
        let all = named(xdp_mmap_offsets(&self.fd), || "getsockopt(XDP_MMAP_OFFSETS)".into())?;
        let XdpRingOffset { producer, consumer, desc, flags } = which(all);
        let [producer, consumer, first] = [producer, consumer, desc].map(|offset| offset as usize);
        let flags = flags.map(|offset| offset as usize);
        let length = first + entries as usize * size_of::<T>();
        let map = Mapping::of_file(self.as_fd(), length, page, &format!("an AF_XDP {what}"))?;
        Ok((map, Offsets { producer, consumer, entries: first, flags }))
    }

    /// Binds to a queue of an interface, with the socket's own UMEM or with the one of another socket.
    ///
    /// The kernel gives a queue free some time after its last socket was closed, in deferred work that no event announces
    /// (`xp_release_deferred` of net/xdp/xsk_buff_pool.c). So a queue that is busy is asked for again for a while: long if this is
    /// the only AF_XDP socket, as then nobody has the queue.
    pub(super) fn bind(
        &self,
        interface: InterfaceIndex,
        queue: u32,
        options: BindOptions,
        shared: Option<&Self>,
    ) -> Result<()> {
        let begun = Instant::now();
        let patience = || if sockets_of_namespace() == Some(1) { RELEASE } else { RELEASE_AMONG_OTHERS };
        loop {
            match self.try_bind(interface, queue, options, shared) {
                Err(error) if error.errno() == Some(libc::EBUSY) && begun.elapsed() < patience() => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                done => return done,
            }
        }
    }

    fn try_bind(
        &self,
        interface: InterfaceIndex,
        queue: u32,
        options: BindOptions,
        shared: Option<&Self>,
    ) -> Result<()> {
        let own_flags = || {
            let mode = match options.mode {
                CopyMode::Any => 0,
                CopyMode::Copy => libc::XDP_COPY,
                CopyMode::ZeroCopy => libc::XDP_ZEROCOPY,
            };
            mode | if options.need_wakeup { libc::XDP_USE_NEED_WAKEUP } else { 0 }
        };
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            // A socket that shares a UMEM inherits the flags; the kernel refuses any here.
            sxdp_flags: if shared.is_some() { libc::XDP_SHARED_UMEM } else { own_flags() },
            sxdp_ifindex: interface.number(),
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: shared.map_or(0, |socket| socket.fd.as_raw_fd() as u32),
        };
        let (place, length) = ((&raw const address).cast(), size_of_val(&address) as libc::socklen_t);
        // SAFETY: the address is valid for this length, and bind(2) only reads it.
        let code = unsafe { libc::bind(self.fd.as_raw_fd(), place, length) };
        check(code, || format!("bind of an AF_XDP socket to queue {queue} of interface {interface}"))
            .map(drop)
    }

    /// Whether zero-copy is active (`XDP_OPTIONS`, Linux 5.3); `None` if the kernel does not report it.
    pub fn zero_copy(&self) -> Result<Option<bool>> {
        match xdp_options(&self.fd) {
            Err(Errno::OPNOTSUPP) => Ok(None),
            options => named(options, || "getsockopt(XDP_OPTIONS)".into())
                .map(|flags| Some(flags.contains(XdpOptionsFlags::XDP_OPTIONS_ZEROCOPY))),
        }
    }

    /// The socket's counters (`XDP_STATISTICS`).
    pub fn statistics(&self) -> Result<XdpStatistics> {
        let counts = named(xdp_statistics(&self.fd), || "getsockopt(XDP_STATISTICS)".into())?;
        Ok(XdpStatistics {
            rx_dropped: counts.rx_dropped,
            rx_invalid_descs: counts.rx_invalid_descs,
            tx_invalid_descs: counts.tx_invalid_descs,
            rx_ring_full: counts.rx_ring_full,
            rx_fill_ring_empty_descs: counts.rx_fill_ring_empty_descs,
            tx_ring_empty_descs: counts.tx_ring_empty_descs,
        })
    }

    /// Makes the kernel do receive work now, without waiting (recvfrom(2)): for busy polling and drivers with wake-up.
    ///
    /// # Errors
    /// `ENETDOWN` if the interface is down, `ENXIO` if it no longer exists.
    #[inline]
    pub fn drive_receive(&self) -> Result<()> {
        // SAFETY: recv(2) with length 0 writes nothing; AF_XDP looks at no buffer.
        let code = unsafe { libc::recv(self.fd.as_raw_fd(), std::ptr::null_mut(), 0, libc::MSG_DONTWAIT) };
        driven(code, "recvfrom on an AF_XDP socket").map(drop)
    }

    /// Has the kernel send what is in the transmit ring, without waiting (sendto(2)). `Ok(Some(errno))` when it stopped
    /// at `EAGAIN`, `EBUSY` or `ENOBUFS`.
    ///
    /// # Errors
    /// `ENETDOWN` when the interface is down, `ENXIO` when it is gone.
    #[inline]
    pub(super) fn drive_transmit(&self) -> Result<Option<i32>> {
        // SAFETY: send(2) with length 0 reads nothing; AF_XDP looks at no buffer.
        let code = unsafe { libc::send(self.fd.as_raw_fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT) };
        driven(code, "sendto on an AF_XDP socket")
    }

    /// Fails with the error that the socket has pending, if any (`SO_ERROR`), which clears it.
    pub(super) fn pending_error(&self) -> Result<()> {
        socket_option::pending_error(&self.fd, "AF_XDP socket")
    }
}

impl XdpStatistics {
    /// Counters of no socket: the neutral element of the sum.
    pub const OF_NONE: Self = Self {
        rx_dropped: 0,
        rx_invalid_descs: 0,
        tx_invalid_descs: 0,
        rx_ring_full: Some(0),
        rx_fill_ring_empty_descs: Some(0),
        tx_ring_empty_descs: Some(0),
    };

    /// The sum of the counters of two sockets; `None` where one does not report a counter.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        let both = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
        Self {
            rx_dropped: self.rx_dropped + more.rx_dropped,
            rx_invalid_descs: self.rx_invalid_descs + more.rx_invalid_descs,
            tx_invalid_descs: self.tx_invalid_descs + more.tx_invalid_descs,
            rx_ring_full: both(self.rx_ring_full, more.rx_ring_full),
            rx_fill_ring_empty_descs: both(self.rx_fill_ring_empty_descs, more.rx_fill_ring_empty_descs),
            tx_ring_empty_descs: both(self.tx_ring_empty_descs, more.tx_ring_empty_descs),
        }
    }
}

/// Number of AF_XDP sockets that are open in the calling thread's network namespace; `None` without procfs.
fn sockets_of_namespace() -> Option<u64> {
    of_protocols(&std::fs::read_to_string("/proc/thread-self/net/protocols").ok()?)
}

/// The third column of the row `XDP` (`proto_seq_printf` of net/core/sock.c).
fn of_protocols(table: &str) -> Option<u64> {
    let mut rows = table.lines().map(str::split_ascii_whitespace);
    let mut row = rows.find_map(|mut row| (row.next() == Some("XDP")).then_some(row))?;
    row.nth(1)?.parse().ok()
}

fn driven(code: isize, what: &str) -> Result<Option<i32>> {
    if code >= 0 {
        return Ok(None);
    }
    match std::io::Error::last_os_error().raw_os_error() {
        Some(errno @ (libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR)) => Ok(Some(errno)),
        _ => Err(SysError::last(|| what.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_open_sockets_are_those_of_the_kernels_table() {
        let table =
            "protocol  size sockets  memory press maxhdr\nPACKET 1600 7 -1 NI 0\nXDP 1088 3 -1 NI 0\n";
        assert_eq!(of_protocols(table), Some(3));
        assert_eq!(of_protocols(&table.replace("XDP", "TCP")), None);
    }

    #[test]
    fn root_closed_sockets_no_longer_count_as_owners_of_queues() {
        let inside = || {
            match crate::host::namespace::unshare_net() {
                Ok(_) => {}
                Err(error) if error.errno() == Some(libc::EPERM) => return capbench_testing::missing(error),
                Err(error) => panic!("{error}"),
            }
            assert_eq!(sockets_of_namespace(), Some(0));
            let first = XdpSocket::open().unwrap();
            let second = XdpSocket::open().unwrap();
            assert_eq!(sockets_of_namespace(), Some(2));
            drop((first, second));
            assert_eq!(sockets_of_namespace(), Some(0));
        };
        std::thread::spawn(inside).join().unwrap();
    }

    #[test]
    fn a_sum_is_absent_where_a_part_is() {
        let one = XdpStatistics { rx_dropped: 3, rx_ring_full: Some(2), ..XdpStatistics::default() };
        let sum = XdpStatistics::OF_NONE.plus(one).plus(one);
        assert_eq!((sum.rx_dropped, sum.rx_ring_full, sum.rx_fill_ring_empty_descs), (6, Some(4), None));
    }
}
