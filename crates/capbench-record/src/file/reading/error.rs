//! Why a capture file cannot be read on, each as the rest of a sentence about it.

use std::io;

/// The error of the reader.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It has less than the 4 octets by which formats are told.
    #[error("is empty")]
    Empty,
    /// It is of no format that is known here.
    #[error("is neither pcap nor pcapng: it begins with {}", hexadecimal(.0))]
    Unknown([u8; 4]),
    /// It is a verbatim file, and not of the version that is known here.
    #[error(
        "is a verbatim file that ends early, or of another version of capbench; convert it with that one"
    )]
    OtherVerbatim,
    /// The system would not give it.
    #[error("cannot be read: {0}")]
    Read(#[source] io::Error),
    /// What it says cannot be.
    #[error("is damaged after {frames} frames: {what}")]
    Damaged {
        /// Frames before.
        frames: u64,
        /// What cannot be.
        what: String,
    },
}

fn hexadecimal(octets: &[u8; 4]) -> String {
    octets.map(|octet| format!("{octet:02x}")).join(" ")
}
