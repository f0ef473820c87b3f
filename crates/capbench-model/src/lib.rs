//! What a trial, its account and its results are made of: plain values, without input or output.
//!
//! | module | what |
//! |---|---|
//! | [`method_spec`], [`options`], [`units`], [`direction`], [`filter`], [`mod@mark`], [`fanout`] | how to capture, as a user asks for it |
//! | [`running`], [`counters`] | what a capture turned out to be, and what it counted |
//! | [`placement`], [`moderation`] | which CPUs do what, and how interrupts are held back |
//! | [`ledger`], [`places`], [`traced_losses`], [`arrivals`] | where each frame went |
//! | [`disturbance`] | what the host did that a trial did not ask for |
//! | [`environment`] | the host, as results have it |
//! | [`statistics`], [`figures`], [`csv_text`] | what is chance; numbers in words; tables without formulas |

#![forbid(unsafe_code)]

pub mod arrivals;
pub mod counters;
pub mod csv_text;
pub mod direction;
pub mod disturbance;
pub mod environment;
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
