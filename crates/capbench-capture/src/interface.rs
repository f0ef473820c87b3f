//! The interface to capture from.

use capbench_sys::SysError;
use capbench_sys::host::interface::{InterfaceIndex, LinkLayer, hardware_type, index_of, name_of};

use crate::CaptureError;

/// The interface to capture from, in the namespace of the thread that opens the capture.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Its name, for messages.
    pub name: String,
    /// Its index.
    pub index: InterfaceIndex,
    /// Largest network-layer packet in octets. Decides the slot size of V1 and V2 rings.
    pub mtu: u32,
    /// What its packets begin with.
    pub layer: LinkLayer,
}

impl Interface {
    /// Whether the interface no longer exists in the calling thread's namespace.
    pub fn is_gone(&self) -> bool {
        const ENODEV: i32 = 19;
        name_of(self.index).is_err_and(|error| error.errno() == Some(ENODEV))
    }

    /// The error of a call on this interface. [`CaptureError::Removed`] if the interface is gone, which is clearer than the
    /// kernel's reason.
    #[must_use]
    pub fn or_removed(&self, error: CaptureError) -> CaptureError {
        match error {
            CaptureError::Call { source, .. } if self.is_gone() => {
                CaptureError::Removed { interface: self.name.clone(), source }
            }
            error => error,
        }
    }

    /// Looks the name up in the calling thread's namespace.
    ///
    /// # Errors
    /// When there is no such interface, or its packets are neither Ethernet frames nor IP packets.
    pub fn of_name(name: &str, mtu: u32) -> std::result::Result<Self, SysError> {
        let kind = hardware_type(name)?;
        let layer = LinkLayer::of_hardware_type(kind).ok_or_else(|| {
            SysError::argument(
                format!("interface {name}"),
                format!("has packets of another kind (ARPHRD {kind})"),
            )
        })?;
        Ok(Self { name: name.into(), index: index_of(name)?, mtu, layer })
    }
}
