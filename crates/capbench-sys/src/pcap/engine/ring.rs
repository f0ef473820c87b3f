//! The ring of a packet socket that another component made: whether this process has mapped it, and its size.

use super::Ring;
use crate::host::proc_file;
use crate::packet::diag::blocks;

/// The ring behind a descriptor that /proc shows as `socket:[inode]`.
pub(super) fn of(target: &str) -> Option<Ring> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let bytes = mapped(&maps, target)?;
    let inode = target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()?;
    Some(Ring { bytes, blocks: blocks(inode) })
}

/// Bytes that are mapped of a file, as /proc/PID/maps lists them (proc(5)).
fn mapped(maps: &str, file: &str) -> Option<u64> {
    let mapped = proc_file::mappings(maps).filter(|(_, rest)| rest.rsplit(' ').next() == Some(file));
    let total = mapped.map(|(range, _)| range.end - range.start).sum();
    (total > 0).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::mapped;

    #[test]
    fn mappings_of_one_file_are_added_up() {
        let maps = "7f0000000000-7f0000200000 rw-s 00000000 00:08 4711      socket:[4711]\n\
                    7f0000200000-7f0000201000 rw-s 00200000 00:08 4711      socket:[4711]\n\
                    7f0000300000-7f0000301000 rw-s 00000000 00:08 47        socket:[47]\n\
                    7f0000400000-7f0000401000 rw-p 00000000 00:00 0\n";
        assert_eq!(mapped(maps, "socket:[4711]"), Some(0x20_1000));
        assert_eq!(mapped(maps, "socket:[1]"), None);
    }
}
