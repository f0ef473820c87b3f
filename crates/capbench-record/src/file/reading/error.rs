//! Errors of reading a capture file. Each message continues a sentence about the file.

use std::io;

/// The error of the reader.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It has fewer than the 4 octets that identify a format.
    #[error("is empty")]
    Empty,
    /// Its format is unknown.
    #[error("is neither pcap nor pcapng: it begins with {}", hexadecimal(.0))]
    Unknown([u8; 4]),
    /// It is a verbatim file of an unsupported version.
    #[error(
        "is a verbatim file that ends early, or of another version of capbench; convert it with that one"
    )]
    OtherVerbatim,
    /// The operating system reported a read error.
    #[error("cannot be read: {0}")]
    Read(#[source] io::Error),
    /// Its content is invalid.
    #[error("is damaged after {frames} frames: {what}")]
    Damaged {
        /// Frames before the damage.
        frames: u64,
        /// What is invalid.
        what: String,
    },
}

fn hexadecimal(octets: &[u8; 4]) -> String {
    octets.map(|octet| format!("{octet:02x}")).join(" ")
}
