//! Memory that this process can still allocate: `/proc/meminfo`, proc_meminfo(5), and the limits of its cgroups
//! (cgroups(7)), version 2 and version 1. The kernel charges the memory that a process allocates to them, and kills a process when
//! a limit is exceeded.

use std::path::{Component, Path, PathBuf};
use std::{fmt, fs};

use rustix::process::{Resource, getrlimit};

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
    Ok(match tightest_below(Path::new("/")) {
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

/// The tightest limit from the process's cgroup up to the root of its hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupLimit {
    /// The file with the limit.
    pub file: PathBuf,
    /// The limit in bytes.
    pub limit_bytes: u64,
    /// The free rest in bytes. Page cache that the kernel can reclaim does not count as used.
    pub free_bytes: u64,
}

struct Files {
    limit: &'static str,
    usage: &'static str,
    /// Line of `memory.stat` with the page cache that can be reclaimed.
    cache: &'static str,
}

const VERSION_1: Files =
    Files { limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes", cache: "total_inactive_file" };
const VERSION_2: Files = Files { limit: "memory.max", usage: "memory.current", cache: "inactive_file" };

/// A limit of version 1 from here on is none: the kernel writes the largest number of pages.
const NO_LIMIT: u64 = 1 << 62;

/// The limit with the least free memory, with `/proc` and `/sys` below `root`; `None` if none is set or readable.
fn tightest_below(root: &Path) -> Option<CgroupLimit> {
    let own = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let hierarchies = own.lines().filter_map(|line| {
        // `ID:CONTROLLERS:PATH`; version 2 has no controllers here.
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        match controllers {
            "" => Some((VERSION_2, mount_of(&mounts, "cgroup2", None)?, path)),
            list if list.split(',').any(|name| name == "memory") => {
                Some((VERSION_1, mount_of(&mounts, "cgroup", Some("memory"))?, path))
            }
            _ => None,
        }
    });
    let limits = hierarchies.flat_map(|(files, (top, point), path)| {
        // A container sees a part of the hierarchy, and a cgroup outside it as `/..`.
        let below = Path::new(path).strip_prefix(&top).unwrap_or(Path::new("")).to_path_buf();
        let is_inside = below.components().all(|part| matches!(part, Component::Normal(_)));
        let below = if is_inside { below } else { PathBuf::new() };
        let point = root.join(point.strip_prefix("/").unwrap_or(&point));
        let folders: Vec<PathBuf> = below.ancestors().map(|folder| point.join(folder)).collect();
        folders.into_iter().filter_map(move |folder| limit_of(&folder, &files))
    });
    limits.min_by_key(|limit| limit.free_bytes)
}

/// Top of the hierarchy that is mounted, and where (proc_pid_mountinfo(5)).
fn mount_of(mounts: &str, kind: &str, controller: Option<&str>) -> Option<(PathBuf, PathBuf)> {
    mounts.lines().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (top, point) = (fields.next()?, fields.next()?);
        let mut fields = file_system.split(' ');
        let its_kind = fields.next()?;
        let options = fields.nth(1)?;
        let has = |controller| options.split(',').any(|option| option == controller);
        (its_kind == kind && controller.is_none_or(has)).then(|| (top.into(), point.into()))
    })
}

fn limit_of(folder: &Path, files: &Files) -> Option<CgroupLimit> {
    let number = |file: &str| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
    let limit_bytes = number(files.limit).filter(|limit| *limit < NO_LIMIT)?;
    let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let cache = stat.lines().find_map(|line| line.strip_prefix(files.cache)?.trim().parse::<u64>().ok());
    let used = number(files.usage).unwrap_or(0).saturating_sub(cache.unwrap_or(0));
    Some(CgroupLimit {
        file: folder.join(files.limit),
        limit_bytes,
        free_bytes: limit_bytes.saturating_sub(used),
    })
}

#[cfg(test)]
mod tests {
    use capbench_testing::Scratch;

    use super::*;

    /// A host with these files.
    fn host(files: &[(&str, &str)]) -> Scratch {
        let host = Scratch::new();
        for (path, text) in files {
            let file = host.file(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        host
    }

    const MOUNTED_2: (&str, &str) =
        ("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n");

    fn tightest(files: &[(&str, &str)]) -> Option<(String, u64, u64)> {
        let host = host(files);
        let found = tightest_below(host.path())?;
        let file = found.file.strip_prefix(host.path()).unwrap().display().to_string();
        Some((file, found.limit_bytes, found.free_bytes))
    }

    #[test]
    fn version_2_is_read_up_to_the_root_and_the_tightest_counts() {
        let own = ("proc/self/cgroup", "0::/a/b\n");
        let group = |limit| ("sys/fs/cgroup/a/b/memory.max", limit);
        let used = ("sys/fs/cgroup/a/b/memory.current", "100\n");
        let cache = ("sys/fs/cgroup/a/b/memory.stat", "anon 60\ninactive_file 40\n");
        let above = ("sys/fs/cgroup/a/memory.max", "500\n");
        let above_used = ("sys/fs/cgroup/a/memory.current", "450\n");
        let b = "sys/fs/cgroup/a/b/memory.max".to_string();
        let a = "sys/fs/cgroup/a/memory.max".to_string();
        assert_eq!(tightest(&[MOUNTED_2, own, group("1000\n"), used, cache]), Some((b, 1000, 940)));
        let nested = [MOUNTED_2, own, group("1000\n"), used, above, above_used];
        assert_eq!(tightest(&nested), Some((a.clone(), 500, 50)));
        assert_eq!(tightest(&[MOUNTED_2, own, group("max\n"), used, above, above_used]), Some((a, 500, 50)));
        assert_eq!(tightest(&[MOUNTED_2, own, group("max\n"), used]), None);
        assert_eq!(tightest(&[MOUNTED_2, own]), None, "files that are not there set no limit");
        assert_eq!(tightest(&[own]), None);
        assert_eq!(tightest(&[]), None);
    }

    #[test]
    fn version_1_is_read_in_the_hierarchy_of_memory() {
        let mounts = (
            "proc/self/mountinfo",
            "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
             35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
             41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
        );
        let own = ("proc/self/cgroup", "4:memory:/jobs/one\n1:cpu:/\n0::/\n");
        let limit = |limit| ("sys/fs/cgroup/memory/jobs/one/memory.limit_in_bytes", limit);
        let used = ("sys/fs/cgroup/memory/jobs/one/memory.usage_in_bytes", "30\n");
        let file = "sys/fs/cgroup/memory/jobs/one/memory.limit_in_bytes".to_string();
        assert_eq!(tightest(&[mounts, own, limit("200\n"), used]), Some((file, 200, 170)));
        assert_eq!(tightest(&[mounts, own, limit("9223372036854771712\n"), used]), None);
    }

    #[test]
    fn a_container_sees_its_part_of_the_hierarchy() {
        let part = ("proc/self/mountinfo", "31 23 0:28 /docker/7 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        let limit = ("sys/fs/cgroup/memory.max", "300\n");
        let file = "sys/fs/cgroup/memory.max".to_string();
        for path in ["0::/docker/7\n", "0::/\n", "0::/../8\n"] {
            let own = ("proc/self/cgroup", path);
            assert_eq!(tightest(&[part, own, limit]), Some((file.clone(), 300, 300)), "{path}");
        }
    }

    #[test]
    fn lines_are_read_in_kib() {
        let text = "MemTotal:        3082012 kB\nMemFree:  100 kB\nMemAvailable:    2500000 kB\n";
        assert_eq!(parse(text, "MemAvailable"), Some(2_500_000 * 1024));
        assert_eq!(parse(text, "MemTotal"), Some(3_082_012 * 1024));
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
