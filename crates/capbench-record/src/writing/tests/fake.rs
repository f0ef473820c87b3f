//! Records for tests: length, number, interface and filling, independent of any file format.

use super::super::output::FileEnds;
use crate::file::Extent;

/// Header of a file.
pub(in crate::writing) const HEADER: &[u8] = b"header of a file";
/// Trailer of a file: a record that is not a packet.
pub(in crate::writing) const TRAILER_FILL: usize = 5;
/// Bytes before the filling.
const PREFIX: usize = 12;
/// The interface of records that are not packets.
const NONE: u32 = u32::MAX;

/// A record.
pub(in crate::writing) fn record(number: u32, interface: u32, fill: usize) -> Vec<u8> {
    let mut bytes = vec![number as u8; PREFIX + fill];
    bytes[..4].copy_from_slice(&((PREFIX + fill) as u32).to_le_bytes());
    bytes[4..8].copy_from_slice(&number.to_le_bytes());
    bytes[8..12].copy_from_slice(&interface.to_le_bytes());
    bytes
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

/// Finds the first record in a byte slice.
pub(in crate::writing) fn read_record(bytes: &[u8]) -> Option<Extent> {
    let interface = word(bytes, 8)?;
    let packet_of = (interface != NONE).then_some(interface);
    Some(Extent { length: word(bytes, 0)? as usize, packet_of, frames: packet_of.is_some().into() })
}

/// A file of such records, as read.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::writing) struct Contents {
    /// Numbers of its packets.
    pub(in crate::writing) numbers: Vec<u32>,
    /// Whether the trailer is at the end.
    pub(in crate::writing) is_complete: bool,
    /// Bytes after the last whole record.
    pub(in crate::writing) left_over: usize,
}

/// Reads a file up to the last whole record.
pub(in crate::writing) fn read_file(bytes: &[u8]) -> Contents {
    let mut rest = bytes.strip_prefix(HEADER).expect("a header");
    let mut contents = Contents { numbers: Vec::new(), is_complete: false, left_over: 0 };
    while let Some(found) = read_record(rest).filter(|found| found.length <= rest.len()) {
        let number = word(rest, 4).unwrap();
        assert!(!contents.is_complete, "a record behind the trailer");
        assert!(
            rest[PREFIX..found.length].iter().all(|byte| *byte == number as u8),
            "record {number} is damaged"
        );
        match found.packet_of {
            Some(_) => contents.numbers.push(number),
            None => contents.is_complete = true,
        }
        rest = &rest[found.length..];
    }
    contents.left_over = rest.len();
    contents
}

/// The ends of such files.
#[derive(Debug, Default)]
pub(in crate::writing) struct FakeEnds;

impl FileEnds for FakeEnds {
    fn header(&mut self, out: &mut Vec<u8>) {
        out.extend(HEADER);
    }

    fn trailer(&mut self, out: &mut Vec<u8>) {
        out.extend(record(0, NONE, TRAILER_FILL));
    }
}
