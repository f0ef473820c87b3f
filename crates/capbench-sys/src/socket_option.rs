//! Socket options: the only code that calls getsockopt(2) and setsockopt(2).

use std::mem::zeroed;
use std::os::fd::AsRawFd;

use crate::error::{Result, SysError, by_code, check};

/// Values of socket options that are plain integers.
///
/// # Safety
/// Every bit pattern must be a valid value, also all zeroes, so that the kernel may fill any part of it. It must contain no
/// address, because the kernel would follow it.
pub(crate) unsafe trait PlainValue: Copy {}

/// Says of structures of integers that they are plain.
macro_rules! plain_values {
    ($($of_integers:ty),+ $(,)?) => {
        // SAFETY: integers, and structures and arrays of nothing but integers, none of which is an address.
        $(unsafe impl PlainValue for $of_integers {})+
    };
}

plain_values!(
    i32,
    u32,
    [u32; 9],
    [u64; 16],
    libc::timeval,
    libc::packet_mreq,
    libc::tpacket_req,
    libc::tpacket_req3,
    libc::tpacket_stats_v3,
);

/// An option: its level, its number, and what errors call it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketOption<'n> {
    pub(crate) level: libc::c_int,
    pub(crate) number: libc::c_int,
    pub(crate) name: &'n str,
}

/// Options of the kernel's headers, by their names there.
macro_rules! options {
    ($($level:ident: $($name:ident)+;)+) => {$($(
        #[allow(dead_code, reason = "features need some of them")]
        pub(crate) const $name: SocketOption<'_> =
            SocketOption { level: libc::$level, number: libc::$name, name: stringify!($name) };
    )+)+};
}

options! {
    SOL_SOCKET: SO_ATTACH_FILTER SO_BUSY_POLL SO_BUSY_POLL_BUDGET SO_DETACH_FILTER SO_DOMAIN SO_ERROR
        SO_INCOMING_NAPI_ID SO_PREFER_BUSY_POLL SO_RCVBUF SO_RCVBUFFORCE SO_RCVTIMEO SO_SNDBUF SO_SNDBUFFORCE SO_TIMESTAMPNS;
    SOL_PACKET: PACKET_ADD_MEMBERSHIP PACKET_AUXDATA PACKET_FANOUT PACKET_FANOUT_DATA PACKET_IGNORE_OUTGOING PACKET_LOSS PACKET_QDISC_BYPASS
        PACKET_RX_RING PACKET_STATISTICS PACKET_TX_RING PACKET_VERSION PACKET_VNET_HDR;
    SOL_XDP: XDP_RX_RING XDP_TX_RING XDP_UMEM_COMPLETION_RING XDP_UMEM_FILL_RING XDP_UMEM_REG;
    IPPROTO_TCP: TCP_INFO;
}

/// `asm-generic/socket.h`; the libc crate does not have it.
pub(crate) const SO_MEMINFO: SocketOption<'_> =
    SocketOption { level: libc::SOL_SOCKET, number: 55, name: "SO_MEMINFO" };
/// `linux/if_xdp.h` (Linux 6.17); the libc crate does not have it.
pub(crate) const XDP_MAX_TX_SKB_BUDGET: SocketOption<'_> =
    SocketOption { level: libc::SOL_XDP, number: 9, name: "XDP_MAX_TX_SKB_BUDGET" };

/// The option that asks for a buffer, and the one that asks for more than the host's limit.
pub(crate) type Buffer = [SocketOption<'static>; 2];
pub(crate) const RECEIVE_BUFFER: Buffer = [SO_RCVBUF, SO_RCVBUFFORCE];
pub(crate) const SEND_BUFFER: Buffer = [SO_SNDBUF, SO_SNDBUFFORCE];

impl<'n> SocketOption<'n> {
    pub(crate) fn called(self, name: &'n str) -> Self {
        Self { name, ..self }
    }

    pub(crate) fn set<T: PlainValue>(self, socket: &impl AsRawFd, value: &T) -> Result<()> {
        // SAFETY: a plain value has no addresses.
        unsafe { self.set_with_addresses(socket, value) }
    }

    /// Sets an option whose value has addresses in it.
    ///
    /// # Safety
    /// Memory that the kernel reads or writes at these addresses must stay valid for as long as this option lets it.
    pub(crate) unsafe fn set_with_addresses<T>(self, socket: &impl AsRawFd, value: &T) -> Result<()> {
        let (value, length) = (std::ptr::from_ref(value).cast(), size_of::<T>() as libc::socklen_t);
        // SAFETY: pointer and length describe one live value, which setsockopt(2) only reads; the caller answers for the
        // addresses in it. A number that is no socket is refused.
        let code = unsafe { libc::setsockopt(socket.as_raw_fd(), self.level, self.number, value, length) };
        check(code, || format!("setsockopt({})", self.name)).map(drop)
    }

    pub(crate) fn get<T: PlainValue>(self, socket: &impl AsRawFd) -> Result<T> {
        self.get_with_length(socket).map(|(value, _)| value)
    }

    /// Reads an option, and how many bytes of it the kernel filled: older kernels know shorter structures. The rest is 0.
    pub(crate) fn get_with_length<T: PlainValue>(self, socket: &impl AsRawFd) -> Result<(T, usize)> {
        // SAFETY: all zeroes is a valid plain value.
        let mut value: T = unsafe { zeroed() };
        let mut length = size_of::<T>() as libc::socklen_t;
        let place = (&raw mut value).cast();
        // SAFETY: value and length are live and writable, and the kernel writes at most `length` bytes, the value's size,
        // which leave a plain value valid. A number that is no socket is refused.
        let code =
            unsafe { libc::getsockopt(socket.as_raw_fd(), self.level, self.number, place, &raw mut length) };
        check(code, || format!("getsockopt({})", self.name))?;
        Ok((value, length as usize))
    }
}

/// One classic BPF instruction (`struct sock_filter` of `linux/filter.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterInstruction {
    /// Operation code.
    pub code: u16,
    /// Jump when true.
    pub jt: u8,
    /// Jump when false.
    pub jf: u8,
    /// Generic field.
    pub k: u32,
}

/// A classic BPF program. Its return value is the number of bytes to capture; 0 drops the frame uncounted.
pub type Filter = [FilterInstruction];

/// Attaches a classic BPF program to a socket of any kind (`SO_ATTACH_FILTER`, socket(7)); it needs no privilege.
pub fn attach_filter(socket: &impl AsRawFd, filter: &Filter) -> Result<()> {
    attach_program(socket, SO_ATTACH_FILTER, filter)
}

/// Sets an option whose value is a classic BPF program (`struct sock_fprog` of `linux/filter.h`).
pub(crate) fn attach_program(
    socket: &impl AsRawFd,
    option: SocketOption<'_>,
    program: &[FilterInstruction],
) -> Result<()> {
    let length = u16::try_from(program.len())
        .map_err(|_| SysError::argument(option.name, format!("{} instructions", program.len())))?;
    let mut code: Vec<libc::sock_filter> =
        program.iter().map(|i| libc::sock_filter { code: i.code, jt: i.jt, jf: i.jf, k: i.k }).collect();
    let program = libc::sock_fprog { len: length, filter: code.as_mut_ptr() };
    // SAFETY: the kernel copies the instructions during the call; `code` outlives it and has `length` of them.
    unsafe { option.set_with_addresses(socket, &program) }
}

/// Number of instructions of the classic BPF program attached to a socket (`SO_GET_FILTER`); 0 for none.
#[cfg(any(test, feature = "libraries"))]
pub(crate) fn filter_length(socket: &impl AsRawFd) -> Result<usize> {
    let mut count: libc::socklen_t = 0;
    // SAFETY: asked with room for none the kernel writes the number of instructions into the length, and nothing else.
    let code = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_GET_FILTER,
            std::ptr::null_mut(),
            &raw mut count,
        )
    };
    check(code, || "getsockopt(SO_GET_FILTER)".into())?;
    Ok(count as usize)
}

/// Returns a socket's pending error, if any (`SO_ERROR`), and clears it. `what` names the socket.
pub(crate) fn pending_error(socket: &impl AsRawFd, what: &str) -> Result<()> {
    match SO_ERROR.get(socket)? {
        0 => Ok(()),
        code => Err(by_code(what.into(), code)),
    }
}

/// Requests a buffer and returns the granted size in bytes of the kernel's accounting: the kernel doubles the request for its
/// overhead. More than `net.core.rmem_max` or `wmem_max` needs CAP_NET_ADMIN (socket(7)).
pub(crate) fn set_buffer(socket: &impl AsRawFd, [plain, forced]: Buffer, bytes: u32) -> Result<u32> {
    let reason = || format!("{bytes} bytes: at most {} are possible", i32::MAX);
    let value = i32::try_from(bytes).map_err(|_| SysError::argument(plain.name, reason()))?;
    forced.set(socket, &value).or_else(|_| plain.set(socket, &value))?;
    plain.get(socket).map(i32::unsigned_abs)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn a_buffer_is_granted_twice_what_was_asked_for() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        for buffer in [RECEIVE_BUFFER, SEND_BUFFER] {
            assert_eq!(set_buffer(&socket, buffer, 16_384).unwrap(), 32_768);
            let refused = set_buffer(&socket, buffer, u32::MAX).unwrap_err().to_string();
            assert!(refused.contains("at most 2147483647"), "{refused}");
        }
    }

    #[test]
    fn the_kernel_says_how_much_of_a_value_it_filled() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        // SO_TYPE is four bytes, even if there is more room.
        let option = SocketOption { number: libc::SO_TYPE, ..SO_ERROR };
        let (all, length) = option.get_with_length::<libc::tpacket_stats_v3>(&socket).unwrap();
        assert_eq!((all.tp_packets, all.tp_drops, length), (libc::SOCK_DGRAM as u32, 0, 4));
    }

    #[test]
    fn the_length_of_a_filter_is_reported() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(filter_length(&socket).unwrap(), 0);
        let all = FilterInstruction { code: 6, jt: 0, jf: 0, k: u32::MAX };
        attach_filter(&socket, &[all]).unwrap();
        assert_eq!(filter_length(&socket).unwrap(), 1);
        let refused = attach_filter(&socket, &[FilterInstruction { code: 0xff, ..all }]).unwrap_err();
        assert_eq!(refused.errno(), Some(libc::EINVAL));
    }

    #[test]
    fn descriptors_of_other_kinds_are_refused_by_name() {
        let none: libc::c_int = -1;
        let refused = pending_error(&none, "a socket").unwrap_err();
        assert_eq!(refused.errno(), Some(libc::EBADF));
        assert!(refused.to_string().starts_with("getsockopt(SO_ERROR)"));
    }

    #[test]
    fn a_pending_error_is_reported_once() {
        let none = UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(none.local_addr().unwrap()).unwrap();
        drop(none);
        // Loopback delivers the answer, that nobody listens, before send returns.
        socket.send(&[0]).unwrap();
        let pending = pending_error(&socket, "a socket").unwrap_err();
        assert_eq!(pending.errno(), Some(libc::ECONNREFUSED));
        assert!(pending.to_string().starts_with("a socket: "));
        pending_error(&socket, "a socket").unwrap();
    }
}
