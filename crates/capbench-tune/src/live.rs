//! Reads and writes settings of this host.

use std::io;
use std::path::{Path, PathBuf};

use capbench_host::HostError;
use capbench_host::bed::Side;
use capbench_host::environment::interface::of_side;
use capbench_model::environment::interface::{InterfaceFacts, Role};
use capbench_sys::SysError;
use capbench_sys::host::SysfsView;
use capbench_sys::host::ethtool::Group;

use crate::changes::Settings;
use crate::setting::{OffloadName, Setting, is_even, numbers, value_of};
use crate::{Result, TuneError};

/// The settings of an interface of the calling thread's network namespace, and of its host.
#[derive(Debug)]
pub struct Live {
    side: Side,
    host: Host,
}

/// The settings of the host alone. Those of an interface are absent.
#[derive(Debug)]
pub struct Host {
    /// `None` without the privilege to make one.
    sysfs: Option<SysfsView>,
    /// Has `proc` and, for a process without a view, `sys`.
    root: PathBuf,
}

impl Default for Host {
    fn default() -> Self {
        Self { sysfs: SysfsView::of_current_namespace().ok(), root: "/".into() }
    }
}

impl Host {
    /// The text of a file; `None` if it is absent. A file below sysfs is read by the view, if there is one.
    fn read_file(&self, file: File) -> Result<Option<String>> {
        match (file, &self.sysfs) {
            (File::Sysfs(path), Some(view)) => match view.read(&path) {
                Ok(text) => Ok(Some(text)),
                Err(error) if is_absence(&error) => Ok(None),
                Err(error) => Err(error.into()),
            },
            (File::Sysfs(path), None) => text_of(&self.root.join("sys").join(path)),
            (File::Procfs(path), _) => text_of(&self.root.join(path)),
        }
    }

    fn write_file(&self, file: File, value: &str) -> Result<()> {
        match (file, &self.sysfs) {
            (File::Sysfs(path), Some(view)) => Ok(view.write(&path, value)?),
            (File::Sysfs(path), None) => write_to(&self.root.join("sys").join(path), value),
            (File::Procfs(path), _) => write_to(&self.root.join(path), value),
        }
    }
}

/// The file of a setting of the host.
fn file_of_host(setting: &Setting) -> Option<File> {
    match setting {
        Setting::Cpu { cpu, file } => Some(File::Sysfs(format!("devices/system/cpu/cpu{cpu}/{file}"))),
        Setting::Sysctl(name) => Some(File::Procfs(format!("proc/sys/{}", name.replace('.', "/")))),
        _ => None,
    }
}

impl Settings for Host {
    fn read(&self, setting: &Setting) -> Result<Option<String>> {
        file_of_host(setting).map_or(Ok(None), |file| self.read_file(file))
    }

    fn write(&self, setting: &Setting, value: &str) -> Result<()> {
        match file_of_host(setting) {
            Some(file) => self.write_file(file, value),
            None => Err(TuneError::Gone { setting: setting.to_string() }),
        }
    }

    fn inventory(&self) -> Result<Vec<Setting>> {
        Ok(Vec::new())
    }
}

/// Files of a queue that a driver resets when their number changes.
const QUEUE_FILES: [(&str, &[&str]); 2] = [("rx-", &["rps_cpus", "rps_flow_cnt"]), ("tx-", &["xps_cpus"])];

impl Live {
    /// The settings of this interface.
    pub fn new(side: Side) -> Self {
        Self { side, host: Host::default() }
    }

    /// The interface.
    pub fn side(&self) -> &Side {
        &self.side
    }

    /// The facts about the interface now.
    pub fn facts(&self) -> InterfaceFacts {
        of_side(Role::Receive, &self.side).facts
    }

    /// The number of the interrupt with this name; `None` if none or several of the interface have it.
    fn interrupt(&self, name: &str) -> Option<u32> {
        let facts = self.facts();
        let mut all = facts.interrupts.iter().flatten().filter(|one| one.name.as_deref() == Some(name));
        let number = all.next()?.number;
        all.next().is_none().then_some(number)
    }

    /// The file of a setting that is one: in sysfs, or by its path in procfs.
    fn file(&self, setting: &Setting) -> Option<File> {
        let interface = self.side.name();
        match setting {
            Setting::Queue(file) => Some(File::Sysfs(format!("class/net/{interface}/queues/{file}"))),
            Setting::Cpu { .. } | Setting::Sysctl(_) => file_of_host(setting),
            Setting::Interrupt(name) => self
                .interrupt(name)
                .map(|number| File::Procfs(format!("proc/irq/{number}/smp_affinity_list"))),
            _ => None,
        }
    }

    /// Whether the mounted sysfs shows this interface. It may be of another network namespace, with another interface of this name.
    fn is_mounted(&self) -> Result<bool> {
        let file = self.host.root.join(format!("sys/class/net/{}/ifindex", self.side.name()));
        Ok(text_of(&file)? == Some(self.side.index().to_string()))
    }

    fn write_sharing(&self, value: &[u32]) -> Result<()> {
        let interface = self.side.name();
        if let [_, entries, _, rest @ ..] = value
            && let table = &rest[..rest.len().min(*entries as usize)]
            && is_even(table, table.iter().max().map_or(0, |last| last + 1))
        {
            // A table that nobody chose does not forbid to lower the number of queues.
            Group::default_table(interface)?.make()?;
            if Group::Sharing.read(interface)?.as_deref() == Some(value) {
                return Ok(());
            }
        }
        Ok(Group::Sharing.change(interface, value)?.make()?)
    }
}

/// A file of the kernel.
enum File {
    /// Below the root of sysfs.
    Sysfs(String),
    /// Below the root.
    Procfs(String),
}

/// Errors of a setting that is not there: the file or the interface is missing, or the kernel refuses to read it.
fn is_absence(error: &SysError) -> bool {
    const ABSENT: [i32; 6] = [
        libc_errno::ENOENT,
        libc_errno::ENODEV,
        libc_errno::EOPNOTSUPP,
        libc_errno::EINVAL,
        libc_errno::EIO,
        libc_errno::ENXIO,
    ];
    error.errno().is_some_and(|errno| ABSENT.contains(&errno))
}

// errno(3), the same on every Linux architecture that capbench runs on.
mod libc_errno {
    pub const ENOENT: i32 = 2;
    pub const EIO: i32 = 5;
    pub const ENXIO: i32 = 6;
    pub const ENODEV: i32 = 19;
    pub const EINVAL: i32 = 22;
    pub const EOPNOTSUPP: i32 = 95;
}

impl Settings for Live {
    fn read(&self, setting: &Setting) -> Result<Option<String>> {
        if let Some(group) = setting.group() {
            return match group.read(self.side.name()) {
                Ok(numbers) => Ok(numbers.as_deref().map(value_of)),
                Err(error) if is_absence(&error) => Ok(None),
                Err(error) => Err(error.into()),
            };
        }
        let Some(file) = self.file(setting) else { return Ok(None) };
        let is_hidden =
            self.host.sysfs.is_none() && matches!(setting, Setting::Queue(_)) && !self.is_mounted()?;
        if is_hidden { Ok(None) } else { self.host.read_file(file) }
    }

    fn write(&self, setting: &Setting, value: &str) -> Result<()> {
        let refused = |reason: &str| {
            TuneError::Host(HostError::Interface {
                interface: self.side.name().into(),
                reason: format!("cannot set {setting} to {value:?}: {reason}"),
            })
        };
        if let Some(group) = setting.group() {
            let numbers = numbers(value).ok_or_else(|| refused("these are no numbers"))?;
            return match group {
                Group::Sharing => self.write_sharing(&numbers),
                _ => Ok(group.change(self.side.name(), &numbers)?.make()?),
            };
        }
        self.file(setting)
            .map_or_else(|| Err(refused("it is gone")), |file| self.host.write_file(file, value))
    }

    fn inventory(&self) -> Result<Vec<Setting>> {
        let facts = self.facts();
        let mut all = vec![Setting::Channels, Setting::Rings, Setting::Moderation, Setting::Sharing];
        all.extend(OffloadName::ALL.map(Setting::Offload));
        let queues = [
            facts.receive_queues.iter().flatten().map(|queue| queue.queue).collect::<Vec<_>>(),
            facts.transmit_queues.iter().flatten().map(|queue| queue.queue).collect(),
        ];
        for ((kind, files), queues) in QUEUE_FILES.iter().zip(queues) {
            let named =
                queues.iter().flat_map(|queue| files.iter().map(move |file| format!("{kind}{queue}/{file}")));
            all.extend(named.map(Setting::Queue));
        }
        let names = facts.interrupts.iter().flatten().filter_map(|interrupt| interrupt.name.clone());
        all.extend(names.map(Setting::Interrupt));
        Ok(all)
    }
}

fn text_of(path: &Path) -> Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim_end().to_owned())),
        Err(error) if error.raw_os_error().is_some_and(|errno| is_absent(errno, &error)) => Ok(None),
        Err(error) => Err(HostError::reading(path, error).into()),
    }
}

fn is_absent(errno: i32, error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || [libc_errno::EIO, libc_errno::EINVAL, libc_errno::ENXIO].contains(&errno)
}

fn write_to(path: &Path, value: &str) -> Result<()> {
    std::fs::write(path, value).map_err(|error| HostError::writing(path, error).into())
}

#[cfg(test)]
mod tests {
    use capbench_testing::Scratch;

    use super::*;
    use crate::changes::{Outcome, apply, restore};
    use crate::facts::GOVERNOR;
    use crate::items::{ItemName, Wishes, judge};
    use crate::state::Identity;
    use crate::state_folder::Folder;
    use crate::{Check, Facts};

    const IDLE: &str = "sys/devices/system/cpu/cpu1/cpuidle/state1/disable";

    /// The loopback interface, with these files in place of the host's.
    fn host(scratch: &Scratch, files: &[(&str, &str)]) -> Live {
        for (path, text) in files {
            let file = scratch.file(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let host = Host { sysfs: None, root: scratch.path().into() };
        Live { side: Side::named("lo").unwrap(), host }
    }

    fn two_cpus(scratch: &Scratch) -> Live {
        host(
            scratch,
            &[
                ("proc/sys/net/core/rmem_max", "212992\n"),
                ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
                ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n"),
                (IDLE, "0\n"),
            ],
        )
    }

    /// The facts that `items` would find with these files.
    fn facts(live: &Live) -> Facts {
        use capbench_model::environment::hardware::{Cpu, Idle, IdleState};
        use capbench_model::environment::topology::Topology;
        let state = |name: &str, latency| IdleState {
            name: name.into(),
            exit_latency_us: Some(latency),
            disabled: Some(false),
        };
        let idle = Idle { driver: None, governor: None, states: vec![state("POLL", 0), state("C6", 133)] };
        let mut facts = Facts {
            interface: "lo".into(),
            cpu: Some(Cpu { idle: Some(idle), ..Cpu::default() }),
            topology: Topology::new(vec![0, 1], None, None),
            ..Facts::default()
        };
        let file = |cpu, file: &str| Setting::Cpu { cpu, file: file.into() };
        for setting in [
            Setting::Sysctl("net.core.rmem_max".into()),
            file(0, GOVERNOR),
            file(1, GOVERNOR),
            file(0, "cpuidle/state1/disable"),
            file(1, "cpuidle/state1/disable"),
        ] {
            if let Some(value) = live.read(&setting).unwrap() {
                facts.settings.insert(setting, value);
            }
        }
        facts
    }

    #[test]
    fn settings_of_a_tree_of_files_are_judged_changed_and_restored() {
        let scratch = Scratch::new();
        let live = two_cpus(&scratch);
        let only = [ItemName::Buffers, ItemName::Governor, ItemName::Idle];
        let wishes = Wishes { only: only.to_vec(), ..Wishes::default() };
        let plan = |live: &Live| {
            let facts = facts(live);
            Ok(judge(&facts, &wishes).into_iter().flat_map(|finding| finding.judgement.proposals).collect())
        };
        assert_eq!(
            Check::plan(&facts(&live), &judge(&facts(&live), &wishes)),
            "sysctl -w net.core.rmem_max=67108864\necho performance > \
             /sys/devices/system/cpu/cpu1/cpufreq/scaling_governor\necho 1 > \
             /sys/devices/system/cpu/cpu1/cpuidle/state1/disable\n"
        );
        let read = |path: &str| std::fs::read_to_string(scratch.file(path)).unwrap().trim().to_owned();
        let mut folder = Folder::open(&scratch.file("state"), true).unwrap().unwrap();
        let identity = || (Identity::of(live.side()), "boot".to_owned());
        let mut outcomes = Vec::new();
        apply(&live, &mut folder, None, identity(), false, plan, |_, outcome| outcomes.push(outcome.clone()))
            .unwrap();
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Changed { .. })), "{outcomes:?}");
        assert_eq!((outcomes.len(), read(IDLE).as_str()), (3, "1"));
        let state = folder.load("lo").unwrap().unwrap();
        assert!(restore(&live, &mut folder, state, "boot", false, |_, _| {}).unwrap());
        assert_eq!((read(IDLE).as_str(), read("proc/sys/net/core/rmem_max").as_str()), ("0", "212992"));
        assert_eq!(read("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"), "powersave");
    }

    #[test]
    fn a_file_that_is_missing_is_absent_and_a_sysfs_of_another_namespace_is_not_read() {
        let scratch = Scratch::new();
        let live = host(
            &scratch,
            &[("sys/class/net/lo/ifindex", "77\n"), ("sys/class/net/lo/queues/rx-0/rps_cpus", "1\n")],
        );
        let steering = Setting::Queue("rx-0/rps_cpus".into());
        assert_eq!(live.read(&steering).unwrap(), None);
        std::fs::write(scratch.file("sys/class/net/lo/ifindex"), live.side().index().to_string()).unwrap();
        assert_eq!(live.read(&steering).unwrap().as_deref(), Some("1"));
        for setting in [
            Setting::Sysctl("net.core.rmem_max".into()),
            Setting::Interrupt("eth0-rx-0".into()),
            Setting::Channels,
            Setting::Cpu { cpu: 0, file: GOVERNOR.into() },
        ] {
            assert_eq!(live.read(&setting).unwrap(), None, "{setting}");
        }
        let error = live.write(&Setting::Interrupt("eth0-rx-0".into()), "1").unwrap_err().to_string();
        assert!(error.contains("it is gone") && error.contains("eth0-rx-0"), "{error}");
    }
}
