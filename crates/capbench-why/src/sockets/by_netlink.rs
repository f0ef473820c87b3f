//! The packet sockets of the calling thread's network namespace, as any user may see them: `NETLINK_SOCK_DIAG` with `AF_PACKET`
//! (linux/packet_diag.h). It reports their settings, and for a socket without a ring the dropped frames; it does not report the
//! drops of rings.

use std::io;

use capbench_host::links::exchange::{Answer, Exchange, u16_at, u32_at};
use capbench_host::links::message::attribute;
use capbench_sys::host::InterfaceIndex;
use capbench_sys::host::interface::name_of;

use super::processes::{self, Process};
use super::socket::{Fanout, Ring, Socket, cut_to, fanout_kind, method};
use super::{Scope, Sockets, Where};

/// linux/netlink.h, linux/sock_diag.h, linux/socket.h.
const NETLINK_SOCK_DIAG: isize = 4;
pub(crate) const SOCK_DIAG_BY_FAMILY: u16 = 20;
const AF_PACKET: u8 = 17;
/// PACKET_SHOW_INFO, RING_CFG, FANOUT, MEMINFO and FILTER.
const SHOW: u32 = 0x1 | 0x4 | 0x8 | 0x10 | 0x20;
const INFO: u16 = 0;
const RX_RING: u16 = 2;
const FANOUT: u16 = 4;
const MEMINFO: u16 = 6;
const FILTER: u16 = 7;
/// Bytes of `struct packet_diag_msg`.
const HEADER_LEN: usize = 16;
/// Words of the attribute with the socket's memory: SK_MEMINFO_RCVBUF and SK_MEMINFO_DROPS (linux/sock_diag.h).
const RECEIVE_BUFFER: usize = 1;
const DROPS: usize = 8;

/// A packet socket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(super) inode: u64,
    /// Protocol that it receives (`ETH_P_*`); 0: none, it only sends.
    pub(super) protocol: u32,
    /// The interface; 0: all.
    pub(super) interface: u32,
    /// `enum tpacket_versions`.
    pub(super) version: u32,
    pub(super) reserve: u32,
    pub(super) receive_buffer: Option<u32>,
    /// Frames dropped; for a ring always 0, even if it lost frames.
    pub(super) drops: Option<u32>,
    /// Octets per block, blocks, octets per frame, frames.
    pub(super) ring: Option<[u32; 4]>,
    /// Identifier and kind.
    pub(super) fanout: Option<(u32, u32)>,
    /// Longest part of a frame in octets that its filter passes; `None` without a filter, or if the filter is not shown.
    pub(super) filter_takes: Option<u32>,
}

/// Reads all packet sockets.
pub(super) fn read() -> io::Result<Vec<Seen>> {
    let mut request = vec![AF_PACKET, 0, 0, 0, 0, 0, 0, 0];
    request.extend(SHOW.to_ne_bytes());
    // No cookie (INET_DIAG_NOCOOKIE): any socket.
    request.extend([0xff; 8]);
    let answers = Exchange::open_for(NETLINK_SOCK_DIAG)?.dump_by(SOCK_DIAG_BY_FAMILY, &request)?;
    Ok(answers.iter().filter_map(parse).collect())
}

pub(crate) fn parse(answer: &Answer) -> Option<Seen> {
    let body = answer.body.as_slice();
    if answer.kind != SOCK_DIAG_BY_FAMILY || *body.first()? != AF_PACKET {
        return None;
    }
    let attributes = body.get(HEADER_LEN..)?;
    let info = attribute(attributes, INFO)?;
    let memory = |word: usize| attribute(attributes, MEMINFO).and_then(|words| u32_at(words, 4 * word));
    let ring =
        |words: &[u8]| Some([u32_at(words, 0)?, u32_at(words, 4)?, u32_at(words, 8)?, u32_at(words, 12)?]);
    Some(Seen {
        inode: u64::from(u32_at(body, 4)?),
        protocol: u32::from(u16_at(body, 2)?),
        interface: u32_at(info, 0)?,
        version: u32_at(info, 4)?,
        reserve: u32_at(info, 8)?,
        receive_buffer: memory(RECEIVE_BUFFER),
        drops: memory(DROPS),
        ring: attribute(attributes, RX_RING).and_then(ring).filter(|ring| ring[1] > 0),
        // The low half is the identifier, the high half the kind.
        fanout: attribute(attributes, FANOUT)
            .and_then(|word| u32_at(word, 0))
            .map(|word| (word & 0xffff, (word >> 16) & 0xff)),
        filter_takes: attribute(attributes, FILTER).and_then(most_returned),
    })
}

/// The largest constant that a classic BPF program (`struct sock_filter`: code 16 bits, two jumps, constant 32 bits) returns: the
/// octets of a frame that it passes. `None` if it returns a computed value, or nothing.
fn most_returned(program: &[u8]) -> Option<u32> {
    /// BPF_RET: the instruction's class; BPF_K in the other bits: a constant.
    const RETURN: u16 = 0x06;
    let mut most = None;
    for instruction in program.as_chunks::<8>().0 {
        let code = u16_at(instruction, 0)?;
        if code & 0x07 == RETURN {
            if code & 0x18 != 0 {
                return None;
            }
            most = most.max(u32_at(instruction, 4));
        }
    }
    most
}

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
        fanout: seen.fanout.map(|(id, kind)| Fanout { id, kind: fanout_kind(kind), members: None }),
        filter: seen.filter_takes.is_some().then_some(true),
        cut_to: cut_to(method, ring, seen.reserve, seen.filter_takes),
        // For a ring it reports 0, even if frames were lost.
        dropped: seen.drops.filter(|_| ring.is_none()).map(u64::from),
        dropped_in_all: seen.drops.filter(|_| ring.is_none()).map(u64::from),
        ..Socket::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nla(kind: u16, words: &[u32]) -> Vec<u8> {
        let mut octets = ((4 + 4 * words.len()) as u16).to_ne_bytes().to_vec();
        octets.extend(kind.to_ne_bytes());
        octets.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        octets
    }

    #[test]
    fn a_ring_with_a_filter_is_read() {
        let mut body = vec![AF_PACKET, 3];
        body.extend(3_u16.to_ne_bytes());
        body.extend(77_u32.to_ne_bytes());
        body.extend([0; 8]);
        body.extend(nla(INFO, &[4, 2, 0, 0, 0, 1]));
        body.extend(nla(RX_RING, &[262_144, 8, 65_536, 32, 10, 0, 0]));
        body.extend(nla(FANOUT, &[0x0002_0007]));
        body.extend(nla(MEMINFO, &[0, 212_992, 0, 0, 0, 0, 0, 0, 9]));
        body.extend(nla(FILTER, &[0x06, 96, 0x06, 0]));
        let seen = parse(&Answer { kind: SOCK_DIAG_BY_FAMILY, body }).unwrap();
        assert_eq!((seen.inode, seen.interface, seen.version, seen.protocol), (77, 4, 2, 3));
        assert_eq!(seen.ring, Some([262_144, 8, 65_536, 32]));
        assert_eq!((seen.fanout, seen.drops, seen.receive_buffer), (Some((7, 2)), Some(9), Some(212_992)));
        assert_eq!(seen.filter_takes, Some(96));
    }

    #[test]
    fn computed_values_are_unknown() {
        let program = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>();
        assert_eq!(most_returned(&program(&[0x06, 0, 0x06, 262_144])), Some(262_144));
        assert_eq!(most_returned(&program(&[0x06, 5, 0x16, 0])), None);
        assert_eq!(most_returned(&program(&[0x28, 12])), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(mut body in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(first) = body.first_mut() {
                *first = AF_PACKET;
            }
            let _ = parse(&Answer { kind: SOCK_DIAG_BY_FAMILY, body });
        }
    }
}
