//! What measurements mean, as pure functions of trials: no input or output, no clock, no chance.
//!
//! | module | what |
//! |---|---|
//! | [`run`] | the facts of a saved run that judgement needs |
//! | [`command_line`] | the parts of its command line that judgement needs |
//! | [`finding`] | what a run shows, as facts; capbench-report has their words |
//! | [`sustained`] | whether a load is sustained |
//! | [`search`] | the result of a search |
//! | [`limit`] | what limited a method, or its members |
//! | [`livelock`] | which trials show receive livelock |
//! | `disturbed` | whether the host disturbed so many trials that they are no evidence |
//! | [`recommendation`] | which method to use, by the trials and searches of a bench |
//! | [`durations`] | how long trials and searches take when they are run again |
//! | [`conclusive`] | whether a run answers its question |
//! | [`cpu_time`] | who spent the CPU time, and which trials compare methods by it |
//! | [`comparison`] | whether two runs, or methods that took turns, differ |
//! | [`sweep`] | readings over a varied parameter: contrasts, effects, cost regimes, scaling |
//! | [`rfc2544`], [`bursts`] | outcomes of the tests of RFC 2544, and of searches for the longest burst |
//! | [`reproduction`] | published tables next to measured ones, and the answers to claims |
//! | [`soak`] | the record of a soak |
//! | [`thresholds`] | every number that decides, with unit, reason and source |
//!
//! # To add
//!
//! - a figure that is compared: a variant of `Measure` in `capbench-judge/src/comparison/measure.rs` with its words, unit
//!   and which way is better.

#![forbid(unsafe_code)]

// Schemas are half of what the compiler would read here, and tests of other crates are those that need them.
#[cfg(test)]
extern crate capbench_no_schema as schemars;

pub mod bursts;
pub mod command_line;
pub mod comparison;
pub mod conclusive;
pub mod cpu_time;
mod disturbed;
pub mod durations;
mod error;
pub mod finding;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod limit;
pub mod livelock;
mod ratio;
pub mod recommendation;
pub mod reproduction;
pub mod rfc2544;
pub mod run;
pub mod search;
pub mod soak;
pub mod sustained;
pub mod sweep;
pub mod thresholds;

pub use error::{JudgeError, Result};
