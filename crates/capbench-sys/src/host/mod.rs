//! Threads, processes, CPUs, clocks, file systems, namespaces and interfaces. One file per subject.
//!
//! This module keeps no state, but for the view of `sysfs` that a process may keep. Calls act on the calling thread or its network namespace. A namespace belongs to a thread, not
//! to a process, so a test bed can use several at once.

pub mod affinity;
pub mod capability;
pub mod clock;
#[cfg(feature = "landlock")]
pub mod confinement;
pub mod ethtool;
mod every_thread;
pub mod filesystem;
pub mod folder;
pub mod guardian;
pub mod identity;
pub mod interface;
pub mod local_time;
pub mod memory;
pub mod namespace;
pub mod privileges;
pub(crate) mod proc_file;
pub mod process;
pub mod random;
pub(crate) mod signal_handler;
pub mod sysfs;
pub mod thread;
pub mod trust;
pub mod wait;

pub use affinity::CpuId;
pub use capability::{Capability, CapabilitySet};
pub use folder::Folder;
pub use interface::{InterfaceIndex, LinkLayer};
pub use namespace::NetNamespace;
pub use process::ProcessId;
pub use sysfs::SysfsView;
pub use thread::ThreadId;
pub use trust::Trust;

macro_rules! displayed_as_numbers {
    ($($name:ident)+) => {$(
        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.number(), formatter)
            }
        }
    )+};
}
displayed_as_numbers! { CpuId InterfaceIndex ProcessId ThreadId }
