//! Faults by an XDP program on the receiving interface.

use capbench_host::bed::Side;
use capbench_sys::bpf::object::{ObjectFile, Opened};
use capbench_sys::bpf::{XdpLink, XdpMode};

/// A program on an interface. Dropping it takes it off.
#[derive(Debug)]
pub struct Attached {
    _link: XdpLink,
}

/// Attaches the program of `xdp_faults.bpf.c`; 0 turns a fault off.
pub fn attach(side: &Side, mode: XdpMode, drop_every: u32, take_ns: u32) -> Attached {
    static FAULTS: &ObjectFile<[u8]> =
        &ObjectFile(*include_bytes!(concat!(env!("OUT_DIR"), "/xdp_faults.bpf.o")));
    let mut opened = Opened::read("xdp_faults", &FAULTS.0).unwrap();
    let constants = [drop_every.to_ne_bytes(), take_ns.to_ne_bytes()].concat();
    opened.set_constants(&constants).unwrap();
    let loaded = opened.load().unwrap();
    Attached { _link: side.run(|| loaded.attach(side.index(), mode)).unwrap().unwrap() }
}
