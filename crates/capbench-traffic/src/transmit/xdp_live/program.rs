//! Loads `live.bpf.c` for an interface.

use std::os::fd::AsFd;

use capbench_sys::SysError;
use capbench_sys::bpf::object::{CAPABILITIES, Loaded, Opened, object_file};
use capbench_sys::bpf::{LiveFrames, XdpLink, XdpMode};
use capbench_sys::host::InterfaceIndex;

/// The program in the kernel, on the sending interface.
pub(super) struct Program {
    // Fields are dropped in this order: the program leaves the interface first.
    _link: XdpLink,
    object: Loaded,
}

impl Program {
    /// Loads it with slots of `slot_octets` octets, attaches it, and gives the slots.
    ///
    /// It is attached for two reasons. Many drivers send frames of programs only while they run one themselves. And a
    /// program that is attached nowhere would make every run wait for the kernel to patch its dispatcher twice, some
    /// 25 ms (`bpf_dispatcher_change_prog` of kernel/bpf/dispatcher.c, measured with Linux 6.18).
    pub(super) fn load(
        interface: InterfaceIndex,
        slots: u32,
        slot_octets: usize,
        largest: usize,
    ) -> Result<(Self, LiveFrames), SysError> {
        let mut object = Opened::read("live", object_file!("live"))?;
        object.set_value_size("slots", slot_octets as u32)?;
        object.set_entries("slots", slots)?;
        // `config` of live.bpf.c.
        let config = [interface.number(), slots, largest as u32];
        object.set_constants(&config.into_iter().flat_map(u32::to_ne_bytes).collect::<Vec<_>>())?;
        let object = object.load().map_err(privilege)?;
        let frames = LiveFrames::new(object.program_fd()?.as_fd(), object.map_fd("slots")?.as_fd(), largest)?;
        let link = object.attach(interface, XdpMode::Driver)?;
        Ok((Self { _link: link, object }, frames))
    }

    /// How many frames it has made so far.
    pub(super) fn made(&self) -> Result<u64, SysError> {
        let variables = self.object.variables()?;
        let made = variables.first_chunk().map(|octets| u64::from_ne_bytes(*octets));
        made.ok_or_else(|| SysError::argument("BPF object live", "its count has another size"))
    }
}

/// Names what is missing where the kernel only says that something is.
fn privilege(error: SysError) -> SysError {
    const EPERM: i32 = 1;
    match error {
        SysError::Call { what, source } if source.raw_os_error() == Some(EPERM) => SysError::Refused {
            what,
            reason: format!("it needs the capabilities {CAPABILITIES} over the host"),
            source,
        },
        other => other,
    }
}
