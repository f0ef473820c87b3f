//! Captured frames to files, and files back: what `capbench record` adds to capturing.
//!
//! | file | what |
//! |---|---|
//! | [`worker_pool`] | passes batches to worker threads through bounded queues |
//! | [`merge`] | merges several captures into one stream in time order |
//! | [`mod@file`] | encodes and decodes the formats of capture files |
//! | [`writing`] | writes encoded records to files |
//! | [`convert`] | converts capture files from one format to another |
//! | [`replay`] | reads the frames of a capture file that are to be sent again |
//! | [`recording`] | runs all of these in threads: several interfaces to files, with an account of every packet |
#![forbid(unsafe_code)]

pub mod convert;
pub mod error;
pub mod file;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod merge;
pub mod recording;
pub mod replay;
pub mod worker_pool;
pub mod writing;

pub use error::RecordError;
