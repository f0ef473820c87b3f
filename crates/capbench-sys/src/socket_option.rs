//! Socket options: the only code that calls getsockopt(2) and setsockopt(2).

use std::io;
use std::mem::zeroed;
use std::os::fd::AsRawFd;

use crate::error::{Result, SysError, check};

/// Values of socket options that are plain integers.
///
/// # Safety
/// Every bit pattern must be a valid value, all zeroes among them, so that the kernel may fill any part of it; and
/// nothing in it may be an address, which the kernel would follow.
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
    libc::timeval,
    libc::packet_mreq,
    libc::tpacket_req,
    libc::tpacket_req3,
    libc::tpacket_stats_v3,
    libc::xdp_mmap_offsets,
    libc::xdp_options,
    libc::xdp_statistics,
);

/// Sets an option.
pub(crate) fn set<T: PlainValue>(
    socket: &impl AsRawFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &T,
    name: &str,
) -> Result<()> {
    // SAFETY: a plain value has no addresses.
    unsafe { set_with_addresses(socket, level, option, value, name) }
}

/// Sets an option whose value has addresses in it.
///
/// # Safety
/// Whatever the kernel reads or writes at these addresses must stay valid for as long as this option lets it.
pub(crate) unsafe fn set_with_addresses<T>(
    socket: &impl AsRawFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &T,
    name: &str,
) -> Result<()> {
    // SAFETY: pointer and length describe one live value, which setsockopt(2) only reads; the caller answers for the
    // addresses in it. A number that is no socket is refused.
    let code = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    check(code, || format!("setsockopt({name})")).map(drop)
}

/// Reads an option, and how many bytes of it the kernel filled: older kernels know shorter structures. The rest is 0.
pub(crate) fn get<T: PlainValue>(
    socket: &impl AsRawFd,
    level: libc::c_int,
    option: libc::c_int,
    name: &str,
) -> Result<(T, usize)> {
    // SAFETY: all zeroes is a valid plain value.
    let mut value: T = unsafe { zeroed() };
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: value and length are live and writable, and the kernel writes at most `length` bytes, the value's size,
    // which leave a plain value valid. A number that is no socket is refused.
    let code = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, option, (&raw mut value).cast(), &raw mut length)
    };
    check(code, || format!("getsockopt({name})"))?;
    Ok((value, length as usize))
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

/// Attaches a classic BPF program to a socket (`SO_ATTACH_FILTER`, socket(7)).
///
/// # Errors
/// `EINVAL` if the kernel's checker refuses the program.
pub(crate) fn attach_filter(socket: &impl AsRawFd, filter: &[FilterInstruction]) -> Result<()> {
    let length = u16::try_from(filter.len())
        .map_err(|_| SysError::argument("SO_ATTACH_FILTER", format!("{} instructions", filter.len())))?;
    let mut code: Vec<libc::sock_filter> =
        filter.iter().map(|i| libc::sock_filter { code: i.code, jt: i.jt, jf: i.jf, k: i.k }).collect();
    let program = libc::sock_fprog { len: length, filter: code.as_mut_ptr() };
    // SAFETY: the kernel copies the instructions during the call; `code` outlives it and has `length` of them.
    unsafe {
        set_with_addresses(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program, "SO_ATTACH_FILTER")
    }
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
    let (code, _): (i32, usize) = get(socket, libc::SOL_SOCKET, libc::SO_ERROR, "SO_ERROR")?;
    if code == 0 {
        return Ok(());
    }
    Err(SysError::Call { what: what.into(), source: io::Error::from_raw_os_error(code) })
}

/// One of a socket's two buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Buffer {
    /// `SO_RCVBUF`.
    Receive,
    /// `SO_SNDBUF`.
    Send,
}

/// Requests a buffer and returns the granted size in bytes of the kernel's accounting: the kernel doubles the request for its
/// overhead. More than `net.core.rmem_max` or `wmem_max` needs CAP_NET_ADMIN (socket(7)).
pub(crate) fn set_buffer(socket: &impl AsRawFd, buffer: Buffer, bytes: u32) -> Result<u32> {
    let (forced, plain, name) = match buffer {
        Buffer::Receive => (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, "SO_RCVBUF"),
        Buffer::Send => (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, "SO_SNDBUF"),
    };
    let value = i32::try_from(bytes)
        .map_err(|_| SysError::argument(name, format!("{bytes} bytes: at most {} are possible", i32::MAX)))?;
    if set(socket, libc::SOL_SOCKET, forced, &value, name).is_err() {
        set(socket, libc::SOL_SOCKET, plain, &value, name)?;
    }
    let (granted, _): (i32, usize) = get(socket, libc::SOL_SOCKET, plain, name)?;
    Ok(granted.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn a_buffer_is_granted_twice_what_was_asked_for() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        for buffer in [Buffer::Receive, Buffer::Send] {
            assert_eq!(set_buffer(&socket, buffer, 16_384).unwrap(), 32_768);
            let refused = set_buffer(&socket, buffer, u32::MAX).unwrap_err().to_string();
            assert!(refused.contains("at most 2147483647"), "{refused}");
        }
    }

    #[test]
    fn the_kernel_says_how_much_of_a_value_it_filled() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        // SO_TYPE is four bytes, whatever room there is.
        let (all, length): (libc::tpacket_stats_v3, usize) =
            get(&socket, libc::SOL_SOCKET, libc::SO_TYPE, "SO_TYPE").unwrap();
        assert_eq!((all.tp_packets, all.tp_drops, length), (libc::SOCK_DGRAM as u32, 0, 4));
    }

    #[test]
    fn a_filter_is_told_by_its_length() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(filter_length(&socket).unwrap(), 0);
        let all = FilterInstruction { code: 6, jt: 0, jf: 0, k: u32::MAX };
        attach_filter(&socket, &[all]).unwrap();
        assert_eq!(filter_length(&socket).unwrap(), 1);
        let refused = attach_filter(&socket, &[FilterInstruction { code: 0xff, ..all }]).unwrap_err();
        assert_eq!(refused.errno(), Some(libc::EINVAL));
    }

    #[test]
    fn what_is_no_socket_is_refused_by_name() {
        let none: libc::c_int = -1;
        let refused = pending_error(&none, "a socket").unwrap_err();
        assert_eq!(refused.errno(), Some(libc::EBADF));
        assert!(refused.to_string().starts_with("getsockopt(SO_ERROR)"));
    }

    #[test]
    fn a_pending_error_is_told_once() {
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
