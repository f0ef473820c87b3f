//! What `otg` and `agent` keep, which open interfaces and files for others while they run.
//!
//! | kept | by | for |
//! |---|---|---|
//! | CAP_NET_RAW, CAP_NET_ADMIN | `otg`, `agent` | packet sockets; links that clients set up and down, interrupt moderation, XDP |
//! | CAP_DAC_OVERRIDE | `otg` with a `--capture-dir` where the user may not write without it | files of captures |
//! | CAP_SYS_ADMIN | `otg` with ports at `netns:` or `ssh:` | entering the namespace of the port, or that of the management network |
//! | CAP_BPF, CAP_PERFMON, CAP_SYSLOG | `agent` | XDP and eBPF methods, the tracer, names of the kernel's functions |
//! | CAP_IPC_LOCK | `agent` | rings of AF_XDP, which count as locked memory |
//!
//! A command of `exec:`, and a program that `--allow program:NAME` starts, may need any privilege: these keep all of them.

use super::*;

/// Folders that programs of time services make sockets in: pmc(8), chronyc(1).
const OF_TIME_SERVICES: [&str; 2] = ["/run/chrony", "/var/run"];

/// Where programs have their input and output.
const NULL: &str = "/dev/null";

/// Keeps what an agent needs for any method that its controller may name, and confines it to reading, to its reports, and to the
/// programs of this host. Nobody reads why it is not confined: its standard error is for what ends it.
pub fn keep_for_agent(reports: Option<&Path>) -> Result<()> {
    const KEPT: [Capability; 6] = [
        Capability::NetRaw,
        Capability::NetAdmin,
        Capability::Bpf,
        Capability::Perfmon,
        Capability::Syslog,
        Capability::IpcLock,
    ];
    // Without privilege there is no view.
    let sysfs = SysfsView::keep_of_current_namespace().ok();
    keep_only(CapabilitySet::of(&KEPT), None)?;
    let of_time_services = OF_TIME_SERVICES.iter().map(PathBuf::from).filter(|folder| folder.is_dir());
    let allowed = Allowed {
        folders: reports.into_iter().map(PathBuf::from).collect(),
        trees: of_time_services.collect(),
        files: vec![NULL.into()],
        programs: vec!["/".into()],
        ..Allowed::default()
    };
    confine(&allowed, sysfs).map(drop)
}

/// Keeps what an OTG server, or the engine of a port, needs for ports at these locations, and confines it to its files: captures, and
/// the folders that it still reads. Otherwise returns why it is not confined.
#[cfg(feature = "otg")]
pub fn keep_for_ports(ports: &[String], captures: &Path, read: Vec<PathBuf>) -> Result<Option<&'static str>> {
    use capbench_agent::location::Location;

    let locations: Vec<Location> = ports.iter().filter_map(|port| port.parse().ok()).collect();
    if locations.iter().any(|location| matches!(location, Location::Exec { .. })) {
        return Ok(Some("commands of --port exec: may need any privilege, and keep all of them"));
    }
    let all_here = locations.iter().all(Location::is_here);
    let kept: &[Capability] = match all_here {
        true => &[Capability::NetRaw, Capability::NetAdmin],
        false => &[Capability::NetRaw, Capability::NetAdmin, Capability::SysAdmin],
    };
    let files = Files { folders: vec![captures.into()], read };
    let sysfs = SysfsView::keep_of_current_namespace().ok();
    keep_only(CapabilitySet::of(kept).or(files.capabilities()?), None)?;
    if !all_here {
        return Ok(Some("it starts engines of ports elsewhere, which open their own files"));
    }
    format_local("%Y".as_ref(), 0)?;
    let allowed = Allowed {
        trees: files.folders,
        read: READ.into_iter().map(PathBuf::from).chain(files.read).collect(),
        ..Allowed::default()
    };
    confine(&allowed, sysfs)
}
