//! Settings that a transmit method needs at the other end of the bed's link while it sends.

use capbench_frames::TransmitSpec;
use capbench_host::bed::{Guarded, Side};
use capbench_sys::host::ethtool::Offload;
use capbench_traffic::transmit;

use crate::Result;

/// Whether this transmit method passes frames to the queue of a veth's NAPI context instead of its receive path.
pub(super) fn is_queued(transmit: &TransmitSpec) -> bool {
    transmit::method(transmit).is_ok_and(|chosen| chosen.method.needs_far_napi)
}

/// Sets the receiving end of a virtual pair up for this transmit method. The user sets up real interfaces.
///
/// Frames of XDP programs reach a veth only while it uses NAPI: with its own XDP program, or with generic receive offload
/// (`veth_xdp_xmit` of drivers/net/veth.c).
///
/// # Errors
/// When the kernel refuses it.
pub(super) fn set_up(side: &Side, transmit: &TransmitSpec) -> Result<Option<Guarded>> {
    if !is_queued(transmit) {
        return Ok(None);
    }
    Ok(Guarded::offload(side, Offload::Gro, true)?)
}
