//! Trials, accounts, the ledger, the test bed, findings and results of capbench.

#![forbid(unsafe_code)]

pub mod accounts;
pub mod bed;
pub mod environment;
mod error;
pub mod links;

pub use error::{MeasureError, Result};
