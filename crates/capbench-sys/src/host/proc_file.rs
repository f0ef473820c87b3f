//! Small text files of procfs, with the file's name in the error.

use crate::Result;
use crate::error::named;

pub(super) fn read(path: &str) -> Result<String> {
    named(std::fs::read_to_string(path), || format!("read({path})"))
}

/// Writes `text` to `path` in one write, as the kernel's small files demand.
pub(super) fn write(path: &str, text: &str) -> Result<()> {
    named(std::fs::write(path, text), || format!("write({path}, {:?})", text.trim_end()))
}

/// The names in a folder that are numbers: of threads in `task`, of descriptors in `fd`.
pub(crate) fn numbers_in(folder: &str) -> Result<Vec<i32>> {
    let what = || format!("readdir({folder})");
    let mut numbers = Vec::new();
    for entry in named(std::fs::read_dir(folder), what)? {
        numbers.extend(named(entry, what)?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    Ok(numbers)
}

/// The value of the line `key:` of a file such as `/proc/meminfo` or `/proc/self/status`, trimmed.
pub(super) fn field<'text>(text: &'text str, key: &str) -> Option<&'text str> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(str::trim)
}

/// The lines of `/proc/PID/maps` (proc(5)): each with the addresses and what is mapped there.
#[cfg(feature = "libraries")]
pub(crate) fn mappings(maps: &str) -> impl Iterator<Item = (std::ops::Range<u64>, &str)> {
    maps.lines().filter_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        Some((u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?, rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "CapEffX:\t1\nCapEff:\t00ff\nlast";
        assert_eq!(field(text, "CapEff"), Some("00ff"));
        assert_eq!(field(text, "Cap"), None);
        assert_eq!(field(text, "last"), None);
        assert_eq!(field("", "CapEff"), None);
    }
}
