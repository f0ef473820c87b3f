//! Which CPUs do what, as the user asks. The test bed maps it to the CPUs of this host.

use std::fmt;
use std::str::FromStr;

use capbench_sys::host::affinity::CpuId;

/// A requested placement.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub enum PlacementChoice {
    /// The kernel's receive work and the application share a CPU.
    Same,
    /// They run on different CPUs.
    Other,
    /// The user's own choice.
    Custom {
        /// Where the generator runs.
        generator: CpuId,
        /// Where the kernel does its receive work.
        kernel: CpuId,
        /// Where the application runs.
        application: CpuId,
    },
}

impl FromStr for PlacementChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "same" => Ok(Self::Same),
            "other" => Ok(Self::Other),
            _ => Err(format!(
                "\"{text}\" is no placement; same and other are, or name CPUs with --gen-cpu, --kernel-cpu and --app-cpu"
            )),
        }
    }
}

impl PlacementChoice {
    /// Its name in results, which have the CPUs next to it.
    pub fn name(self) -> PlacementName {
        match self {
            Self::Same => PlacementName::Same,
            Self::Other => PlacementName::Other,
            Self::Custom { .. } => PlacementName::Custom,
        }
    }
}

impl fmt::Display for PlacementChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name().fmt(f)
    }
}

/// The kind of a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlacementName {
    /// The kernel's receive work and the application share a CPU.
    Same,
    /// They run on different CPUs.
    Other,
    /// The user's own choice.
    Custom,
}

impl FromStr for PlacementName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "custom" { Ok(Self::Custom) } else { Ok(text.parse::<PlacementChoice>()?.name()) }
    }
}

impl fmt::Display for PlacementName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Same => "same",
            Self::Other => "other",
            Self::Custom => "custom",
        })
    }
}

/// What each CPU of a trial does.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct CpuTasks {
    /// The generator's CPU, or that of its first thread.
    pub generator: u32,
    /// The CPU of the kernel's receive work, or the first of them.
    pub kernel: u32,
    /// The application's CPU.
    pub application: u32,
    /// The CPUs over which the receive work of several queues is spread; empty if there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<u32>,
    /// The CPUs of the generator's other threads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_generators: Vec<u32>,
    /// The hosts; absent if generator and receiver share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<TaskHosts>,
    /// Whether the kernel receives nothing, because it does not drive the device.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_undriven: bool,
}

/// Generators on other hosts than the receiver.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct TaskHosts {
    /// The generators.
    pub generators: Vec<HostOfGenerator>,
    /// The location of the receiver.
    pub receiver: String,
}

/// Where a generator runs.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct HostOfGenerator {
    /// Its location.
    pub location: String,
    /// Its CPU; absent if the generator decides that itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
}

impl CpuTasks {
    /// Whether one of the generator's other threads shares a CPU with the receiver.
    pub fn more_generators_share(&self) -> bool {
        self.more_generators.iter().any(|cpu| *cpu == self.kernel || *cpu == self.application)
    }
}

/// Why the offered load depends on the receiver.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum LoadDepends {
    /// The generator shares a CPU with the receiver.
    SharedCpus(CpuTasks),
    /// The generator's buffers are smaller than the backlog.
    SmallBuffers,
    /// What a file of an earlier version says.
    Earlier {
        /// The text.
        text: String,
    },
}
