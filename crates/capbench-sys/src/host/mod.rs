//! Threads, processes, CPUs, clocks, file systems, namespaces and interfaces. One file per thing.
//!
//! Nothing here keeps state. Calls act on the calling thread or on the network namespace that it is in; both are
//! properties of a thread, not of a process, so that a test bed can use several namespaces at once.

pub mod affinity;
pub mod capability;
pub mod cgroup_memory;
pub mod clock;
#[cfg(feature = "landlock")]
pub mod confinement;
pub mod elevation;
pub mod ethtool;
mod every_thread;
pub mod filesystem;
pub mod folder;
pub mod identity;
pub mod interface;
pub mod local_time;
pub mod memory;
pub mod namespace;
pub mod privileges;
mod proc_file;
pub mod process;
pub mod sysfs;
pub mod thread;
pub mod trust;
pub mod writable;

pub use affinity::CpuId;
pub use capability::{Capability, CapabilitySet};
pub use folder::Folder;
pub use interface::InterfaceIndex;
pub use namespace::NetNamespace;
pub use process::ProcessId;
pub use sysfs::SysfsView;
pub use thread::ThreadId;
pub use trust::Trust;
