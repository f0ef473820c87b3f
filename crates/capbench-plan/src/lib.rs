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
