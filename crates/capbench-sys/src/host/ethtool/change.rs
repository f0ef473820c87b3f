//! A change of a setting that is ready to be made, also by another process.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use super::{Command, filled};
use crate::Result;
use crate::error::by_code;
use crate::host::interface::{name_field, request_socket};
use crate::memory::GuardedMemory;

/// A change of a setting of an interface, in the network namespace of the thread that made this value.
#[derive(Debug)]
pub struct Change {
    socket: OwnedFd,
    interface: String,
    command: Command,
    words: Vec<u32>,
}

impl Change {
    /// The command with these words.
    ///
    /// # Errors
    /// No interface can have this name.
    pub(super) fn new(interface: &str, command: Command, words: &[u32]) -> Result<Self> {
        let change =
            Self { socket: request_socket()?, interface: interface.into(), command, words: words.into() };
        name_field(interface, || change.what())?;
        Ok(change)
    }

    /// Makes it, from any thread.
    ///
    /// # Errors
    /// `EOPNOTSUPP` and `EINVAL` if the driver refuses it, `EPERM` without CAP_NET_ADMIN, `ENODEV` if the interface is gone.
    pub fn make(&self) -> Result<()> {
        let errno = self.prepared()?.make(self.socket.as_raw_fd());
        self.made(errno)
    }

    /// What an `errno` of the call means; 0 is success.
    pub(in crate::host) fn made(&self, errno: libc::c_int) -> Result<()> {
        if errno == 0 { Ok(()) } else { Err(by_code(self.what(), errno)) }
    }

    /// The call that makes it.
    pub(in crate::host) fn prepared(&self) -> Result<Prepared> {
        let mut memory = filled(self.command, &self.words, (1 + self.words.len()) * size_of::<u32>())?;
        let data = libc::__c_anonymous_ifr_ifru { ifru_data: memory.bytes().as_mut_ptr().cast() };
        let ifr_name = name_field(&self.interface, || self.what())?;
        Ok(Prepared { request: libc::ifreq { ifr_name, ifr_ifru: data }, _memory: memory })
    }

    fn what(&self) -> String {
        format!("ioctl({}, {})", self.command.name, self.interface)
    }
}

impl AsFd for Change {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The structure of the call, with the memory that it refers to.
pub(in crate::host) struct Prepared {
    request: libc::ifreq,
    _memory: GuardedMemory,
}

impl Prepared {
    /// Makes the call on this socket; its `errno`, or 0. It is async-signal-safe: it takes no lock and allocates nothing.
    pub(in crate::host) fn make(&mut self, socket: RawFd) -> libc::c_int {
        // SAFETY: SIOCETHTOOL reads and writes one ifreq, exclusively ours, whose name ends with a NUL, and from `ifr_data` on what
        // the command says, in which there are no addresses. That memory is exclusively ours, alive, and ends at a guard page:
        // where the structure is longer, the kernel stops there with EFAULT.
        let code = unsafe { libc::ioctl(socket, libc::SIOCETHTOOL as _, &mut self.request) };
        // SAFETY: the address of the calling thread's errno is always valid.
        if code < 0 { unsafe { *libc::__errno_location() } } else { 0 }
    }
}
