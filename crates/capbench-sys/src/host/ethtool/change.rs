//! A change of a setting that is ready to be made, also by another process.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use super::{Command, filled};
use crate::Result;
use crate::error::by_code;
use crate::host::interface::{InterfaceFlags, flags_of, name_field, request_socket};
use crate::memory::GuardedMemory;

/// A change of a setting of an interface, in the network namespace of the thread that made this value.
#[derive(Debug)]
pub struct Change {
    socket: OwnedFd,
    interface: String,
    to: To,
}

/// What is set.
#[derive(Debug)]
enum To {
    /// What a command of ethtool with these words says.
    Command(Command, Vec<u32>),
    /// The flags of the interface (netdevice(7)).
    Flags(InterfaceFlags),
}

impl Change {
    /// The command with these words.
    ///
    /// # Errors
    /// No interface can have this name.
    pub(super) fn new(interface: &str, command: Command, words: &[u32]) -> Result<Self> {
        Self::to(interface, To::Command(command, words.into()))
    }

    /// Sets an interface up again, with its flags of now.
    ///
    /// # Errors
    /// There is no such interface.
    pub fn up(interface: &str) -> Result<Self> {
        Self::to(interface, To::Flags(flags_of(interface)?.with_up()))
    }

    fn to(interface: &str, to: To) -> Result<Self> {
        let change = Self { socket: request_socket()?, interface: interface.into(), to };
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
        let ifr_name = name_field(&self.interface, || self.what())?;
        let (code, ifr_ifru, memory) = match &self.to {
            To::Command(command, words) => {
                let mut memory = filled(*command, words, (1 + words.len()) * size_of::<u32>())?;
                let data = libc::__c_anonymous_ifr_ifru { ifru_data: memory.bytes().as_mut_ptr().cast() };
                (libc::SIOCETHTOOL, data, Some(memory))
            }
            To::Flags(flags) => {
                (libc::SIOCSIFFLAGS, libc::__c_anonymous_ifr_ifru { ifru_flags: flags.bits() }, None)
            }
        };
        Ok(Prepared { code: code as _, request: libc::ifreq { ifr_name, ifr_ifru }, _memory: memory })
    }

    fn what(&self) -> String {
        let call = match &self.to {
            To::Command(command, _) => command.name,
            To::Flags(_) => "SIOCSIFFLAGS",
        };
        format!("ioctl({call}, {})", self.interface)
    }
}

impl AsFd for Change {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The structure of the call, with the memory that it refers to.
pub(in crate::host) struct Prepared {
    code: libc::c_ulong,
    request: libc::ifreq,
    _memory: Option<GuardedMemory>,
}

impl Prepared {
    /// Makes the call on this socket; its `errno`, or 0. It is async-signal-safe: it takes no lock and allocates nothing.
    pub(in crate::host) fn make(&mut self, socket: RawFd) -> libc::c_int {
        // SAFETY: both calls read and write one ifreq, exclusively ours, whose name ends with a NUL. SIOCSIFFLAGS reads the flags in
        // it. SIOCETHTOOL reads and writes from `ifr_data` on what the command says, in which there are no addresses. That memory
        // is exclusively ours, alive, and ends at a guard page: where the structure is longer, the kernel stops there with EFAULT.
        let code = unsafe { libc::ioctl(socket, self.code as _, &mut self.request) };
        // SAFETY: the address of the calling thread's errno is always valid.
        if code < 0 { unsafe { *libc::__errno_location() } } else { 0 }
    }
}
