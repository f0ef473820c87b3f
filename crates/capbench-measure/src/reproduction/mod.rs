//! Experiments of publications, run again here, beside their published tables.
//!
//! A publication is a file in `publications/`: which trials its experiment is here, which tables it has, and which claims.
//! What comes out is a [`Reproduction`], which is saved, so that reports need nothing else. Findings follow from what was
//! measured by rules; where repeats do not tell, that is what they say.
//!
//! | file | what |
//! |---|---|
//! | [`publication`] | reading the files, and what there is to know of a publication |
//! | [`published`] | the published tables as data, each number with its place in its file |
//! | [`conditions`] | how much of the published length |
//! | `plan`, [`step`] | steps as a file has them; trials, sweeps and searches that they are here, and what they take |
//! | `run` | doing it |
//! | `measured`, `figure` | what was measured, ready for comparison |
//! | `claim`, `compare`, `onset`, `regimes` | claims as a file has them, and their rules |
//! | `words` | their texts, filled in |
//! | `judging` | answers: the trials that they rest on, what withdraws them, and how often chance gives them |
//! | `tables` | tables as a file has them, and how they are made |
//! | [`outcome`] | what is saved: cells published and measured, claims and answers |

mod claim;
mod compare;
pub mod conditions;
mod figure;
mod judging;
mod measured;
mod onset;
pub mod outcome;
mod plan;
pub mod publication;
pub mod published;
mod regimes;
mod run;
pub mod step;
mod tables;
#[cfg(test)]
mod tests;
mod words;

pub use conditions::{Conditions, Scale};
pub use measured::LeftOut;
pub use outcome::Reproduction;
pub use publication::{PUBLICATIONS, Publication, find};
pub use run::Observer;
