//! The limits of members (processes or threads that share the frames of an interface) as files have them: names without figures. The
//! modules are for serde's `with`.

use serde::{Deserialize, Serialize};

use super::Limit;

/// The name of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitName {
    /// Nothing: they read the whole load.
    Load,
    /// The generator: they read all that it sends.
    Generator,
    /// The kernel's receive work, which one CPU does.
    Kernel,
    /// The sharing of the frames: one member gets too large a part.
    Sharing,
    /// Several members share a CPU.
    SharedCpus,
    /// A part of the work that one member does at a time: a lock, the memory's bandwidth.
    Contention,
    /// Work that members cause each other: more of them read less.
    Coherence,
    /// All members, or something that busy members share.
    Members,
    /// The figures of the trials do not decide it.
    Unknown,
}

impl From<Limit> for LimitName {
    fn from(limit: Limit) -> Self {
        match limit {
            Limit::Load => Self::Load,
            Limit::Generator => Self::Generator,
            // Files had this name before limits of methods and members were one type.
            Limit::Backlog => Self::Kernel,
            Limit::Sharing => Self::Sharing,
            Limit::SharedCpus => Self::SharedCpus,
            Limit::Contention => Self::Contention,
            Limit::Coherence => Self::Coherence,
            Limit::Members => Self::Members,
            // No judgement of members has those behind the first.
            Limit::Unknown
            | Limit::Noise
            | Limit::Nic
            | Limit::Ring
            | Limit::RingOrApplication
            | Limit::Application
            | Limit::Elsewhere { .. } => Self::Unknown,
        }
    }
}

impl From<LimitName> for Limit {
    fn from(name: LimitName) -> Self {
        match name {
            LimitName::Load => Self::Load,
            LimitName::Generator => Self::Generator,
            LimitName::Kernel => Self::Backlog,
            LimitName::Sharing => Self::Sharing,
            LimitName::SharedCpus => Self::SharedCpus,
            LimitName::Contention => Self::Contention,
            LimitName::Coherence => Self::Coherence,
            LimitName::Members => Self::Members,
            LimitName::Unknown => Self::Unknown,
        }
    }
}

/// One limit.
pub(crate) mod one {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Limit, LimitName};

    pub(crate) fn serialize<S: Serializer>(limit: &Limit, serializer: S) -> Result<S::Ok, S::Error> {
        LimitName::from(*limit).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Limit, D::Error> {
        LimitName::deserialize(deserializer).map(Limit::from)
    }
}

/// A limit that can be absent, in findings, which are written and never read.
pub(crate) mod optional {
    use serde::{Serialize, Serializer};

    use super::{Limit, LimitName};

    pub(crate) fn serialize<S: Serializer>(limit: &Option<Limit>, serializer: S) -> Result<S::Ok, S::Error> {
        limit.map(LimitName::from).serialize(serializer)
    }
}

/// A list of limits.
pub(crate) mod list {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{Limit, LimitName};

    pub(crate) fn serialize<S: Serializer>(limits: &[Limit], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(limits.iter().copied().map(LimitName::from))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Limit>, D::Error> {
        let names = Vec::<LimitName>::deserialize(deserializer)?;
        Ok(names.into_iter().map(Limit::from).collect())
    }
}
