//! Trials that a comparison leaves out, and why.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::sampled::Unusable;
use crate::thresholds::EQUAL_LOADS;

/// Trials that were not compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LeftOut {
    /// The set-up, method or run of these trials.
    #[serde(rename = "of")]
    pub subject: String,
    /// Why.
    pub because: NotCompared,
    /// Number of trials.
    pub trials: u32,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, because, trials } = self;
        write!(f, "of {subject} {trials} left out: {because}")
    }
}

/// Why trials were not compared, in the order of reports. Files have it as text.
#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    thiserror::Error,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(from = "String", into = "String")]
#[schemars(inline)]
pub enum NotCompared {
    /// A bench lowered its common load afterwards.
    #[error("at a common load that was lowered afterwards, because a method lost frames there")]
    LoweredCommonLoad,
    /// The delivered rate is that of the generator.
    #[error(
        "delivered at maximum load: the side that delivered less lost nothing, so it is the generator that sent less"
    )]
    RateOfGenerator,
    /// Trials in a dataset without a figure to compare.
    #[error("invalid, of a search or a sweep, or below their load")]
    WithoutFigure,
    /// Runs of unknown hosts.
    #[error("no host_id: nobody knows which runs are of one host")]
    UnknownHost,
    /// A pair of trials of which one shows nothing, or whose CPUs had different speeds.
    #[error(
        "one trial of the pair is invalid, its generator did not reach its load, or its CPUs ran slower than those of the other"
    )]
    UnequalPair,
    /// Points of a sweep whose parameter is unknown.
    #[error("points of sweeps")]
    UnknownPoint,
    /// Goals that were sustained up to the search's limit, or that the search did not decide.
    #[error("searches whose result is no throughput: at least, or irregular")]
    NoThroughput,
    /// A trial of the search was changed in the file after it was written.
    #[error("searches with a trial whose ledger does not sum up")]
    ChangedSearch,
    /// Searches are compared by their results.
    #[error("steps of searches, confirmations and probes: the results of searches are compared instead")]
    Step,
    /// The common loads of a host differ.
    #[error("the common loads of the host differ by more than {:.0} %", EQUAL_LOADS * 100.0)]
    UnlikeCommonLoadsOfHost,
    /// The generator left frames unsent.
    #[error("the generator did not reach their load")]
    BelowLoad,
    /// The other run has no trial at the speed of the CPUs of this one. CPUs that share a core are slowed for seconds at a time. Which
    /// run meets more of that is chance, which no test within the runs can detect.
    #[error("their CPUs ran at a pace (`pace`) at which the other run has no trial of the set-up")]
    LonePace,
    /// The other run timed the speed of the CPUs in another way: by CPU time, or by the time that passed. A core that is slow by one is not
    /// known to be slow by the other.
    #[error(
        "their CPUs ran slower than their best, which the two runs timed differently (`pace`: by the CPU time of a loop, or by the time that passed)"
    )]
    UnlikePace,
    /// The common loads of two runs differ.
    #[error("their common load differs by more than {:.0} %", EQUAL_LOADS * 100.0)]
    UnlikeCommonLoads,
    /// The trial was changed in the file after it was written. Such a change may affect every other figure as well.
    #[error("their ledger does not sum up: the file was changed after it was written")]
    Changed,
    /// They are invalid.
    #[error("they are invalid")]
    Invalid,
    /// A reason of another version.
    #[error("{0}")]
    Other(String),
}

impl NotCompared {
    /// The reasons of this version, in the order of their texts.
    const ALL: [Self; 16] = [
        Self::LoweredCommonLoad,
        Self::RateOfGenerator,
        Self::WithoutFigure,
        Self::UnknownHost,
        Self::UnequalPair,
        Self::UnknownPoint,
        Self::NoThroughput,
        Self::ChangedSearch,
        Self::Step,
        Self::UnlikeCommonLoadsOfHost,
        Self::BelowLoad,
        Self::LonePace,
        Self::UnlikePace,
        Self::UnlikeCommonLoads,
        Self::Changed,
        Self::Invalid,
    ];
}

impl From<Unusable> for NotCompared {
    fn from(unusable: Unusable) -> Self {
        match unusable {
            Unusable::Invalid => Self::Invalid,
            Unusable::Step => Self::Step,
            Unusable::UnknownPoint => Self::UnknownPoint,
            Unusable::LoadNotSent => Self::BelowLoad,
            Unusable::LoweredLoad => Self::LoweredCommonLoad,
        }
    }
}

impl From<String> for NotCompared {
    fn from(text: String) -> Self {
        let known = Self::ALL.into_iter().find(|known| known.to_string() == text);
        known.unwrap_or(Self::Other(text))
    }
}

impl From<NotCompared> for String {
    fn from(because: NotCompared) -> Self {
        because.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::NotCompared;

    #[test]
    fn files_have_reasons_as_texts_in_their_order() {
        let texts = NotCompared::ALL.map(String::from);
        assert!(texts.is_sorted(), "{texts:?}");
        assert_eq!(texts.map(NotCompared::from), NotCompared::ALL);
        assert_eq!(NotCompared::from("the moon".to_string()), NotCompared::Other("the moon".into()));
    }
}
