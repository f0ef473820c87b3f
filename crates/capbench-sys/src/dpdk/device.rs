//! Devices: DPDK's bus and device names, and plugging devices in while the process runs.

use std::ffi::{CString, c_char};
use std::sync::atomic::{AtomicU64, Ordering};

use super::eal::{Turn, forget_what_was_said, refused};
use super::ffi;
use super::name::DeviceName;
use crate::{Result, SysError};

/// A device and the arguments for its driver, `KEY=VALUE,...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name.
    pub name: DeviceName,
    /// The arguments for its driver.
    pub arguments: String,
}

impl Device {
    /// A device, over this interface if it is virtual.
    ///
    /// # Errors
    /// An interface whose name the driver would parse as more than one argument.
    pub fn new(name: DeviceName, interface: &str, arguments: &[&str]) -> Result<Self> {
        if name.is_virtual() && interface.contains([',', '=', '\0']) {
            let reason = format!("DPDK cannot name the interface {interface}");
            return Err(SysError::argument("rte_eal_hotplug_add", reason));
        }
        let over = name.is_virtual().then(|| format!("iface={interface}"));
        let parts = over.as_deref().into_iter().chain(arguments.iter().copied());
        let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
        Ok(Self { name, arguments: parts.join(",") })
    }

    /// Plugs it in, from the calling thread's network namespace.
    pub(super) fn plug(&self, _: &Turn) -> Result<Plugged> {
        // A name that no other device of this process had or has.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (bus, name) = match self.name {
            DeviceName::Pci(_) => (c"pci", self.name.to_string()),
            driver => (c"vdev", format!("{driver}_{}", NEXT.fetch_add(1, Ordering::Relaxed))),
        };
        let what = format!("rte_eal_hotplug_add({}:{name},{})", bus.to_string_lossy(), self.arguments);
        let c_string = |text: &str| {
            CString::new(text).map_err(|_| SysError::argument(what.clone(), "its name contains a NUL"))
        };
        let plugged = Plugged { bus: bus.to_owned(), name: c_string(&name)? };
        let arguments = c_string(&self.arguments)?;
        forget_what_was_said();
        // SAFETY: three NUL-terminated strings that are alive for the call; DPDK copies what it keeps. The turn makes
        // this the only such call at any time.
        let code = unsafe {
            ffi::capbench_dpdk_plug(plugged.bus.as_ptr(), plugged.name.as_ptr(), arguments.as_ptr())
        };
        if code < 0 {
            return Err(refused(what, code));
        }
        Ok(plugged)
    }
}

#[derive(Debug)]
pub(super) struct Plugged {
    bus: CString,
    name: CString,
}

impl Plugged {
    /// Its name, as C wants it; valid as long as `self`.
    pub(super) fn name(&self) -> *const c_char {
        self.name.as_ptr()
    }

    /// Removes it, once its port is closed. A failed removal is no error: the device receives nothing any more.
    pub(super) fn unplug(&self, _: &Turn) {
        // SAFETY: two NUL-terminated strings that are alive for the call, and no port of the device is open.
        let _ = unsafe { ffi::capbench_dpdk_unplug(self.bus.as_ptr(), self.name.as_ptr()) };
    }
}

/// A name for the buffers of a port; DPDK's names for them have at most 25 octets.
pub(super) fn pool_name() -> CString {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("capbench_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    CString::new(name).expect("a number contains no NUL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_commas_are_no_argument() {
        let over = |name| Device::new(DeviceName::AfPacket, name, &["", "qpairs=2"]);
        assert_eq!(over("eth0").unwrap().arguments, "iface=eth0,qpairs=2");
        assert!(over("a,framecnt=1").is_err());
    }
}
