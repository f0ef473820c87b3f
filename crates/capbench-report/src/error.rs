//! The error of this crate. Every message is one line: which file, what is wrong with it, and what to do next.

use std::io;
use std::path::PathBuf;

/// Why saved results cannot be read, or a report cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The file does not exist or cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A directory without results.
    #[error("{}: there is no results.json in this directory; name the directory that a run was saved in", path.display())]
    NoResults {
        /// The directory.
        path: PathBuf,
    },
    /// Neither a file nor a directory.
    #[error("{}: is neither a file nor a directory; name a run's directory or its results.json", path.display())]
    NoFile {
        /// The path.
        path: PathBuf,
    },
    /// The file is larger than the limit.
    #[error(
        "{}: is larger than the {most} octets that are read of a results file; name a run's directory or its results.json",
        path.display()
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit in octets.
        most: u64,
    },
    /// The run saved nothing in the file.
    #[error("{}: is empty: its run ended before anything was saved, or the disk was full", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is not JSON.
    #[error("{}: is no JSON, and so no results of capbench ({source}); name a run's directory or its results.json", path.display())]
    NoJson {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// JSON of another program.
    #[error("{}: is JSON, and no results of capbench: it has no {missing}; name a run's directory or its results.json", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The first missing key that results must have.
        missing: &'static str,
    },
    /// Another version of the layout.
    #[error(
        "{}: its schema_version is {found}, and this version of capbench reads {known}, whose keys may mean something else; \
         use the version of capbench that wrote it, or a newer one",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: String,
        /// The version that this program reads.
        known: u32,
    },
    /// The file ends or is damaged before the first trial.
    #[error("{}: ends or is damaged before its first trial, so there is nothing to report ({source})", path.display())]
    Cut {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// Complete JSON with a member that this version cannot parse.
    #[error("{}: {member} is not as capbench writes it: {source}", path.display())]
    Member {
        /// The file.
        path: PathBuf,
        /// The member.
        member: String,
        /// Where and why.
        source: serde_json::Error,
    },
    /// Runs that cannot be compared.
    #[error("compare: {reason}")]
    Comparison {
        /// Why they cannot be compared, and which runs to name.
        reason: String,
    },
    /// A file of results or of a report cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The report cannot be converted to a format.
    #[error("cannot write {format}: {reason}")]
    Format {
        /// The format.
        format: &'static str,
        /// The reason.
        reason: String,
    },
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, ReportError>;

impl ReportError {
    pub(crate) fn reading(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Unreadable { path: path.into(), source }
    }

    pub(crate) fn writing(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Unwritable { path: path.into(), source }
    }
}
