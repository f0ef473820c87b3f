//! The interface to capture from.

use capbench_model::options::CaptureOptions;
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
    /// Largest network-layer packet in octets.
    pub mtu: u32,
    /// What its packets begin with.
    pub layer: LinkLayer,
    /// Longest frame that a packet socket gets from it, in octets without FCS. Offloads make it longer than the MTU. Decides the
    /// sizes of slots, blocks and buffers.
    pub largest_frame: u32,
}

/// Octets of an Ethernet header with up to two tags.
const HEADER: u32 = 14 + 2 * 4;

impl Interface {
    /// An interface with Ethernet frames that are no longer than its MTU allows.
    pub fn new(name: &str, index: InterfaceIndex, mtu: u32) -> Self {
        let (layer, largest_frame) = (LinkLayer::Ethernet, mtu.saturating_add(HEADER));
        Self { name: name.into(), index, mtu, layer, largest_frame }
    }

    /// The same interface, with packets that begin so.
    #[must_use]
    pub fn with_layer(self, layer: LinkLayer) -> Self {
        Self { layer, ..self }
    }

    /// The same interface, with frames of up to so many octets.
    #[must_use]
    pub fn with_largest_frame(self, octets: u32) -> Self {
        Self { largest_frame: octets, ..self }
    }

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

    /// The longest frame that a capture with these options keeps: no longer than its snap length.
    pub fn longest_kept(&self, options: &CaptureOptions) -> u64 {
        self.largest_frame.min(options.snap_length.octets()).into()
    }

    /// Looks the name up in the calling thread's namespace. Its frames are no longer than its MTU allows.
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
        Ok(Self::new(name, index_of(name)?, mtu).with_layer(layer))
    }
}
