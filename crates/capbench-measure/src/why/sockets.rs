//! Every socket that captures on an interface: whose it is, how it captures, what it counted. Read by `records` where
//! the kernel and the privilege allow, else put together from `diag` and `/proc`, with what is then unknown.

use capbench_sys::host::InterfaceIndex;
use capbench_sys::packet::geometry::page_size;
use serde::Serialize;

use super::diag::{self, Seen};
use super::processes::{self, Process};
use super::records::{Reader, Record};

const AF_XDP: u32 = 44;
/// `ETH_P_ALL`: everything that comes, and copies of what the host sends.
const ALL_PROTOCOLS: u32 = 3;
/// How a socket takes frames over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// AF_PACKET without a ring: a copy for each call.
    Recv,
    /// AF_PACKET with a ring of slots, TPACKET_V1.
    PacketV1,
    /// AF_PACKET with a ring of slots, TPACKET_V2.
    PacketV2,
    /// AF_PACKET with a ring of blocks, TPACKET_V3.
    PacketV3,
    /// AF_XDP, which takes frames that an XDP program gives it from one receive queue.
    AfXdp,
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Recv => "recv",
            Self::PacketV1 => "TPACKET_V1 ring",
            Self::PacketV2 => "TPACKET_V2 ring",
            Self::PacketV3 => "TPACKET_V3 ring",
            Self::AfXdp => "AF_XDP",
        })
    }
}

/// A ring's geometry. For AF_XDP the blocks are the chunks of its memory and the slots those of the receive ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Ring {
    /// Blocks.
    pub blocks: u32,
    /// Octets of each.
    pub block_octets: u64,
    /// Slots for frames; of a TPACKET_V3 ring only nominal, since frames take what they need there.
    pub slots: u32,
    /// Octets of each.
    pub slot_octets: u32,
}

/// The fanout group that a packet socket shares its frames with (packet(7)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fanout {
    /// Its number, within the network namespace.
    pub id: u32,
    /// How frames are spread, by the name of `PACKET_FANOUT_*`.
    pub kind: String,
    /// Sockets in it; absent where it is not told.
    pub members: Option<u32>,
}

/// A socket that captures. Counters are those since its owner last read them, or since it was made; in an interval, what
/// came in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Socket {
    /// What tells it from all others.
    pub inode: u64,
    /// Processes that have it open.
    pub processes: Vec<Process>,
    /// How it captures.
    pub method: Method,
    /// Whether it takes frames of every interface of the namespace.
    pub every_interface: bool,
    /// Its ring, where it has one.
    pub ring: Option<Ring>,
    /// Octets that may wait without a ring (SO_RCVBUF), memory for administration included.
    pub receive_buffer: Option<u32>,
    /// The receive queue that an AF_XDP socket is bound to.
    pub queue: Option<u32>,
    /// Whether an AF_XDP socket shares its memory with the NIC; absent for others.
    pub zero_copy: Option<bool>,
    /// Its fanout group.
    pub fanout: Option<Fanout>,
    /// Whether a filter decides what it gets; absent where it is not told.
    pub filter: Option<bool>,
    /// Frames are cut to so many octets, where that is known.
    pub cut_to: Option<u32>,
    /// Whether it also gets copies of what the host sends; absent where it is not told.
    pub outgoing: Option<bool>,
    /// Frames that it took; absent where that cannot be read. AF_XDP does not count them.
    pub accepted: Option<u64>,
    /// Frames that it lost for want of room; absent where that cannot be read.
    pub dropped: Option<u64>,
    /// The same without regard to the interval: since its owner last read its counters, or since it was made.
    pub dropped_in_all: Option<u64>,
    /// Of the former, lost because the receive ring was full: AF_XDP only.
    pub ring_full: Option<u64>,
    /// Times that the fill ring of an AF_XDP socket had no buffer.
    pub fill_empty: Option<u64>,
    /// Times that a TPACKET_V3 ring stopped because every block was full.
    pub freezes: Option<u64>,
    /// Whether the owner read, and so reset, the counters meanwhile: then they tell the least.
    pub at_least: bool,
}

impl Socket {
    /// Who has it open, in words.
    pub fn owner(&self) -> String {
        match self.processes.first() {
            Some(process) => process.to_string(),
            None => "unknown process".into(),
        }
    }

    /// What frames wait in, in words.
    pub fn what(&self) -> String {
        match self.method {
            Method::Recv => "socket queue".into(),
            Method::AfXdp => format!("AF_XDP socket (queue {})", self.queue.unwrap_or(0)),
            ring => ring.to_string(),
        }
    }

    /// What it counted since `before`. A counter that went back was read by its owner, which resets it.
    pub(super) fn since(&self, before: &Self) -> Self {
        let was_read =
            |now: Option<u64>, then: Option<u64>| now.zip(then).is_some_and(|(now, then)| now < then);
        let at_least = was_read(self.accepted, before.accepted)
            || was_read(self.dropped, before.dropped)
            || was_read(self.freezes, before.freezes);
        // Reading resets them all at once.
        let count = |now: Option<u64>, then: Option<u64>| match now.zip(then) {
            Some((now, then)) if !at_least => Some(now - then),
            _ => now,
        };
        let of_before = |pid: u32| before.processes.iter().find(|process| process.pid == pid);
        let processes = self.processes.iter().map(|process| {
            let then = of_before(process.pid).and_then(|process| process.cpu_s);
            Process { cpu_s: process.cpu_s.zip(then).map(|(now, then)| now - then), ..process.clone() }
        });
        Self {
            processes: processes.collect(),
            accepted: count(self.accepted, before.accepted),
            dropped: count(self.dropped, before.dropped),
            ring_full: count(self.ring_full, before.ring_full),
            fill_empty: count(self.fill_empty, before.fill_empty),
            freezes: count(self.freezes, before.freezes),
            at_least,
            ..self.clone()
        }
    }
}

/// What is known of the sockets at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Sockets {
    /// Those that receive on the interface, and those that receive on all interfaces of its namespace.
    pub here: Vec<Socket>,
    /// How many more the host has: on other interfaces, in other namespaces, or that only send; absent where only this
    /// namespace can be seen.
    pub elsewhere: Option<usize>,
    /// What cannot be told, and why; absent where everything is read.
    pub unknown: Option<String>,
}

/// Where sockets are read from.
#[derive(Debug)]
pub(super) struct Source {
    reader: std::result::Result<Reader, String>,
    space: u64,
    interface: InterfaceIndex,
}

impl Source {
    /// Sockets on `interface` of the calling thread's network namespace, whose inode is `space`.
    pub(super) fn new(types: &std::path::Path, space: u64, interface: InterfaceIndex) -> Self {
        Self { reader: Reader::new(types), space, interface }
    }

    /// The sockets now.
    pub(super) fn read(&self) -> Sockets {
        // It shows filters, which the program does not follow.
        let seen = diag::read();
        let records = match &self.reader {
            Ok(reader) => reader.read(),
            Err(reason) => Err(reason.clone()),
        };
        match records {
            Ok(records) => from_records(&records, &seen.unwrap_or_default(), self.space, self.interface),
            Err(reason) => without_records(&reason, seen, self.interface),
        }
    }
}

fn from_records(records: &[Record], seen: &[Seen], space: u64, interface: InterfaceIndex) -> Sockets {
    let mut sockets = Sockets { elsewhere: Some(0), ..Sockets::default() };
    let (mut others, mut unreadable) = (Vec::new(), false);
    for record in records {
        let is_packet = record.family != AF_XDP;
        let on_it = record.interface == interface.number() || (is_packet && record.interface == 0);
        let receives = if is_packet { record.protocol != 0 } else { record.frames != 0 };
        if record.readable == 0 || u64::from(record.space) != space || !on_it || !receives {
            unreadable |= record.readable == 0 && u64::from(record.space) == space;
            others.push(record.inode);
            continue;
        }
        // A socket that several processes have open is one.
        if let Some(known) = sockets.here.iter_mut().find(|socket| socket.inode == record.inode) {
            if !known.processes.iter().any(|process| process.pid == record.process) {
                known.processes.push(Process::read(record.process));
            }
            continue;
        }
        let seen = seen.iter().find(|seen| seen.inode == record.inode);
        sockets.here.push(if is_packet { packet(record, seen) } else { xdp(record) });
    }
    others.sort_unstable();
    others.dedup();
    sockets.elsewhere = Some(others.len());
    if unreadable {
        sockets.unknown = Some(
            "the kernel does not describe the structures of some kinds of capture sockets (a module without BTF); \
             those are left out"
                .into(),
        );
    }
    sockets
}

fn packet(record: &Record, seen: Option<&Seen>) -> Socket {
    let ring = (record.has_ring != 0).then_some(Ring {
        blocks: record.blocks,
        block_octets: block_octets(record),
        // The kernel leaves slots to themselves in a TPACKET_V3 ring.
        slots: if record.version == 2 { nominal_slots(record) } else { record.frames },
        slot_octets: record.frame_octets,
    });
    let method = method(ring.is_some(), record.version);
    Socket {
        inode: record.inode,
        processes: vec![Process::read(record.process)],
        method,
        every_interface: record.interface == 0,
        ring,
        receive_buffer: Some(record.receive_buffer),
        queue: None,
        zero_copy: None,
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
        ring_full: None,
        fill_empty: None,
        freezes: (method == Method::PacketV3).then_some(record.freezes.into()),
        at_least: false,
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
        method: Method::AfXdp,
        every_interface: false,
        ring: Some(Ring {
            blocks: record.blocks,
            block_octets: record.frame_octets.into(),
            slots: record.frames,
            slot_octets: record.frame_octets,
        }),
        receive_buffer: None,
        queue: Some(record.queue),
        zero_copy: Some(record.zero_copy != 0),
        fanout: None,
        filter: Some(false),
        cut_to: None,
        outgoing: Some(false),
        accepted: None,
        // The kernel's statistics count a full ring apart from the other reasons.
        dropped: Some(record.dropped + record.full),
        dropped_in_all: Some(record.dropped + record.full),
        ring_full: Some(record.full),
        fill_empty: Some(record.starved),
        freezes: None,
        at_least: false,
    }
}

fn without_records(reason: &str, seen: std::io::Result<Vec<Seen>>, interface: InterfaceIndex) -> Sockets {
    let mut unknown = format!("drops of rings, and AF_XDP sockets, are unknown: reading them {reason}");
    let seen = match seen {
        Ok(seen) => seen,
        Err(error) => {
            unknown = format!("capture sockets are unknown: reading them {reason}; packet_diag: {error}");
            Vec::new()
        }
    };
    let owners = processes::by_socket();
    let on_it =
        |seen: &&Seen| seen.protocol != 0 && (seen.interface == 0 || seen.interface == interface.number());
    let here: Vec<_> = seen.iter().filter(on_it).map(|seen| shown(seen, owners.get(&seen.inode))).collect();
    if here.iter().any(|socket| socket.processes.is_empty()) {
        unknown.push_str("; processes of other users are hidden");
    }
    Sockets { here, elsewhere: None, unknown: Some(unknown) }
}

/// What anybody may see of a socket.
fn shown(seen: &Seen, owners: Option<&Vec<u32>>) -> Socket {
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
        method,
        every_interface: seen.interface == 0,
        ring,
        receive_buffer: seen.receive_buffer,
        queue: None,
        zero_copy: None,
        fanout: seen.fanout.map(|(id, kind)| Fanout { id, kind: fanout_kind(kind), members: None }),
        filter: seen.filter_takes.is_some().then_some(true),
        cut_to: cut_to(method, ring, seen.reserve, seen.filter_takes),
        outgoing: None,
        accepted: None,
        // Of a ring it says 0, whatever was lost.
        dropped: seen.drops.filter(|_| ring.is_none()).map(u64::from),
        dropped_in_all: seen.drops.filter(|_| ring.is_none()).map(u64::from),
        ring_full: None,
        fill_empty: None,
        freezes: None,
        at_least: false,
    }
}

/// By `enum tpacket_versions`.
fn method(has_ring: bool, version: u32) -> Method {
    match (has_ring, version) {
        (false, _) => Method::Recv,
        (true, 0) => Method::PacketV1,
        (true, 1) => Method::PacketV2,
        (true, _) => Method::PacketV3,
    }
}

/// To how many octets frames are cut: by the filter's verdict, or because a slot holds no more.
fn cut_to(method: Method, ring: Option<Ring>, reserve: u32, filter: Option<u32>) -> Option<u32> {
    /// Octets of a slot in front of the frame: its header, the sender's address and the alignment (packet_mmap).
    const IN_FRONT: u32 = 66;
    let slot = match method {
        Method::PacketV1 | Method::PacketV2 => {
            ring.map(|ring| ring.slot_octets.saturating_sub(IN_FRONT + reserve))
        }
        _ => None,
    };
    [slot, filter.filter(|octets| *octets > 0)].into_iter().flatten().min()
}

/// By `PACKET_FANOUT_*` of linux/if_packet.h.
fn fanout_kind(kind: u32) -> String {
    match kind {
        0 => "hash".into(),
        1 => "lb".into(),
        2 => "cpu".into(),
        3 => "rollover".into(),
        4 => "rnd".into(),
        5 => "qm".into(),
        6 => "cbpf".into(),
        7 => "ebpf".into(),
        other => format!("kind {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface() -> InterfaceIndex {
        InterfaceIndex::new(4).unwrap()
    }

    fn ring(inode: u64, process: u32) -> Record {
        Record {
            inode,
            process,
            space: 1,
            interface: 4,
            family: 17,
            readable: 1,
            protocol: 3,
            version: 2,
            has_ring: 1,
            blocks: 8,
            block_pages: 64,
            frames: 1,
            frame_octets: 65_536,
            packets: 10,
            dropped: 7,
            freezes: 2,
            ..Record::default()
        }
    }

    #[test]
    fn a_socket_of_two_processes_is_one_and_others_are_counted() {
        let elsewhere = Record { space: 2, ..ring(9, 1) };
        let sends = Record { protocol: 0, ..ring(8, 1) };
        let records = [ring(5, 1), ring(5, 2), ring(5, 2), elsewhere, elsewhere, sends];
        let found = from_records(&records, &[], 1, interface());
        assert_eq!((found.here.len(), found.elsewhere, found.unknown), (1, Some(2), None));
        let socket = &found.here[0];
        assert_eq!((socket.processes.len(), socket.method), (2, Method::PacketV3));
        assert_eq!((socket.accepted, socket.dropped, socket.freezes), (Some(10), Some(7), Some(2)));
        assert_eq!(
            socket.ring.unwrap(),
            Ring { blocks: 8, block_octets: 262_144, slots: 32, slot_octets: 65_536 }
        );
        assert_eq!(socket.outgoing, Some(true));
    }

    #[test]
    fn counters_that_the_owner_read_tell_the_least() {
        let at = |packets, dropped| {
            let record = Record { packets, dropped, ..ring(5, 1) };
            from_records(&[record], &[], 1, interface()).here.remove(0)
        };
        let delta = at(30, 9).since(&at(10, 7));
        assert_eq!((delta.accepted, delta.dropped, delta.at_least), (Some(20), Some(2), false));
        let delta = at(3, 9).since(&at(10, 7));
        assert_eq!((delta.accepted, delta.dropped, delta.at_least), (Some(3), Some(9), true));
    }

    #[test]
    fn without_the_program_the_drops_of_a_ring_are_unknown_and_those_of_a_queue_are_not() {
        let queue = Seen { inode: 5, protocol: 3, interface: 4, drops: Some(6), ..Seen::default() };
        let ring = Seen { inode: 6, ring: Some([4096, 2, 2048, 4]), version: 1, ..queue.clone() };
        let found = without_records("needs root", Ok(vec![queue, ring]), interface());
        assert_eq!((found.here[0].dropped, found.here[1].dropped), (Some(6), None));
        assert_eq!(found.here[1].cut_to, Some(2048 - 66));
        assert!(found.unknown.unwrap().contains("needs root") && found.elsewhere.is_none());
        let none = without_records("needs root", Err(std::io::Error::other("no such thing")), interface());
        assert!(none.here.is_empty() && none.unknown.unwrap().contains("no such thing"));
    }

    #[test]
    fn a_kind_of_socket_that_the_kernel_does_not_describe_is_said() {
        let record = Record { readable: 0, family: AF_XDP, ..ring(5, 1) };
        let found = from_records(&[record], &[], 1, interface());
        assert!(found.here.is_empty() && found.unknown.unwrap().contains("without BTF"));
    }
}
