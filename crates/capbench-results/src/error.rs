//! The error of this crate. Every message is one line: which file, what is wrong with it, and what to do next.

use std::io;
use std::path::PathBuf;

/// Why saved results cannot be read or written. The first value is the file.
#[derive(Debug, thiserror::Error)]
#[rustfmt::skip]
pub enum ResultsError {
    /// The file does not exist or cannot be read.
    #[error("cannot read {path}: {1}", path = .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    /// A directory without results.
    #[error("{path}: there is no results.json in this directory; name the directory that a run was saved in", path = .0.display())]
    NoResults(PathBuf),
    /// Neither a file nor a directory.
    #[error("{path}: is neither a file nor a directory; name a run's directory or its results.json", path = .0.display())]
    NoFile(PathBuf),
    /// The file is larger than this limit in octets.
    #[error("{path}: is larger than the {1} octets that are read of a results file; name a run's directory or its results.json", path = .0.display())]
    TooLarge(PathBuf, u64),
    /// The run saved nothing in the file.
    #[error("{path}: is empty: its run ended before anything was saved, or the disk was full", path = .0.display())]
    Empty(PathBuf),
    /// The file is not JSON.
    #[error("{path}: is not JSON, so it is not a results file of capbench ({1}); name a run's directory or its results.json", path = .0.display())]
    NoJson(PathBuf, #[source] serde_json::Error),
    /// JSON of another program, without this key of results.
    #[error("{path}: is JSON, but not a results file of capbench: it has no {1}; name a run's directory or its results.json", path = .0.display())]
    Foreign(PathBuf, &'static str),
    /// The layout of the file has this version, and not the one that is read.
    #[error("{path}: its schema_version is {1}, and this version of capbench reads {2}, whose keys may mean something else; \
             use the version of capbench that wrote it, or a newer one", path = .0.display())]
    Version(PathBuf, String, u32),
    /// The file ends or is damaged before the first trial.
    #[error("{path}: ends or is damaged before its first trial, so there is nothing to report ({1})", path = .0.display())]
    Cut(PathBuf, #[source] serde_json::Error),
    /// Complete JSON with members that this version cannot parse.
    #[error("{path}: the file is not as capbench writes it: {1}", path = .0.display())]
    Member(PathBuf, #[source] serde_json::Error),
    /// A file of results cannot be written.
    #[error("cannot write {path}: {1}", path = .0.display())]
    Unwritable(PathBuf, #[source] io::Error),
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, ResultsError>;

impl ResultsError {
    /// A file or directory that cannot be read.
    pub(crate) fn reading(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Unreadable(path.into(), source)
    }

    /// A file or directory that cannot be written.
    pub(crate) fn writing(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Unwritable(path.into(), source)
    }
}
