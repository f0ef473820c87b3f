//! Busy polling of sockets: the thread that waits drives the device's NAPI poll itself (socket(7), `SO_BUSY_POLL`).

use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use crate::error::{Result, SysError, check};

/// How to busy-poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyPoll {
    /// How long one wait polls before it sleeps.
    pub time: Duration,
    /// Packets that one poll takes at most.
    pub budget: u16,
    /// Whether the kernel is to leave the device to the poller even under load (`SO_PREFER_BUSY_POLL`, Linux 5.11).
    pub prefer: bool,
}

impl BusyPoll {
    /// Sets it on a socket. More than the socket had before takes CAP_NET_ADMIN.
    ///
    /// # Errors
    /// `EPERM` without the capability; `ENOPROTOOPT` on kernels without busy polling, or without what `prefer` and
    /// `budget` take (before Linux 5.11).
    pub fn set(&self, socket: impl AsFd) -> Result<()> {
        let time = i32::try_from(self.time.as_micros())
            .map_err(|_| SysError::argument("setsockopt(SO_BUSY_POLL)", "at most 2147483647 us"))?;
        set(&socket, libc::SO_BUSY_POLL, time, "SO_BUSY_POLL")?;
        if self.prefer {
            set(&socket, libc::SO_PREFER_BUSY_POLL, 1, "SO_PREFER_BUSY_POLL")?;
            set(&socket, libc::SO_BUSY_POLL_BUDGET, i32::from(self.budget), "SO_BUSY_POLL_BUDGET")?;
        }
        Ok(())
    }
}

/// The NAPI context that the socket's last packet came through; `None` when the kernel keeps none for it, and so cannot
/// busy-poll (`SO_INCOMING_NAPI_ID`).
///
/// # Errors
/// `ENOPROTOOPT` on kernels built without busy polling.
pub fn incoming_napi(socket: impl AsFd) -> Result<Option<u32>> {
    let mut id: u32 = 0;
    let mut length = size_of::<u32>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `id`, which lives until the call returns.
    let code = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_INCOMING_NAPI_ID,
            (&raw mut id).cast(),
            &mut length,
        )
    };
    check(code, || "getsockopt(SO_INCOMING_NAPI_ID)".into())?;
    Ok((id != 0).then_some(id))
}

fn set(socket: &impl AsFd, option: i32, value: i32, name: &str) -> Result<()> {
    // SAFETY: the kernel reads four bytes of `value`, which lives until the call returns.
    let code = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw const value).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    check(code, || format!("setsockopt({name}, {value})")).map(drop)
}
