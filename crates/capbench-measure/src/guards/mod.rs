//! Guards on every trial: they keep one that shows nothing from counting, and say so.
//!
//! [`Guarded`] is a laboratory around another one. Whatever runs trials through it, a bench, a search or a sweep, gets
//! the same guards:
//!
//! | file | guard | what it does |
//! |---|---|---|
//! | `saturation` | after an overload | probes at a low load until the path is clean; a trial on a path that is not shows nothing |
//! | `noise` | steal, standstills, foreign load, clocks | repeats a disturbed trial, or marks it |
//! | `line_rate` | more than the link carries | such a trial shows nothing, and is repeated |
//! | `livelock` | less delivered of more | marks the trial, with the one that it is set against |
//!
//! A trial whose account contradicts itself (negative loss) is repeated as a disturbed one is. Which attempt stands never
//! depends on what it delivered: it is the first that nothing disturbed, else the last that shows anything. The others
//! and all probes are kept with it, and are no results.

pub(crate) mod findings;
mod guarded;
pub(crate) mod line_rate;
pub mod livelock;
mod noise;
#[cfg(test)]
mod noise_tests;
mod saturation;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::trial::TrialResult;

pub use guarded::Guarded;
pub use livelock::Livelock;
pub use noise::{CpuDisturbance, Disturbance, Pace, Standstill};
pub(crate) use saturation::{OVERLOAD, PROBE};

/// How far guards go.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// How often a disturbed trial is repeated at most.
    pub repeats: u32,
    /// Share of the time of all trials so far that repeats of disturbed trials may take; beyond it they are marked only. A
    /// host that is always noisy would otherwise make a run as many times longer, and be as noisy. Trials that show nothing
    /// are repeated all the same: whoever runs them through guards does not.
    pub repeat_share: f64,
    /// Probes after an overload before the path is given up.
    pub probes: u32,
    /// Pause after a probe that was not clean; it doubles with each.
    pub pause: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self { repeats: 2, repeat_share: 0.25, probes: 5, pause: Duration::from_millis(100) }
    }
}

/// What guards did before a trial stood.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Guarding {
    /// Which attempt stands, from 1.
    pub attempt: u32,
    /// Attempts before it, with what disturbed them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<SetAside>,
    /// What came between an overload and this trial; absent where there was no overload before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
}

/// An attempt that does not stand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetAside {
    /// What disturbed it.
    pub because: Vec<String>,
    /// The attempt.
    pub trial: TrialResult,
}

/// What was found at low load after an overload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// Number of the trial that overloaded the path.
    pub after: u32,
    /// Whether the last probe was clean.
    pub recovered: bool,
    /// The probes in order.
    pub probes: Vec<TrialResult>,
}
