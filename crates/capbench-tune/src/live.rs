//! Reads and writes settings of this host.

use std::io;

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
    /// `None` without the privilege to make one.
    sysfs: Option<SysfsView>,
}

/// Files of a queue that a driver resets when their number changes.
const QUEUE_FILES: [(&str, &[&str]); 2] = [("rx-", &["rps_cpus", "rps_flow_cnt"]), ("tx-", &["xps_cpus"])];

impl Live {
    /// The settings of this interface.
    pub fn new(side: Side) -> Self {
        Self { side, sysfs: SysfsView::of_current_namespace().ok() }
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
            Setting::Cpu { cpu, file } => Some(File::Sysfs(format!("devices/system/cpu/cpu{cpu}/{file}"))),
            Setting::Sysctl(name) => Some(File::Path(format!("/proc/sys/{}", name.replace('.', "/")))),
            Setting::Interrupt(name) => {
                self.interrupt(name).map(|number| File::Path(format!("/proc/irq/{number}/smp_affinity_list")))
            }
            _ => None,
        }
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
    Path(String),
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
        match (self.file(setting), &self.sysfs) {
            (None, _) => Ok(None),
            (Some(File::Sysfs(path)), Some(view)) => match view.read(&path) {
                Ok(text) => Ok(Some(text)),
                Err(error) if is_absence(&error) => Ok(None),
                Err(error) => Err(error.into()),
            },
            // The mounted one may be of another network namespace.
            (Some(File::Sysfs(path)), None) if setting.is_of_interface() => {
                let number = std::fs::read_to_string(format!("/sys/class/net/{}/ifindex", self.side.name()));
                let is_same = number.is_ok_and(|number| number.trim() == self.side.index().to_string());
                if is_same { text_of(&format!("/sys/{path}")) } else { Ok(None) }
            }
            (Some(File::Sysfs(path)), None) => text_of(&format!("/sys/{path}")),
            (Some(File::Path(path)), _) => text_of(&path),
        }
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
        match (self.file(setting), &self.sysfs) {
            (None, _) => Err(refused("it is gone")),
            (Some(File::Sysfs(path)), Some(view)) => Ok(view.write(&path, value)?),
            (Some(File::Sysfs(path)), None) => write_to(&format!("/sys/{path}"), value),
            (Some(File::Path(path)), _) => write_to(&path, value),
        }
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

fn text_of(path: &str) -> Result<Option<String>> {
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

fn write_to(path: &str, value: &str) -> Result<()> {
    std::fs::write(path, value).map_err(|error| HostError::writing(path, error).into())
}
