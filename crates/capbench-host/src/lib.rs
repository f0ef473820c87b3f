//! The host of a measurement: its test bed, its links and CPUs, their counters, and facts about it.
//!
//! # To add
//!
//! - a counter: a reader in `capbench-host/src/accounts/` or `links/`, its field in the half of its side in
//!   `capbench-lab/src/live/halves.rs`, filled by `transmit_side.rs` or `receive_side.rs`, used in `join.rs`. Agents send
//!   the halves: write their schema anew, as for a call.
//! - a network driver: its rows in `capbench-host/src/drivers/table/`, each with its source, and an example in
//!   `drivers/losses/tests.rs`.

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
