//! `xdp-live`: an XDP program that the kernel runs on frames of its own making sends them (`BPF_PROG_RUN` with live
//! frames, Documentation/bpf/bpf_prog_run.rst, Linux 5.18).
//!
//! No socket buffer is ever made of a frame whose receiver is an XDP program, so that it feeds methods in the driver
//! faster than any socket could. Both ends of the link have to be set for XDP: here the program is attached to the
//! sending interface, as many drivers want; the other end of a veth needs an XDP program, too, or generic receive
//! offload, which gives it NAPI (`veth_xdp_xmit` of drivers/net/veth.c). Frames that a veth's queue has no room for
//! count in `tx_dropped` of the sender; those for a far end that is not set up count nowhere, so that is an error.

#[cfg(not(feature = "bpf"))]
pub(super) use absent::{open, supported};
#[cfg(feature = "bpf")]
pub(super) use program::supported;
#[cfg(feature = "bpf")]
pub(super) use sending::open;

#[cfg(not(feature = "bpf"))]
mod absent {
    use crate::error::{Result, TrafficError};
    use crate::transmit::{Opened, TransmitConfig};

    /// Says that it is not there.
    pub(in super::super) fn open(_: &TransmitConfig) -> Result<Opened> {
        let reason = "this capbench was built without the feature bpf";
        Err(TrafficError::from(capbench_sys::SysError::argument("xdp-live", reason)))
    }

    /// The same.
    pub(in super::super) fn supported() -> std::result::Result<(), String> {
        Err("built without the feature bpf".into())
    }
}

#[cfg(feature = "bpf")]
mod program;
#[cfg(feature = "bpf")]
mod sending;
