//! The folder where an agent that lost its controller leaves its report, for the next agent of the same session.
//!
//! It is below /run, or in an ordinary user's /run/user/UID: memory that no other user can read. Neither the connection nor the
//! environment, which a program with file capabilities ignores, has a part in its path.

use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use capbench_frames::stamp::TrialId;
use capbench_sys::host::{Folder, Trust, identity};
use sha2::{Digest, Sha256};

use crate::framing::MOST_OCTETS;
use crate::message::{Reported, read};

/// No controller tries to reconnect for so long. Older reports are removed.
const STALE: Duration = Duration::from_secs(600);

const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The folder.
#[derive(Debug)]
pub struct Spool(Folder);

impl Spool {
    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The folder of the effective user; created if it is missing.
    ///
    /// # Errors
    /// There is no runtime directory that this user alone controls. Then agents do not report after a loss, and the trial is
    /// repeated.
    pub fn of_user() -> io::Result<Self> {
        let runtime = match identity::effective().uid {
            0 => PathBuf::from("/run"),
            uid => Self::private(format!("/run/user/{uid}").into(), uid)?,
        };
        let path = runtime.join("capbench");
        Self::open(&path)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    }

    /// The runtime directory of a user (pam_systemd(8)).
    fn private(path: PathBuf, uid: u32) -> io::Result<PathBuf> {
        let name = path.display();
        let found = path
            .symlink_metadata()
            .map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
        if found.uid() != uid || found.mode() & 0o7777 != FOLDER_MODE || !found.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("{name} is no folder of user {uid} with mode 0700"),
            ));
        }
        Ok(path)
    }

    fn open(path: &Path) -> io::Result<Self> {
        match DirBuilder::new().mode(FOLDER_MODE).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let spool = Self(Folder::open(path, &Trust::for_code())?);
        spool.remove_stale()?;
        Ok(spool)
    }

    /// Leaves a report.
    pub(super) fn keep(&self, session: &str, report: &Reported) -> io::Result<()> {
        self.0.temporary(FILE_MODE)?.with(&serde_json::to_vec(report)?)?.replace(&name(session))
    }

    /// Takes the report of a trial. A report of another trial of the session is removed: nobody asks for it any more.
    pub(super) fn take(&self, session: &str, trial: Option<TrialId>) -> io::Result<Option<Reported>> {
        let name = name(session);
        let mut file = match self.0.open_file(&name, &Trust::for_code()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut octets = Vec::new();
        file.by_ref().take(MOST_OCTETS as u64).read_to_end(&mut octets)?;
        self.0.remove(&name)?;
        let report: Reported = read(&octets)?;
        Ok(Some(report).filter(|report| Some(report.trial) == trial))
    }

    fn remove_stale(&self) -> io::Result<()> {
        for name in self.0.names()? {
            if self.is_stale(&name).unwrap_or(false) {
                self.0.remove(&name)?;
            }
        }
        Ok(())
    }

    /// Whether a file is left over. One that another agent removes meanwhile is an error.
    fn is_stale(&self, name: &OsStr) -> io::Result<bool> {
        let written = self.0.open_file(name, &Trust::for_code())?.metadata()?.modified()?;
        Ok(written.elapsed().is_ok_and(|age| age > STALE))
    }
}

/// The name of a session's file: a hash, so that no text of the controller is part of a path.
fn name(session: &str) -> OsString {
    let digest = Sha256::digest(format!("capbench session {session}"));
    digest.iter().take(16).map(|octet| format!("{octet:02x}")).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::SystemTime;

    use capbench_testing::Scratch;

    use super::*;
    use crate::for_tests::reported;

    #[test]
    fn a_report_is_taken_once_by_its_session_and_trial() {
        let scratch = Scratch::new();
        let spool = Spool::open(&scratch.file("spool")).unwrap();
        let (report, trial) = (reported(7), Some(TrialId(7)));
        spool.keep("one", &report).unwrap();
        assert_eq!(spool.take("two", trial).unwrap(), None);
        assert_eq!(spool.take("one", trial).unwrap(), Some(report.clone()));
        assert_eq!(spool.take("one", trial).unwrap(), None);
        spool.keep("one", &report).unwrap();
        assert_eq!(spool.take("one", Some(TrialId(8))).unwrap(), None, "of another trial");
        assert_eq!(spool.0.names().unwrap(), Vec::<OsString>::new());
    }

    #[test]
    fn the_folder_is_private_and_keeps_nothing_for_long() {
        let scratch = Scratch::new();
        let path = scratch.file("spool");
        let spool = Spool::open(&path).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        spool.keep("../../etc/passwd", &reported(1)).unwrap();
        let file = path.join(&spool.0.names().unwrap()[0]);
        assert_eq!((mode(&path), mode(&file)), (0o700, 0o600));
        let count = || Spool::open(&path).unwrap().0.names().unwrap().len();
        assert_eq!(count(), 1);
        let old = SystemTime::now() - 2 * STALE;
        std::fs::File::options().append(true).open(&file).unwrap().set_modified(old).unwrap();
        assert_eq!(count(), 0);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o777)).unwrap();
        assert!(Spool::open(&path).is_err(), "others could write it");
    }
}
