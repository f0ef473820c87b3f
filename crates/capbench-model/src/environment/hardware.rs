//! The machine, its processors, their caches and the memory.

use serde::{Deserialize, Serialize};

/// The machine as its firmware describes it. Serial numbers are not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Machine {
    /// What it runs in, `kvm` or `xen` for example; absent where nothing says that it runs in anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    /// The container that this process is in, `docker` for example; absent where nothing says that it is in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Who made it (`sys_vendor` of DMI).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Its model: `product_name` of DMI, or of the device tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// The model of its mainboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<String>,
    /// Version of its firmware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Date of its firmware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware_date: Option<String>,
}

/// The processors of the host. Absent is what cannot be found out, and what an architecture does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cpu {
    /// Who made them, as `/proc/cpuinfo` says: `GenuineIntel`, `AuthenticAMD`, on Arm a number (`0x41`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Family on x86, architecture on Arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Number of the model on x86, of the part on Arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Stepping on x86, revision on Arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stepping: Option<String>,
    /// Version of the microcode (x86).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microcode: Option<String>,
    /// Sockets with CPUs that are online.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sockets: Option<u32>,
    /// Cores with CPUs that are online, in all sockets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    /// Whether more than one thread of a core is in use (simultaneous multithreading).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smt_in_use: Option<bool>,
    /// What is set about that: `on`, `off`, `forceoff`, `notsupported`, `notimplemented`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smt_control: Option<String>,
    /// CPUs that the scheduler leaves alone (`isolcpus=`), as a list such as `2-7`; empty where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolated_cpus: Option<String>,
    /// CPUs whose tick stops while one thread runs (`nohz_full=`), likewise; absent where the kernel cannot do that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tickless_cpus: Option<String>,
    /// CPU time in microseconds that the process gets in each second at most, where a control group limits it
    /// (`cpu.max`, as containers have it); absent without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_us_per_s: Option<u64>,
    /// The slowest CPU's frequency at the moment of reading, in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_mhz_now: Option<u32>,
    /// The fastest CPU's, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_mhz_now: Option<u32>,
    /// How frequencies are chosen; absent where the host does not choose them, as in most virtual machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<Frequency>,
    /// How idle CPUs sleep; absent where the host does not choose that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
}

/// How the frequencies of CPUs are chosen (Documentation/admin-guide/pm/cpufreq.rst).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Frequency {
    /// Drivers in use, one unless CPUs differ.
    pub drivers: Vec<String>,
    /// Governors in use.
    pub governors: Vec<String>,
    /// Hints that CPUs which choose by themselves are given (`energy_performance_preference`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub energy_preferences: Vec<String>,
    /// Lowest frequency that a CPU may be set to, in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_mhz: Option<u32>,
    /// Highest frequency that a CPU may be set to, in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_mhz: Option<u32>,
    /// Whether CPUs may run faster than that for a while (turbo, boost).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turbo: Option<bool>,
}

/// How idle CPUs sleep (Documentation/admin-guide/pm/cpuidle.rst).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Idle {
    /// Driver in use: `intel_idle`, `acpi_idle`, `haltpoll`; `none` where CPUs are only halted.
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
    /// Whether it is not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
}

/// Caches of one kind that are alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cache {
    /// 1 is nearest to the CPU.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Size of each in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Bytes of a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_bytes: Option<u64>,
    /// Lines that an address can be in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ways: Option<u64>,
    /// How many of them the host has.
    pub count: u32,
    /// CPUs that share one, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_by_cpus: Option<u32>,
}

/// The memory of the host, beside how much it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Memory {
    /// Bytes that could be allocated without swapping, when the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_bytes: Option<u64>,
    /// Swap space in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swap_bytes: Option<u64>,
    /// Pools of huge pages; empty where the kernel has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge_pages: Option<Vec<HugePages>>,
    /// Who gets transparent huge pages: `always`, `madvise`, `never`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transparent_huge_pages: Option<String>,
    /// Who waits until there are some: `always`, `defer`, `defer+madvise`, `madvise`, `never`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transparent_huge_pages_defrag: Option<String>,
    /// Nodes of a host whose memory is nearer to some CPUs than to others (NUMA); one on others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_nodes: Option<Vec<NumaNode>>,
}

/// A pool of huge pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HugePages {
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pages that are set aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<u64>,
    /// Those of them that nobody used when the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_pages: Option<u64>,
}

/// A node of memory with its CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NumaNode {
    /// The kernel's number.
    pub node: u32,
    /// Its CPUs as a list such as `0-15,32-47`; empty where it has memory only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// How far it is to the memory of each node, in order, 10 being its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distances: Option<Vec<u32>>,
}
