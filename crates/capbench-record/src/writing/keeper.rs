//! Finds the files of a recording, including those of earlier runs, and deletes those that `retention` chooses. It knows them by
//! their names in the recording's folder, and follows no symbolic link.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use capbench_sys::host::folder::Folder;
use capbench_sys::host::identity;
use capbench_sys::host::trust::Trust;
use rustix::fs::{AtFlags, FileType, FlockOperation, Stat, flock, fstat, fstatvfs, statat};
use rustix::io::Errno;

use super::counts::Gauge;
use super::own_names::OwnNames;
use super::part::PART;
use super::retention::{FoundFile, OwnFile, Retention, Room};

/// Time between two checks of the limits while a file is being written.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);

/// Time until the next attempt after a failed removal, if no file has been completed since.
const RETRY: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Keeper {
    retention: Retention,
    names: OwnNames,
    folder: Folder,
    user: u32,
    /// Files of this run: their order, their packets by interface, and whether these are known to be on the disk.
    completed: HashMap<OsString, (u64, Box<[u64]>, bool)>,
    /// The order of the last completed file of this run.
    latest: u64,
    /// Incomplete files that nobody had locked, by name, with inode and modification time from before this run created any file.
    left_behind: HashMap<OsString, (u64, SystemTime)>,
    state: State,
}

/// Result of the last sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// None yet, or a file has been completed since.
    NewFile,
    /// The limits were met.
    Kept,
    /// The limits were not met, at this time.
    Failed(Instant),
}

impl Keeper {
    /// For the files of `path`.
    pub(super) fn new(path: &Path, names: OwnNames, retention: Retention) -> io::Result<Self> {
        let (folder, _) = Folder::of_file(path, &Trust::everybody())?;
        let user = identity::effective().uid;
        let (completed, left_behind) = (HashMap::new(), HashMap::new());
        let state = State::NewFile;
        let mut keeper = Self { retention, names, folder, user, completed, latest: 0, left_behind, state };
        keeper.left_behind = keeper.find_left_behind()?;
        Ok(keeper)
    }

    /// Adds a complete file of this run.
    pub(super) fn add(&mut self, path: &Path, packets_of: &[u64], is_synced: bool) {
        if let Some(name) = path.file_name() {
            self.latest += 1;
            self.state = State::NewFile;
            self.completed.insert(name.into(), (self.latest, packets_of.into(), is_synced));
        }
    }

    /// Notes that a file was opened, which counts among the others.
    pub(super) fn note_new_file(&mut self) {
        self.state = State::NewFile;
    }

    /// Removes files above the limits, and counts them; `open` files are being written. It keeps the newest file, which may be the only one at the end of a
    /// recording.
    /// Errors: Why the folder could not be read, or the first file not be removed, or that removal cannot free enough space.
    pub(super) fn sweep(&mut self, gauge: &Gauge, open: u64) -> io::Result<()> {
        let swept = self.remove_oldest(gauge, open);
        self.state = if swept.is_ok() { State::Kept } else { State::Failed(Instant::now()) };
        swept
    }

    /// Whether a sweep could remove a file. A sweep reads the whole folder, which is slow if it has many files.
    pub(super) fn is_due(&self) -> bool {
        match self.state {
            State::NewFile => true,
            State::Kept => self.room().map_or(true, |room| self.retention.lacks(room)),
            State::Failed(when) => when.elapsed() >= RETRY,
        }
    }

    fn room(&self) -> io::Result<Room> {
        let about = fstatvfs(&self.folder)?;
        Ok(Room {
            total: about.f_blocks.saturating_mul(about.f_frsize),
            free: about.f_bavail.saturating_mul(about.f_frsize),
        })
    }

    fn remove_oldest(&mut self, gauge: &Gauge, open: u64) -> io::Result<()> {
        let mut files = self.files()?;
        let there: HashSet<&OsStr> = files.iter().map(|file| file.name.as_os_str()).collect();
        self.completed.retain(|name, _| there.contains(name.as_os_str()));
        let (retention, room) = (self.retention, self.room()?);
        retention.remove_oldest(&mut files, open, room, |file| self.remove(file, gauge))
    }

    fn remove(&mut self, file: &OwnFile, gauge: &Gauge) -> io::Result<()> {
        match self.folder.remove(&file.name) {
            // Another process removed it first.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            done => done?,
        }
        let completed = self.completed.remove(&file.name);
        let (packets, is_synced) =
            completed.as_ref().map_or((&[][..], true), |(_, packets, is)| (packets, *is));
        gauge.deleted(file.bytes, packets, is_synced);
        Ok(())
    }

    /// The files of the recording that may be removed.
    fn files(&self) -> io::Result<Vec<OwnFile>> {
        let mut files = Vec::new();
        for name in self.folder.names()? {
            if let Some(about) = self.about_removable(&name)? {
                files.push(OwnFile {
                    bytes: u64::try_from(about.st_blocks).unwrap_or(0).saturating_mul(512),
                    order: self.completed.get(&name).map_or(0, |(order, ..)| *order),
                    modified: modified(&about),
                    name,
                });
            }
        }
        Ok(files)
    }

    /// The status of a file, if it belongs to the recording and may be removed.
    fn about_removable(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        let complete = name.as_bytes().strip_suffix(PART.as_bytes()).map(OsStr::from_bytes);
        if !self.names.are(complete.unwrap_or(name)) {
            return Ok(None);
        }
        let about = match statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(None),
            about => about?,
        };
        let is_regular = FileType::from_raw_mode(about.st_mode) == FileType::RegularFile;
        let found = FoundFile {
            is_own: is_regular && about.st_uid == self.user,
            is_complete: complete.is_none(),
            is_left_behind: self.left_behind.get(name) == Some(&(about.st_ino, modified(&about))),
        };
        Ok(found.may_be_removed().then_some(about))
    }

    /// Incomplete files without a recorder: a recorder would have locked them. The shared lock here does not disturb another
    /// starting recorder; one that locks a new file waits until it is released. Call it before this run creates files, because
    /// new files are unlocked for a moment.
    fn find_left_behind(&self) -> io::Result<HashMap<OsString, (u64, SystemTime)>> {
        let mut found = HashMap::new();
        for name in self.folder.names()? {
            let complete = name.as_bytes().strip_suffix(PART.as_bytes()).map(OsStr::from_bytes);
            if !complete.is_some_and(|complete| self.names.are(complete)) {
                continue;
            }
            let Ok(file) = self.folder.open_file(&name, &Trust::everybody()) else { continue };
            if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
                let about = fstat(&file)?;
                found.insert(name, (about.st_ino, modified(&about)));
            }
        }
        Ok(found)
    }
}

#[allow(clippy::useless_conversion, reason = "the types of the fields differ between architectures")]
fn modified(about: &Stat) -> SystemTime {
    let seconds = Duration::from_secs(u64::try_from(about.st_mtime).unwrap_or(0));
    let rest = Duration::from_nanos(u64::try_from(about.st_mtime_nsec).unwrap_or(0));
    SystemTime::UNIX_EPOCH + seconds + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writing::retention::FreeSpace;
    use crate::writing::rotation::Rotation;
    use capbench_model::units::ByteCount;
    use std::fs::{self, File};

    const PATTERN: &str = "eth0-%s.pcapng";

    fn keeper(folder: &Path, retention: Retention) -> Keeper {
        let path = folder.join(PATTERN);
        let rotation = Rotation { seconds: Some(1), ..Rotation::default() };
        Keeper::new(&path, OwnNames::new(&path, &rotation, false).unwrap(), retention).unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn make(folder: &Path, name: &str, second: u64) {
        let file = File::create(folder.join(name)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(second)).unwrap();
    }

    #[test]
    fn the_oldest_own_files_are_removed_and_nothing_else_is() {
        let scratch = capbench_testing::Scratch::new();
        let folder = scratch.path();
        for second in 100..105 {
            make(folder, &format!("eth0-{second}.pcapng"), second);
        }
        for other in ["eth1-100.pcapng", "eth0-x.pcapng", "notes.txt", "eth0-100.pcapng.ledger.json"] {
            make(folder, other, 1);
        }
        make(folder, "eth0-50.pcapng.part", 50);
        make(folder, "eth0-51.pcapng.part", 51);
        make(folder, "eth0-52.pcapng.part", 52);
        let written = File::open(folder.join("eth0-51.pcapng.part")).unwrap();
        flock(&written, FlockOperation::NonBlockingLockExclusive).unwrap();
        std::os::unix::fs::symlink(folder.join("notes.txt"), folder.join("eth0-1.pcapng")).unwrap();
        fs::create_dir(folder.join("eth0-2.pcapng")).unwrap();
        let mut keeper = keeper(folder, Retention { files: Some(3), free: None });
        // A file of this run that has the name of one that was left behind.
        make(folder, "eth0-52.pcapng.part", 53);
        keeper.add(&folder.join("eth0-102.pcapng"), &[7, 5], true);
        keeper.add(&folder.join("eth0-103.pcapng"), &[0, 0], true);
        keeper.add(&folder.join("eth0-104.pcapng"), &[0, 0], true);
        let gauge = Gauge::new(2, 8, true);
        [[7, 5], [1, 1]].iter().for_each(|packets| gauge.written(packets));
        keeper.sweep(&gauge, 1).unwrap();
        let left = [
            "eth0-1.pcapng",
            "eth0-100.pcapng.ledger.json",
            "eth0-103.pcapng",
            "eth0-104.pcapng",
            "eth0-2.pcapng",
            "eth0-51.pcapng.part",
            "eth0-52.pcapng.part",
            "eth0-x.pcapng",
            "eth1-100.pcapng",
            "notes.txt",
        ];
        assert_eq!(names(folder), left);
        let counts = gauge.read();
        assert_eq!(counts.deleted_files, 4, "three of earlier runs and one of this run");
        let of =
            |interface: usize| (counts.interfaces[interface].written, counts.interfaces[interface].deleted);
        assert_eq!([of(0), of(1)], [(1, 7), (1, 5)]);
        keeper.sweep(&gauge, 1).unwrap();
        assert_eq!(names(folder), left);
    }

    #[test]
    fn what_was_recorded_last_stays() {
        let scratch = capbench_testing::Scratch::new();
        for second in 100..103 {
            make(scratch.path(), &format!("eth0-{second}.pcapng"), second);
        }
        let mut keeper = keeper(scratch.path(), Retention { files: Some(1), free: None });
        keeper.add(&scratch.path().join("eth0-101.pcapng"), &[1], true);
        keeper.add(&scratch.path().join("eth0-100.pcapng"), &[1], true);
        let gauge = Gauge::new(1, 8, true);
        gauge.written(&[2]);
        keeper.sweep(&gauge, 1).unwrap();
        assert_eq!(names(scratch.path()), ["eth0-100.pcapng"]);
        assert_eq!(gauge.read().packets().deleted, 1);
    }

    #[test]
    fn the_folder_is_read_again_only_when_that_can_remove_a_file() {
        let scratch = capbench_testing::Scratch::new();
        make(scratch.path(), "eth0-100.pcapng", 100);
        let gauge = Gauge::new(1, 8, true);
        let mut enough =
            keeper(scratch.path(), Retention { files: Some(5), free: Some(FreeSpace::Percent(0)) });
        assert!(enough.is_due(), "at the start");
        enough.sweep(&gauge, 1).unwrap();
        assert!(!enough.is_due());
        enough.add(&scratch.path().join("eth0-101.pcapng"), &[1], true);
        assert!(enough.is_due(), "there is one more file");
        enough.sweep(&gauge, 1).unwrap();
        enough.retention.free = Some(FreeSpace::Bytes(ByteCount(u64::MAX)));
        assert!(enough.is_due(), "free space is lacking");
        enough.sweep(&gauge, 1).unwrap_err();
        assert!(!enough.is_due(), "nothing could be removed just now");
        enough.state = State::Failed(Instant::now().checked_sub(RETRY).unwrap());
        assert!(enough.is_due());
    }

    #[test]
    fn files_of_another_user_are_left_alone() {
        let scratch = capbench_testing::Scratch::new();
        make(scratch.path(), "eth0-100.pcapng", 100);
        let mut keeper = keeper(scratch.path(), Retention { files: Some(1), free: None });
        keeper.user += 1;
        keeper.sweep(&Gauge::new(1, 8, true), 1).unwrap();
        assert_eq!(names(scratch.path()), ["eth0-100.pcapng"]);
    }

    #[test]
    fn free_space_that_cannot_be_had_takes_no_file() {
        let scratch = capbench_testing::Scratch::new();
        make(scratch.path(), "eth0-100.pcapng", 100);
        make(scratch.path(), "eth0-101.pcapng", 101);
        make(scratch.path(), "other", 100);
        let free = Some(FreeSpace::Bytes(ByteCount(u64::MAX)));
        let mut keeper = keeper(scratch.path(), Retention { files: None, free });
        let error = keeper.sweep(&Gauge::new(1, 8, true), 1).unwrap_err();
        assert!(error.to_string().contains("--keep-free"), "{error}");
        assert_eq!(names(scratch.path()), ["eth0-100.pcapng", "eth0-101.pcapng", "other"]);
    }
}
