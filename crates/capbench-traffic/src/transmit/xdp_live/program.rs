//! Loads `live.bpf.c` for an interface.

use std::os::fd::AsFd;

use capbench_sys::SysError;
use capbench_sys::bpf::{LiveFrames, XdpLink, XdpMode};
use capbench_sys::host::InterfaceIndex;
use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, OpenObject, set_print};

/// The object file, aligned as ELF wants it.
#[repr(C, align(8))]
struct ObjectFile<T: ?Sized>(T);

static OBJECT: &ObjectFile<[u8]> = &ObjectFile(*include_bytes!(concat!(env!("OUT_DIR"), "/live.bpf.o")));

/// The program in the kernel, on the sending interface.
pub(super) struct Program {
    // Fields are dropped in this order: the program leaves the interface first.
    _link: XdpLink,
    object: Object,
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
        // What libbpf has to say goes nowhere; its errors have what there is to know.
        let before = set_print(None);
        let object = open_and_load(interface, slots, slot_octets, largest);
        set_print(before);
        let object = object.map_err(failed)?;
        let map = object.maps().find(|map| map.name() == "slots").ok_or_else(|| lacks("slots"))?;
        let program = object.progs().next().ok_or_else(|| lacks("program"))?;
        let frames = LiveFrames::new(program.as_fd(), map.as_fd(), largest)?;
        let link = XdpLink::attach(program.as_fd(), interface, XdpMode::Driver)?;
        Ok((Self { _link: link, object }, frames))
    }

    /// How many frames it has made so far.
    pub(super) fn made(&self) -> Result<u64, SysError> {
        let map = self.object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss"));
        let value = map.ok_or_else(|| lacks("count"))?.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY);
        let value = value.map_err(failed)?.unwrap_or_default();
        value.first_chunk().map(|octets| u64::from_ne_bytes(*octets)).ok_or_else(|| lacks("count"))
    }
}

fn open_and_load(
    interface: InterfaceIndex,
    slots: u32,
    slot_octets: usize,
    largest: usize,
) -> libbpf_rs::Result<Object> {
    let mut object: OpenObject = ObjectBuilder::default().open_memory(&OBJECT.0)?;
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if name == "slots" {
            map.set_value_size(slot_octets as u32)?;
            map.set_max_entries(slots)?;
        } else if name.ends_with(".rodata") {
            // `config` of live.bpf.c.
            let numbers = [interface.number(), slots, largest as u32];
            let octets: Vec<u8> = numbers.into_iter().flat_map(u32::to_ne_bytes).collect();
            map.set_initial_value(&octets)?;
        }
    }
    object.load()
}

fn lacks(thing: &str) -> SysError {
    SysError::argument("BPF object live", format!("it has no {thing}"))
}

fn failed(error: libbpf_rs::Error) -> SysError {
    let what = "loading the BPF program of xdp-live".into();
    match error.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => SysError::Refused {
            what,
            reason: "it needs the capabilities CAP_BPF and CAP_NET_ADMIN over the host, and Linux 5.18"
                .into(),
            source: std::io::Error::from(std::io::ErrorKind::PermissionDenied),
        },
        _ => SysError::Call { what, source: std::io::Error::other(format!("{error:#}")) },
    }
}
