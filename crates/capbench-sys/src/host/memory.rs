//! How much memory the host can still give: `/proc/meminfo`, proc_meminfo(5).

use super::proc_file;
use crate::{Result, SysError};

const FILE: &str = "/proc/meminfo";

/// Bytes that can be allocated without swapping, as the kernel estimates them (`MemAvailable`, Linux 3.14).
/// A memory limit of the process's cgroup can be lower and is not looked at.
pub fn available_bytes() -> Result<u64> {
    bytes_of("MemAvailable")
}

/// Bytes of usable memory of this host (`MemTotal`).
pub fn total_bytes() -> Result<u64> {
    bytes_of("MemTotal")
}

/// Bytes that this process may lock in memory without the capability CAP_IPC_LOCK over the host (`RLIMIT_MEMLOCK`,
/// getrlimit(2)); the highest number where there is no limit.
pub fn lock_limit() -> Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: getrlimit(2) writes one rlimit behind the pointer; `limit` is exclusively ours and alive.
    let code = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) };
    crate::error::check(code, || "getrlimit(RLIMIT_MEMLOCK)".into())?;
    Ok(limit.rlim_cur)
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
        assert!(available_bytes().unwrap() <= total_bytes().unwrap());
        lock_limit().unwrap();
    }
}
