//! The AF_XDP socket and its typed options (Documentation/networking/af_xdp.rst, `linux/if_xdp.h`).
//!
//! Code that makes rings or registers memory is private to this crate: [`super::receive`] and [`super::transmit`] combine the
//! parts so that each chunk has one owner.

use std::mem::{offset_of, size_of};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use super::ring::{Consumer, Entry, Offsets, Producer};
use super::umem::Umem;
use crate::error::{Result, SysError, check};
use crate::host::interface::InterfaceIndex;
use crate::memory::Mapping;
use crate::socket_option::{self, Buffer};

/// `XDP_MAX_TX_SKB_BUDGET` of `linux/if_xdp.h` (Linux 6.17); the libc crate does not have it.
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;
/// How long the kernel may take to give a queue free.
const RELEASE: Duration = Duration::from_secs(1);

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
        // SAFETY: socket(2) takes no pointers.
        let fd = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        let fd = check(fd, || "socket(AF_XDP, SOCK_RAW)".into())?;
        // SAFETY: the descriptor is fresh and nobody else's.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// The socket behind a descriptor, which is one of AF_XDP, with whatever it was set to.
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
        unsafe {
            socket_option::set_with_addresses(
                &self.fd,
                libc::SOL_XDP,
                libc::XDP_UMEM_REG,
                &umem.registration(),
                "XDP_UMEM_REG",
            )
        }
    }

    /// Makes and maps the fill ring (`XDP_UMEM_FILL_RING`). A socket has one, which this returns: a second call fails.
    pub(super) fn fill_ring(&self, entries: u32) -> Result<Producer<u64>> {
        let offsets = offset_of!(libc::xdp_mmap_offsets, fr);
        let page = libc::XDP_UMEM_PGOFF_FILL_RING as libc::off_t;
        let (map, offsets) =
            self.ring::<u64>(libc::XDP_UMEM_FILL_RING, entries, offsets, page, "fill ring")?;
        Producer::new(map, offsets, entries)
    }

    /// Makes and maps the completion ring (`XDP_UMEM_COMPLETION_RING`), once.
    pub(super) fn completion_ring(&self, entries: u32) -> Result<Consumer<u64>> {
        let offsets = offset_of!(libc::xdp_mmap_offsets, cr);
        let page = libc::XDP_UMEM_PGOFF_COMPLETION_RING as libc::off_t;
        let (map, offsets) =
            self.ring::<u64>(libc::XDP_UMEM_COMPLETION_RING, entries, offsets, page, "completion ring")?;
        Consumer::new(map, offsets, entries)
    }

    /// Makes and maps the receive ring (`XDP_RX_RING`), once.
    pub(super) fn receive_ring(&self, entries: u32) -> Result<Consumer<libc::xdp_desc>> {
        let offsets = offset_of!(libc::xdp_mmap_offsets, rx);
        let page = libc::XDP_PGOFF_RX_RING;
        let (map, offsets) =
            self.ring::<libc::xdp_desc>(libc::XDP_RX_RING, entries, offsets, page, "receive ring")?;
        Consumer::new(map, offsets, entries)
    }

    /// Makes and maps the transmit ring (`XDP_TX_RING`), once.
    pub(super) fn transmit_ring(&self, entries: u32) -> Result<Producer<libc::xdp_desc>> {
        let offsets = offset_of!(libc::xdp_mmap_offsets, tx);
        let page = libc::XDP_PGOFF_TX_RING;
        let (map, offsets) =
            self.ring::<libc::xdp_desc>(libc::XDP_TX_RING, entries, offsets, page, "transmit ring")?;
        Producer::new(map, offsets, entries)
    }

    fn ring<T: Entry>(
        &self,
        option: libc::c_int,
        entries: u32,
        which: usize,
        page: libc::off_t,
        what: &str,
    ) -> Result<(Mapping, Offsets)> {
        socket_option::set(
            &self.fd,
            libc::SOL_XDP,
            option,
            &entries,
            &format!("AF_XDP {what} of {entries} entries"),
        )?;
        let offsets = self.offsets(which)?;
        let length = offsets.entries + entries as usize * size_of::<T>();
        let map = Mapping::of_file(self.as_fd(), length, page as u64, &format!("an AF_XDP {what}"))?;
        Ok((map, offsets))
    }

    /// Where things lie in a ring's mapping (`XDP_MMAP_OFFSETS`); `which` is where in `struct xdp_mmap_offsets` that ring
    /// stands. Kernels before 5.4 give a shorter structure, without the flags.
    fn offsets(&self, which: usize) -> Result<Offsets> {
        let (all, length): (libc::xdp_mmap_offsets, usize) =
            socket_option::get(&self.fd, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, "XDP_MMAP_OFFSETS")?;
        // SAFETY: both structures are integers only, of which any bits are valid, and the shorter one fits inside.
        let words: [u64; size_of::<libc::xdp_mmap_offsets>() / 8] = unsafe { std::mem::transmute(all) };
        let ring = which / size_of::<libc::xdp_ring_offset>();
        let has_flags = length == size_of::<libc::xdp_mmap_offsets>();
        if !has_flags && length != size_of::<libc::xdp_mmap_offsets_v1>() {
            return Err(SysError::argument("XDP_MMAP_OFFSETS", format!("{length} bytes from the kernel")));
        }
        let first = ring * if has_flags { 4 } else { 3 };
        Ok(Offsets {
            producer: words[first] as usize,
            consumer: words[first + 1] as usize,
            entries: words[first + 2] as usize,
            flags: has_flags.then_some(words[first + 3] as usize),
        })
    }

    /// Binds to a queue of an interface, with the socket's own UMEM or with the one of another socket.
    ///
    /// The kernel gives a queue free some time after its last socket was closed, in deferred work that no event tells of
    /// (`xp_release_deferred` of net/xdp/xsk_buff_pool.c). So a queue that is busy is asked for again for a while.
    pub(super) fn bind(
        &self,
        interface: InterfaceIndex,
        queue: u32,
        options: BindOptions,
        shared: Option<&Self>,
    ) -> Result<()> {
        let begun = Instant::now();
        loop {
            match self.try_bind(interface, queue, options, shared) {
                Err(error) if error.errno() == Some(libc::EBUSY) && begun.elapsed() < RELEASE => {
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
        // SAFETY: the address is valid for the length given, and bind(2) only reads it.
        let code = unsafe {
            libc::bind(
                self.fd.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_xdp>() as libc::socklen_t,
            )
        };
        check(code, || format!("bind of an AF_XDP socket to queue {queue} of interface {interface}"))
            .map(drop)
    }

    /// Whether zero-copy is active (`XDP_OPTIONS`, Linux 5.3); `None` if the kernel does not report it.
    pub fn zero_copy(&self) -> Result<Option<bool>> {
        match socket_option::get::<libc::xdp_options>(
            &self.fd,
            libc::SOL_XDP,
            libc::XDP_OPTIONS,
            "XDP_OPTIONS",
        ) {
            Ok((options, _)) => Ok(Some(options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0)),
            Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The socket's counters (`XDP_STATISTICS`).
    pub fn statistics(&self) -> Result<XdpStatistics> {
        let (value, length): (libc::xdp_statistics, usize) =
            socket_option::get(&self.fd, libc::SOL_XDP, libc::XDP_STATISTICS, "XDP_STATISTICS")?;
        Ok(XdpStatistics::of(&value, length))
    }

    /// Makes the kernel do receive work now, without waiting (recvfrom(2)): for busy polling and drivers with wake-up.
    ///
    /// # Errors
    /// `ENETDOWN` if the interface is down, `ENXIO` if it no longer exists.
    #[inline]
    pub fn drive_receive(&self) -> Result<()> {
        // SAFETY: recv(2) with length 0 writes nothing; AF_XDP looks at no buffer.
        let code = unsafe { libc::recv(self.fd.as_raw_fd(), std::ptr::null_mut(), 0, libc::MSG_DONTWAIT) };
        self.driven(code, "recvfrom on an AF_XDP socket").map(drop)
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
        self.driven(code, "sendto on an AF_XDP socket")
    }

    fn driven(&self, code: isize, what: &str) -> Result<Option<i32>> {
        if code >= 0 {
            return Ok(None);
        }
        match std::io::Error::last_os_error().raw_os_error() {
            Some(errno @ (libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR)) => Ok(Some(errno)),
            _ => Err(SysError::last(|| what.into())),
        }
    }

    /// Frames that one [`Self::drive_transmit`] sends at most in copy mode (`XDP_MAX_TX_SKB_BUDGET`, Linux 6.17); 32 else.
    /// Whether the kernel knows the option.
    pub(super) fn set_transmit_budget(&self, frames: u32) -> bool {
        socket_option::set(&self.fd, libc::SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &frames, "XDP_MAX_TX_SKB_BUDGET")
            .is_ok()
    }

    /// Asks for a send buffer and returns what the kernel granted, as [`crate::packet::PacketSocket::set_send_buffer`].
    pub(super) fn set_send_buffer(&self, bytes: u32) -> Result<u32> {
        socket_option::set_buffer(&self.fd, Buffer::Send, bytes)
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

    /// What the kernel filled `length` bytes of; before Linux 5.9 these were the first three counters.
    fn of(value: &libc::xdp_statistics, length: usize) -> Self {
        let told = |field: usize, count: u64| (length >= field + size_of::<u64>()).then_some(count);
        Self {
            rx_dropped: value.rx_dropped,
            rx_invalid_descs: value.rx_invalid_descs,
            tx_invalid_descs: value.tx_invalid_descs,
            rx_ring_full: told(offset_of!(libc::xdp_statistics, rx_ring_full), value.rx_ring_full),
            rx_fill_ring_empty_descs: told(
                offset_of!(libc::xdp_statistics, rx_fill_ring_empty_descs),
                value.rx_fill_ring_empty_descs,
            ),
            tx_ring_empty_descs: told(
                offset_of!(libc::xdp_statistics, tx_ring_empty_descs),
                value.tx_ring_empty_descs,
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_that_an_older_kernel_does_not_fill_are_absent() {
        let value = libc::xdp_statistics {
            rx_dropped: 1,
            rx_invalid_descs: 2,
            tx_invalid_descs: 3,
            rx_ring_full: 4,
            rx_fill_ring_empty_descs: 5,
            tx_ring_empty_descs: 6,
        };
        let new = XdpStatistics::of(&value, size_of::<libc::xdp_statistics>());
        assert_eq!(new.rx_ring_full, Some(4));
        assert_eq!((new.rx_fill_ring_empty_descs, new.tx_ring_empty_descs), (Some(5), Some(6)));
        let old = XdpStatistics::of(&value, size_of::<libc::xdp_statistics_v1>());
        assert_eq!((old.rx_dropped, old.rx_invalid_descs, old.tx_invalid_descs), (1, 2, 3));
        assert_eq!(
            (old.rx_ring_full, old.rx_fill_ring_empty_descs, old.tx_ring_empty_descs),
            (None, None, None)
        );
    }

    #[test]
    fn a_sum_is_absent_where_a_part_is() {
        let one = XdpStatistics { rx_dropped: 3, rx_ring_full: Some(2), ..XdpStatistics::default() };
        let sum = XdpStatistics::OF_NONE.plus(one).plus(one);
        assert_eq!((sum.rx_dropped, sum.rx_ring_full, sum.rx_fill_ring_empty_descs), (6, Some(4), None));
    }
}
