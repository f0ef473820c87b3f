//! Decides which of a recording's files to remove, to keep a number of files or free disk space: which may go at all
//! ([`FoundFile::may_be_removed`]), and which of these go ([`Retention::remove_oldest`]), the oldest first and only as many as
//! needed.

use std::io;
use std::time::SystemTime;

use capbench_model::units::ByteCount;

/// Why the free-space limit removes no file.
const OUT_OF_REACH: &str = "--keep-free needs more space than all old files of this recording take, so it removes none: free space on that disk";

/// Limits for old files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Maximum number of files of the recording, including the current one.
    pub files: Option<u64>,
    /// Minimum free space of the file system.
    pub free: Option<FreeSpace>,
}

/// Free space of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeSpace {
    /// In bytes.
    Bytes(ByteCount),
    /// In percent of the file system.
    Percent(u8),
}

/// Size and free space of a file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) total: u64,
    pub(super) free: u64,
}

/// A file in the recording's folder that has one of its names.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundFile {
    /// Whether it is a regular file of the recording user.
    pub(super) is_own: bool,
    /// Whether it has the name of a complete file. While a file is being written it has another name, and a lock.
    pub(super) is_complete: bool,
    /// Whether nobody had locked it before this run created any file, and it is unmodified since.
    pub(super) is_left_behind: bool,
}

/// A file of the recording that may be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnFile {
    pub(super) name: std::ffi::OsString,
    pub(super) bytes: u64,
    /// Its number among the complete files of this run, from 1; 0 for a file of an earlier run.
    pub(super) order: u64,
    pub(super) modified: SystemTime,
}

impl FoundFile {
    /// Whether the limits may remove it: it is complete, or a killed run left it behind. A file of this run is neither while it is
    /// being written, even if it has the name of one that was left behind.
    pub(super) fn may_be_removed(self) -> bool {
        self.is_own && (self.is_complete || self.is_left_behind)
    }
}

impl FreeSpace {
    /// The limit in bytes, for a file system of this size.
    fn bytes_of(self, total: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.0,
            Self::Percent(percent) => (u128::from(total) * u128::from(percent) / 100) as u64,
        }
    }
}

impl Retention {
    /// Whether there is no limit, so nothing is removed.
    pub fn is_nothing(&self) -> bool {
        self.files.is_none() && self.free.is_none()
    }

    /// Whether free space is below the limit.
    pub(super) fn lacks(&self, room: Room) -> bool {
        room.free < self.wanted(room)
    }

    /// Free bytes required.
    fn wanted(&self, room: Room) -> u64 {
        self.free.map_or(0, |free| free.bytes_of(room.total))
    }

    /// Calls `remove` for the oldest files while a limit is exceeded. Those that are being written, `open`, count, too. Never
    /// removes the newest file. Files of earlier runs are older than those of this run, even if the clock was set back.
    ///
    /// A file that cannot be removed does not count for any limit; the next one is tried. If all files together do not free
    /// enough space, none is removed for free space.
    /// Errors: Why the first file could not be removed, or why the free-space limit removes none.
    pub(super) fn remove_oldest(
        &self,
        files: &mut [OwnFile],
        open: u64,
        room: Room,
        mut remove: impl FnMut(&OwnFile) -> io::Result<()>,
    ) -> io::Result<()> {
        files.sort_unstable_by(|one, other| {
            (one.order, one.modified, &one.name).cmp(&(other.order, other.modified, &other.name))
        });
        let removable = &files[..files.len().saturating_sub(1)];
        let most = self.files.unwrap_or(u64::MAX);
        let wanted = self.wanted(room);
        let (mut count, mut free) = (files.len() as u64 + open, room.free);
        let mut reachable = removable.iter().fold(free, |sum, file| sum.saturating_add(file.bytes));
        let mut failure = None;
        for file in removable {
            let is_too_full = free < wanted && wanted <= reachable;
            if count <= most && !is_too_full {
                break;
            }
            match remove(file) {
                Ok(()) => free = free.saturating_add(file.bytes),
                Err(error) => {
                    reachable = reachable.saturating_sub(file.bytes);
                    failure.get_or_insert_with(|| {
                        io::Error::new(error.kind(), format!("{}: {error}", file.name.display()))
                    });
                }
            }
            count -= 1;
        }
        let out_of_reach = (free < wanted).then(|| io::Error::other(OUT_OF_REACH));
        failure.or(out_of_reach).map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn file(number: u64, bytes: u64, second: u64) -> OwnFile {
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        OwnFile { name: format!("file{number}").into(), bytes, order: 0, modified }
    }

    /// The names of the files that go, where `stuck` cannot be removed; and what is said.
    fn goes(retention: Retention, files: &mut [OwnFile], free: u64, stuck: &str) -> (Vec<String>, String) {
        let mut gone = Vec::new();
        let done = retention.remove_oldest(files, 1, Room { total: 1000, free }, |file| {
            if file.name == stuck {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            gone.push(file.name.to_str().unwrap().to_owned());
            Ok(())
        });
        (gone, done.err().map_or_else(String::new, |error| error.to_string()))
    }

    fn most(files: u64) -> Retention {
        Retention { files: Some(files), free: None }
    }

    fn free(bytes: u64) -> Retention {
        Retention { files: None, free: Some(FreeSpace::Bytes(ByteCount(bytes))) }
    }

    #[test]
    fn the_oldest_go_until_the_limits_are_kept_and_the_newest_stays() {
        let mut files: Vec<_> = [(0, 10, 5), (1, 20, 3), (2, 30, 4)].map(|(n, b, s)| file(n, b, s)).into();
        let mut gone = |retention| {
            let (gone, said) = goes(retention, &mut files, 100, "");
            assert_eq!(said, "");
            gone
        };
        assert_eq!(gone(Retention::default()), [] as [&str; 0]);
        assert_eq!(gone(most(4)), [] as [&str; 0]);
        assert_eq!(gone(most(2)), ["file1", "file2"]);
        assert_eq!(gone(most(1)), ["file1", "file2"], "file0 is the newest");
        assert_eq!(gone(free(100)), [] as [&str; 0]);
        assert_eq!(gone(free(101)), ["file1"]);
        assert_eq!(gone(free(121)), ["file1", "file2"]);
        assert_eq!(gone(free(150)), ["file1", "file2"]);
        let percent = |percent| Retention { files: None, free: Some(FreeSpace::Percent(percent)) };
        assert_eq!(gone(percent(12)), ["file1"]);
    }

    #[test]
    fn free_space_out_of_reach_removes_no_file_and_is_said() {
        let mut files: Vec<_> = [(0, 10, 5), (1, 20, 3), (2, 30, 4)].map(|(n, b, s)| file(n, b, s)).into();
        // With the newest file it would be enough.
        assert_eq!(goes(free(151), &mut files, 100, ""), (vec![], OUT_OF_REACH.into()));
        let both = Retention { files: Some(3), ..free(151) };
        assert_eq!(goes(both, &mut files, 100, ""), (vec!["file1".into()], OUT_OF_REACH.into()));
        assert_eq!(goes(free(1), &mut [], 0, ""), (vec![], OUT_OF_REACH.into()));
    }

    #[test]
    fn a_file_that_cannot_be_removed_does_not_keep_the_next_ones() {
        let mut files: Vec<_> = (0..5).map(|number| file(number, 10, number)).collect();
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let said = "file0: permission denied".to_string();
        assert_eq!(goes(most(3), &mut files, 100, "file0"), (names(&["file1", "file2"]), said.clone()));
        assert_eq!(goes(free(120), &mut files, 100, "file0"), (names(&["file1", "file2"]), said.clone()));
        // Without it, the others do not free enough.
        assert_eq!(goes(free(140), &mut files, 100, "file0"), (vec![], said));
    }

    #[test]
    fn files_of_this_run_go_last_though_the_clock_was_set_back() {
        let mut files: Vec<_> = [(0, 2000), (1, 2001), (2, 7), (3, 5)].map(|(n, s)| file(n, 10, s)).into();
        (files[2].order, files[3].order) = (1, 2);
        assert_eq!(goes(most(2), &mut files, 100, "").0, ["file0", "file1", "file2"]);
    }

    proptest! {
        #[test]
        fn no_more_go_than_the_limits_need(
            sizes in proptest::collection::vec((1_u64..1000, 0_u64..20), 0..20),
            most in proptest::option::of(1_u64..20),
            percent in proptest::option::of(0_u8..=100),
            free in 0_u64..5000,
            open in 0_u64..2,
        ) {
            let of = |(number, &(bytes, second)): (usize, &(u64, u64))| file(number as u64, bytes, second);
            let mut files: Vec<_> = sizes.iter().enumerate().map(of).collect();
            let retention = Retention { files: most, free: percent.map(FreeSpace::Percent) };
            let room = Room { total: 10_000, free };
            let mut count = 0;
            let done = retention.remove_oldest(&mut files, open, room, |_| {
                count += 1;
                Ok(())
            });
            prop_assert!(files.is_sorted_by_key(|file| file.modified));
            let wanted = percent.map_or(0, |percent| u64::from(percent) * 100);
            let freed = |count: usize| free + files[..count].iter().map(|file| file.bytes).sum::<u64>();
            let removable = files.len().saturating_sub(1);
            let is_few = |count: usize| most.is_none_or(|most| (files.len() - count) as u64 + open <= most);
            let is_free = |count: usize| freed(count) >= wanted;
            let is_reachable = is_free(removable);
            prop_assert_eq!(done.is_ok(), is_reachable);
            let are_kept = |count: usize| is_few(count) && (is_free(count) || !is_reachable);
            prop_assert!(are_kept(count) || count == removable);
            prop_assert!(count == 0 || !are_kept(count - 1));
        }
    }
}
