//! Why a conversion fails.

use crate::error::RecordError;
use crate::file::FileError;

/// Why a conversion failed or stopped early.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The input cannot be read from some position on.
    #[error("the file {0}")]
    Input(#[from] FileError),
    /// The input has several link types, but the output format has one.
    #[error(
        "packet {number} has link type {link_type}, the packets before it have {first}: pcap has one link type for all \
         packets; write pcapng (--format pcapng)"
    )]
    LinkTypes {
        /// Number of the packet, from 1.
        number: u64,
        /// Its `LINKTYPE_…`.
        link_type: u16,
        /// Link type of the packets before.
        first: u16,
    },
    /// The packets end with frame check sequences of several lengths, or of one that pcap cannot state.
    #[error(
        "packet {number} has an FCS of {} octets, the packets before it of {}: pcap states one length, a multiple of 2, for all \
         packets; write pcapng (--format pcapng)",
        known(*fcs_octets), known(*first)
    )]
    FcsLengths {
        /// Number of the packet, from 1.
        number: u64,
        /// Octets of its FCS, if known.
        fcs_octets: Option<u8>,
        /// Those of the packets before.
        first: Option<u8>,
    },
    /// A timestamp that pcap cannot express.
    #[error(
        "packet {number} has a time {seconds} s after 1970: pcap has times from 1970 to 2106; write pcapng (--format pcapng)"
    )]
    Time {
        /// Number of the packet, from 1.
        number: u64,
        /// Its time in seconds.
        seconds: i128,
    },
    /// The output exceeds its size limit in octets.
    #[error(
        "the output has more than {0} bytes, and is not kept; where that is the size of the capture, give a limit with \
         --max-output"
    )]
    TooLarge(u64),
    /// A description of a section or an interface, or statistics, of this many octets exceeds the largest block that can be written.
    #[error("a description, or statistics, of {0} octets, more than are written")]
    Description(usize),
    /// A packet exceeds the largest packet that can be written.
    #[error("packet {number} has {octets} octets, more than are written")]
    TooLong {
        /// Its number, from 1.
        number: u64,
        /// Its captured octets.
        octets: usize,
    },
    /// The output cannot be written.
    #[error(transparent)]
    Output(#[from] RecordError),
    /// The reader of the output pipe has closed it.
    #[error("nobody reads the output any more")]
    ReaderGone,
}

fn known(octets: Option<u8>) -> String {
    octets.map_or_else(|| "an unknown number of".into(), |octets| octets.to_string())
}

impl ConvertError {
    /// Whether the input was refused. The partial output is then removed, so that nobody takes it for the whole.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::LinkTypes { .. } | Self::FcsLengths { .. } | Self::Time { .. } | Self::TooLarge(_)
        )
    }
}
