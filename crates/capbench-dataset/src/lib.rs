//! Runs of many hosts in one dataset: Parquet files in Hive partitions, which DuckDB, Spark, DataFusion, ClickHouse and Polars
//! read as they are.
//!
//! ```text
//! DATASET/{trials,ledger,searches,rankings,hosts}/v=1/campaign=NAME/date=YYYY-MM-DD/RUN_ID.parquet
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`tables`] | the five tables, as columns: name, type, value, and where it comes from |
//! | [`writer`], [`reader`] | Parquet: the only writer and the only reader |
//! | [`run_id`] | what identifies a run |
//! | [`export`], `replaced` | writes runs into a dataset; a file gets its name when it is complete; which file of a dataset may be replaced |
//! | [`layout`] | where the files are |
//! | [`figures`] | reads the compared figures of the trials in a dataset |
//! | `compared_trials` | which trials comparisons of a dataset use |
//! | [`compare`] | compares two values of a column of a dataset |
//! | [`page`] | the report over a dataset: trends over dates, and regressions |
//! | [`tidy`] | `tidy.parquet`, a format of reports |
//!
//! # To add
//!
//! - a column of a dataset: at the end of its table in `capbench-dataset/src/tables/`; then `CAPBENCH_WRITE_SCHEMA=1 cargo
//!   test -p capbench-dataset the_documentation` writes it into docs/dataset.md.
//! - a table: a file there and its row in `TABLES`.

#![forbid(unsafe_code)]

pub mod compare;
mod compared_trials;
mod error;
pub mod export;
pub mod figures;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod layout;
pub mod page;
pub mod reader;
mod replaced;
pub mod run_id;
pub mod tables;
pub mod tidy;
pub mod writer;

pub use error::{DatasetError, Result};
