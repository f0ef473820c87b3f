//! The error of this crate. Every message is one line: which file or flag, what is wrong with it, and what to do next.

use std::io;
use std::path::PathBuf;

use capbench_judge::JudgeError;
use capbench_report::ReportError;
use capbench_results::ResultsError;
use parquet::errors::ParquetError;

/// Why runs cannot be exported, or a dataset cannot be read.
#[derive(Debug, thiserror::Error)]
#[rustfmt::skip]
pub enum DatasetError {
    /// A run cannot be read.
    #[error(transparent)]
    Run(#[from] ResultsError),
    /// The values of a column cannot be compared.
    #[error(transparent)]
    Judgement(#[from] JudgeError),
    /// A report cannot be written.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// No run in a folder.
    #[error("{path}: there is no results.json here or in a folder below; name the directory that a run was saved in, or one above", path = .0.display())]
    NoRuns(PathBuf),
    /// A file or folder cannot be read.
    #[error("cannot read {path}: {1}", path = .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    /// A file of the dataset cannot be written.
    #[error("cannot write {path}: {1}", path = .0.display())]
    Unwritable(PathBuf, #[source] io::Error),
    /// A saved run that names itself wrongly.
    #[error("{path}: its run_id \"{1}\" is no UUID: the file was changed after it was written", path = .0.display())]
    RunId(PathBuf, String),
    /// Two runs of one export with the same identifier.
    #[error("{path}: it has the run_id of {other}, which this export already has; export one of the two", path = .0.display(), other = .1.display())]
    SameRun(PathBuf, PathBuf),
    /// A run that another campaign of the dataset has.
    #[error("{path}: the run is already in campaign={1} of the dataset; leave --label campaign out of one of the two exports, or remove the older file {2}", path = .0.display())]
    OtherCampaign(PathBuf, String, PathBuf),
    /// A run that the dataset has of another host.
    #[error("{path}: the dataset has the run of host {1}, not {2}: one of the two is a copy, or was changed; leave it out, or remove the older file {file}", path = .0.display(), file = .3.display())]
    OtherHost(PathBuf, String, String, PathBuf),
    /// A run that the dataset has with other labels.
    #[error("{path}: the dataset has the run with {1}, not with {2}; give the same labels, or remove the older file {file}", path = .0.display(), file = .3.display())]
    OtherLabels(PathBuf, String, String, PathBuf),
    /// A run that the dataset has with other trials.
    #[error("{path}: the dataset has other counts of trial {1} of this run: one of the two was changed; leave it out, or remove the older file {file}", path = .0.display(), file = .2.display())]
    OtherTrials(PathBuf, i64, PathBuf),
    /// A run whose ledgers do not add up.
    #[error("{path}: the ledger of trial {1} does not add up to what it says is unexplained: the file was changed after it was written; export the original", path = .0.display())]
    Changed(PathBuf, u32),
    /// A label that cannot be used.
    #[error("--label {0}: {1}")]
    Label(String, &'static str),
    /// A count that no engine reads.
    #[error("{column} is {count}, which is more than a column of 64 bits with a sign holds: the file was changed after it was written")]
    TooLarge {
        /// The column.
        column: &'static str,
        /// The count.
        count: u64,
    },
    /// Parquet refused to write a table.
    #[error("cannot make a Parquet file of {0}: {1}")]
    Table(&'static str, #[source] ParquetError),
    /// A file that is no Parquet file of capbench.
    #[error("{path}: is no Parquet file that can be read ({1}); remove it, and export its run again", path = .0.display())]
    Parquet(PathBuf, #[source] ParquetError),
    /// A file whose rows take far more memory than the file has octets.
    #[error("{path}: its rows take far more memory than a file of its size may take; it was not written by capbench: remove it, and export its run again", path = .0.display())]
    TooMuch(PathBuf),
    /// A folder without a dataset.
    #[error("{path}: there is no dataset here: it has no file below trials/v=1; name the folder of `capbench export --to`", path = .0.display())]
    NoDataset(PathBuf),
    /// A comparison that cannot be made.
    #[error("{0}")]
    Comparison(String),
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, DatasetError>;

impl DatasetError {
    /// Whether the dataset itself cannot be written, so that no other run can be exported either.
    pub fn is_of_dataset(&self) -> bool {
        matches!(self, Self::Unwritable(..))
    }
}
