//! What an agent says of its host.

use std::time::Duration;

use capbench_host::bed::Side;
use capbench_host::environment::interface;
use capbench_host::host_id::{hashed, hashed_file, host_id};
use capbench_host::links::{Link, Tie};
use capbench_lab::LabError;
use capbench_lab::live::line_rate;
use capbench_model::environment::Environment;
use capbench_model::environment::interface::Role;
use capbench_sys::host::CpuId;

use super::{Rules, lock, refusal};
use crate::message::{Build, Hello, Kind, PROTOCOL, Port, PortState, PortStatus};

/// Identifies the kernel for this boot (random(4)).
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Introduces this host.
pub(super) fn hello(
    rules: &Rules,
    environment: &Environment,
    cpus: Vec<CpuId>,
    no_report_because: Option<String>,
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
        host_id: host_id(),
        boot_id: hashed_file(BOOT_ID).unwrap_or_default(),
        clock_id: clock_id(),
        environment: environment.clone(),
        cpus,
        ports: rules.ports().map(port).collect(),
        max_rate: rules.max_rate,
        max_duration: rules.max_duration,
        programs: rules.programs().map(String::from).collect(),
        isolated: rules.isolated.clone(),
        no_report_because,
        build: Build::of(environment),
    })
}

/// How long an agent that lost its controller may take to leave its interface.
const LEAVING: Duration = Duration::from_secs(3);

fn state(role: Role, name: &str, isolated: bool) -> capbench_lab::Result<PortState> {
    let side = Side::for_trials(name, isolated)?;
    // The agent of a controller that was killed still reads the last frames of its trial: its sockets are no fact about the host.
    let _ = lock::is_free_within(side.index(), LEAVING, || false);
    let link = side.link()?;
    let peer = peer(&link);
    let namespace = side.namespace().inode();
    Ok(PortState {
        index: side.index().number(),
        peer: peer.map(|tie| tie.index.number()),
        namespace: Some(namespace),
        peer_namespace: peer.and_then(|tie| match tie.namespace {
            None => Some(namespace),
            Some(_) => side.links().namespace_of(tie),
        }),
        mtu: side.mtu(),
        bits_per_second: line_rate::bits_per_second(&side)?,
        facts: interface::of_side(role, &side),
    })
}

fn peer(link: &Link) -> Option<Tie> {
    let is_veth = link.kind.as_deref() == Some("veth");
    link.tied_to.filter(|_| is_veth)
}

/// Identifies the clock of this process: the kernel and the time namespace (time_namespaces(7)). Without such namespaces a kernel
/// has one clock. `None`: unknown.
pub fn clock_id() -> Option<String> {
    let kernel = std::fs::read_to_string(BOOT_ID).ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/time")
        .map_or_else(|_| String::new(), |name| name.to_string_lossy().into_owned());
    Some(hashed(&format!("{} {namespace}", kernel.trim())))
}
