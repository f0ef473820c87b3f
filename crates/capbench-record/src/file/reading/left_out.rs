//! Counts of a file's content that is not in the reader's records.

/// Block types (draft-ietf-opsawg-pcapng, sections 4.5, 4.7 and 4.8): custom blocks that may be copied, or not.
mod kind {
    pub(super) const NAMES: u32 = 4;
    pub(super) const SECRETS: u32 = 10;
    pub(super) const CUSTOM: u32 = 0x0bad;
    pub(super) const CUSTOM_NO_COPY: u32 = 0x4000_0bad;
}

/// Counts of content that is not in any [`Record`](super::Record), by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Name resolution blocks.
    pub names: u64,
    /// Decryption secrets blocks.
    pub secrets: u64,
    /// Custom blocks.
    pub custom: u64,
    /// Blocks of other types.
    pub blocks: u64,
    /// Comments on packets.
    pub comments: u64,
    /// Other options of packets, statistics, interfaces and sections.
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
