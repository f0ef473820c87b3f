//! Ring sizes, checked here so that an error names the number instead of `EINVAL`.

use crate::error::{Result, SysError};
use crate::memory::page_size;

/// `TPACKET_ALIGNMENT` of `linux/if_packet.h`: slots and headers start at multiples of it.
pub(crate) const ALIGNMENT: u32 = 16;

/// Rounds up to [`ALIGNMENT`] (`TPACKET_ALIGN`).
pub(crate) const fn align(bytes: usize) -> usize {
    (bytes + ALIGNMENT as usize - 1) & !(ALIGNMENT as usize - 1)
}

/// The layout of a slot's header: TPACKET_V1 or TPACKET_V2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameVersion {
    /// Microsecond stamps, no VLAN, a status word as wide as a pointer.
    V1,
    /// Nanosecond stamps, VLAN metadata, a 32-bit status word.
    V2,
}

impl FrameVersion {
    /// `TPACKET_HDRLEN` or `TPACKET2_HDRLEN`: the header and the socket address behind it.
    pub const fn header_length(self) -> usize {
        self.address_offset() + size_of::<libc::sockaddr_ll>()
    }

    /// Offset of the socket address in a slot.
    pub(crate) const fn address_offset(self) -> usize {
        match self {
            Self::V1 => align(size_of::<libc::tpacket_hdr>()),
            Self::V2 => align(size_of::<libc::tpacket2_hdr>()),
        }
    }
}

/// A ring of equal slots (`struct tpacket_req`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameGeometry {
    frame_size: u32,
    frames: u32,
    block_size: u32,
}

impl FrameGeometry {
    /// A ring of at least `frames` slots of `frame_size` bytes, in blocks of `block_size` bytes. The number of slots is rounded
    /// up to whole blocks.
    ///
    /// # Errors
    /// A number is outside the kernel's limits: slots of a multiple of 16 bytes that hold the header and one byte, blocks of
    /// whole pages that hold a slot, a ring below 4 GiB.
    pub fn new(frame_size: u32, frames: u32, block_size: u32) -> Result<Self> {
        let refuse = |reason: String| Err(SysError::argument("packet ring", reason));
        let least = align(FrameVersion::V2.header_length() + 32) as u32;
        if !frame_size.is_multiple_of(ALIGNMENT) || frame_size < least {
            return refuse(format!(
                "slots of {frame_size} bytes: they must be a multiple of {ALIGNMENT} and at least {least}"
            ));
        }
        check_block_size("packet ring", block_size)?;
        if frame_size > block_size {
            return refuse(format!("slots of {frame_size} bytes do not fit into blocks of {block_size}"));
        }
        if frames == 0 {
            return refuse("a ring of 0 slots".into());
        }
        let blocks = u64::from(frames).div_ceil(u64::from(block_size / frame_size));
        let frames = blocks * u64::from(block_size / frame_size);
        if blocks * u64::from(block_size) > u64::from(u32::MAX) {
            return refuse(format!(
                "{frames} slots of {frame_size} bytes: the kernel's limit is below 4 GiB"
            ));
        }
        Ok(Self { frame_size, frames: frames as u32, block_size })
    }

    /// Bytes in a slot, header included.
    pub fn frame_size(self) -> u32 {
        self.frame_size
    }

    /// Number of slots.
    pub fn frames(self) -> u32 {
        self.frames
    }

    /// Bytes in a block.
    pub fn block_size(self) -> u32 {
        self.block_size
    }

    /// Number of blocks.
    pub fn blocks(self) -> u32 {
        self.frames / (self.block_size / self.frame_size)
    }

    /// Bytes in the whole ring.
    pub fn bytes(self) -> u64 {
        u64::from(self.blocks()) * u64::from(self.block_size)
    }

    /// Where slot `index` starts. Slots do not cross blocks, so a block may end in unused bytes.
    #[inline]
    pub(crate) fn offset(self, index: u32) -> usize {
        let per_block = self.block_size / self.frame_size;
        (index / per_block) as usize * self.block_size as usize
            + (index % per_block) as usize * self.frame_size as usize
    }
}

/// A ring of blocks (`struct tpacket_req3`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockGeometry {
    block_size: u32,
    blocks: u32,
    retire_timeout_ms: u32,
}

impl BlockGeometry {
    /// A ring of `blocks` blocks of `block_size` bytes. The kernel passes on a partly filled block after about
    /// `retire_timeout_ms` milliseconds (0: the kernel chooses, 8 ms on links of unknown speed).
    ///
    /// # Errors
    /// A number is outside the kernel's limits: blocks of whole pages, 1 to 65,535 of them and a timeout of up to 65,535 ms
    /// (16-bit fields up to Linux 6.17).
    pub fn new(block_size: u32, blocks: u32, retire_timeout_ms: u32) -> Result<Self> {
        let refuse = |reason: String| Err(SysError::argument("block ring", reason));
        check_block_size("block ring", block_size)?;
        if blocks == 0 || blocks > u32::from(u16::MAX) {
            return refuse(format!(
                "{blocks} blocks: 1 to 65535 are possible; use larger blocks for a larger ring"
            ));
        }
        if retire_timeout_ms > u32::from(u16::MAX) {
            return refuse(format!("a retire timeout of {retire_timeout_ms} ms: at most 65535 is possible"));
        }
        Ok(Self { block_size, blocks, retire_timeout_ms })
    }

    /// Bytes in a block.
    pub fn block_size(self) -> u32 {
        self.block_size
    }

    /// Number of blocks.
    pub fn blocks(self) -> u32 {
        self.blocks
    }

    /// Milliseconds after which the kernel passes on a partly filled block; 0: the kernel chooses.
    pub fn retire_timeout_ms(self) -> u32 {
        self.retire_timeout_ms
    }

    /// Bytes in the whole ring.
    pub fn bytes(self) -> u64 {
        u64::from(self.blocks) * u64::from(self.block_size)
    }
}

fn check_block_size(ring: &str, block_size: u32) -> Result<()> {
    let page = page_size();
    if block_size > 0 && block_size.is_multiple_of(page) {
        return Ok(());
    }
    let reason = format!("blocks of {block_size} bytes: they must be a multiple of the page, {page}");
    Err(SysError::argument(ring, reason))
}

#[cfg(test)]
mod tests {
    use super::{BlockGeometry, FrameGeometry};

    #[test]
    fn slots_are_rounded_up_to_whole_blocks_and_never_cross_them() {
        let ring = FrameGeometry::new(2048, 5, 4096).unwrap();
        assert_eq!((ring.frames(), ring.blocks(), ring.bytes()), (6, 3, 12288));
        assert_eq!(ring.offset(3), 4096 + 2048);
        let ring = FrameGeometry::new(1536, 4, 4096).unwrap();
        assert_eq!((ring.offset(1), ring.offset(2)), (1536, 4096));
    }

    #[test]
    fn impossible_sizes_are_refused_with_the_number() {
        for (slot, slots, block) in
            [(2047, 8, 4096), (64, 8, 4096), (2048, 0, 4096), (2048, 8, 4095), (8192, 8, 4096)]
        {
            assert!(FrameGeometry::new(slot, slots, block).is_err(), "{slot} {slots} {block}");
        }
        assert!(FrameGeometry::new(65536, 1 << 20, 65536).unwrap_err().to_string().contains("4 GiB"));
        assert!(BlockGeometry::new(4096, 65536, 10).is_err());
        assert!(BlockGeometry::new(5000, 4, 10).is_err());
        assert!(BlockGeometry::new(4096, 4, 65536).is_err());
        assert_eq!(BlockGeometry::new(1 << 20, 64, 10).unwrap().bytes(), 64 << 20);
    }
}
