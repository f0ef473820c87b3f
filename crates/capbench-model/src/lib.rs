//! What a trial, its account and its results are: plain values, without input or output.

#![forbid(unsafe_code)]

pub mod arrivals;
pub mod csv_text;
pub mod disturbance;
pub mod environment;
pub mod figures;
pub mod ledger;
pub mod moderation;
pub mod placement;
pub mod places;
pub mod statistics;
pub mod traced_losses;
