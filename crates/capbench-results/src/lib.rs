//! The saved results of a run: what they contain, their directory, and their only reader.
//!
//! | module | what |
//! |---|---|
//! | `results` | all data that a run saves |
//! | `run_directory` | the directory that it is saved in |
//! | [`read`] | the only reader of saved results, complete or not |
//! | [`segments`] | the segments of a soak since its results were saved |
//! | [`mod@column`] | a column of a table as data |
//! | [`trial_columns`], [`tidy`] | the columns of a trial; the rows of files for notebooks |
//! | `for_tests` | results that tests begin with; needs the feature `testing` |
//!
//! # To add
//!
//! - a member of results.json: a documented member of the type, with `#[serde(default)]` so that older files are read; then
//!   `CAPBENCH_WRITE_SCHEMA=1 cargo test -p capbench-report schemas_are` and `python/check write-types`.
//! - a column of `trials.csv`: its row in `capbench-results/src/trial_columns.rs`. Of Parquet files: its row in
//!   `capbench-dataset/src/tables/`.

#![forbid(unsafe_code)]

pub mod column;
mod error;
#[cfg(any(test, feature = "testing"))]
pub mod for_tests;
pub mod read;
mod results;
mod run_directory;
pub mod segments;
pub mod tidy;
pub mod trial_columns;

pub use capbench_judge::run::Kind;
pub use error::{Result, ResultsError};
pub use results::{Finding, Results, SCHEMA_VERSION};
pub use run_directory::RunDirectory;
pub use trial_columns::trials_csv;
