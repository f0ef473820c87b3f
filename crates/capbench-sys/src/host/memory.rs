//! Memory that this process can still allocate: `/proc/meminfo`, proc_meminfo(5), and the limits of its cgroups.

use std::fmt;

use rustix::process::{Resource, getrlimit};

use super::cgroup_memory::{self, CgroupLimit};
use super::proc_file;
use crate::{Result, SysError};

const FILE: &str = "/proc/meminfo";

/// Memory that this process can allocate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Available {
    /// Bytes.
    pub bytes: u64,
    /// The limiting cgroup, if it leaves less than the host has.
    pub limited_by: Option<CgroupLimit>,
}

impl fmt::Display for Available {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.limited_by {
            None => write!(f, "{} MiB (MemAvailable of {FILE})", self.bytes >> 20),
            Some(CgroupLimit { file, limit_bytes, .. }) => {
                let (left, limit) = (self.bytes >> 20, limit_bytes >> 20);
                write!(
                    f,
                    "{left} MiB of the {limit} MiB that the cgroup of this process may use ({})",
                    file.display()
                )
            }
        }
    }
}

/// The kernel's estimate of the memory that it can allocate without swapping (`MemAvailable`, Linux 3.14). Rings of packet
/// sockets are such memory and are charged to no cgroup (observed with Linux 6.18 in version 1).
pub fn available_on_host() -> Result<Available> {
    Ok(Available { bytes: bytes_of("MemAvailable")?, limited_by: None })
}

/// Memory that this process can allocate: the host's free memory or the rest of its cgroup limits, whichever is less.
pub fn available() -> Result<Available> {
    let host = available_on_host()?;
    Ok(match cgroup_memory::tightest() {
        Some(limit) if limit.free_bytes < host.bytes => {
            Available { bytes: limit.free_bytes, limited_by: Some(limit) }
        }
        _ => host,
    })
}

/// Bytes of usable memory of this host (`MemTotal`).
pub fn total_bytes() -> Result<u64> {
    bytes_of("MemTotal")
}

/// Bytes that this process may lock in memory without CAP_IPC_LOCK on the host (`RLIMIT_MEMLOCK`, getrlimit(2)); the highest
/// number if unlimited.
pub fn lock_limit() -> u64 {
    getrlimit(Resource::Memlock).current.unwrap_or(u64::MAX)
}

fn bytes_of(key: &str) -> Result<u64> {
    let text = proc_file::read(FILE)?;
    parse(&text, key).ok_or_else(|| SysError::argument(FILE, format!("no line {key:?} with a number of kB")))
}

fn parse(text: &str, key: &str) -> Option<u64> {
    let kibibytes: u64 = proc_file::field(text, key)?.strip_suffix("kB")?.trim().parse().ok()?;
    // The kernel writes kB and means KiB (proc_meminfo(5)).
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_in_kib() {
        let text = "MemTotal:        3082012 kB\nMemFree:  100 kB\nMemAvailable:    2500000 kB\n";
        assert_eq!(parse(text, "MemAvailable"), Some(2_500_000 * 1024));
        assert_eq!(parse(text, "MemTotal"), Some(3_082_012 * 1024));
    }

    #[test]
    fn odd_lines_are_no_number() {
        for text in ["", "MemAvailable:", "MemAvailable: kB", "MemAvailable: -5 kB", "MemAvailable: 5"] {
            assert_eq!(parse(text, "MemAvailable"), None, "{text:?}");
        }
        assert_eq!(parse("MemAvailable: 18446744073709551615 kB", "MemAvailable"), None);
    }

    #[test]
    fn this_host_has_memory() {
        assert!(available().unwrap().bytes <= total_bytes().unwrap());
        assert!(lock_limit() > 0);
    }
}
