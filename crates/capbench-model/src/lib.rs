//! What a trial, its account and its results are: plain values, without input or output.

#![forbid(unsafe_code)]

pub mod arrivals;
pub mod counters;
pub mod csv_text;
pub mod direction;
pub mod disturbance;
pub mod fanout;
pub mod figures;
pub mod filter;
pub mod ledger;
pub mod mark;
pub mod method_spec;
pub mod moderation;
pub mod options;
pub mod placement;
pub mod places;
pub mod running;
pub mod statistics;
pub mod traced_losses;
pub mod units;
