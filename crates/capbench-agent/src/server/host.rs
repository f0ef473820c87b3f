//! What an agent says of its host.

use capbench_host::bed::Side;
use capbench_host::environment::interface;
use capbench_host::links::Link;
use capbench_lab::LabError;
use capbench_lab::live::line_rate;
use capbench_model::environment::Environment;
use capbench_model::environment::interface::Role;
use capbench_sys::host::affinity;
use sha2::{Digest, Sha256};

use super::{Rules, refusal};
use crate::message::{Hello, Kind, PROTOCOL, Port, PortState, PortStatus};

/// Introduces this host.
pub(super) fn hello(
    rules: &Rules,
    environment: &Environment,
    kind_of: fn(&LabError) -> Kind,
) -> capbench_lab::Result<Hello> {
    let port = |(role, name): (Role, &str)| Port {
        role,
        interface: name.into(),
        state: match state(role, name, rules.is_isolated(name)) {
            Ok(state) => PortStatus::Usable(Box::new(state)),
            Err(error) => PortStatus::Refused(refusal(&error, kind_of)),
        },
    };
    Ok(Hello {
        protocol: PROTOCOL,
        host_id: hashed("/etc/machine-id"),
        boot_id: hashed("/proc/sys/kernel/random/boot_id").unwrap_or_default(),
        environment: environment.clone(),
        cpus: affinity::allowed_cpus()?,
        ports: rules.ports().map(port).collect(),
        max_rate: rules.max_rate,
    })
}

fn state(role: Role, name: &str, isolated: bool) -> capbench_lab::Result<PortState> {
    let side = Side::for_trials(name, isolated)?;
    let link = side.link()?;
    Ok(PortState {
        index: side.index().number(),
        peer: peer(&link),
        mtu: side.mtu(),
        bits_per_second: line_rate::bits_per_second(&side)?,
        facts: interface::of_side(role, &side),
    })
}

fn peer(link: &Link) -> Option<u32> {
    let is_veth = link.kind.as_deref() == Some("veth");
    link.tied_to.filter(|_| is_veth).map(|tie| tie.index.number())
}

/// A hash of an identifier in a file. machine-id(5) asks for a keyed one, so that nobody learns the id.
fn hashed(file: &str) -> Option<String> {
    let id = std::fs::read_to_string(file).ok().filter(|id| !id.trim().is_empty())?;
    let digest = Sha256::digest(format!("capbench host {}", id.trim()));
    Some(digest.iter().take(8).map(|octet| format!("{octet:02x}")).collect())
}
