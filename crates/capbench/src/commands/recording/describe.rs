//! What a file says about the host and an interface.

use capbench_capture::{Filter, Interface};
use capbench_record::file::{InterfaceDescription, InterfaceFilter, SectionDescription};
use capbench_sys::host::ethtool::{self, Offload};

/// The section: program and host.
pub fn section() -> SectionDescription {
    SectionDescription {
        hardware: read("/sys/class/dmi/id/product_name"),
        system: system(),
        application: Some(format!("capbench {}", env!("CARGO_PKG_VERSION"))),
        comments: Vec::new(),
    }
}

fn system() -> Option<String> {
    read("/proc/sys/kernel/osrelease").map(|release| format!("Linux {release}"))
}

fn read(file: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_string())
}

/// An interface of the calling thread's namespace. Unknown facts are left out.
pub fn interface(
    interface: &Interface,
    mac: Option<[u8; 6]>,
    filter: Option<&Filter>,
) -> InterfaceDescription {
    let driver = ethtool::driver(&interface.name).ok();
    InterfaceDescription {
        name: Some(interface.name.clone()),
        description: None,
        mac,
        speed: None,
        filter: filter.map(|filter| match filter.expression() {
            Some(expression) => InterfaceFilter::Expression(expression.text.clone()),
            None => InterfaceFilter::Program(filter.program().to_vec()),
        }),
        system: system(),
        hardware: driver.map(|driver| format!("{} {}", driver.driver, driver.bus).trim_end().to_string()),
        comments: offloads(&interface.name).into_iter().collect(),
    }
}

/// Whether the NIC computes flow hashes; false if unknown.
pub fn has_flow_hashes(interface: &Interface) -> bool {
    ethtool::offload(&interface.name, Offload::ReceiveHash).unwrap_or(false)
}

/// Active offloads: those that change packets from what was on the wire.
fn offloads(interface: &str) -> Option<String> {
    const ASKED: [(&str, Offload); 7] = [
        ("gro", Offload::Gro),
        ("lro", Offload::Lro),
        ("tso", Offload::Tso),
        ("gso", Offload::Gso),
        ("rx-vlan", Offload::ReceiveVlan),
        ("rx-checksum", Offload::ReceiveChecksum),
        ("tx-checksum", Offload::TransmitChecksum),
    ];
    let state = |(name, offload): &(&str, Offload)| {
        let is_on = ethtool::offload(interface, *offload).ok()?;
        Some(format!("{name} {}", if is_on { "on" } else { "off" }))
    };
    let states: Vec<_> = ASKED.iter().filter_map(state).collect();
    (!states.is_empty()).then(|| format!("offloads: {}", states.join(", ")))
}
