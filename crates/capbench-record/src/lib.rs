//! Captured frames to files, and files back: what `capbench record` needs beyond capturing.
//!
//! | file | what |
//! |---|---|
//! | [`hand_off`] | owned batches for worker threads, by bounded queues |
//! | [`merge`] | several captures as one stream in time order |
//! | [`mod@file`] | frames encoded as capture files have them, and read back |
//! | [`writing`] | encoded records to files |
//! | [`convert`] | capture files of one format into files of another |
//! | [`recording`] | all of these in threads: captures of several interfaces to files, with an account |
#![forbid(unsafe_code)]

pub mod convert;
pub mod error;
pub mod file;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod hand_off;
pub mod merge;
pub mod recording;
pub mod writing;

pub use error::RecordError;
