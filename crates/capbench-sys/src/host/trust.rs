//! Control over a file: its owner, every user who may write it, and every user who may replace it.
//!
//! A user controls the target of a path if one of its folders belongs to that user or the user may write it. In a sticky folder
//! (`/tmp`) only the owner of an entry can replace it. This covers access control lists: the group bits of the mode limit what
//! a list grants to users besides the owner and `other` (acl(5)). Lists of NFSv4 are not visible here.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, Stat, fstat};

use super::folder::Folder;
use super::{identity, namespace};

/// What sudo(8) sets: the number of the user who called it.
const SUDO_UID: &str = "SUDO_UID";

/// Octets of a file that a user writes: settings, programs, goals, campaigns.
pub const LONGEST: u64 = 1 << 20;

/// As many symbolic links as the kernel follows in one path (path_resolution(7)).
pub(super) const MOST_LINKS: usize = 40;

/// The users that may control a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    users: Option<Vec<u32>>,
    /// Whether a group with the number of the owner may write, too: distributions give each user such a group.
    private_groups: bool,
}

/// A file or folder that an untrusted user controls. It is the source of an [`io::Error`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path} {who}")]
pub struct Untrusted {
    /// The file or folder.
    pub path: String,
    /// The user or group in control.
    pub who: Controller,
}

/// The user or group that controls a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// The owner.
    Owner(u32),
    /// The owner, in a sticky folder that others may also write.
    OwnerInShared(u32),
    /// The group with write permission.
    Group(u32),
    /// Everybody: it is world-writable.
    Everybody,
    /// A secret that everybody can read.
    Readers,
}

impl fmt::Display for Controller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(user) | Self::OwnerInShared(user) => write!(formatter, "belongs to user {user}"),
            Self::Group(group) => write!(formatter, "may be written by group {group}"),
            Self::Everybody => formatter.write_str("may be written by everybody"),
            Self::Readers => formatter.write_str("may be read by everybody"),
        }
    }
}

impl Trust {
    /// All users may control it: nothing is checked.
    pub fn everybody() -> Self {
        Self { users: None, private_groups: false }
    }

    /// For files that decide which code runs: trusts root and the effective user.
    pub fn for_code() -> Self {
        Self { users: Some(vec![0, identity::effective().uid]), private_groups: false }
    }

    /// For code that runs with more privileges than its caller: trusts root.
    pub fn root() -> Self {
        Self { users: Some(vec![0]), private_groups: false }
    }

    /// For files that decide how a command runs. As the host's root: trusts root. Another user has no extra power there that
    /// others could abuse, so nothing is checked.
    pub fn for_settings() -> Self {
        // Unknown is like the host's root.
        let is_root = identity::effective().uid == 0;
        let is_host = namespace::in_initial_user_namespace().unwrap_or(true);
        if is_root && is_host { Self::root() } else { Self::everybody() }
    }

    /// For files named on the command line that decide what runs: campaigns, definitions of programs, and the programs and libraries
    /// that they name. As the host's root: trusts root and the caller of sudo(8), who could name any program. Nothing is checked
    /// for another user.
    ///
    /// A file that its owner's private group may write is believed, as for output: with the umask 002 of Fedora and Ubuntu every
    /// file of a user is such a file. Whoever an administrator adds to that group can then write the user's other files, too.
    pub fn for_instructions() -> Self {
        Self::for_output()
    }

    /// For folders that this process writes to. As the host's root: trusts root and the caller of sudo(8). Another user has no
    /// extra power there that others could abuse, so nothing is checked.
    pub fn for_output() -> Self {
        let is_root = identity::effective().uid == 0;
        // Unknown is like the host's root.
        if !is_root || !namespace::in_initial_user_namespace().unwrap_or(true) {
            return Self::everybody();
        }
        let sudo = std::env::var(SUDO_UID).ok().filter(|_| !identity::is_elevated());
        let caller = sudo.and_then(|number| number.parse().ok());
        Self { users: Some([0].into_iter().chain(caller).collect()), private_groups: true }
    }

    /// Opens a file for reading. Each symbolic link on the way counts if nobody else can replace it. A descriptor of this
    /// process (`/dev/stdin`, `/dev/fd/N`) is what the caller has opened.
    ///
    /// # Errors
    /// The kernel's reason; [`Untrusted`] if others control the file, a link or a folder above.
    pub fn open(&self, path: &Path) -> io::Result<File> {
        if self.is_everybody() || path.starts_with("/dev/fd") || path == Path::new("/dev/stdin") {
            return File::open(path);
        }
        let mut path = path.to_path_buf();
        for _ in 0..MOST_LINKS {
            let (folder, name) = Folder::of_file(&path, self)?;
            let Some(target) = folder.link(name, self)? else { return folder.open_file(name, self) };
            path = folder.path().join(target);
        }
        Err(rustix::io::Errno::LOOP.into())
    }

    /// Checks a file that another program reads or runs, as [`Trust::open`] does.
    ///
    /// # Errors
    /// Those of [`Trust::open`].
    pub fn check(&self, path: &Path) -> io::Result<()> {
        // A program need not be readable.
        if self.is_everybody() { Ok(()) } else { self.open(path).map(drop) }
    }

    /// The octets of a file that [`Trust::open`] opens, up to `most`.
    ///
    /// # Errors
    /// Those of [`Trust::open`]; `InvalidData` if it is longer.
    pub fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        read_up_to(self.open(path)?, most)
    }

    /// The text of a file, likewise.
    ///
    /// # Errors
    /// Those of [`Trust::read`]; `InvalidData` if it is not UTF-8.
    pub fn read_text(&self, path: &Path, most: u64) -> io::Result<String> {
        let text = String::from_utf8(self.read(path, most)?);
        text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
    }

    /// The octets of a secret, such as a key: nobody but root and the effective user controls it, and not everybody can read it.
    ///
    /// # Errors
    /// Those of [`Trust::read`]; [`Untrusted`] if everybody can read it.
    pub fn read_secret(path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let file = Self::for_code().open(path)?;
        if Mode::from_raw_mode(fstat(&file)?.st_mode).contains(Mode::ROTH) {
            return Err(Untrusted { path: path.display().to_string(), who: Controller::Readers }.into());
        }
        read_up_to(file, most)
    }

    /// Whether everybody is trusted, so that nothing needs to be looked at.
    pub(super) fn is_everybody(&self) -> bool {
        self.users.is_none()
    }

    /// Checks that nobody else can replace an entry of `owner` in this folder.
    pub(super) fn check_entry(&self, folder: &Stat, owner: u32) -> Result<(), Controller> {
        let is_sticky = Mode::from_raw_mode(folder.st_mode).contains(Mode::SVTX);
        match self.check_owner_and_mode(folder) {
            Err(Controller::Group(_) | Controller::Everybody) if is_sticky => {
                if self.has(owner) {
                    Ok(())
                } else {
                    Err(Controller::OwnerInShared(owner))
                }
            }
            checked => checked,
        }
    }

    /// Checks that nobody else owns or can write this file or folder.
    pub(super) fn check_owner_and_mode(&self, file: &Stat) -> Result<(), Controller> {
        let mode = Mode::from_raw_mode(file.st_mode);
        let is_private = self.private_groups && file.st_gid == file.st_uid;
        if !self.has(file.st_uid) {
            Err(Controller::Owner(file.st_uid))
        } else if !self.is_everybody() && mode.contains(Mode::WOTH) {
            Err(Controller::Everybody)
        } else if !self.is_everybody() && mode.contains(Mode::WGRP) && !is_private {
            Err(Controller::Group(file.st_gid))
        } else {
            Ok(())
        }
    }

    fn has(&self, user: u32) -> bool {
        self.users.as_ref().is_none_or(|users| users.contains(&user))
    }
}

/// An error of a file that decides what runs, with what to do about it if others control the file.
pub fn advised(error: io::Error) -> io::Error {
    match error.get_ref().is_some_and(|inner| inner.is::<Untrusted>()) {
        true => io::Error::new(
            error.kind(),
            format!(
                "{error}; as root, capbench runs only what root or the caller of sudo controls: change the owner and the mode"
            ),
        ),
        false => error,
    }
}

fn read_up_to(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    if file.take(most.saturating_add(1)).read_to_end(&mut octets)? as u64 > most {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it is longer than {most} octets")));
    }
    Ok(octets)
}

impl From<Untrusted> for io::Error {
    fn from(untrusted: Untrusted) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, untrusted)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Controller, Trust};

    fn stat(mode: u32, user: u32, group: u32) -> rustix::fs::Stat {
        let mut stat = rustix::fs::stat("/").unwrap();
        (stat.st_mode, stat.st_uid, stat.st_gid) = (mode, user, group);
        stat
    }

    #[test]
    fn a_file_without_end_is_refused() {
        let error = Trust::everybody().read_text("/dev/zero".as_ref(), super::LONGEST).unwrap_err();
        assert_eq!(error.to_string(), "it is longer than 1048576 octets");
    }

    fn trusting(users: &[u32]) -> Trust {
        Trust { users: Some(users.to_vec()), private_groups: false }
    }

    #[test]
    fn a_sticky_folder_protects_entries_of_trusted_users_only() {
        let trust = trusting(&[0, 7]);
        let tmp = stat(0o1777, 0, 0);
        assert_eq!(trust.check_entry(&tmp, 7), Ok(()));
        assert_eq!(trust.check_entry(&tmp, 8), Err(Controller::OwnerInShared(8)));
        assert_eq!(trust.check_entry(&stat(0o777, 0, 0), 7), Err(Controller::Everybody));
        assert_eq!(trust.check_entry(&stat(0o1755, 8, 0), 7), Err(Controller::Owner(8)));
    }

    #[test]
    fn a_private_group_counts_as_its_user_for_output_and_instructions_only() {
        let home = stat(0o775, 7, 7);
        assert_eq!(trusting(&[7]).check_entry(&home, 7), Err(Controller::Group(7)));
        let output = Trust { private_groups: true, ..trusting(&[7]) };
        assert_eq!(output.check_entry(&home, 7), Ok(()));
        assert_eq!(output.check_entry(&stat(0o775, 7, 100), 7), Err(Controller::Group(100)));
        assert_eq!(Trust::for_instructions(), Trust::for_output());
        let others = [Trust::for_code(), Trust::for_settings(), Trust::root()];
        assert!(others.iter().all(|trust| !trust.private_groups));
    }

    proptest! {
        #[test]
        fn everyone_who_could_write_is_named(mode in 0u32..0o1_0000, owner in 0u32..4, group in 0u32..4, entry in 0u32..4) {
            let (trust, folder) = (trusting(&[0, 1]), stat(mode, owner, group));
            let is_safe = owner <= 1 && (mode & 0o022 == 0 || (mode & 0o1000 != 0 && entry <= 1));
            prop_assert_eq!(trust.check_entry(&folder, entry).is_ok(), is_safe);
            prop_assert_eq!(trust.check_owner_and_mode(&folder).is_ok(), owner <= 1 && mode & 0o022 == 0);
            prop_assert!(Trust::everybody().check_entry(&folder, entry).is_ok());
        }
    }
}
