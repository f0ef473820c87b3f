//! Rings of PF_RING's kernel module. No netlink shows them, and the BPF program does not know the module's structures. The module
//! lists the rings of a network namespace with their counters; reading does not reset them.

use std::io::ErrorKind;
use std::path::Path;

use capbench_sys::host::interface::name_of;
use capbench_sys::pf_ring::{self, ListedRing};

use super::processes::Process;
use super::socket::{Method, Ring, Socket};
use super::{Scope, Sockets, Where};

/// Set in [`Socket::inode`] of a ring. The other bits are the module's number of the ring: no inode is as large.
const RING: u64 = 1 << 52;

impl Sockets {
    /// Adds the rings that a folder lists, for the network namespace of the calling thread.
    pub(super) fn add_rings(&mut self, folder: &Path, here: Where) {
        let interface = name_of(here.interface).unwrap_or_default();
        let rings = match pf_ring::listed(folder) {
            Ok(rings) => rings,
            // The kernel has no such module.
            Err(error) if error.kind() == ErrorKind::NotFound => return,
            Err(error) => {
                let more = format!("rings of PF_RING are unknown: {}: {error}", folder.display());
                self.unknown =
                    Some(self.unknown.take().map_or(more.clone(), |known| format!("{known}; {more}")));
                return;
            }
        };
        for ring in rings {
            let is_here = ring.receives && ring.is_on(&interface);
            let list = if is_here { &mut self.here } else { &mut self.elsewhere };
            list.push(socket(&ring, here));
        }
    }
}

fn socket(ring: &ListedRing, here: Where) -> Socket {
    let every_interface = ring.device == "any";
    let size = |octets| Ring {
        blocks: 1,
        block_octets: octets,
        slots: ring.slots.and_then(|slots| slots.try_into().ok()).unwrap_or(0),
        slot_octets: ring.bucket.and_then(|octets| octets.try_into().ok()).unwrap_or(0),
    };
    // The module uses the process numbers of the initial PID namespace.
    let is_known = here.scope != Scope::PidNamespace;
    Socket {
        inode: RING | u64::from(ring.number),
        processes: is_known.then(|| Process::read(ring.process)).into_iter().collect(),
        namespace: here.space,
        method: Method::PfRing,
        interface: (!every_interface && ring.device != "none").then(|| ring.device.clone()),
        every_interface,
        receives: ring.receives,
        ring: ring.memory.map(size),
        cut_to: ring.bucket.and_then(|octets| octets.try_into().ok()),
        accepted: ring.stored,
        dropped: ring.lost,
        dropped_in_all: ring.lost,
        ..Socket::default()
    }
}
