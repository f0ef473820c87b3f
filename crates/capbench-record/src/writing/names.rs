//! Names of a recording's files, by the rules of tcpdump(8).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use capbench_sys::host::local_time::format_local;

use super::rotation::Rotation;
use crate::error::{RecordError, Result};

/// Suffix of a compressed file's name.
pub(super) const COMPRESSED: &[u8] = b".zst";

/// Seconds after which fields of a pattern repeat: %M, %H, %a.
const PERIODS: [u32; 3] = [3600, 86_400, 7 * 86_400];

#[derive(Clone, Debug)]
pub(super) struct FileNames {
    stem: OsString,
    is_pattern: bool,
    is_numbered: bool,
    digits: usize,
    is_compressed: bool,
}

impl FileNames {
    /// Names based on the user's `name`. With an interval it is a pattern of strftime(3). With a limit of size or packets, a
    /// number is appended. With compression, `.zst` follows; if the user's name already ends with `.zst`, it is not repeated.
    pub(super) fn new(name: &Path, rotation: &Rotation, is_compressed: bool) -> Self {
        let bytes = name.as_os_str().as_bytes();
        let stem = if is_compressed { bytes.strip_suffix(COMPRESSED).unwrap_or(bytes) } else { bytes };
        Self {
            stem: OsStr::from_bytes(stem).into(),
            is_pattern: rotation.seconds.is_some(),
            is_numbered: rotation.is_numbered(),
            digits: rotation.digits(),
            is_compressed,
        }
    }

    /// The name of the file that begins in this second and has this number.
    /// Errors: An empty name, or a pattern that expands to nothing.
    pub(super) fn path(&self, second: i64, number: u64) -> Result<PathBuf> {
        let refuse = |reason: String| RecordError::Option { option: "-w", reason };
        if self.stem.is_empty() {
            return Err(refuse("a file needs a name; \"-\" is the standard output".into()));
        }
        let name = if self.is_pattern {
            format_local(&self.stem, second).map_err(|error| refuse(error.to_string()))?
        } else {
            self.stem.clone()
        };
        let mut name = name.into_vec();
        if self.is_numbered && (number > 0 || self.digits > 0) {
            name.extend(format!("{number:0digits$}", digits = self.digits).into_bytes());
        }
        if self.is_compressed {
            name.extend(COMPRESSED);
        }
        Ok(OsString::from_vec(name).into())
    }

    /// The first existing file that a recording without a pattern will replace when its numbers reach that name.
    pub(super) fn first_replaced(&self, files: Option<u32>) -> Option<PathBuf> {
        /// Numbers to check.
        const LOOKED_AT: u64 = 1000;
        if self.is_pattern || !self.is_numbered {
            return None;
        }
        let mut names = (0..files.map_or(LOOKED_AT, u64::from).min(LOOKED_AT))
            .filter_map(|number| self.path(0, number).ok());
        names.find(|path| path.symlink_metadata().is_ok_and(|found| found.is_file()))
    }

    /// The name pattern, with `.zst` for compressed files: equal for all recordings with the same names.
    pub(super) fn pattern(&self) -> OsString {
        let mut pattern = self.stem.clone();
        if self.is_compressed {
            pattern.push(OsStr::from_bytes(COMPRESSED));
        }
        pattern
    }

    /// Seconds after which a name repeats, if a file begins every `interval` seconds from this second on; `None` if no checked
    /// name repeats.
    pub(super) fn repeat_after(&self, second: i64, interval: u32) -> Option<u32> {
        /// Intervals to check.
        const LOOKED_AT: i64 = 64;
        let repeats = |from: i64, after: u32| {
            let name = self.path(from, 0).ok();
            name.is_some() && name == self.path(from.saturating_add(after.into()), 0).ok()
        };
        let begins = (0..LOOKED_AT).map(|number| second.saturating_add(number * i64::from(interval)));
        if begins.into_iter().any(|begin| repeats(begin, interval)) {
            return Some(interval);
        }
        PERIODS
            .into_iter()
            .find(|&period| period > interval && period % interval == 0 && repeats(second, period))
    }
}

#[cfg(test)]
mod tests {
    use super::{FileNames, Rotation};
    use std::path::Path;

    fn names(name: &str, rotation: Rotation, is_compressed: bool) -> [String; 3] {
        let names = FileNames::new(Path::new(name), &rotation, is_compressed);
        [0, 1, 10].map(|number| names.path(1_000_000_000, number).unwrap().to_str().unwrap().to_owned())
    }

    #[test]
    fn they_are_those_of_tcpdump() {
        let bytes = Some(1_000_000);
        let by_size = Rotation { bytes, ..Rotation::default() };
        assert_eq!(names("a%Y.pcap", by_size, false), ["a%Y.pcap", "a%Y.pcap1", "a%Y.pcap10"]);
        let ring = Rotation { files: Some(12), ..by_size };
        assert_eq!(names("a.pcap", ring, false), ["a.pcap00", "a.pcap01", "a.pcap10"]);
        let single = Rotation { files: Some(1), ..by_size };
        assert_eq!(names("a.pcap", single, false)[0], "a.pcap");
        let timed = Rotation { seconds: Some(60), ..Rotation::default() };
        assert_eq!(names("%Y.pcap", timed, false), ["2001.pcap"; 3]);
        let both = Rotation { seconds: Some(60), ..by_size };
        assert_eq!(names("%Y.pcap", both, false), ["2001.pcap", "2001.pcap1", "2001.pcap10"]);
        assert_eq!(names("100%.pcap", Rotation::default(), false), ["100%.pcap"; 3]);
    }

    #[test]
    fn a_compressed_file_says_so_at_the_end_of_its_name() {
        let ring = Rotation { packets: Some(1), files: Some(11), ..Rotation::default() };
        for name in ["a.pcapng", "a.pcapng.zst"] {
            assert_eq!(names(name, ring, true), ["a.pcapng00.zst", "a.pcapng01.zst", "a.pcapng10.zst"]);
        }
        assert_eq!(names("a.zst", Rotation::default(), false)[0], "a.zst");
    }

    #[test]
    fn a_pattern_without_enough_fields_repeats() {
        let after = |name: &str, seconds| {
            let rotation = Rotation { seconds: Some(seconds), ..Rotation::default() };
            FileNames::new(Path::new(name), &rotation, false).repeat_after(1_000_000_000, seconds)
        };
        assert_eq!(after("same.pcap", 1), Some(1));
        assert_eq!(after("%Y-%m-%d.pcap", 3600), Some(3600));
        assert_eq!(after("%Y-%m-%dT%H-%M.pcap", 59), Some(59));
        assert_eq!(after("%M-%S.pcap", 60), Some(3600));
        assert_eq!(after("%H.pcap", 3600), Some(86_400));
        assert_eq!(after("%a-%H.pcap", 3600), Some(7 * 86_400));
        assert_eq!(after("%Y-%m-%dT%H-%M-%S.pcap", 1), None);
        assert_eq!(after("%s.pcap", 1), None);
    }

    #[test]
    fn the_first_file_that_numbers_replace_is_found() {
        let scratch = capbench_testing::Scratch::new();
        let bytes = Rotation { bytes: Some(1), ..Rotation::default() };
        let first = |rotation: Rotation| {
            let names = FileNames::new(&scratch.path().join("f"), &rotation, false);
            names.first_replaced(rotation.files)
        };
        assert_eq!(first(bytes), None);
        std::fs::write(scratch.path().join("f12"), "").unwrap();
        assert_eq!(first(bytes), Some(scratch.path().join("f12")));
        assert_eq!(first(Rotation { files: Some(12), ..bytes }), None);
        assert_eq!(first(Rotation { files: Some(13), ..bytes }), Some(scratch.path().join("f12")));
        assert_eq!(first(Rotation { seconds: Some(1), ..bytes }), None);
    }

    #[test]
    fn a_name_that_cannot_be_is_refused() {
        let plain = Rotation::default();
        assert!(FileNames::new(Path::new(""), &plain, false).path(0, 0).is_err());
        assert!(FileNames::new(Path::new(".zst"), &plain, true).path(0, 0).is_err());
    }
}
