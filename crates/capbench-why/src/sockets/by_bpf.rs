//! Sockets from the BPF program's records, completed by netlink: the cut of filters, and sockets that no visible process has
//! open.

use std::collections::HashMap;

use capbench_sys::memory::page_size;

use super::by_netlink::{Seen, shown};
use super::processes::Process;
use super::records::Record;
use super::socket::{Fanout, Method, Ring, Socket, cut_to, fanout_kind, method};
use super::{Scope, Sockets, Where};

const AF_XDP: u32 = 44;
/// `ETH_P_ALL`: all received frames, and copies of frames that the host sends.
const ALL_PROTOCOLS: u32 = 3;

/// All known sockets. `strays` are those of `seen` that no visible process has open.
pub(super) fn from_records(records: &[Record], seen: &[Seen], strays: &[Seen], here: Where) -> Sockets {
    let mut sockets = Sockets { scope: here.scope, ..Sockets::default() };
    let mut unknown = Vec::new();
    let seen: HashMap<u64, &Seen> = seen.iter().map(|seen| (seen.inode, seen)).collect();
    // Each socket's index in its list.
    let mut listed: HashMap<(bool, u64), usize> = HashMap::new();
    for record in records {
        let is_packet = record.family != AF_XDP;
        let in_space = u64::from(record.space) == here.space;
        if record.readable == 0 {
            unknown.extend(in_space.then_some(
                "the kernel does not describe the structures of some kinds of capture sockets (a module without BTF); \
                 those are left out",
            ));
            continue;
        }
        let on_it = record.interface == here.interface.number() || (is_packet && record.interface == 0);
        let is_here = in_space && on_it && receives(record);
        let list = if is_here { &mut sockets.here } else { &mut sockets.elsewhere };
        // A socket that several processes have open is one socket.
        let at = *listed.entry((is_here, record.inode)).or_insert(list.len());
        if let Some(known) = list.get_mut(at) {
            if !known.processes.iter().any(|process| process.pid == record.process) {
                known.processes.push(Process::read(record.process));
            }
            continue;
        }
        let seen = seen.get(&record.inode).copied();
        list.push(if is_packet { packet(record, seen) } else { xdp(record) });
    }
    for stray in strays {
        sockets.add(shown(stray, None, here.space), stray.interface, here);
    }
    unknown.extend((!strays.is_empty()).then_some(
        "some sockets are open in no process that can be seen (another PID namespace, io_uring, or a message under way): \
         their owners and the drops of their rings are unknown",
    ));
    unknown.extend((here.scope == Scope::PidNamespace).then_some(
        "capbench runs in a PID namespace (a container): sockets of processes outside it are missing, but for packet \
         sockets of this network namespace; run it on the host to see all",
    ));
    unknown.dedup();
    sockets.unknown = (!unknown.is_empty()).then(|| unknown.join("; "));
    sockets
}

/// Whether it receives frames: a packet socket has a protocol, an AF_XDP socket a receive ring and a queue.
fn receives(record: &Record) -> bool {
    if record.family == AF_XDP { record.frames != 0 && record.interface != 0 } else { record.protocol != 0 }
}

fn packet(record: &Record, seen: Option<&Seen>) -> Socket {
    let ring = (record.has_ring != 0).then_some(Ring {
        blocks: record.blocks,
        block_octets: block_octets(record),
        // The kernel does not manage the slots of a TPACKET_V3 ring: their number is nominal.
        slots: if record.version == 2 { nominal_slots(record) } else { record.frames },
        slot_octets: record.frame_octets,
    });
    let method = method(ring.is_some(), record.version);
    Socket {
        inode: record.inode,
        processes: vec![Process::read(record.process)],
        namespace: record.space.into(),
        method,
        interface: record.interface_name(),
        every_interface: record.interface == 0,
        receives: receives(record),
        ring,
        receive_buffer: Some(record.receive_buffer),
        fanout: (record.fanout_members != 0).then(|| Fanout {
            id: record.fanout_id,
            kind: fanout_kind(record.fanout_type),
            members: Some(record.fanout_members),
        }),
        filter: Some(record.filtered != 0),
        cut_to: cut_to(method, ring, record.reserve, seen.and_then(|seen| seen.filter_takes)),
        outgoing: Some(record.protocol == ALL_PROTOCOLS && record.ignores_outgoing == 0),
        accepted: Some(record.packets),
        dropped: Some(record.dropped),
        dropped_in_all: Some(record.dropped),
        freezes: (method == Method::PacketV3).then_some(record.freezes.into()),
        ..Socket::default()
    }
}

fn nominal_slots(record: &Record) -> u32 {
    let octets = u64::from(record.blocks) * block_octets(record);
    u32::try_from(octets / u64::from(record.frame_octets.max(1))).unwrap_or(u32::MAX)
}

fn block_octets(record: &Record) -> u64 {
    u64::from(record.block_pages) * u64::from(page_size())
}

fn xdp(record: &Record) -> Socket {
    Socket {
        inode: record.inode,
        processes: vec![Process::read(record.process)],
        namespace: record.space.into(),
        method: Method::AfXdp,
        interface: record.interface_name(),
        receives: receives(record),
        ring: Some(Ring {
            blocks: record.blocks,
            block_octets: record.frame_octets.into(),
            slots: record.frames,
            slot_octets: record.frame_octets,
        }),
        queue: Some(record.queue),
        zero_copy: Some(record.zero_copy != 0),
        filter: Some(false),
        outgoing: Some(false),
        // The kernel's statistics count a full ring separately from the other reasons.
        dropped: Some(record.dropped + record.full),
        dropped_in_all: Some(record.dropped + record.full),
        ring_full: Some(record.full),
        fill_empty: Some(record.starved),
        ..Socket::default()
    }
}
