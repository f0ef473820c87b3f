//! The machine, its processors, their caches and the memory.

use serde::{Deserialize, Serialize};

facts! {
    /// The machine as its firmware describes it. Serial numbers are not kept.
    pub struct Machine {
        /// The hypervisor, for example `kvm` or `xen`. Absent if none was detected.
        pub hypervisor: Option<String>,
        /// The container of this process, for example `docker`. Absent if none was detected.
        pub container: Option<String>,
        /// Its vendor (`sys_vendor` of DMI).
        pub vendor: Option<String>,
        /// Its model: `product_name` of DMI, or of the device tree.
        pub product: Option<String>,
        /// The model of its mainboard.
        pub board: Option<String>,
        /// Version of its firmware.
        pub firmware: Option<String>,
        /// Date of its firmware.
        pub firmware_date: Option<String>,
    }
}

facts! {
    /// The processors of the host. Absent values are unknown, or do not exist on the architecture.
    pub struct Cpu {
        /// Their vendor, as in `/proc/cpuinfo`: `GenuineIntel`, `AuthenticAMD`, on Arm a number (`0x41`).
        pub vendor: Option<String>,
        /// Family on x86, architecture on Arm.
        pub family: Option<String>,
        /// Model number on x86, part number on Arm.
        pub model: Option<String>,
        /// Stepping on x86, revision on Arm.
        pub stepping: Option<String>,
        /// Version of the microcode (x86).
        pub microcode: Option<String>,
        /// Sockets with online CPUs.
        pub sockets: Option<u32>,
        /// Cores with online CPUs, in all sockets.
        pub cores: Option<u32>,
        /// Whether more than one thread of a core is in use (simultaneous multithreading).
        pub smt_in_use: Option<bool>,
        /// CPUs that are threads of one core, a list such as `2,18` for each core with several. Empty if each core has one.
        pub core_threads: Option<Vec<String>>,
        /// The SMT setting: `on`, `off`, `forceoff`, `notsupported`, `notimplemented`.
        pub smt_control: Option<String>,
        /// CPUs excluded from the scheduler (`isolcpus=`), as a list such as `2-7`. Empty if there are none.
        pub isolated_cpus: Option<String>,
        /// CPUs whose tick stops while one thread runs (`nohz_full=`), as a list. Absent if the kernel does not support it.
        pub tickless_cpus: Option<String>,
        /// Limit of the process's CPU time, in microseconds per second, set by a control group (`cpu.max`, as in containers).
        /// Absent without a limit.
        pub quota_us_per_s: Option<u64>,
        /// Current frequency of the slowest CPU, in MHz.
        pub least_mhz_now: Option<u32>,
        /// Current frequency of the fastest CPU, in MHz.
        pub most_mhz_now: Option<u32>,
        /// How frequencies are chosen. Absent if the host does not control them, as in most virtual machines.
        pub frequency: Option<Frequency>,
        /// How idle CPUs sleep. Absent if the host does not control it.
        pub idle: Option<Idle>,
    }
}

/// How the frequencies of CPUs are chosen (Documentation/admin-guide/pm/cpufreq.rst).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Frequency {
    /// Drivers in use, one unless CPUs differ.
    pub drivers: Vec<String>,
    /// Governors in use.
    pub governors: Vec<String>,
    /// Hints to CPUs that choose their frequency themselves (`energy_performance_preference`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub energy_preferences: Vec<String>,
    /// Lowest frequency that can be set, in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_mhz: Option<u32>,
    /// Highest frequency that can be set, in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_mhz: Option<u32>,
    /// Whether CPUs may exceed that frequency for a while (turbo, boost).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turbo: Option<bool>,
}

/// How idle CPUs sleep (Documentation/admin-guide/pm/cpuidle.rst).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Idle {
    /// Driver in use: `intel_idle`, `acpi_idle`, `haltpoll`; `none` if CPUs are only halted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Governor in use: `menu`, `teo`, `haltpoll`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// States of the first CPU, lightest sleep first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<IdleState>,
}

/// A state in which an idle CPU sleeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct IdleState {
    /// Its name: `POLL`, `C1`, `C6`.
    pub name: String,
    /// Microseconds until the CPU runs again after an interrupt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_latency_us: Option<u64>,
    /// Whether the state is disabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
}

/// Identical caches of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cache {
    /// 1 is nearest to the CPU.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Size of each cache in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Cache line size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_bytes: Option<u64>,
    /// Associativity: lines in which an address can be cached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ways: Option<u64>,
    /// Number of these caches in the host.
    pub count: u32,
    /// Largest number of CPUs that share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_by_cpus: Option<u32>,
}

facts! {
    /// The memory of the host, except its total size.
    pub struct Memory {
        /// Bytes that could be allocated without swapping at the start of the run.
        pub available_bytes: Option<u64>,
        /// Swap space in bytes.
        pub swap_bytes: Option<u64>,
        /// Pools of huge pages. Empty if the kernel has none.
        pub huge_pages: Option<Vec<HugePages>>,
        /// Which memory gets transparent huge pages: `always`, `madvise`, `never`.
        pub transparent_huge_pages: Option<String>,
        /// Which allocations wait for a huge page: `always`, `defer`, `defer+madvise`, `madvise`, `never`.
        pub transparent_huge_pages_defrag: Option<String>,
        /// NUMA nodes: memory that is nearer to some CPUs than to others. One node on hosts without NUMA.
        pub numa_nodes: Option<Vec<NumaNode>>,
    }
}

/// A pool of huge pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HugePages {
    /// Page size in bytes.
    pub page_bytes: u64,
    /// Reserved pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<u64>,
    /// Pages that were free at the start of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_pages: Option<u64>,
}

/// A NUMA node with its CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NumaNode {
    /// The kernel's number.
    pub node: u32,
    /// Its CPUs as a list such as `0-15,32-47`. Empty if it has only memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// Distances to the memory of each node, in order. 10 is the distance to itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distances: Option<Vec<u32>>,
}
