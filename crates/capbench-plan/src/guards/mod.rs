//! Guards on every trial: they discard invalid trials or mark them.
//!
//! [`Guarded`] is a laboratory that wraps another one. Benches, searches and sweeps that run trials through it get the same
//! guards:
//!
//! | file | guard | action |
//! |---|---|---|
//! | `saturation` | after an overload | probes at a low load until the path is clean; a trial on an unclean path is invalid |
//! | [`capbench_model::disturbance`] | steal, stalls, foreign load, clocks | repeats a disturbed trial, or marks it |
//! | `line_rate` | a rate above the link's | the trial is invalid and is repeated |
//! | [`capbench_judge::livelock`] | less delivered at a higher load | marks the trial and names the better one |
//!
//! A trial whose account contradicts itself (negative loss) is repeated like a disturbed one. The accepted attempt never depends
//! on the delivered rate: it is the first undisturbed one, else the last valid one. The other attempts and all probes are stored
//! with it, and are not results.

mod guarded;
pub(crate) mod line_rate;
mod saturation;
#[cfg(test)]
mod tests;

use capbench_judge::thresholds::{DISTURBED_TRIAL_REPEATS, PROBE_PAUSE, PROBES, REPEATS_TIME_SHARE};

use std::time::Duration;

pub use capbench_model::disturbance::{CoreSpeed, CpuDisturbance, Disturbance, Stall};
pub use capbench_model::trial::{Guarding, Livelock, Recovery, Retried};
pub use guarded::Guarded;
pub(crate) use saturation::is_overload;

/// Limits of the guards.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Largest number of repeats of a disturbed trial.
    pub repeats: u32,
    /// Share of the time of all trials so far for repeats of disturbed trials, which are only marked beyond it: on a noisy host
    /// repeats are as noisy. Invalid trials are always repeated, because callers do not repeat them.
    pub repeat_share: f64,
    /// Number of probes after an overload before the path is given up.
    pub probes: u32,
    /// Pause after a probe that was not clean; each further pause is twice as long.
    pub pause: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            repeats: DISTURBED_TRIAL_REPEATS,
            repeat_share: REPEATS_TIME_SHARE,
            probes: PROBES,
            pause: PROBE_PAUSE,
        }
    }
}
