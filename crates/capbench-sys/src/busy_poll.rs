//! Busy polling of sockets: the thread that waits drives the device's NAPI poll itself (socket(7), `SO_BUSY_POLL`).

use std::os::fd::AsFd;
use std::time::Duration;

use crate::error::{Result, SysError};
use crate::socket_option::*;

/// Settings of busy polling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyPoll {
    /// Time that one wait polls before it sleeps.
    pub time: Duration,
    /// Packet limit of one poll.
    pub budget: u16,
    /// Whether the kernel leaves the device to the poller even under load (`SO_PREFER_BUSY_POLL`, Linux 5.11).
    pub prefer: bool,
}

impl BusyPoll {
    /// Applies the settings to a socket. Values above the socket's current ones need CAP_NET_ADMIN.
    ///
    /// # Errors
    /// `EPERM` without the capability; `ENOPROTOOPT` on kernels without busy polling, or without support of `prefer` and
    /// `budget` (before Linux 5.11).
    pub fn set(&self, socket: impl AsFd) -> Result<()> {
        let time = i32::try_from(self.time.as_micros())
            .map_err(|_| SysError::argument("setsockopt(SO_BUSY_POLL)", "at most 2147483647 us"))?;
        let set = |option: SocketOption<'_>, value: i32| {
            option.called(&format!("{}, {value}", option.name)).set(&socket.as_fd(), &value)
        };
        set(SO_BUSY_POLL, time)?;
        if self.prefer {
            set(SO_PREFER_BUSY_POLL, 1)?;
            set(SO_BUSY_POLL_BUDGET, i32::from(self.budget))?;
        }
        Ok(())
    }
}

/// The NAPI context of the socket's last packet; `None` if the kernel keeps none for it and so cannot busy-poll
/// (`SO_INCOMING_NAPI_ID`).
///
/// # Errors
/// `ENOPROTOOPT` on kernels built without busy polling.
pub fn incoming_napi(socket: impl AsFd) -> Result<Option<u32>> {
    let id: u32 = SO_INCOMING_NAPI_ID.get(&socket.as_fd())?;
    Ok((id != 0).then_some(id))
}
