//! Every socket of the host that captures: its owner, its method, its counts. The source is a BPF program if the kernel and the
//! privilege allow it, else netlink and `/proc`, with a note on the unknown parts.
//!
//! | file | content |
//! |---|---|
//! | `socket` | the data of one socket; names for the kernel's numbers |
//! | `packet_sockets.bpf.c`, `record.h`, `kernel.h` | reads the sockets of all processes from the kernel's structures |
//! | `records`, `by_bpf` | loads that program; reads its records |
//! | `by_netlink` | the packet sockets of this network namespace, by netlink |
//! | `pf_ring` | the rings of PF_RING's kernel module, by its files in /proc |
//! | `tally` | sums their counts although owners reset them, and those of closed sockets |
//! | `processes` | the processes that have them open |

mod by_bpf;
pub(crate) mod by_netlink;
mod pf_ring;
pub(crate) mod processes;
pub(super) mod records;
mod socket;
mod tally;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use capbench_sys::host::{InterfaceIndex, namespace};
use schemars::JsonSchema;
use serde::Serialize;

use by_netlink::Seen;
pub use processes::Process;
pub(super) use processes::are_hidden as are_processes_hidden;
use records::Reader;
pub use socket::{Fanout, Method, Ring, Socket};
pub use tally::ClosedSockets;
pub(super) use tally::Tally;

/// The sockets at one moment, or their counts in an interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Sockets {
    /// Sockets that receive on the interface, and those that receive on all interfaces of its namespace.
    pub here: Vec<Socket>,
    /// Other sockets: on other interfaces, in other network namespaces, or only for sending.
    pub elsewhere: Vec<Socket>,
    /// Sums by kind of closed sockets that are in neither list: only the closed ones that lost most are in the lists.
    pub closed: Vec<ClosedSockets>,
    /// Which sockets are visible.
    pub scope: Scope,
    /// The unknown parts, and why they are unknown; absent if everything was read.
    pub unknown: Option<String>,
}

/// Which sockets are visible.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Sockets of every process of the host, in any namespace.
    #[default]
    Host,
    /// Sockets of the processes of this PID namespace, in any network namespace, and packet sockets of this network namespace.
    PidNamespace,
    /// Packet sockets of this network namespace.
    NetNamespace,
}

/// Definition of "here".
#[derive(Debug, Clone, Copy)]
struct Where {
    /// Inode of the network namespace.
    space: u64,
    interface: InterfaceIndex,
    /// The program's scope.
    scope: Scope,
}

impl Sockets {
    /// The counts since `before`.
    fn since(&self, before: &Self) -> Self {
        let before = before.by_inode();
        Self {
            here: socket::since(&self.here, &before),
            elsewhere: socket::since(&self.elsewhere, &before),
            ..self.clone()
        }
    }

    /// The same sockets, seen from another interface of the namespace `space`.
    pub(super) fn seen_from(&self, interface: &str, space: u64) -> Self {
        let is_here = |socket: &&Socket| {
            let is_on = socket.every_interface || socket.interface.as_deref() == Some(interface);
            socket.namespace == space && socket.receives && is_on
        };
        let (here, elsewhere): (Vec<_>, Vec<_>) = self.all().partition(is_here);
        let owned = |list: Vec<&Socket>| list.into_iter().cloned().collect();
        Self {
            here: owned(here),
            elsewhere: owned(elsewhere),
            closed: self.closed.clone(),
            scope: self.scope,
            unknown: self.unknown.clone(),
        }
    }

    /// The sockets of both lists.
    pub fn all(&self) -> impl Iterator<Item = &Socket> {
        self.here.iter().chain(&self.elsewhere)
    }

    /// The sockets of both lists, by their numbers.
    fn by_inode(&self) -> HashMap<u64, &Socket> {
        self.all().map(|socket| (socket.inode, socket)).collect()
    }

    /// Adds a socket of this namespace that is bound to the interface of this number; 0 means all interfaces.
    fn add(&mut self, socket: Socket, interface: u32, here: Where) {
        let on_it = interface == 0 || interface == here.interface.number();
        let list = if on_it && socket.receives { &mut self.here } else { &mut self.elsewhere };
        list.push(socket);
    }
}

/// The source of sockets.
#[derive(Debug)]
pub(super) struct Source {
    reader: std::result::Result<Reader, String>,
    /// The folder in which PF_RING lists its rings.
    rings: PathBuf,
    here: Where,
}

impl Source {
    /// Sockets on `interface` of the calling thread's network namespace, whose inode is `space`.
    pub(super) fn new(types: &std::path::Path, space: u64, interface: InterfaceIndex) -> Self {
        let scope = match namespace::in_initial_pid_namespace() {
            Ok(true) => Scope::Host,
            _ => Scope::PidNamespace,
        };
        Self {
            reader: Reader::new(types),
            rings: capbench_sys::pf_ring::FOLDER.into(),
            here: Where { space, interface, scope },
        }
    }

    /// Whether the BPF program reads them instead of a search of all processes.
    pub(super) fn has_program(&self) -> bool {
        self.reader.is_ok()
    }

    /// The sockets now.
    pub(super) fn read(&self) -> Sockets {
        let mut sockets = self.read_kernels();
        sockets.add_rings(&self.rings, self.here);
        sockets
    }

    /// Sockets of the kernel's own families.
    fn read_kernels(&self) -> Sockets {
        // It shows filters, which the program does not read.
        let seen = by_netlink::read();
        let records = match &self.reader {
            Ok(reader) => reader.read(),
            Err(reason) => Err(reason.clone()),
        };
        let records = match records {
            Ok(records) => records,
            Err(reason) => return by_netlink::without_records(&reason, seen, self.here),
        };
        let seen = seen.unwrap_or_default();
        let recorded: HashSet<u64> = records.iter().map(|record| record.inode).collect();
        let is_stray = |seen: &Seen| !recorded.contains(&seen.inode);
        let mut strays: Vec<_> = seen.iter().filter(|seen| is_stray(seen)).cloned().collect();
        if !strays.is_empty() {
            // A socket that was closed between the two reads does not count.
            let still: HashSet<u64> =
                by_netlink::read().unwrap_or_default().iter().map(|seen| seen.inode).collect();
            strays.retain(|stray| still.contains(&stray.inode));
        }
        by_bpf::from_records(&records, &seen, &strays, self.here)
    }
}

#[cfg(test)]
mod tests;
