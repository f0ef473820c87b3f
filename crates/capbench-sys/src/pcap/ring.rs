//! The ring of a packet socket that another component made: whether this process has mapped it, its size, and the kernel's
//! description of its blocks (sock_diag(7), `linux/packet_diag.h`). This needs no privilege.

use rustix::net::netlink;

use super::engine::{Blocks, Ring};
use crate::host::proc_file;
use crate::netlink::{Answers, HEADER, attribute, u16_at, u32_at};

/// The ring behind a descriptor that /proc shows as `socket:[inode]`.
pub(super) fn of(target: &str) -> Option<Ring> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let bytes = mapped(&maps, target)?;
    let inode = target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()?;
    Some(Ring { bytes, blocks: blocks(inode) })
}

/// Bytes that are mapped of a file, as /proc/PID/maps lists them (proc(5)).
fn mapped(maps: &str, file: &str) -> Option<u64> {
    let mapped = proc_file::mappings(maps).filter(|(_, rest)| rest.rsplit(' ').next() == Some(file));
    let total = mapped.map(|(range, _)| range.end - range.start).sum();
    (total > 0).then_some(total)
}

const MESSAGE: usize = 16;
/// `SOCK_DIAG_BY_FAMILY` of `linux/sock_diag.h`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// `PACKET_SHOW_RING_CFG`.
const SHOW_RING: u32 = 4;
/// `PACKET_DIAG_RX_RING`.
const RX_RING: u16 = 2;

/// The kernel's description of the receive ring of the socket with this inode, if it has one.
fn blocks(inode: u32) -> Option<Blocks> {
    let what = || "packet_diag".into();
    // `struct packet_diag_req`: a dump of all packet sockets with their rings.
    let words = [u32::from_ne_bytes([libc::AF_PACKET as u8, 0, 0, 0]), 0, SHOW_RING, u32::MAX, u32::MAX];
    let request: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let kind = (SOCK_DIAG_BY_FAMILY, libc::NLM_F_REQUEST | libc::NLM_F_DUMP);
    let answers = Answers::of(Some(netlink::SOCK_DIAG), kind, &request, what).ok()?;
    let mut buffer = vec![0u8; 1 << 16];
    loop {
        match search(answers.next(&mut buffer, what).ok().filter(|got| !got.is_empty())?, inode) {
            Search::Found(blocks) => return Some(blocks),
            Search::End => return None,
            Search::Continue => {}
        }
    }
}

#[derive(Debug, PartialEq)]
enum Search {
    Found(Blocks),
    Continue,
    End,
}

fn search(mut datagram: &[u8], inode: u32) -> Search {
    while let (Some(length), Some(kind)) = (u32_at(datagram, 0), u16_at(datagram, 4)) {
        let length = length as usize;
        if kind != SOCK_DIAG_BY_FAMILY || length < HEADER || length > datagram.len() {
            // The end of the dump, or an error: a kernel without packet_diag.
            return Search::End;
        }
        if u32_at(datagram, HEADER + 4) == Some(inode) {
            let ring = datagram.get(HEADER + MESSAGE..length).and_then(ring_attribute);
            return ring.map_or(Search::End, Search::Found);
        }
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Search::Continue
}

fn ring_attribute(attributes: &[u8]) -> Option<Blocks> {
    let ring = attribute(attributes, RX_RING)?;
    let word = |index: usize| u32_at(ring, 4 * index);
    Some(Blocks { size: word(0)?, count: word(1)?, frames: word(3)?, retire_timeout_ms: word(4)? })
}

#[cfg(test)]
mod tests {
    use super::{Blocks, Search, mapped, search};

    #[test]
    fn mappings_of_one_file_are_added_up() {
        let maps = "7f0000000000-7f0000200000 rw-s 00000000 00:08 4711      socket:[4711]\n\
                    7f0000200000-7f0000201000 rw-s 00200000 00:08 4711      socket:[4711]\n\
                    7f0000300000-7f0000301000 rw-s 00000000 00:08 47        socket:[47]\n\
                    7f0000400000-7f0000401000 rw-p 00000000 00:00 0\n";
        assert_eq!(mapped(maps, "socket:[4711]"), Some(0x20_1000));
        assert_eq!(mapped(maps, "socket:[1]"), None);
    }

    #[test]
    fn the_ring_of_one_socket_is_found_in_a_dump() {
        let message = |inode: u32, ring: bool| {
            let mut bytes = Vec::new();
            let length = if ring { 16 + 16 + 8 + 32 } else { 16 + 16 } as u32;
            bytes.extend(length.to_ne_bytes());
            bytes.extend(20u16.to_ne_bytes());
            bytes.extend([0; 10]);
            bytes.extend([17, 3, 0, 3]);
            bytes.extend(inode.to_ne_bytes());
            bytes.extend([0; 8]);
            if ring {
                bytes.extend([8, 0, 5, 0, 1, 2, 3, 4]);
                bytes.extend([32, 0, 2, 0]);
                for word in [262_144u32, 8, 262_144, 8, 10, 0, 0] {
                    bytes.extend(word.to_ne_bytes());
                }
            }
            bytes
        };
        let dump = [message(1, false), message(2, true)].concat();
        let blocks = Blocks { count: 8, size: 262_144, frames: 8, retire_timeout_ms: 10 };
        assert_eq!(search(&dump, 2), Search::Found(blocks));
        assert_eq!(search(&dump, 1), Search::End, "it has no ring");
        assert_eq!(search(&dump, 3), Search::Continue);
        for cut in 0..dump.len() {
            let _ = search(&dump[..cut], 2);
        }
    }
}
