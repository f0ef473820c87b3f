//! Network interfaces of the calling thread's namespace.

use std::ffi::CString;

use crate::error::{Result, SysError};

/// An interface's number in its network namespace (netdevice(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InterfaceIndex(u32);

impl InterfaceIndex {
    /// An index that the kernel gave, for example over netlink.
    pub fn from_kernel(index: u32) -> Self {
        Self(index)
    }

    /// Looks a name up in the calling thread's namespace (if_nametoindex(3)).
    ///
    /// # Errors
    /// `ENODEV` when there is no such interface.
    pub fn of_name(name: &str) -> Result<Self> {
        let text = CString::new(name)
            .map_err(|_| SysError::argument("interface name", format!("{name:?} has a zero byte")))?;
        // SAFETY: the text is a valid C string for the length of the call.
        let index = unsafe { libc::if_nametoindex(text.as_ptr()) };
        if index == 0 { Err(SysError::last(format!("interface {name}"))) } else { Ok(Self(index)) }
    }

    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }
}
