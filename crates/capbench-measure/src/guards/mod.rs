//! Guards on every trial: they keep one that shows nothing from counting, and say so.
//!
//! [`Guarded`] is a laboratory around another one. Whatever runs trials through it, a bench, a search or a sweep, gets
//! the same guards:
//!
//! | file | guard | what it does |
//! |---|---|---|
//! | `saturation` | after an overload | probes at a low load until the path is clean; a trial on a path that is not shows nothing |
//! | [`capbench_model::disturbance`] | steal, standstills, foreign load, clocks | repeats a disturbed trial, or marks it |
//! | `line_rate` | more than the link carries | such a trial shows nothing, and is repeated |
//! | `livelock` | less delivered of more | marks the trial, with the one that it is set against |
//!
//! A trial whose account contradicts itself (negative loss) is repeated as a disturbed one is. Which attempt stands never
//! depends on what it delivered: it is the first that nothing disturbed, else the last that shows anything. The others
//! and all probes are kept with it, and are no results.

#[cfg(test)]
mod disturbance_tests;
mod guarded;
pub(crate) mod line_rate;
pub mod livelock;
mod saturation;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use crate::trial::{Guarding, Livelock, Recovery, Retried};
pub use capbench_model::disturbance::{CpuDisturbance, Disturbance, Pace, Standstill};
pub use guarded::Guarded;
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
