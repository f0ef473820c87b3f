//! A recording inside a cgroup with a memory limit: what does not fit is refused with the limit's name, not killed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Place, Scratch, capbench, privileges, program, run};
use capbench_testing::skip::{self, HostLimit};

/// A cgroup with a limit, removed when it is dropped.
struct Group(PathBuf);

impl Group {
    /// Below the test's own cgroup of version 1, or of version 2 where that hands on the controller of memory.
    fn new(limit_bytes: u64) -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap();
        let path_of = |wanted: &str| {
            own.lines().find_map(|line| line.split_once(':')?.1.strip_prefix(wanted)?.strip_prefix(":/"))
        };
        let roots = [
            ("memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            ("", "/sys/fs/cgroup", "memory.max"),
        ];
        roots.into_iter().find_map(|(controller, root, file)| {
            let folder = Path::new(root).join(path_of(controller)?);
            let folder = folder.join(format!("capbench-test-{}", std::process::id()));
            fs::create_dir(&folder).ok()?;
            let group = Self(folder);
            fs::write(group.0.join(file), limit_bytes.to_string()).ok()?;
            Some(group)
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn root_buffers_larger_than_the_cgroup_allows_are_refused_and_its_limit_is_named() {
    let Some(()) = privileges() else { return };
    let Some(group) = Group::new(200 << 20) else {
        return skip::cannot_have(HostLimit::Kernel, "no cgroup with a memory limit can be made");
    };
    let folder = Scratch::new();
    let place = Place::with_pair();
    let limited = |arguments: &str| {
        let mut shell = program("sh");
        let procs = group.0.join("cgroup.procs");
        shell.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(procs).arg(capbench("").get_program());
        run(&place, shell.args(arguments.split(' ')).current_dir(folder.path()))
    };
    let record = "record -i right -w out.pcapng --duration 100ms";
    let ended = limited(&format!("{record} --write-buffer 1GiB"));
    assert_eq!((ended.code, ended.signal), (Some(2), None), "{ended:#?}");
    for part in ["--write-buffer", "1GiB", "200 MiB", "cgroup", "memory.", "ask for less"] {
        assert!(ended.errors.contains(part), "{part}: {ended:#?}");
    }
    limited(&format!("{record} --write-buffer 16MiB")).success();
    // The kernel charges the ring of a packet socket to no cgroup.
    limited("count -i right --method packet-v3 --ring 256MiB --duration 100ms").success();
}
