//! Which part of a recording a file is: a comment of its section, so that a missing file of several is noticed.

use std::fmt;

/// Which part of a recording a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordingPart {
    /// When the recording began, ns since the epoch. It is the same in all of its files.
    pub began_ns: u64,
    /// Packets of the recording in earlier files.
    pub packets_before: u64,
    /// What becomes of earlier files.
    pub earlier_files: EarlierFiles,
}

/// What becomes of earlier files of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlierFiles {
    /// They stay.
    Kept,
    /// They are replaced by newer ones when there are this many.
    Ring(u32),
    /// Old ones are removed.
    Removed,
}

const BEGIN: &str = "recorded by capbench since ";
const AFTER: &str = ", after ";
const PACKETS: &str = " packets in earlier files";
const RING: &str = ", in a ring of ";
const FILES: &str = " files";
const REMOVED: &str = ", old files are removed";
const SECOND: u64 = 1_000_000_000;

impl fmt::Display for RecordingPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { began_ns, packets_before, earlier_files } = self;
        let (seconds, ns) = (began_ns / SECOND, began_ns % SECOND);
        write!(f, "{BEGIN}{seconds}.{ns:09}{AFTER}{packets_before}{PACKETS}")?;
        match earlier_files {
            EarlierFiles::Kept => Ok(()),
            EarlierFiles::Ring(files) => write!(f, "{RING}{files}{FILES}"),
            EarlierFiles::Removed => f.write_str(REMOVED),
        }
    }
}

impl RecordingPart {
    /// From the comments of a section, if one of them is that of a recording.
    pub fn of_comments(comments: &[String]) -> Option<Self> {
        comments.iter().find_map(|comment| Self::of_comment(comment))
    }

    fn of_comment(comment: &str) -> Option<Self> {
        let (time, rest) = comment.strip_prefix(BEGIN)?.split_once(AFTER)?;
        let (seconds, ns) = time.split_once('.')?;
        let began_ns = seconds.parse::<u64>().ok()?.checked_mul(SECOND)?.checked_add(ns.parse().ok()?)?;
        let (packets, rest) = rest.split_once(PACKETS)?;
        let earlier_files = match rest.strip_prefix(RING) {
            Some(ring) => EarlierFiles::Ring(ring.strip_suffix(FILES)?.parse().ok()?),
            None if rest == REMOVED => EarlierFiles::Removed,
            None => EarlierFiles::Kept,
        };
        Some(Self { began_ns, packets_before: packets.parse().ok()?, earlier_files })
    }
}

#[cfg(test)]
mod tests {
    use super::{EarlierFiles, RecordingPart};

    #[test]
    fn a_part_is_read_from_its_comment() {
        for earlier_files in [EarlierFiles::Kept, EarlierFiles::Ring(3), EarlierFiles::Removed] {
            let part =
                RecordingPart { began_ns: 1_764_301_940_000_000_007, packets_before: 51_277, earlier_files };
            let comments = ["of somebody".to_string(), part.to_string()];
            assert_eq!(RecordingPart::of_comments(&comments), Some(part), "{part}");
        }
        for text in
            ["recorded by capbench", "recorded by capbench since 1.2, after x packets in earlier files"]
        {
            assert_eq!(RecordingPart::of_comments(&[text.into()]), None);
        }
    }
}
