//! A failed operation, its file, and what the user can do.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::error::RecordError;

/// Advice if a file cannot be opened after the start: another folder may have the name of the first one now.
pub const CONFINED: &str = "a recording may write only into the folder in which it began (Landlock): keep that folder, its name and its owner";

#[derive(Debug)]
pub(super) struct Failure {
    attempt: &'static str,
    path: PathBuf,
    next: Option<&'static str>,
    source: io::Error,
}

/// A file that the recorder refuses to write.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub(super) struct Refused {
    pub(super) reason: String,
    /// What to do next.
    pub(super) next: &'static str,
}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> Self {
        Self::other(refused)
    }
}

impl Failure {
    pub(super) fn of<'a>(attempt: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + use<'a> {
        move |source| Self { attempt, path: path.into(), next: None, source }
    }

    /// A failed sync: the disk may not have the file.
    pub(super) fn of_sync(path: &Path, source: io::Error) -> Self {
        let next = match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                "free space; which of its packets are on the disk is not known, and the file keeps .part behind its name"
            }
            _ => {
                "which of its packets are on the disk is not known, and the file keeps .part behind its name; the kernel's log \
                 (dmesg) may say more"
            }
        };
        Self { attempt: "bring to the disk", path: path.into(), next: Some(next), source }
    }

    /// As it is, with advice for a file after the first: the recorder may be confined to the folder of the first file.
    pub(super) fn once_confined(self) -> Self {
        match self.source.kind() {
            ErrorKind::PermissionDenied => Self { next: Some(CONFINED), ..self },
            _ => self,
        }
    }

    pub(super) fn is_broken_pipe(&self) -> bool {
        self.source.kind() == ErrorKind::BrokenPipe
    }

    pub(super) fn into_error(self) -> RecordError {
        let Self { attempt, path, next, source } = self;
        let refused = source.get_ref().and_then(|source| source.downcast_ref::<Refused>());
        let next = next.or(refused.map(|refused| refused.next)).unwrap_or_else(|| next_step(source.kind()));
        RecordError::Output { attempt, path, next, source }
    }
}

fn next_step(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free space, limit the files with -C and -W, or have old ones removed with --keep-free"
        }
        ErrorKind::PermissionDenied => {
            "choose a place that the user who records (-Z) may write to, or change its owner"
        }
        ErrorKind::IsADirectory => "name a file in it",
        ErrorKind::ReadOnlyFilesystem => "choose another place with -w",
        ErrorKind::NotFound | ErrorKind::NotADirectory => "make the directory first",
        ErrorKind::FileTooLarge => "limit the size of a file with -C",
        ErrorKind::InvalidInput => "leave direct I/O out: this place has none",
        _ => "the kernel's log (dmesg) may say more",
    }
}
