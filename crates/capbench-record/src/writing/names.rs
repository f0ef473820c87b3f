//! Names of a recording's files, by the rules of tcpdump(8).

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use capbench_sys::host::local_time::format_local;

use super::rotation::Rotation;
use crate::error::{RecordError, Result};

/// Suffix of a compressed file's name.
pub(super) const COMPRESSED: &[u8] = b".zst";

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

    /// Seconds after which the first name repeats, if a file begins every `interval` seconds from this second on; `None` if none
    /// repeats within ten years or 50,000 names that could be alike.
    pub(super) fn repeat_after(&self, second: i64, interval: u32) -> Option<u32> {
        const NAMES: i64 = 50_000;
        const TEN_YEARS: i64 = 10 * 366 * 86_400;
        let conversions = conversions(self.stem.as_bytes());
        // Seconds since 1970 never repeat.
        if conversions.contains(&b's') {
            return None;
        }
        let step = least_step(&conversions, interval);
        let mut seen = HashMap::new();
        for number in 0..NAMES.min(TEN_YEARS / step + 1) {
            let begin = second.checked_add(number.checked_mul(step)?)?;
            if let Some(before) = seen.insert(self.path(begin, 0).ok()?, begin) {
                return u32::try_from(begin - before).ok();
            }
        }
        None
    }
}

/// The conversions of a pattern of strftime(3), without flags, widths and modifiers.
fn conversions(pattern: &[u8]) -> Vec<u8> {
    let mut found = Vec::new();
    let mut rest = pattern.iter();
    while rest.any(|byte| *byte == b'%') {
        let is_prefix = |byte: &&u8| b"-_^#EO+".contains(*byte) || byte.is_ascii_digit();
        found.extend(rest.find(|byte| !is_prefix(byte)));
    }
    found
}

/// The seconds between two files that can have the same name: a multiple of the interval, and of the cycle of each field that
/// repeats at whole cycles only. Seconds always do; minutes do where the files begin whole minutes apart, and so on.
fn least_step(conversions: &[u8], interval: u32) -> i64 {
    const FIELDS: [(&[u8], i64, i64); 3] = [(b"STrc", 1, 60), (b"MTRrc", 60, 3600), (b"HkTRc", 3600, 86_400)];
    let mut step = i64::from(interval.max(1));
    for (names, unit, cycle) in FIELDS {
        let is_there = conversions.iter().any(|conversion| names.contains(conversion));
        if is_there && step % unit == 0 {
            step = step / greatest_common_divisor(step, cycle) * cycle;
        }
    }
    step
}

fn greatest_common_divisor(one: i64, other: i64) -> i64 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
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
        // A minute is no multiple of 7 s: the same second comes again after seven minutes, and so on.
        assert_eq!(after("%S.pcap", 2), Some(60));
        assert_eq!(after("%S.pcap", 7), Some(420));
        assert_eq!(after("%M%S.pcap", 7), Some(7 * 3600));
        for day in ["%H%M%S.pcap", "%T.pcap", "%-H-%OM-%2S.pcap"] {
            assert_eq!((after(day, 1), after(day, 7)), (Some(86_400), Some(7 * 86_400)), "{day}");
        }
        assert_eq!(after("%I%M%S.pcap", 1), Some(43_200), "twice a day");
        // Hours of the day of files every 5000 s: the first two alike are 17 files apart, 85,000 s.
        assert_eq!(after("%H.pcap", 5000), Some(85_000));
        assert_eq!(after("%d-%H%M%S.pcap", 1), Some(30 * 86_400), "from the 9th of September 2001 on");
        assert_eq!(after("%j-%H%M%S.pcap", 1), Some(365 * 86_400));
        assert_eq!(after("%%S.pcap", 60), Some(60), "no conversion");
        assert_eq!(after("%y%j-%H.pcap", 3600), None, "not within ten years");
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
