//! Constants of the pcapng format (draft-ietf-opsawg-pcapng), and a builder for blocks with options.

use crate::error::{RecordError, Result};

/// Section Header Block, section 4.1: the same in either byte order.
pub(super) const SECTION: u32 = 0x0a0d_0d0a;
/// Interface Description Block, section 4.2.
pub(super) const INTERFACE: u32 = 1;
/// Packet Block, appendix A, obsolete.
pub(super) const OLD_PACKET: u32 = 2;
/// Simple Packet Block, section 4.4.
pub(super) const SIMPLE_PACKET: u32 = 3;
/// Interface Statistics Block, section 4.6.
pub(super) const STATISTICS: u32 = 5;
/// Enhanced Packet Block, section 4.3.
pub(super) const ENHANCED_PACKET: u32 = 6;

/// Types of blocks that the reader does not decode: sections 4.5, 4.7, 4.8 and 4.9.
pub(super) mod kind {
    pub(in crate::file) const NAMES: u32 = 4;
    pub(in crate::file) const JOURNAL: u32 = 9;
    pub(in crate::file) const SECRETS: u32 = 10;
    pub(in crate::file) const CUSTOM: u32 = 0x0bad;
    pub(in crate::file) const CUSTOM_NO_COPY: u32 = 0x4000_0bad;
}

/// Byte-Order Magic.
pub(super) const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Type, length and length again.
pub(super) const FRAMING: usize = 12;

/// `opt_endofopt` (section 3.5).
pub(super) const END: u16 = 0;
/// `opt_comment`.
pub(super) const COMMENT: u16 = 1;

/// Options of a section header.
pub(super) mod section {
    pub(in crate::file) const HARDWARE: u16 = 2;
    pub(in crate::file) const SYSTEM: u16 = 3;
    pub(in crate::file) const APPLICATION: u16 = 4;
}

/// Options of an interface description.
pub(super) mod interface {
    pub(in crate::file) const NAME: u16 = 2;
    pub(in crate::file) const DESCRIPTION: u16 = 3;
    pub(in crate::file) const MAC: u16 = 6;
    pub(in crate::file) const SPEED: u16 = 8;
    pub(in crate::file) const RESOLUTION: u16 = 9;
    pub(in crate::file) const TIME_ZONE: u16 = 10;
    pub(in crate::file) const FILTER: u16 = 11;
    pub(in crate::file) const SYSTEM: u16 = 12;
    pub(in crate::file) const FCS: u16 = 13;
    pub(in crate::file) const TIME_OFFSET: u16 = 14;
    pub(in crate::file) const HARDWARE: u16 = 15;
    pub(in crate::file) const SEND_SPEED: u16 = 16;
    pub(in crate::file) const RECEIVE_SPEED: u16 = 17;
    pub(in crate::file) const TIME_ZONE_NAME: u16 = 18;
}

/// Options of an enhanced packet.
pub(super) mod packet {
    pub(in crate::file) const FLAGS: u16 = 2;
    pub(in crate::file) const HASH: u16 = 3;
    pub(in crate::file) const DROP_COUNT: u16 = 4;
    pub(in crate::file) const PACKET_ID: u16 = 5;
    pub(in crate::file) const QUEUE: u16 = 6;
    pub(in crate::file) const VERDICT: u16 = 7;
    pub(in crate::file) const PROCESS: u16 = 8;
}

/// Options of interface statistics.
pub(super) mod statistics {
    pub(in crate::file) const START: u16 = 2;
    pub(in crate::file) const END: u16 = 3;
    pub(in crate::file) const RECEIVED: u16 = 4;
    pub(in crate::file) const INTERFACE_DROPPED: u16 = 5;
    pub(in crate::file) const ACCEPTED: u16 = 6;
    pub(in crate::file) const SYSTEM_DROPPED: u16 = 7;
    pub(in crate::file) const DELIVERED: u16 = 8;
}

/// Builds a block, little-endian. Not for packets: it allocates.
pub(super) struct BlockBuilder {
    octets: Vec<u8>,
    has_options: bool,
}

impl BlockBuilder {
    /// Begins with the type, a placeholder for the length, and the fields before the options.
    pub(super) fn new(kind: u32, body: &[u8]) -> Self {
        let mut octets = Vec::with_capacity(256);
        octets.extend(kind.to_le_bytes());
        octets.extend([0; 4]);
        octets.extend(body);
        Self { octets, has_options: false }
    }

    /// Adds an option. `what` names the value in the error if it exceeds the 16-bit length of an option.
    pub(super) fn option(&mut self, code: u16, value: &[u8], what: &'static str) -> Result<()> {
        let Ok(length) = u16::try_from(value.len()) else {
            return Err(RecordError::FileOption { what, octets: value.len() });
        };
        self.put(code, length, value);
        Ok(())
    }

    /// Adds those of these texts that are present.
    pub(super) fn texts<const N: usize>(
        &mut self,
        texts: [(u16, &Option<String>, &'static str); N],
    ) -> Result<()> {
        texts.into_iter().try_for_each(|(code, text, what)| match text {
            Some(text) => self.option(code, text.as_bytes(), what),
            None => Ok(()),
        })
    }

    /// Adds a 64-bit number, if present.
    pub(super) fn number(&mut self, code: u16, value: Option<u64>) {
        if let Some(value) = value {
            self.put(code, 8, &value.to_le_bytes());
        }
    }

    /// Adds a text, cut to the maximum length of an option.
    pub(super) fn text(&mut self, code: u16, text: &str) {
        let mut most = text.len().min(usize::from(u16::MAX));
        while !text.is_char_boundary(most) {
            most -= 1;
        }
        self.put(code, most as u16, &text.as_bytes()[..most]);
    }

    fn put(&mut self, code: u16, length: u16, value: &[u8]) {
        self.has_options = true;
        self.octets.extend(code.to_le_bytes());
        self.octets.extend(length.to_le_bytes());
        self.octets.extend(value);
        self.octets.resize(self.octets.len().next_multiple_of(4), 0);
    }

    /// Returns the complete block.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.has_options {
            self.octets.extend([0; 4]);
        }
        let length = (self.octets.len() as u32 + 4).to_le_bytes();
        self.octets[4..8].copy_from_slice(&length);
        self.octets.extend(length);
        self.octets
    }
}

/// Octets of a section header before its options.
const SECTION_HEAD: usize = 24;

/// Adds a comment to the section header of [`BlockBuilder`] at `begin`.
pub(super) fn add_section_comment(octets: &mut Vec<u8>, begin: usize, comment: &str) {
    let length = |at: usize| {
        octets.get(at..).and_then(|rest| rest.first_chunk()).map(|length| u32::from_le_bytes(*length))
    };
    let Some(length) = length(begin + 4).map(|length| length as usize) else { return };
    // The end of its options, if it has any, and its length again.
    let end = if length > SECTION_HEAD + 4 { 8 } else { 4 };
    let mut option = BlockBuilder { octets: Vec::new(), has_options: false };
    option.text(COMMENT, comment);
    option.octets.extend([0; 4]);
    let total = (length - end + option.octets.len() + 4) as u32;
    option.octets.extend(total.to_le_bytes());
    octets.splice(begin + length - end..begin + length, option.octets);
    octets[begin + 4..begin + 8].copy_from_slice(&total.to_le_bytes());
}
