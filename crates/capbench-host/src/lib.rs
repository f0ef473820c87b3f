//! The host of a measurement: its test bed, its links and CPUs, their counters, and facts about it.

#![forbid(unsafe_code)]

pub mod accounts;
pub mod bed;
pub mod drivers;
pub mod environment;
mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod host_id;
pub mod largest_frame;
pub mod links;
pub mod time_service;
pub mod tracer;
pub mod xdp;

pub use error::{HostError, Result};
