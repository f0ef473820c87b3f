//! Loads `live.bpf.c` for an interface.

use std::os::fd::AsFd;

use capbench_sys::SysError;
use capbench_sys::bpf::object::{CAPABILITIES, Loaded, Opened, object_file};
use capbench_sys::bpf::{LiveFrames, XdpLink, XdpMode};
use capbench_sys::host::InterfaceIndex;

use crate::{Result, TrafficError};

/// The program in the kernel, on the sending interface.
pub(super) struct Program {
    // Drop order: the program leaves the interface first.
    _link: XdpLink,
    object: Loaded,
}

impl Program {
    /// Loads it with slots of `slot_octets` octets, attaches it, and returns the slots.
    ///
    /// It is attached for two reasons. Many drivers send frames of programs only while they run one themselves. And for a
    /// detached program the kernel patches its dispatcher twice in every run, which takes about 25 ms
    /// (`bpf_dispatcher_change_prog` of kernel/bpf/dispatcher.c, measured with Linux 6.18).
    pub(super) fn load(
        interface: InterfaceIndex,
        slots: u32,
        slot_octets: usize,
        largest: usize,
    ) -> Result<(Self, LiveFrames)> {
        let (object, frames) = load(interface.number(), slots, slot_octets, largest).map_err(explained)?;
        let link = object.attach(interface, XdpMode::Driver).map_err(explained)?;
        Ok((Self { _link: link, object }, frames))
    }

    /// Number of frames generated so far.
    pub(super) fn made(&self) -> std::result::Result<u64, SysError> {
        let variables = self.object.variables()?;
        let made = variables.first_chunk().map(|octets| u64::from_ne_bytes(*octets));
        made.ok_or_else(|| SysError::argument("BPF object live", "its count has another size"))
    }
}

/// Loads it without attaching it, to send on the interface with this number.
fn load(
    interface: u32,
    slots: u32,
    slot_octets: usize,
    largest: usize,
) -> std::result::Result<(Loaded, LiveFrames), SysError> {
    let mut object = Opened::read("live", object_file!("live"))?;
    object.set_value_size("slots", slot_octets as u32)?;
    object.set_entries("slots", slots)?;
    // `config` of live.bpf.c.
    let config = [interface, slots, largest as u32];
    object.set_constants(&config.into_iter().flat_map(u32::to_ne_bytes).collect::<Vec<_>>())?;
    let object = object.load()?;
    let frames = LiveFrames::new(object.program_fd()?.as_fd(), object.map_fd("slots")?.as_fd(), largest)?;
    Ok((object, frames))
}

/// Whether the kernel loads the program and runs it on frames that it generates. Tries one frame to an invalid interface, so
/// that it is sent nowhere.
pub(in super::super) fn supported() -> std::result::Result<(), String> {
    const NOWHERE: u32 = u32::MAX;
    const OCTETS: u16 = 60;
    let why = |error: SysError| match error.errno() {
        Some(EPERM) => {
            format!("needs the capabilities {CAPABILITIES} over the host, outside a user namespace")
        }
        _ => error.to_string(),
    };
    let (_object, mut frames) = load(NOWHERE, 1, 72, OCTETS.into()).map_err(why)?;
    frames.commit(0, OCTETS);
    frames.run(1, 1).map_err(|error| match error.errno() {
        Some(EINVAL) => {
            format!("this kernel does not run programs on live frames, as Linux 5.18 does ({error})")
        }
        _ => why(error),
    })
}

const EPERM: i32 = 1;
const EINVAL: i32 = 22;

/// Names the missing feature where the kernel returns only a general error.
pub(super) fn explained(source: SysError) -> TrafficError {
    if source.errno() == Some(EPERM) {
        return TrafficError::Privilege { capability: "CAP_BPF and CAP_NET_ADMIN over the host", source };
    }
    TrafficError::Sys(source)
}
