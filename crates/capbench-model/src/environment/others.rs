//! What else looks at packets on a host, or moves interrupts about.

use serde::{Deserialize, Serialize};

/// Others at work when the run began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Others {
    /// Packet sockets open in the host's network namespace, those of capbench not among them: each of those that take
    /// everything costs every packet of its interface (`/proc/net/packet`). Those on the run's own interfaces stand with these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_sockets: Option<u64>,
    /// Those of them that take every protocol (ETH_P_ALL).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_sockets_of_all_protocols: Option<u64>,
    /// Interfaces of that namespace with an XDP program, and where it is attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xdp_programs: Option<Vec<AttachedProgram>>,
    /// Whether irqbalance runs, which moves interrupts between CPUs; absent where other processes cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irqbalance_running: Option<bool>,
}

/// An XDP program on an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AttachedProgram {
    /// The interface.
    pub interface: String,
    /// `driver`, `generic`, `hardware` or `several`.
    pub attached: String,
}
