//! Which capabilities a command keeps after opening everything, and which files it can still open.
//!
//! | kept | by | for |
//! |---|---|---|
//! | CAP_BPF | `af-xdp`, `xdp-count`, `dpdk`; `why` | reading BPF maps: before Linux 5.19 nobody else may, where `kernel.unprivileged_bpf_disabled` is set |
//! | CAP_NET_ADMIN | `dpdk`, `pf-ring`, `libpcap` with a library of the user's | leaving promiscuous mode at the end, which these set as a flag of the interface |
//! | CAP_NET_ADMIN | `why` | filters of sockets, and a veth's peer in another network namespace |
//! | CAP_PERFMON | `why --all` | BPF programs for interfaces that somebody captures on later |
//! | CAP_SYSLOG | `why` while it traces | addresses of the kernel's functions |
//! | CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH | `why` without its BPF program, or where `/proc` hides processes | which sockets processes of others have open |
//! | CAP_DAC_OVERRIDE | `record`; `--textfile` | new files in a folder where the user may not write without it |
//! | CAP_CHOWN | `record` with `--group` of which the user is no member | the group of each new file |
//!
//! `otg` and `agent`, which open interfaces while they run: `listening`.
//!
//! With `-Z` nothing is kept. A capability that the process did not have is never added.

pub mod listening;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use capbench_model::method_spec::MethodSpec;
use capbench_record::recording::Plan;
use capbench_record::writing::WriteOptions;
use capbench_sys::host::capability::{Capability, CapabilitySet};
use capbench_sys::host::clock::realtime_ns;
use capbench_sys::host::confinement::{Allowed, Confinement};
use capbench_sys::host::identity::{self, Identity};
use capbench_sys::host::local_time::format_local;
use capbench_sys::host::{SysfsView, privileges};
use capbench_why::{Sampler, Tracing, Watch};

/// Paths that `record` still reads: counters, free memory, and the time zone.
const READ: [&str; 4] = ["/proc", "/sys", "/etc/localtime", "/usr/share/zoneinfo"];

/// What a command opens besides its work: the folder of --textfile, and those of certificates.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Folders in which it makes files.
    pub folders: Vec<PathBuf>,
    /// Folders from which it reads.
    pub read: Vec<PathBuf>,
}

impl Files {
    /// Capabilities that making the files keeps.
    fn capabilities(&self) -> Result<CapabilitySet> {
        let mut kept = CapabilitySet::EMPTY;
        for folder in &self.folders {
            if !privileges::may_write_without(folder, CapabilitySet::of(&OF_FOLDERS))? {
                kept = CapabilitySet::of(&[Capability::DacOverride]);
            }
        }
        Ok(kept)
    }
}

/// With these a user may write in folders of others.
const OF_FOLDERS: [Capability; 2] = [Capability::DacOverride, Capability::DacReadSearch];

/// Capabilities that an open capture of this method keeps.
fn of_method(method: &MethodSpec) -> CapabilitySet {
    let kept: &[Capability] = match method.name() {
        "af-xdp" | "xdp-count" => &[Capability::Bpf],
        "dpdk" => &[Capability::NetAdmin, Capability::Bpf],
        "pf-ring" => &[Capability::NetAdmin],
        "libpcap" if method.argument().is_some() => &[Capability::NetAdmin],
        _ => &[],
    };
    CapabilitySet::of(kept)
}

/// Capabilities that a recording with open captures keeps.
fn of_recording(plan: &Plan) -> Result<CapabilitySet> {
    let methods = plan.sources.iter().map(|source| of_method(&source.method));
    Ok(methods.fold(of_output(&plan.write)?, CapabilitySet::or))
}

/// Capabilities that writing files keeps.
fn of_output(write: &WriteOptions) -> Result<CapabilitySet> {
    let Some(folder) = Place::of(write).folder else { return Ok(CapabilitySet::EMPTY) };
    let now = i64::try_from(realtime_ns() / 1_000_000_000)?;
    // If a pattern has folders, one may belong to another user. The first one shows it.
    let first = match write.rotation.seconds {
        Some(_) => folder_of(Path::new(&format_local(write.path.as_os_str(), now)?)),
        None => folder.clone(),
    };
    let group = match write.group {
        Some(group) if !identity::is_member(group)? => CapabilitySet::of(&[Capability::Chown]),
        _ => CapabilitySet::EMPTY,
    };
    let without = CapabilitySet::of(&OF_FOLDERS);
    for folder in [folder, first] {
        // A missing folder is reported when the file is opened.
        if folder.exists() && !privileges::may_write_without(&folder, without)? {
            return Ok(group.or(CapabilitySet::of(&[Capability::DacOverride])));
        }
    }
    Ok(group)
}

/// Capabilities that `why` keeps while it watches, and takes windows for metrics. `later` is how it traces further interfaces that
/// it begins to watch later.
fn of_watches(watches: &[Watch], sampler: Option<&Sampler>, later: Option<Tracing>) -> CapabilitySet {
    let any = |of: fn(&Watch) -> bool| watches.iter().any(of);
    let searches = any(Watch::searches_processes) || sampler.is_some_and(Sampler::searches_processes);
    let cases: [(bool, &[Capability]); 5] = [
        (true, &[Capability::NetAdmin]),
        (later.is_some(), &[Capability::Bpf, Capability::Perfmon]),
        (any(Watch::reads_maps) || sampler.is_some_and(Sampler::reads_maps), &[Capability::Bpf]),
        (any(Watch::traces) || later == Some(Tracing::Wanted), &[Capability::Syslog]),
        (searches, &[Capability::SysPtrace, Capability::DacReadSearch]),
    ];
    let kept = cases.into_iter().filter(|(is_used, _)| *is_used);
    kept.fold(CapabilitySet::EMPTY, |all, (_, kept)| all.or(CapabilitySet::of(kept)))
}

/// Drops every other capability in every thread. With `user` (`-Z`) the process becomes that user and keeps none.
fn keep_only(kept: CapabilitySet, user: Option<(&str, Identity)>) -> Result<()> {
    privileges::keep_only(kept, user).with_context(|| match user {
        Some((name, _)) => format!("cannot become {name} (-Z)"),
        None => "cannot give up capabilities that are no longer needed; a seccomp filter has to allow capset"
            .into(),
    })
}

/// Why a command is not confined.
const NO_LANDLOCK: &str = "this kernel has no Landlock (Linux 5.13), or it is not enabled (lsm=)";
const DPDK_OPENS_FILES: &str = "DPDK opens further files while it runs";

/// Keeps the capabilities that `count` needs with this method and confines the process to reading, if the kernel has Landlock.
/// Otherwise returns why the process is not confined.
pub fn keep_for_counting(method: &MethodSpec, files: &Files) -> Result<Option<&'static str>> {
    let sysfs = SysfsView::of_current_namespace().ok();
    keep_only(of_method(method).or(files.capabilities()?), None)?;
    if method.name() == "dpdk" {
        return Ok(Some(DPDK_OPENS_FILES));
    }
    confine(&reading(files), sysfs.as_ref())
}

/// The same for `why`. Not confined is not reported for another user without capabilities, who can write no file of root.
pub fn keep_for_watching(
    watches: &[Watch],
    sampler: Option<&Sampler>,
    later: Option<Tracing>,
    files: &Files,
) -> Result<Option<&'static str>> {
    let sysfs = SysfsView::of_current_namespace().ok();
    keep_only(of_watches(watches, sampler, later).or(files.capabilities()?), None)?;
    let sampler_searches = sampler.is_some_and(Sampler::searches_processes);
    if sampler_searches || watches.iter().any(Watch::searches_processes) {
        // Landlock denies ptrace(2) of other processes, and with it their descriptors in /proc.
        let is_root = identity::effective().uid == 0;
        return Ok(is_root.then_some("it looks in /proc for the processes of sockets, which Landlock denies"));
    }
    confine(&reading(files), sysfs.as_ref())
}

/// Keeps the capabilities that a recording with open captures needs and confines it to its files, if the kernel has Landlock.
/// Otherwise returns why it is not confined.
pub fn keep_and_confine(
    plan: &Plan,
    user: Option<(&str, Identity)>,
    files: &Files,
) -> Result<Option<&'static str>> {
    // Without privilege there is no view; captures have opened theirs.
    let sysfs = SysfsView::of_current_namespace().ok();
    keep_only(of_recording(plan)?.or(files.capabilities()?), user)?;
    if plan.sources.iter().any(|source| source.method.name() == "dpdk") {
        return Ok(Some(DPDK_OPENS_FILES));
    }
    let Place { folder, file } = Place::of(&plan.write);
    // A missing folder is reported when the file is opened.
    let folders = folder.filter(|folder| folder.is_dir()).into_iter();
    let read = READ.into_iter().map(PathBuf::from);
    let allowed = Allowed {
        folders: folders.chain(files.folders.iter().cloned()).collect(),
        files: file.into_iter().collect(),
        read: read.chain(files.read.iter().cloned()).collect(),
        ..Allowed::default()
    };
    // The C library reads the time zone once.
    format_local("%Y".as_ref(), 0)?;
    confine(&allowed, sysfs.as_ref())
}

/// Opening files only for reading, except those in these folders, and starting no program.
fn reading(files: &Files) -> Allowed {
    Allowed { folders: files.folders.clone(), read: vec!["/".into()], ..Allowed::default() }
}

/// Lets the process open only these files from here on. Open files stay usable.
fn confine(allowed: &Allowed, sysfs: Option<&SysfsView>) -> Result<Option<&'static str>> {
    const WHAT: &str = "cannot confine the command to its files (Landlock)";
    let Some(rules) = Confinement::new(allowed, sysfs).context(WHAT)? else { return Ok(Some(NO_LANDLOCK)) };
    rules.put_in_force().context(WHAT)?;
    Ok(None)
}

/// Where a recording's files are.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    /// The folder that holds all of them; `None` for standard output, pipes and devices.
    folder: Option<PathBuf>,
    /// A pipe or device.
    file: Option<PathBuf>,
}

impl Place {
    fn of(write: &WriteOptions) -> Self {
        if write.is_standard_output() {
            return Self { folder: None, file: None };
        }
        if write.rotation.seconds.is_some() {
            return Self { folder: Some(fixed_folder(&write.path)), file: None };
        }
        let is_special = write.path.metadata().is_ok_and(|about| !about.is_file() && !about.is_dir());
        let file = is_special.then(|| write.path.clone());
        Self { folder: (!is_special).then(|| folder_of(&write.path)), file }
    }
}

/// The folder of a file.
fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if folder.as_os_str().is_empty() => ".".into(),
        Some(folder) => folder.into(),
        None => "/".into(),
    }
}

/// The folder of all files of a strftime(3) pattern: the part before its first conversion.
fn fixed_folder(pattern: &Path) -> PathBuf {
    let is_fixed = |part: &std::path::Component<'_>| !part.as_os_str().as_encoded_bytes().contains(&b'%');
    let folder: PathBuf = folder_of(pattern).components().take_while(is_fixed).collect();
    if folder.as_os_str().is_empty() { ".".into() } else { folder }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capbench_record::writing::Rotation;

    #[test]
    fn a_patterns_folder_is_the_one_in_front_of_its_first_conversion() {
        let folders = [
            ("/data/%Y/%m/a.pcapng", "/data"),
            ("/data/x%Y/a.pcapng", "/data"),
            ("/data/%H.pcapng", "/data"),
            ("%Y/%H.pcapng", "."),
            ("a%H.pcapng", "."),
            ("../b/%H", "../b"),
            ("/%H", "/"),
        ];
        for (pattern, folder) in folders {
            assert_eq!(fixed_folder(Path::new(pattern)), Path::new(folder), "{pattern}");
        }
    }

    #[test]
    fn devices_and_the_standard_output_open_no_folder() {
        let place = |path: &str| Place::of(&WriteOptions::new(path));
        assert_eq!(place("-"), Place { folder: None, file: None });
        assert_eq!(place("/dev/null"), Place { folder: None, file: Some("/dev/null".into()) });
        assert_eq!(place("/no/such/file"), Place { folder: Some("/no/such".into()), file: None });
        assert_eq!(place("no-such-file"), Place { folder: Some(".".into()), file: None });
        let rotation = Rotation { seconds: Some(1), ..Rotation::default() };
        let timed = WriteOptions { rotation, ..WriteOptions::new("/dev/%H") };
        assert_eq!(Place::of(&timed), Place { folder: Some("/dev".into()), file: None });
    }

    #[test]
    fn methods_keep_what_the_table_says() {
        let kept = |text: &str| of_method(&text.parse().unwrap());
        assert_eq!(kept("packet-v3"), CapabilitySet::EMPTY);
        assert_eq!(kept("libpcap"), CapabilitySet::EMPTY);
        assert_eq!(kept("libpcap:/opt/libpcap.so"), CapabilitySet::of(&[Capability::NetAdmin]));
        assert_eq!(kept("af-xdp+pass"), CapabilitySet::of(&[Capability::Bpf]));
    }
}
