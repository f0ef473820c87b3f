//! The verbatim format: blocks of a V3 ring as the kernel filled them, to be written from where they lie.
//!
//! A file begins with `MAGIC` and goes on as pcapng does, with a section header, an interface description and interface
//! statistics. Frames are in blocks of a type for local use, each a block of the ring in whole pages: type and length stand
//! where the kernel has the version and the offset of private data, and the length again in the last 4 octets, behind the
//! frames. Of the kernel's fields between them, the times of the block have made room for ours:
//!
//! | offset | octets | what |
//! |---|---|---|
//! | 0 | 4 | type, `RING_BLOCK` |
//! | 4 | 4 | length, a multiple of 4 KiB |
//! | 8 | 4 | `block_status` |
//! | 12 | 4 | `num_pkts` |
//! | 16 | 4 | `offset_to_first_pkt` |
//! | 20 | 4 | `blk_len` |
//! | 24 | 8 | `seq_num` |
//! | 32 | 8 | frames lost before the first one |
//! | 40 | 4 | algorithm of flow hashes, as in `epb_hash` |
//! | 44 | 4 | 0 |
//!
//! Each begins at a multiple of 4 KiB in the file, so that direct I/O takes it as it is; [`padding`] stands in front of it where
//! that is needed. Between them there may be frames as pcapng has them: those of blocks that are not worth it, or that a
//! file or the recording ends within. Frames are of the section's first interface. All numbers are little-endian.

use std::borrow::Cow;

use capbench_sys::packet::{Block, Frame};

use super::blocks::FRAMING;
use super::facts::{HashAlgorithm, PacketFacts};
use super::statistics::InterfaceStatistics;
use super::{Encoder, PcapngEncoder};

/// What a file begins with. It is no pcapng file to others: they would show what they know of it, as if that were all.
pub(super) const MAGIC: &[u8; 128] = b"capbench verbatim 1\n\
    Blocks of a TPACKET_V3 ring as the kernel filled them.\n\
    To read them: capbench convert FILE OUT.pcapng\n\n\n\n\n\n\n";

/// Type of a block of the ring.
pub(super) const RING_BLOCK: u32 = 0xcab1_0c01;
/// Type of a block without meaning.
pub(super) const PADDING: u32 = 0xcab1_0c02;

/// What blocks of the ring begin at a multiple of, and are multiples of.
pub const PAGE: usize = 4096;

/// Where in a block of the ring the numbers stand.
pub(super) mod place {
    pub(in crate::file) const FRAMES: usize = 12;
    pub(in crate::file) const FIRST: usize = 16;
    pub(in crate::file) const LOST: usize = 32;
    pub(in crate::file) const HASH: usize = 40;
}

/// Octets that are needed behind the frames of a block.
const TAIL: usize = 4;

/// Makes a block of the ring a record: how many of its octets that is. `None` when there is no room behind its frames, or the
/// host's order of octets is not the format's; then it is left as it was.
pub fn enclose(block: &mut Block, lost: u64, hash: HashAlgorithm) -> Option<usize> {
    let length = (block.used() + TAIL).next_multiple_of(PAGE);
    let octets = block.octets_mut().get_mut(..length).filter(|_| cfg!(target_endian = "little"))?;
    let told = u32::try_from(length).ok()?.to_le_bytes();
    octets[..4].copy_from_slice(&RING_BLOCK.to_le_bytes());
    octets[4..8].copy_from_slice(&told);
    octets[place::LOST..][..8].copy_from_slice(&lost.to_le_bytes());
    octets[place::HASH..][..4].copy_from_slice(&u32::from(hash.code()).to_le_bytes());
    octets[place::HASH + 4..][..4].fill(0);
    octets[length - TAIL..].copy_from_slice(&told);
    Some(length)
}

/// What fills a file up to the next page, where it stands so many octets behind one.
pub fn padding(behind: usize) -> Cow<'static, [u8]> {
    if behind.is_multiple_of(PAGE) {
        return Cow::Borrowed(&[]);
    }
    let missing = PAGE - behind % PAGE;
    let length = if missing < FRAMING { missing + PAGE } else { missing };
    let mut block = vec![0; length];
    let told = (length as u32).to_le_bytes();
    block[..4].copy_from_slice(&PADDING.to_le_bytes());
    block[4..8].copy_from_slice(&told);
    block[length - 4..].copy_from_slice(&told);
    Cow::Owned(block)
}

/// What stands between blocks of the ring.
#[derive(Clone, Debug)]
pub struct VerbatimEncoder(PcapngEncoder);

impl VerbatimEncoder {
    /// With the section, the interface and the snap length of that encoder.
    pub fn new(pcapng: PcapngEncoder) -> Self {
        Self(pcapng)
    }
}

impl Encoder for VerbatimEncoder {
    fn header(&self) -> Vec<u8> {
        let mut header = MAGIC.to_vec();
        header.extend(self.0.header());
        header.extend_from_slice(&padding(header.len()));
        header
    }

    #[inline]
    fn encode(&self, frame: &Frame<'_>, facts: &PacketFacts, room: &mut [u8]) -> Option<usize> {
        self.0.encode(frame, facts, room)
    }

    #[inline]
    fn with_drop_count(&self, record: &[u8], dropped: u64, room: &mut [u8]) -> Option<usize> {
        self.0.with_drop_count(record, dropped, room)
    }

    fn statistics(&self, statistics: &InterfaceStatistics) -> Option<Vec<u8>> {
        self.0.statistics(statistics)
    }

    fn largest_record(&self) -> usize {
        self.0.largest_record()
    }
}
