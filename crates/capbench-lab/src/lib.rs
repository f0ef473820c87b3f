//! Trials on a real path: a generator at one end, a capture or another program at the other.
//!
//! | module | what |
//! |---|---|
//! | [`live`] | the path: prepares it, runs both sides of a trial, and reads the counters around it |
//! | [`receiver`] | the application of a trial: verifies every frame and does the work per frame |
//! | [`latency`] | records the delay of frames |
//! | [`work`] | does the work per frame |
//! | [`subject`], [`programs`] | what is under test: a capture method, or another program |
//! | [`mod@mark`] | the mark by which methods that count in the kernel recognise a trial's frames |
//! | [`counting`] | counts the frames of a capture outside of trials |
//! | [`recorded`] | checks capture files for the frames of trials |
//! | `for_tests` | shared parts of tests of trials; needs the feature `testing` |
//!
//! # To add
//!
//! - a capture program (`cmd:NAME`): its row in `capbench-lab/src/programs/presets.toml`, and what it prints in the tests of
//!   `programs/report.rs`.

#![forbid(unsafe_code)]

pub mod counting;
mod error;
#[cfg(any(test, feature = "testing"))]
pub mod for_tests;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod latency;
pub mod live;
pub mod mark;
pub mod programs;
pub mod receiver;
pub mod recorded;
pub mod subject;
pub mod work;

pub use error::{LabError, Result};
