//! Sockets as any user may see them, by netlink and `/proc`.

use capbench_sys::host::InterfaceIndex;
use capbench_sys::host::interface::name_of;

use super::diag::Seen;
use super::kinds::{cut_to, fanout_kind, method};
use super::processes::{self, Process};
use super::socket::{Fanout, Ring, Socket};
use super::{Scope, Sockets, Where};

/// The sockets without the BPF program, and why the program is missing.
pub(super) fn without_records(reason: &str, seen: std::io::Result<Vec<Seen>>, here: Where) -> Sockets {
    let mut unknown = format!(
        "drops of rings, AF_XDP sockets and other network namespaces are unknown: reading them {reason}"
    );
    let seen = match seen {
        Ok(seen) => seen,
        Err(error) => {
            unknown = format!("capture sockets are unknown: reading them {reason}; packet_diag: {error}");
            Vec::new()
        }
    };
    let owners = processes::by_socket();
    let mut sockets = Sockets { scope: Scope::NetNamespace, ..Sockets::default() };
    for seen in &seen {
        sockets.add(shown(seen, owners.get(&seen.inode), here.space), seen.interface, here);
    }
    if sockets.here.iter().chain(&sockets.elsewhere).any(|socket| socket.processes.is_empty()) {
        unknown.push_str("; processes of other users are hidden");
    }
    Sockets { unknown: Some(unknown), ..sockets }
}

/// The publicly visible part of a socket.
pub(super) fn shown(seen: &Seen, owners: Option<&Vec<u32>>, space: u64) -> Socket {
    let ring = seen.ring.map(|[block_octets, blocks, slot_octets, slots]| Ring {
        blocks,
        block_octets: block_octets.into(),
        slots,
        slot_octets,
    });
    let method = method(ring.is_some(), seen.version);
    Socket {
        inode: seen.inode,
        processes: owners.into_iter().flatten().map(|pid| Process::read(*pid)).collect(),
        namespace: space,
        method,
        interface: InterfaceIndex::new(seen.interface).and_then(|index| name_of(index).ok()),
        every_interface: seen.interface == 0,
        receives: seen.protocol != 0,
        ring,
        receive_buffer: seen.receive_buffer,
        queue: None,
        zero_copy: None,
        fanout: seen.fanout.map(|(id, kind)| Fanout { id, kind: fanout_kind(kind), members: None }),
        filter: seen.filter_takes.is_some().then_some(true),
        cut_to: cut_to(method, ring, seen.reserve, seen.filter_takes),
        outgoing: None,
        accepted: None,
        // For a ring it reports 0, even if frames were lost.
        dropped: seen.drops.filter(|_| ring.is_none()).map(u64::from),
        dropped_in_all: seen.drops.filter(|_| ring.is_none()).map(u64::from),
        ring_full: None,
        fill_empty: None,
        freezes: None,
        at_least: false,
        closed: false,
    }
}
