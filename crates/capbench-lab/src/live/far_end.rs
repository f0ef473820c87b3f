//! Settings that a transmit method needs at the other end of the bed's link while it sends.

use std::sync::Arc;

use capbench_sys::host::ethtool::{Offload, offload, set_offload};
use capbench_traffic::transmit;

use crate::Result;
use capbench_host::bed::Bed;

/// Whether this transmit method passes frames to the queue of a veth's NAPI context instead of its receive path.
pub(super) fn is_queued(transmit: &str) -> bool {
    transmit::method(transmit).is_ok_and(|chosen| chosen.method.needs_far_napi)
}

/// Frames of XDP programs reach a veth only while it uses NAPI: with its own XDP program, or with generic receive offload
/// (`veth_xdp_xmit` of drivers/net/veth.c). Dropping this value restores the offload setting.
#[derive(Debug)]
pub(super) struct FarEnd {
    bed: Option<Arc<Bed>>,
}

impl FarEnd {
    /// Sets the receiving end up for this transmit method.
    ///
    /// # Errors
    /// When the kernel refuses it.
    pub(super) fn set_up(bed: &Arc<Bed>, transmit: &str) -> Result<Self> {
        // The user sets up real interfaces.
        if !(is_queued(transmit) && bed.is_virtual()) {
            return Ok(Self { bed: None });
        }
        let side = bed.receive_side();
        let was_on = side.run(|| offload(side.name(), Offload::Gro))??;
        if was_on {
            return Ok(Self { bed: None });
        }
        side.run(|| set_offload(side.name(), Offload::Gro, true))??;
        Ok(Self { bed: Some(Arc::clone(bed)) })
    }
}

impl Drop for FarEnd {
    fn drop(&mut self) {
        if let Some(bed) = &self.bed {
            let side = bed.receive_side();
            // Enabling it succeeded before; and the pair ends with the bed in any case.
            let _ = side.run(|| set_offload(side.name(), Offload::Gro, false));
        }
    }
}
