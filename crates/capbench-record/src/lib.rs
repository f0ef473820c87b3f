//! Captured frames to files, and files back: what `capbench record` adds to capturing.
//!
//! | file | what |
//! |---|---|
//! | [`worker_pool`] | passes batches to worker threads through bounded queues |
//! | `own_places` | where packets are booked that a recording loses itself |
//! | [`merge`] | merges several captures into one stream in time order |
//! | [`mod@file`] | encodes and decodes the formats of capture files |
//! | [`writing`] | writes encoded records to files |
//! | [`convert`] | converts capture files from one format to another |
//! | [`replay`] | reads the frames of a capture file that are to be sent again |
//! | [`recording`] | runs all of these in threads: several interfaces to files, with an account of every packet |
//!
//! # To add
//!
//! - a flag of `record`: in `capbench/src/recording/flags.rs`; `plan.rs` there puts it into the `Plan` of capbench-record.
//!   Flags of several commands are in `capbench/src/flags.rs`.
//! - a reason to end a recording: a variant of `End` in `capbench-record/src/recording/session.rs`, chosen in `finish`
//!   there. `has_ended` in `file_recorder.rs` ends it after frames, `watch` in `capbench/src/recording/record.rs` after a
//!   time; its words are in `document.rs` of capbench-record, its exit code in `exit.rs`.
//! - a format of capture files: a variant of `FileFormat` in `capbench-record/src/file/mod.rs`, a file there as `pcap.rs`
//!   is, its reader in `file/reading/`. It is chosen in `recording/file_recorder.rs` and `convert.rs`. `recording/flags.rs`
//!   and `commands/convert.rs` of `capbench/src` list the names for `--format`.
#![forbid(unsafe_code)]

pub mod convert;
pub mod error;
pub mod file;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod merge;
mod own_places;
pub mod recording;
pub mod replay;
pub mod worker_pool;
pub mod writing;

pub use error::RecordError;
