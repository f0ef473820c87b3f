//! What all AF_PACKET methods have in common: a socket that is configured before it can receive.

use capbench_sys::SysError;
use capbench_sys::packet::{PacketSocket, Protocol, Version};

use crate::error::{CaptureError, Result};
use crate::filter::{self, Keep};
use crate::options::{CaptureOptions, Direction, Interface};

/// The options that every AF_PACKET method heeds.
pub(super) const COMMON_OPTIONS: [&str; 5] =
    ["--ring", "--snaplen", "--no-promiscuous", "--spin", "--direction"];

/// Names method and interface in errors of calls.
#[derive(Clone, Debug)]
pub(super) struct Context {
    pub(super) method: &'static str,
    pub(super) interface: String,
}

impl Context {
    pub(super) fn new(method: &'static str, interface: &Interface) -> Self {
        Self { method, interface: interface.name.clone() }
    }

    /// Turns a failed call into this crate's error.
    #[cold]
    pub(super) fn fail(&self, source: SysError) -> CaptureError {
        const EPERM: i32 = 1;
        let (method, interface) = (self.method, self.interface.clone());
        if source.errno() == Some(EPERM) {
            return CaptureError::Privilege { method, interface, capability: "CAP_NET_RAW", source };
        }
        CaptureError::Call { method, interface, source }
    }
}

/// A socket with filter, direction and mode set, still bound to nothing. `true` beside it when a filter is attached.
pub(super) fn unbound(
    context: &Context,
    interface: &Interface,
    options: &CaptureOptions,
) -> Result<(PacketSocket, bool)> {
    let fail = |source| context.fail(source);
    let socket = PacketSocket::open().map_err(fail)?;
    let mut keep = Keep::from(options.direction);
    // The socket option spares the kernel a clone per outgoing frame; a filter does the same work on older kernels.
    if options.direction == Direction::In && socket.ignore_outgoing().is_ok() {
        keep = Keep::Everything;
    }
    let program = filter::program(keep, options.snap_length);
    if let Some(program) = &program {
        socket.attach_filter(program).map_err(fail)?;
    }
    if options.promiscuous {
        socket.set_promiscuous(interface.index).map_err(fail)?;
    }
    Ok((socket, program.is_some()))
}

/// Binds, the last step of opening: frames arrive from here on.
pub(super) fn bind(context: &Context, socket: &PacketSocket, interface: &Interface) -> Result<()> {
    socket.bind(interface.index, Protocol::All).map_err(|source| context.fail(source))
}

/// Whether a packet socket can be had, with this ring version if one is named.
pub(super) fn probe(version: Option<Version>) -> std::result::Result<(), String> {
    let reason = |error: SysError| match error.errno() {
        Some(1) => "needs the capability CAP_NET_RAW".to_string(),
        _ => error.to_string(),
    };
    let socket = PacketSocket::open().map_err(reason)?;
    version.map_or(Ok(()), |version| socket.set_version(version)).map_err(reason)
}
