//! Received frames of a trial, by kind.

/// Frames that the application read, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Arrivals {
    /// All frames read from the method.
    pub read: u64,
    /// Frames of the trial, intact, counted once each.
    pub delivered: u64,
    /// Repetitions of those.
    pub duplicates: u64,
    /// Frames that came after a later frame of their stream (RFC 4737).
    pub reordered: u64,
    /// Frames that are not of this trial.
    pub foreign: u64,
    /// Frames of the trial cut shorter than the snap length.
    pub truncated: u64,
    /// Damaged frames addressed like those of the trial.
    pub corrupt: u64,
}
