//! `xdp-live`: the kernel runs an XDP program on frames that it generates, and the program sends them (`BPF_PROG_RUN` with
//! live frames, Documentation/bpf/bpf_prog_run.rst, Linux 5.18).
//!
//! If the receiver is an XDP program, no frame ever becomes a socket buffer. So it feeds methods in the driver faster than
//! any socket could. Both ends of the link need XDP. Here the program is attached to the sending interface, as many drivers
//! require. The other end of a veth needs an XDP program, too, or generic receive offload, which gives it NAPI
//! (`veth_xdp_xmit` of drivers/net/veth.c). Frames that do not fit into a veth's queue count in `tx_dropped` of the sender.
//! Frames to a far end without XDP count nowhere, so that is an error.

#[cfg(not(feature = "bpf"))]
pub(super) use absent::{open, supported};
#[cfg(feature = "bpf")]
pub(super) use program::supported;
#[cfg(feature = "bpf")]
pub(super) use sending::open;

#[cfg(not(feature = "bpf"))]
mod absent {
    use crate::{Opened, Result, TrafficError, TransmitConfig};

    /// Returns the error that the feature is not built.
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
