//! Attaches an XDP program to an interface as long as a descriptor is open: `BPF_LINK_CREATE` (Linux 5.9).
//!
//! The kernel detaches the program when the last descriptor of the link closes, also when the process is killed. Other ways to
//! attach leave the program on the interface.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::attached::{Attached, XdpAttachment, attached_to};
use super::call::{create_xdp_link, detach_link};
use crate::host::InterfaceIndex;
use crate::{Result, SysError};

/// The part that runs the program. There is no fallback from one to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpMode {
    /// The driver, on its receive path, before a socket buffer exists (native mode, `XDP_FLAGS_DRV_MODE`).
    Driver,
    /// The stack, with a socket buffer; works with any driver (generic mode, `XDP_FLAGS_SKB_MODE`).
    Generic,
}

impl XdpMode {
    /// The flag of `linux/if_link.h`.
    const fn flag(self) -> u32 {
        match self {
            Self::Driver => 1 << 2,
            Self::Generic => 1 << 1,
        }
    }

    /// Its name for users.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Driver => "native",
            Self::Generic => "generic",
        }
    }

    /// What the kernel calls it when asked.
    const fn attached(self) -> XdpAttachment {
        match self {
            Self::Driver => XdpAttachment::Driver,
            Self::Generic => XdpAttachment::Generic,
        }
    }
}

/// A program on an interface. Dropping it detaches the program.
#[derive(Debug)]
pub struct XdpLink {
    descriptor: OwnedFd,
    mode: XdpMode,
}

impl XdpLink {
    /// Attaches `program`, a loaded XDP program, to an interface of the calling thread's network namespace.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_ADMIN and CAP_BPF. [`SysError::Refused`] with the kernel's reason: `EOPNOTSUPP` if the driver
    /// has no native mode, `EBUSY` and `EEXIST` if another program is attached, `ERANGE` and others if the driver cannot run
    /// one with the interface's settings.
    pub fn attach(program: BorrowedFd<'_>, interface: InterfaceIndex, mode: XdpMode) -> Result<Self> {
        let what = || format!("attaching an XDP program in {} mode", mode.word());
        let link = create_xdp_link(program, interface.number(), mode.flag(), what);
        let descriptor = link.map_err(|error| explained(error, interface, mode))?;
        // Proves that the kernel runs it in the requested mode.
        match attached_to(interface)? {
            Some(found) if found.mode == mode.attached() => Ok(Self { descriptor, mode }),
            found => Err(SysError::argument(what(), format!("the kernel says that it is {found:?}"))),
        }
    }

    /// The part that runs the program, as read back from the kernel.
    pub fn mode(&self) -> XdpMode {
        self.mode
    }
}

impl Drop for XdpLink {
    /// Closing the descriptor would leave the program on the interface while a process that another thread has just forked
    /// still holds its copy.
    fn drop(&mut self) {
        // It fails only where the interface is gone, and the program with it.
        let _ = detach_link(self.descriptor.as_fd());
    }
}

/// Adds to a refusal what it means here.
#[cold]
fn explained(error: SysError, interface: InterfaceIndex, mode: XdpMode) -> SysError {
    error.explained(|errno| match errno {
        libc::EOPNOTSUPP if mode == XdpMode::Driver => {
            Some("the interface's driver has no native XDP; generic mode works with any".into())
        }
        libc::EBUSY | libc::EEXIST => {
            let other = attached_to(interface).ok().flatten();
            let other = other.map_or("another program".into(), |other: Attached| other.to_string());
            Some(format!("the interface has an XDP program already ({other}); `ip -d link` shows it"))
        }
        libc::ERANGE | libc::EINVAL if mode == XdpMode::Driver => Some(
            "the driver cannot run it as the interface is set up: its MTU or that of its peer may be too large, or \
             receive offloads (LRO) in the way"
                .into(),
        ),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    fn explained_text(errno: i32, mode: XdpMode) -> String {
        let error = SysError::Call { what: "attaching".into(), source: io::Error::from_raw_os_error(errno) };
        explained(error, InterfaceIndex::new(i32::MAX as u32).unwrap(), mode).to_string()
    }

    #[test]
    fn refusals_say_what_to_do() {
        for (errno, mode, words) in [
            (libc::EOPNOTSUPP, XdpMode::Driver, "no native XDP"),
            (libc::EBUSY, XdpMode::Driver, "already"),
            (libc::EEXIST, XdpMode::Generic, "already"),
            (libc::ERANGE, XdpMode::Driver, "MTU"),
        ] {
            let text = explained_text(errno, mode);
            assert!(text.contains(words) && text.contains("os error"), "{text}");
        }
        assert_eq!(
            explained_text(libc::ENOMEM, XdpMode::Driver),
            "attaching: Cannot allocate memory (os error 12)"
        );
    }
}
