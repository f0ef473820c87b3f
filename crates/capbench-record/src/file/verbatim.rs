//! The verbatim format: blocks of a V3 ring as the kernel filled them, written straight from the ring.
//!
//! A file begins with `MAGIC`. A section header, an interface description and interface statistics follow, as in pcapng. Frames
//! are in blocks of a type for local use. Each is one ring block, padded to whole pages. Type and length replace the kernel's
//! version and offset of private data. The last 4 octets, after the frames, repeat the length. Two of our fields replace the
//! kernel's timestamps of the block:
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
//! | 32 | 8 | frames lost before the first frame |
//! | 40 | 4 | algorithm of flow hashes, as in `epb_hash` |
//! | 44 | 4 | 0 |
//!
//! Each ring block begins at a multiple of 4 KiB in the file, so that direct I/O can write it unchanged; [`padding`] fills the
//! gap before it. Pcapng packet blocks may appear between ring blocks: for ring blocks that are mostly empty, or in which a file
//! or the recording ends. All frames belong to the section's first interface. All numbers are little-endian.

use std::borrow::Cow;

use capbench_sys::packet::Block;

use super::blocks::FRAMING;
use super::facts::HashAlgorithm;

/// First octets of a file. It is not valid pcapng: other programs would show the blocks they know as if that were the whole file.
pub(super) const MAGIC: &[u8; 128] = b"capbench verbatim 1\n\
    Blocks of a TPACKET_V3 ring as the kernel filled them.\n\
    To read them: capbench convert FILE OUT.pcapng\n\n\n\n\n\n\n";

/// Block type of a ring block.
pub(super) const RING_BLOCK: u32 = 0xcab1_0c01;
/// Block type of padding.
pub(super) const PADDING: u32 = 0xcab1_0c02;

/// Alignment of ring blocks in the file, and the unit of their length, in octets.
pub const PAGE: usize = 4096;

/// Offsets of the fields in a ring block.
pub(super) mod place {
    pub(in crate::file) const FRAMES: usize = 12;
    pub(in crate::file) const FIRST: usize = 16;
    pub(in crate::file) const LOST: usize = 32;
    pub(in crate::file) const HASH: usize = 40;
}

/// Octets required after the frames of a block.
const TAIL: usize = 4;

/// Turns a ring block into a record, and returns the record's length in octets. Returns `None` and leaves the block unchanged if
/// there is no room after its frames, or if the host is not little-endian.
pub fn enclose(block: &mut Block, lost: u64, hash: HashAlgorithm) -> Option<usize> {
    let length = (block.used() + TAIL).next_multiple_of(PAGE);
    let octets = block.octets_mut().get_mut(..length).filter(|_| cfg!(target_endian = "little"))?;
    let framing = u32::try_from(length).ok()?.to_le_bytes();
    octets[..4].copy_from_slice(&RING_BLOCK.to_le_bytes());
    octets[4..8].copy_from_slice(&framing);
    octets[place::LOST..][..8].copy_from_slice(&lost.to_le_bytes());
    octets[place::HASH..][..4].copy_from_slice(&u32::from(hash.code()).to_le_bytes());
    octets[place::HASH + 4..][..4].fill(0);
    octets[length - TAIL..].copy_from_slice(&framing);
    Some(length)
}

/// A block that pads a file to the next page boundary; `behind` is the number of octets after the last boundary.
pub fn padding(behind: usize) -> Cow<'static, [u8]> {
    if behind.is_multiple_of(PAGE) {
        return Cow::Borrowed(&[]);
    }
    let missing = PAGE - behind % PAGE;
    let length = if missing < FRAMING { missing + PAGE } else { missing };
    let mut block = vec![0; length];
    let framing = (length as u32).to_le_bytes();
    block[..4].copy_from_slice(&PADDING.to_le_bytes());
    block[4..8].copy_from_slice(&framing);
    block[length - 4..].copy_from_slice(&framing);
    Cow::Owned(block)
}
