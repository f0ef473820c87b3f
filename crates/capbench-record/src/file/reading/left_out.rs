//! What a file says beyond the reader's records.

/// Types of blocks (draft-ietf-opsawg-pcapng, sections 4.5, 4.7 and 4.8): custom ones that may be copied, or not.
mod kind {
    pub(super) const NAMES: u32 = 4;
    pub(super) const SECRETS: u32 = 10;
    pub(super) const CUSTOM: u32 = 0x0bad;
    pub(super) const CUSTOM_NO_COPY: u32 = 0x4000_0bad;
}

/// How much of a file no [`Record`](super::Record) has, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Name resolution blocks.
    pub names: u64,
    /// Blocks of decryption secrets.
    pub secrets: u64,
    /// Custom blocks.
    pub custom: u64,
    /// Blocks of any other kind.
    pub blocks: u64,
    /// Comments on packets.
    pub comments: u64,
    /// Any other options, of packets, statistics, interfaces and sections.
    pub options: u64,
}

impl LeftOut {
    /// Counts a block of this type.
    pub(super) fn block(&mut self, kind: u32) {
        let count = match kind {
            kind::NAMES => &mut self.names,
            kind::SECRETS => &mut self.secrets,
            kind::CUSTOM | kind::CUSTOM_NO_COPY => &mut self.custom,
            _ => &mut self.blocks,
        };
        *count += 1;
    }
}
