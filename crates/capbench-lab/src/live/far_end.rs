//! Settings that a transmit method needs at the other end of the bed's link while it sends.

use capbench_sys::host::ethtool::{Offload, offload, set_offload};
use capbench_traffic::transmit;

use crate::Result;
use capbench_host::bed::Side;

/// Whether this transmit method passes frames to the queue of a veth's NAPI context instead of its receive path.
pub(super) fn is_queued(transmit: &str) -> bool {
    transmit::method(transmit).is_ok_and(|chosen| chosen.method.needs_far_napi)
}

/// Frames of XDP programs reach a veth only while it uses NAPI: with its own XDP program, or with generic receive offload
/// (`veth_xdp_xmit` of drivers/net/veth.c). Dropping this value restores the offload setting.
#[derive(Debug, Default)]
pub(super) struct FarEnd {
    side: Option<Side>,
}

impl FarEnd {
    /// Sets the receiving end of a virtual pair up for this transmit method. The user sets up real interfaces.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub(super) fn set_up(side: &Side, transmit: &str) -> Result<Self> {
        if !is_queued(transmit) || side.run(|| offload(side.name(), Offload::Gro))?? {
            return Ok(Self { side: None });
        }
        side.run(|| set_offload(side.name(), Offload::Gro, true))??;
        Ok(Self { side: Some(side.clone()) })
    }
}

impl Drop for FarEnd {
    fn drop(&mut self) {
        if let Some(side) = &self.side {
            // Enabling it succeeded before; and the pair ends with the bed in any case.
            let _ = side.run(|| set_offload(side.name(), Offload::Gro, false));
        }
    }
}
