//! What arrived of the frames of a trial.

/// Frames that the application read, by what they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Frames of any kind taken from the method.
    pub read: u64,
    /// Frames of the trial, intact, counted once each.
    pub delivered: u64,
    /// Repetitions of those.
    pub duplicates: u64,
    /// Those that came after a later frame of their stream (RFC 4737).
    pub reordered: u64,
    /// Frames that are not of this trial.
    pub foreign: u64,
    /// Frames of the trial cut short against the snap length.
    pub truncated: u64,
    /// Damaged frames addressed like those of the trial.
    pub corrupt: u64,
}
