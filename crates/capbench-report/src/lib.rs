//! Reports on saved results, as a pure function of them. Results become one [`model::Report`] of sentences, tables and charts;
//! a writer per format converts it and adds nothing.
//!
//! | module | what |
//! |---|---|
//! | [`model`], [`figures`] | the contents of a report, and the format of numbers |
//! | [`mod@report`] | builds a report from results |
//! | [`mod@compare`] | the document of two compared runs |
//! | [`sentences`] | the answer to the run's question, and all other findings |
//! | `sections`, `tables` | charts; tables of every measurement |
//! | [`formats`] | writers; charts are drawn by `capbench-chart` |
//! | [`printable`] | escapes control characters in foreign text |
//! | [`save`] | files of a report |
//! | `naming`, `groups`, `links` | names of set-ups, groups of trials, names of sections |
//!
//! # To add
//!
//! - a sentence: its fact in `capbench-judge/src/finding/`, its words in the kind's file of `capbench-report/src/sentences/`.
//! - a table: a file in `tables/` with its `Fields`, and its row in `FAMILIES`.
//! - a chart: a file in `sections/`, which chooses its axes, and its line in `sections()`; `capbench-chart/src/svg` is the
//!   only place that draws.
//! - a format of reports: a file in `formats/` and its row in `FORMATS`.

#![forbid(unsafe_code)]

pub mod compare;
mod error;
pub mod figures;
pub mod formats;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod groups;
mod links;
pub mod model;
mod naming;
pub mod printable;
pub mod report;
pub mod save;
#[cfg(test)]
mod schema_tests;
mod sections;
pub mod sentences;
mod tables;

pub use naming::{command_line, planned_load_words, recommendation};

pub use error::{ReportError, Result};
