//! Devices: DPDK's bus and device names, and plugging devices in while the process runs.

use std::ffi::{CString, c_char};
use std::sync::atomic::{AtomicU64, Ordering};

use super::arguments::DeviceKind;
use super::eal::{Turn, forget_what_was_said, refused};
use super::ffi;
use crate::{Result, SysError};

/// A device that can receive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Device {
    /// A device that a driver builds on something else, for example `net_af_packet` on an interface.
    Virtual {
        /// The driver.
        driver: String,
        /// Its arguments, `KEY=VALUE,...`.
        arguments: String,
    },
    /// A PCI device bound to a driver that DPDK can use.
    Pci {
        /// Its address, `DOMAIN:BUS:DEVICE.FUNCTION`.
        address: String,
        /// Arguments for its driver.
        arguments: String,
    },
}

impl Device {
    /// Its EAL requirements.
    pub fn kind(&self) -> DeviceKind {
        match self {
            Self::Virtual { .. } => DeviceKind::Virtual,
            Self::Pci { .. } => DeviceKind::Pci,
        }
    }

    /// The arguments for its driver.
    pub fn arguments(&self) -> &str {
        match self {
            Self::Virtual { arguments, .. } | Self::Pci { arguments, .. } => arguments,
        }
    }

    /// Plugs it in, from the calling thread's network namespace.
    pub(super) fn plug(&self, _: &Turn) -> Result<Plugged> {
        // A name that no other device of this process had or has.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (bus, name) = match self {
            Self::Virtual { driver, .. } => {
                (c"vdev", format!("{driver}_{}", NEXT.fetch_add(1, Ordering::Relaxed)))
            }
            Self::Pci { address, .. } => (c"pci", address.clone()),
        };
        let what = format!("rte_eal_hotplug_add({}:{name},{})", bus.to_string_lossy(), self.arguments());
        let c_string = |text: &str| {
            CString::new(text).map_err(|_| SysError::argument(what.clone(), "its name contains a NUL"))
        };
        let plugged = Plugged { bus: bus.to_owned(), name: c_string(&name)? };
        let arguments = c_string(self.arguments())?;
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

/// The argument that names the interface of a virtual device.
///
/// # Errors
/// A name that the driver would parse as more than one argument.
pub fn interface_argument(name: &str) -> Result<String> {
    if name.contains([',', '=', '\0']) {
        let reason = format!("DPDK cannot name the interface {name}");
        return Err(SysError::argument("rte_eal_hotplug_add", reason));
    }
    Ok(format!("iface={name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_commas_are_no_argument() {
        assert_eq!(interface_argument("eth0").unwrap(), "iface=eth0");
        assert!(interface_argument("a,framecnt=1").is_err());
    }
}
