//! The values that describe a trial, its loss ledger and its results. No input or output.
//!
//! | module | what |
//! |---|---|
//! | [`method_spec`], [`options`], [`units`], [`direction`], [`filter`], [`mod@mark`], [`fanout`], [`members`] | how to capture, as a user asks for it |
//! | [`running`], [`counters`], [`generator`] | how an open capture runs, and its counters; how a generator ran |
//! | [`placement`], [`moderation`], [`softirqs`] | which CPUs do what, how interrupts are delayed, which trials time softirqs |
//! | [`ledger`], [`places`], [`sources`], [`traced_losses`], [`arrivals`] | where each frame went, and where its count comes from |
//! | [`completeness`] | what a recording lacks, and which counts must be known for it to be complete |
//! | [`disturbance`], [`disturbers`], [`noise`] | disturbances of a trial by the host, and the processes behind them; reasons for care with its numbers |
//! | [`mod@thresholds`] | the numbers that decide what a trial is worth, with unit, reason and source |
//! | [`laboratory`], [`trial`] | the interfaces: a path with its set-ups, and one load for one duration |
//! | [`reasons`] | why a trial shows less than it should |
//! | [`not_measured`], [`statement`] | set-ups that could not be measured; what a run states about itself |
//! | [`work`], [`traffic`] | the application's work per frame, and the frames |
//! | [`saved`] | the parts of a set-up as files have them |
//! | [`evidence`] | books the ledger from counters |
//! | [`clocks`] | what two hosts' clocks allow to be known |
//! | [`loss_pattern`], [`latency`] | when frames were lost, and how many in a row; the delay of frames |
//! | `for_tests` | values that tests begin with; needs the feature `testing` |
//! | [`environment`] | the host, as recorded in results |
//! | [`bounded_json`] | JSON of others, read within a budget of memory |
//! | [`figures`], [`csv_text`] | numbers as text; CSV without formulas |
//!
//! # To add
//!
//! - a place of the ledger: its variant, its key and its entry in `ALL` in `places.rs`, its words and counters in
//!   `capbench-report/src/sentences/places.rs` (and so in docs/ledger.md), its field in `Evidence`, filled by `capbench-lab/src/live/join.rs`, its entry in `book` with its source in `sources.rs`, its colour in
//!   `capbench-chart/src/palette.rs`, its cases in `capbench-lab/tests/all/places.rs`.
//! - a reason for care with a trial: its variant in `noise.rs`, its words in `capbench-report/src/sentences/noise.rs`, its cause
//!   in `capbench-judge/src/finding/noise.rs`.
//! - a fact about the host: a member of `capbench-model/src/environment/`, its reader in `capbench-host/src/environment/`,
//!   its words in docs/results.md; in `differences.rs` of capbench-model only where two runs on one host may differ by it.

#![forbid(unsafe_code)]

// Schemas are half of what the compiler would read here, and tests of other crates are those that need them.
#[cfg(test)]
extern crate capbench_no_schema as schemars;

pub mod arrivals;
pub mod bounded_json;
pub mod clocks;
pub mod completeness;
pub mod counters;
pub mod csv_text;
pub mod direction;
pub mod disturbance;
pub mod disturbers;
pub mod environment;
pub mod error;
pub mod evidence;
pub mod fanout;
pub mod figures;
pub mod filter;
#[cfg(any(test, feature = "testing"))]
pub mod for_tests;
pub mod generator;
pub mod laboratory;
pub mod latency;
pub mod ledger;
pub mod loss_pattern;
pub mod mark;
pub mod members;
pub mod method_spec;
pub mod moderation;
pub mod noise;
pub mod not_measured;
pub mod options;
pub mod placement;
pub mod places;
pub mod reasons;
pub mod requirement;
pub mod running;
pub mod saved;
pub mod softirqs;
pub mod sources;
pub mod statement;
pub mod thresholds;
pub mod traced_losses;
pub mod traffic;
pub mod trial;
pub mod units;
pub mod work;

pub use error::{ParseError, Result, TrialError};
