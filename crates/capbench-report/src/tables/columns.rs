//! Columns of tables. A column's key is the name of its value in results files and ends with the unit, as in `delivered_pps`.

use crate::model::{Column, Narrow, Unit};

/// The key of the column with the reasons why a trial or segment is noisy. Tidy files of earlier versions have this name, so it
/// stays.
pub(crate) const NOISE_KEY: &str = "care";

impl Column {
    pub(crate) fn new(key: &str, heading: &str, unit: Unit) -> Self {
        Self { key: key.into(), heading: heading.into(), unit, narrow: Narrow::default() }
    }

    /// A column of words: it has no unit.
    pub(crate) fn words(key: &str, heading: &str) -> Self {
        Self::new(key, heading, Unit::None)
    }

    /// A column with the unit that its key ends with.
    pub(crate) fn figure(key: &str, heading: &str) -> Self {
        Self::new(key, heading, unit_of(key))
    }

    /// The column, omitted if there is no room for all columns.
    pub(crate) fn detail(self) -> Self {
        Self { narrow: Narrow::Absent, ..self }
    }

    /// The column, in pages and files only.
    pub(crate) fn files_only(self) -> Self {
        Self { narrow: Narrow::FilesOnly, ..self }
    }

    /// The column, with intervals even if there is no room for all columns.
    pub(crate) fn whole(self) -> Self {
        Self { narrow: Narrow::Whole, ..self }
    }
}

/// Suffixes of keys in results files with their units, the longest first.
const SUFFIXES: [(&str, Unit); 14] = [
    ("_ns_per_packet_at_most", Unit::NanosecondsPerPacket),
    ("_ns_per_packet", Unit::NanosecondsPerPacket),
    ("_ns_per_iteration", Unit::Nanoseconds),
    ("_per_second", Unit::PerSecond),
    ("_frame_size", Unit::Bytes),
    ("_iterations", Unit::Iterations),
    ("_packets", Unit::Count),
    ("_frames", Unit::Count),
    ("_bytes", Unit::Bytes),
    ("_ratio", Unit::Ratio),
    ("_cores", Unit::Cores),
    ("_pps", Unit::PacketsPerSecond),
    ("_ns", Unit::Nanoseconds),
    ("_s", Unit::Seconds),
];

/// The unit in the suffix of a results file's key.
pub(crate) fn unit_of(key: &str) -> Unit {
    for (suffix, unit) in SUFFIXES {
        if key.ends_with(suffix) {
            return unit;
        }
    }
    Unit::None
}

/// A results file's key as words, without its unit: `netdev_max_backlog` is "netdev max backlog".
pub(crate) fn words_of(key: &str) -> String {
    let at_most = if key.ends_with("_at_most") { " at most" } else { "" };
    format!("{}{at_most}", without_unit(key).replace('_', " "))
}

/// A key without a suffix that a heading does not need, because the unit is next to it.
fn without_unit(key: &str) -> &str {
    match unit_of(key) {
        Unit::Bytes
        | Unit::PacketsPerSecond
        | Unit::Nanoseconds
        | Unit::Seconds
        | Unit::NanosecondsPerPacket => {}
        _ => return key,
    }
    for (suffix, _) in SUFFIXES {
        // A frame size is called by this name.
        if suffix == "_frame_size" {
            continue;
        }
        if let Some(short) = key.strip_suffix(suffix) {
            return short;
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::{Unit, unit_of, words_of};

    #[test]
    fn names_say_their_units() {
        assert_eq!(unit_of("delivered_pps"), Unit::PacketsPerSecond);
        assert_eq!(unit_of("app_ns_per_packet_at_most"), Unit::NanosecondsPerPacket);
        assert_eq!(unit_of("mean_frame_size"), Unit::Bytes);
        assert_eq!(unit_of("method"), Unit::None);
        assert_eq!(words_of("kernel_ns_per_packet"), "kernel");
        assert_eq!(words_of("app_ns_per_packet_at_most"), "app at most");
        assert_eq!(words_of("mean_frame_size"), "mean frame size");
        assert_eq!(words_of("netdev_max_backlog"), "netdev max backlog");
    }
}
