//! The error of this crate. Every message is one line: which file, what is wrong with it and what to do next.

use std::io;
use std::path::PathBuf;

/// What keeps saved results from being read, or a report from being written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// There is no such file, or it cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A directory that holds no results.
    #[error("{}: there is no results.json in this directory; name the directory that a run was saved in", path.display())]
    NoResults {
        /// The directory.
        path: PathBuf,
    },
    /// Neither a file nor a directory.
    #[error("{}: is neither a file nor a directory; name a run's directory or its results.json", path.display())]
    NoFile {
        /// What was named.
        path: PathBuf,
    },
    /// More than is read.
    #[error(
        "{}: is larger than the {most} octets that are read of a results file; name a run's directory or its results.json",
        path.display()
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// So much is read.
        most: u64,
    },
    /// Nothing was ever saved in it.
    #[error("{}: is empty: its run ended before anything was saved, or the disk was full", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// No JSON at all.
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
        /// The first of the keys that results have and it has not.
        missing: &'static str,
    },
    /// Another layout.
    #[error(
        "{}: its schema_version is {found}, and this version of capbench reads {known}, whose keys may mean something else; \
         use the version of capbench that wrote it, or a newer one",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// What it says.
        found: String,
        /// What can be read.
        known: u32,
    },
    /// It ends, or is damaged, before anything that was measured.
    #[error("{}: ends or is damaged before its first trial, so there is nothing to report ({source})", path.display())]
    Cut {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// Whole JSON with a member that has no meaning to this version.
    #[error("{}: {member} is not as capbench writes it: {source}", path.display())]
    Member {
        /// The file.
        path: PathBuf,
        /// The member.
        member: String,
        /// Where and why.
        source: serde_json::Error,
    },
    /// A report cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A format could not be made of the report.
    #[error("cannot write {format}: {reason}")]
    Format {
        /// The format.
        format: &'static str,
        /// Why.
        reason: String,
    },
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, ReportError>;
