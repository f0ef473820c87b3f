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
