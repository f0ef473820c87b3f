//! Arguments of the EAL: defaults per kind of device, and the user's arguments (EAL parameters, Linux guide 22.11).

use std::fmt;

use crate::host::{CpuId, identity};
use crate::{Result, SysError};

/// The function of DPDK that takes the arguments.
pub(super) const START: &str = "rte_eal_init";

/// Memory in MiB for the buffers of virtual devices. The kernel allocates a page at its first use.
const VIRTUAL_MEMORY: &str = "256";

/// Arguments that say which memory the buffers get.
const OF_MEMORY: [&str; 7] = [
    "-m",
    "--socket-mem",
    "--no-huge",
    "--huge-dir",
    "--in-memory",
    "--legacy-mem",
    "--single-file-segments",
];

/// An address that no device has: an allow list of it keeps the EAL from taking every device that is bound to a driver
/// of user space. Devices that are plugged in later need not be on the list.
const NO_DEVICE: &str = "ffff:ff:1f.7";

/// Checked arguments of the EAL.
#[derive(Clone, Debug)]
pub struct EalArguments {
    is_virtual: bool,
    wanted: Vec<String>,
    all: Vec<String>,
}

impl EalArguments {
    /// Whether an EAL that runs with `running` suits what needs these. The CPU of the first thread does not count: that thread
    /// ends soon. With huge pages and the PCI bus, virtual devices run, too.
    pub(super) fn are_met_by(&self, running: &Self) -> bool {
        (self.wanted.is_empty() || self.wanted == running.wanted) && (self.is_virtual || !running.is_virtual)
    }

    /// The defaults of a kind of device, followed by the user's arguments. Virtual devices need no PCI bus and no huge pages;
    /// PCI devices need both. A default is omitted if the user's arguments set the
    /// same thing: memory, lcores, PCI devices.
    ///
    /// # Errors
    /// An argument on which the EAL would end the process, or with a NUL; any argument in a program with file privileges.
    pub fn new(is_virtual: bool, wanted: &[String], cpu: CpuId) -> Result<Self> {
        if !wanted.is_empty() && identity::is_elevated() {
            // Some of them name files with code: -d, --vdev.
            let reason = "this program's file grants privileges (setcap, set-user-id); run it with sudo";
            return Err(SysError::argument(START, reason));
        }
        for argument in wanted {
            if ends_the_process(argument) {
                return Err(SysError::argument(START, format!("{argument} would end the program")));
            }
        }
        let speaks_of =
            |names: &[&str]| wanted.iter().any(|wanted| names.iter().any(|name| is(wanted, name)));
        let mut all: Vec<String> = Vec::new();
        let mut add = |words: &[&str]| all.extend(words.iter().map(ToString::to_string));
        if !speaks_of(&["-l", "-c", "--lcores"]) {
            // The EAL starts a thread for each lcore but the first. Lcores are numbered to 127; CPUs may go further.
            add(&[&format!("--lcores=0@{cpu}")]);
        }
        // No files in /run for other processes, no threads that serve them.
        add(&["--no-shconf", "--no-telemetry"]);
        let memory = speaks_of(&OF_MEMORY);
        let devices = speaks_of(&["-a", "--allow", "-b", "--block", "--no-pci", "--vdev"]);
        if is_virtual && !memory {
            add(&["--no-huge", "-m", VIRTUAL_MEMORY]);
        }
        match is_virtual {
            _ if devices => {}
            true => add(&["--no-pci"]),
            false => add(&["-a", NO_DEVICE]),
        }
        all.extend_from_slice(wanted);
        Ok(Self { is_virtual, wanted: wanted.to_vec(), all })
    }

    pub(super) fn words(&self) -> &[String] {
        &self.all
    }
}

impl fmt::Display for EalArguments {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.all.join(" "))
    }
}

/// Whether an argument is the option `name`, with its value attached or not.
fn is(argument: &str, name: &str) -> bool {
    if name.starts_with("--") {
        argument == name || argument.strip_prefix(name).is_some_and(|rest| rest.starts_with('='))
    } else {
        argument.starts_with(name) && !argument.starts_with("--")
    }
}

/// Whether the EAL would print something and call exit(3): help, in each way that getopt_long(3) accepts, and the list
/// of log levels.
fn ends_the_process(argument: &str) -> bool {
    let is_help = |name: &str| name.len() >= 2 && "help".starts_with(name);
    match argument.strip_prefix("--") {
        Some(long) => {
            let (name, value) = long.split_once('=').unwrap_or((long, ""));
            is_help(name) || (name.starts_with("log") && value == "help") || argument == "--"
        }
        None => {
            argument.strip_prefix('-').is_some_and(|short| short.trim_start_matches('v').starts_with('h'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(is_virtual: bool, wanted: &[&str]) -> Result<String> {
        let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
        EalArguments::new(is_virtual, &wanted, CpuId::new(1)).map(|arguments| arguments.to_string())
    }

    #[test]
    fn virtual_devices_need_no_huge_pages_and_no_bus() {
        assert_eq!(
            arguments(true, &[]).unwrap(),
            "--lcores=0@1 --no-shconf --no-telemetry --no-huge -m 256 --no-pci"
        );
        assert_eq!(arguments(false, &[]).unwrap(), "--lcores=0@1 --no-shconf --no-telemetry -a ffff:ff:1f.7");
    }

    #[test]
    fn a_start_for_pci_devices_serves_virtual_ones() {
        let of = |is_virtual, wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
            EalArguments::new(is_virtual, &wanted, CpuId::new(1)).unwrap()
        };
        let (on_pci, over_interface, chosen) = (of(false, &[]), of(true, &[]), of(true, &["-m", "64"]));
        assert!(over_interface.are_met_by(&on_pci) && over_interface.are_met_by(&chosen));
        assert!(!on_pci.are_met_by(&over_interface) && !chosen.are_met_by(&over_interface));
        assert!(chosen.are_met_by(&chosen));
    }

    #[test]
    fn user_settings_replace_defaults() {
        assert_eq!(
            arguments(true, &["-m512", "--lcores=3", "-a", "0000:03:00.0"]).unwrap(),
            "--no-shconf --no-telemetry -m512 --lcores=3 -a 0000:03:00.0"
        );
        assert_eq!(
            arguments(true, &["--log-level=8"]).unwrap(),
            "--lcores=0@1 --no-shconf --no-telemetry --no-huge -m 256 --no-pci --log-level=8"
        );
    }

    #[test]
    fn arguments_that_would_end_the_process_are_refused() {
        for argument in ["-h", "--help", "--hel", "--he", "-vh", "--log-level=help", "--"] {
            assert!(arguments(true, &[argument]).is_err(), "{argument}");
        }
        for argument in ["--huge-dir=/mnt", "-v", "--log-level=lib.eal:8", "-l", "0-1"] {
            assert!(arguments(true, &[argument]).is_ok(), "{argument}");
        }
    }
}
