//! The conditions of dumpcap's `-a` and `-b`, in terms of this command's own flags.

use std::time::Duration;

use crate::flag_values::positive_duration;

/// When to end (`-a`), or to begin a new file (`-b`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// After this time.
    Duration(Duration),
    /// After this many packets.
    Packets(u64),
    /// After this many bytes.
    FileSize(u64),
    /// Number of files.
    Files(u32),
}

/// Reads a condition of `-a` or `-b`.
pub fn condition(text: &str) -> Result<Condition, String> {
    let refuse =
        || format!("\"{text}\" is no condition; write duration:SECONDS, packets:N, filesize:KB or files:N");
    let (key, value) = text.split_once(':').ok_or_else(refuse)?;
    let number = || value.parse::<u64>().ok().filter(|number| *number > 0).ok_or_else(refuse);
    match key {
        "duration" => positive_duration(value).map(Condition::Duration),
        "packets" => number().map(Condition::Packets),
        // dumpcap's unit is 1000 bytes.
        "filesize" => number()?.checked_mul(1000).map(Condition::FileSize).ok_or_else(refuse),
        "files" => u32::try_from(number()?).map(Condition::Files).map_err(|_| refuse()),
        _ => Err(refuse()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Condition, condition};

    #[test]
    fn conditions_have_a_key_and_a_value() {
        assert_eq!(condition("duration:90"), Ok(Condition::Duration(Duration::from_secs(90))));
        assert_eq!(condition("filesize:64"), Ok(Condition::FileSize(64_000)));
        for text in
            ["", "duration", "duration:0", "packets:x", "files:0", "filesize:99999999999999999999", "size:1"]
        {
            assert!(condition(text).is_err(), "{text}");
        }
    }
}
