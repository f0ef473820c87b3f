//! Experiments of publications, repeated here, next to their published tables.
//!
//! A publication is a file in `publications/`: the trials of its experiment here, its tables, and its claims. The result is a
//! [`Reproduction`](capbench_judge::reproduction::Reproduction), which is saved, so that reports need nothing else. Rules derive findings from the measurements; if the
//! repeats cannot decide, the finding says so.
//!
//! | file | what |
//! |---|---|
//! | [`publication`] | reads the files |
//! | `published` | the published tables, each number with its place in its file |
//! | [`conditions`] | the scale of the published length, and other conditions |
//! | `plan`, [`step`] | steps as defined in a file; the trials, sweeps and searches here, and their cost |
//! | `run` | runs the experiment |
//! | `tables` | tables as defined in a file, and how they are made |
//!
//! # To add
//!
//! - a publication: its file in `capbench-reproduce/src/publications/`, its tables in `published/`, a line of each in
//!   `publication.rs` and `published.rs`.
//! - a claim: in the publication's file; a new kind is a variant of `Rule` in `capbench-judge/src/reproduction/claim.rs`,
//!   which a file of `claim/` judges.

#![forbid(unsafe_code)]

pub mod conditions;
mod plan;
pub mod publication;
mod published;
mod run;
pub mod step;
mod tables;
#[cfg(test)]
mod tests;

pub use conditions::{Conditions, Scale};
pub use publication::{PUBLICATIONS, Publication, find};
