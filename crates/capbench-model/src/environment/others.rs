//! Other programs on a host that read packets or move interrupts.

use serde::{Deserialize, Serialize};

facts! {
    /// Other programs at the start of the run.
    pub struct Others {
        /// Packet sockets in the host's network namespace, without those of capbench (`/proc/net/packet`). Each socket for all
        /// protocols adds cost to every packet of its interface. Those on the run's interfaces are recorded with these.
        pub packet_sockets: Option<u64>,
        /// Sockets among them for all protocols (ETH_P_ALL).
        pub packet_sockets_of_all_protocols: Option<u64>,
        /// Interfaces of that namespace with an XDP program, and where it is attached.
        pub xdp_programs: Option<Vec<AttachedProgram>>,
        /// Whether irqbalance runs, which moves interrupts between CPUs. Absent if other processes are not visible.
        pub irqbalance_running: Option<bool>,
    }
}

/// An XDP program on an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AttachedProgram {
    /// The interface.
    pub interface: String,
    /// `driver`, `generic`, `hardware` or `several`.
    pub attached: String,
}
