//! A single segment of a soak.

use serde::{Deserialize, Serialize};

use capbench_model::trial::TrialResult;

/// A completed segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Its number, from 1.
    pub number: u64,
    /// When it began, seconds since the epoch.
    pub began_unix_s: f64,
    /// Resident memory of the process at its end, in bytes; absent if the system does not report it.
    pub resident_bytes: Option<u64>,
    /// What was measured.
    pub trial: TrialResult,
}
