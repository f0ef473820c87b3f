//! Reports on saved results: a pure function of them. Results become one [`model::Report`], made of sentences, tables and charts;
//! a writer for each format turns that into text and adds nothing.
//!
//! | module | what |
//! |---|---|
//! | [`read`] | the only reader of saved results, whole or not |
//! | [`model`], [`figures`] | what a report says, and how numbers are written |
//! | [`mod@report`] | results become a report |
//! | [`mod@warnings`] | what to know before a run is believed |
//! | [`sentences`] | what the run was for, answered, and all that follows from its results |
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
pub mod sentences;
mod tables;
pub mod tidy;
pub mod warnings;

pub use error::{ReportError, Result};
