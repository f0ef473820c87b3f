//! Plans of measurements: which trials run, and in which order. What they mean is in `capbench-judge`. No network, no privilege.
//!
//! A plan gets a [`capbench_model::laboratory::Laboratory`] and knows no other property of the path. [`simulated`] computes one,
//! so that every plan is tested exactly and fast.
//!
//! | module | what |
//! |---|---|
//! | [`mod@bench`], [`search`], [`sweep`], [`rfc2544`], [`soak`] | one kind of run each |
//! | [`Observer`] | follows a run, and can stop it |
//! | [`session`] | runs trials one after the other |
//! | [`guards`] | detects bad trials: probes, repeats, marks |
//! | [`bursts`] | searches for the longest burst without loss |
//! | [`cost`] | estimates the time and traffic of trials before they run |
//! | [`simulated`] | a computed path |
//! | `for_tests` | shared parts of tests of runs; needs the feature `testing` |
//!
//! # To add
//!
//! - a guard: a file in `capbench-plan/src/guards/`; what it decides from one trial goes into `Memory::judged`, what it
//!   decides from several is a pure function of trials as `livelock.rs` of capbench-judge is.
//! - a disturbance, which repeats a trial without a new guard: a counter as capbench-host says, its figure in `Disturbance`, filled by
//!   `live/join/disturbance.rs`; its limit and words in `Disturbance::reasons_for_rates`.
//! - a sweep axis: a file in `capbench-plan/src/sweep/axis/` that implements `Setting`, and its lines in `axes!` of `mod.rs`
//!   there and of `capbench-judge/src/sweep/axis.rs`, whose facts the command, plans and reports ask; its words and
//!   the unit of its points in `sentences/axes.rs` of capbench-report; its points in `axes()` of
//!   `capbench-report/tests/reports/results_schema.rs`.
//! - a search goal with a name: its row in `capbench-judge/src/search/preset.rs`.
//! - a strategy: a type that implements `Strategist`, a variant of `Strategy`, its line in `search/plan.rs` of
//!   capbench-plan.

#![forbid(unsafe_code)]

pub mod bench;
pub mod bursts;
pub mod cost;
mod error;
#[cfg(any(test, feature = "testing"))]
pub mod for_tests;
pub mod guards;
mod observer;
pub mod order;
pub mod rehearsal;
pub mod rfc2544;
pub mod search;
pub mod session;
pub mod simulated;
pub mod soak;
pub mod sweep;

pub use error::{PlanError, Result};
pub use observer::Observer;
