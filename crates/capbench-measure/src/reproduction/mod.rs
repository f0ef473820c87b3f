//! Experiments of publications, run again here, beside their published tables.
//!
//! A publication is data and two functions: which trials its experiment is here, and what its tables and claims become of
//! them. What comes out is a [`Reproduction`], which is saved, so that reports need nothing else. Findings follow from
//! what was measured by rules; where repeats do not tell, that is what they say.
//!
//! | file | what |
//! |---|---|
//! | [`publication`] | what there is to know of one, and the table of them |
//! | [`published`] | their tables as data, each number with its place in its file |
//! | [`conditions`], [`step`] | how much of the published length; trials, sweeps and searches, and what they take |
//! | `run`, [`material`] | doing it; what was measured, ready for comparison |
//! | `judging` | answers: the trials that they rest on, what withdraws them, and how often chance gives them |
//! | [`outcome`], `tables` | what is saved: cells published and measured, claims and answers; how tables are made |
//! | `dain_2004`, `deri_2004`, `cesnet_2008`, `loke_2011`, `libtrace_2012` | the publications |

mod cesnet_2008;
pub mod conditions;
mod dain_2004;
mod deri_2004;
mod judging;
mod libtrace_2012;
mod loke_2011;
pub mod material;
pub mod outcome;
pub mod publication;
pub mod published;
mod run;
pub mod step;
mod tables;
#[cfg(test)]
mod tests;

pub use conditions::{Conditions, Scale};
pub use outcome::Reproduction;
pub use publication::{PUBLICATIONS, Publication, find};
pub use run::Observer;
