//! Reports on saved results: a pure function of them. Results become one [`model::Report`], made of sentences, tables and charts;
//! a writer for each format turns that into text and adds nothing.
//!
//! | module | what |
//! |---|---|
//! | [`read`] | the only reader of saved results, whole or not |
//! | [`model`], [`figures`] | what a report says, and how numbers are written |
//! | [`mod@report`] | results become a report |
//! | [`mod@verdict`], [`mod@warnings`] | what the run was for, answered; what to know before it is believed |
//! | [`sections`] | charts |
//! | `tables` | tables of everything that was measured |
//! | [`tidy`] | the rows of files for notebooks |
//! | [`formats`] | writers |
//! | [`printable`] | text of others, without what a terminal acts on |
//! | [`save`] | files of a report |
//! | [`naming`], `groups`, `links` | how set-ups are called, trials that belong together, names of parts |

#![forbid(unsafe_code)]

mod error;
pub mod figures;
pub mod formats;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod groups;
mod links;
pub mod model;
pub mod naming;
pub mod palette;
pub mod printable;
pub mod read;
pub mod report;
pub mod save;
#[cfg(test)]
mod schema_tests;
pub mod sections;
mod tables;
pub mod tidy;
pub mod verdict;
pub mod warnings;

pub use error::{ReportError, Result};
