//! The kernel's description of the ring of any packet socket of this network namespace (sock_diag(7), `linux/packet_diag.h`). This
//! needs no privilege.

use rustix::net::netlink;

use crate::netlink::{Answers, HEADER, attribute, u16_at, u32_at};

/// The blocks of a ring (`struct packet_diag_ring` of `linux/packet_diag.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Number of blocks.
    pub count: u32,
    /// Bytes of each.
    pub size: u32,
    /// Bytes of a slot; nominal in TPACKET_V3.
    pub frame_size: u32,
    /// Number of frames; TPACKET_V1 and V2 have one slot per frame.
    pub frames: u32,
    /// Time after which the kernel passes on a partly filled V3 block, in milliseconds.
    pub retire_timeout_ms: u32,
}

const MESSAGE: usize = 16;
/// `SOCK_DIAG_BY_FAMILY` of `linux/sock_diag.h`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// `PACKET_SHOW_RING_CFG`.
const SHOW_RING: u32 = 4;
/// `PACKET_DIAG_RX_RING`.
const RX_RING: u16 = 2;

/// The kernel's description of the receive ring of the socket with this inode, if it has one.
pub(crate) fn blocks(inode: u32) -> Option<Blocks> {
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
    Some(Blocks {
        size: word(0)?,
        count: word(1)?,
        frame_size: word(2)?,
        frames: word(3)?,
        retire_timeout_ms: word(4)?,
    })
}

#[cfg(test)]
mod tests {
    use super::{Blocks, Search, search};

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
        let blocks =
            Blocks { count: 8, size: 262_144, frame_size: 262_144, frames: 8, retire_timeout_ms: 10 };
        assert_eq!(search(&dump, 2), Search::Found(blocks));
        assert_eq!(search(&dump, 1), Search::End, "it has no ring");
        assert_eq!(search(&dump, 3), Search::Continue);
        for cut in 0..dump.len() {
            let _ = search(&dump[..cut], 2);
        }
    }
}
