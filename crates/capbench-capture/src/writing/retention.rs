//! Which of a recording's own files are removed so that a number of files, or free space on their disk, is kept: the oldest ones
//! first, as long as a limit is passed, and no more than that takes.

use std::time::SystemTime;

use crate::options::ByteCount;

/// What is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// So many files of the recording exist, the one that is being written included.
    pub files: Option<u64>,
    /// So much of the file system is free.
    pub free: Option<FreeSpace>,
}

/// Free space of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeSpace {
    /// So many bytes.
    Bytes(ByteCount),
    /// So many percent of it.
    Percent(u8),
}

/// How much a file system holds, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) total: u64,
    pub(super) free: u64,
}

/// A file of the recording that is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnFile {
    pub(super) name: std::ffi::OsString,
    /// Bytes that it takes on the disk.
    pub(super) bytes: u64,
    /// Its number among the files that this run completed, from 1; 0 for one of an earlier run.
    pub(super) order: u64,
    /// When it was written last.
    pub(super) modified: SystemTime,
}

impl FreeSpace {
    /// Bytes of a file system that holds so many.
    fn bytes_of(self, total: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.0,
            Self::Percent(percent) => (u128::from(total) * u128::from(percent) / 100) as u64,
        }
    }
}

impl Retention {
    /// Whether nothing is ever removed.
    pub fn is_nothing(&self) -> bool {
        self.files.is_none() && self.free.is_none()
    }

    /// Sorts files, the oldest first, and says how many of them go while one more file is being written. Files of earlier runs are
    /// older than those of this run, also where a clock that was set says otherwise.
    pub(super) fn doomed(&self, files: &mut [OwnFile], room: Room) -> usize {
        files.sort_unstable_by(|one, other| {
            (one.order, one.modified, &one.name).cmp(&(other.order, other.modified, &other.name))
        });
        let too_many = self.files.map_or(0, |most| (files.len() as u64 + 1).saturating_sub(most));
        let too_many = usize::try_from(too_many).unwrap_or(usize::MAX).min(files.len());
        let wanted = self.free.map_or(0, |free| free.bytes_of(room.total));
        let mut free = room.free;
        let too_full = files.iter().take_while(|file| {
            let goes = free < wanted;
            free = free.saturating_add(file.bytes);
            goes
        });
        too_many.max(too_full.count())
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

    #[test]
    fn the_oldest_go_until_the_limits_are_kept() {
        let mut files: Vec<_> = [(0, 10, 5), (1, 20, 3), (2, 30, 4)].map(|(n, b, s)| file(n, b, s)).into();
        let room = Room { total: 1000, free: 100 };
        let goes = |retention: Retention, files: &mut [OwnFile]| {
            let count = retention.doomed(files, room);
            files[..count].iter().map(|file| file.name.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let most = |files| Retention { files: Some(files), free: None };
        let free = |free| Retention { files: None, free: Some(free) };
        assert_eq!(goes(Retention::default(), &mut files), [] as [&str; 0]);
        assert_eq!(goes(most(4), &mut files), [] as [&str; 0]);
        assert_eq!(goes(most(2), &mut files), ["file1", "file2"]);
        assert_eq!(goes(most(1), &mut files), ["file1", "file2", "file0"]);
        assert_eq!(goes(free(FreeSpace::Bytes(ByteCount(100))), &mut files), [] as [&str; 0]);
        assert_eq!(goes(free(FreeSpace::Bytes(ByteCount(121))), &mut files), ["file1", "file2"]);
        assert_eq!(goes(free(FreeSpace::Percent(12)), &mut files), ["file1"]);
        assert_eq!(goes(free(FreeSpace::Percent(99)), &mut files).len(), 3, "not enough, but all there is");
    }

    #[test]
    fn files_of_this_run_go_last_though_the_clock_was_set_back() {
        let mut files: Vec<_> = [(0, 2000), (1, 2001), (2, 7), (3, 5)].map(|(n, s)| file(n, 10, s)).into();
        (files[2].order, files[3].order) = (1, 2);
        let count =
            Retention { files: Some(2), free: None }.doomed(&mut files, Room { total: 1000, free: 100 });
        let names: Vec<_> = files.iter().map(|file| file.name.to_str().unwrap()).collect();
        assert_eq!((count, names), (3, vec!["file0", "file1", "file2", "file3"]));
    }

    proptest! {
        #[test]
        fn no_more_go_than_the_limits_need(
            sizes in proptest::collection::vec((1_u64..1000, 0_u64..20), 0..20),
            most in proptest::option::of(1_u64..20),
            percent in proptest::option::of(0_u8..=100),
            free in 0_u64..5000,
        ) {
            let of = |(number, &(bytes, second)): (usize, &(u64, u64))| file(number as u64, bytes, second);
            let mut files: Vec<_> = sizes.iter().enumerate().map(of).collect();
            let retention = Retention { files: most, free: percent.map(FreeSpace::Percent) };
            let room = Room { total: 10_000, free };
            let count = retention.doomed(&mut files, room);
            prop_assert!(files.is_sorted_by_key(|file| file.modified));
            let wanted = percent.map_or(0, |percent| u64::from(percent) * 100);
            let are_kept = |count: usize| {
                let left = (files.len() - count) as u64 + 1;
                let freed: u64 = files[..count].iter().map(|file| file.bytes).sum();
                most.is_none_or(|most| left <= most) && free + freed >= wanted
            };
            prop_assert!(are_kept(count) || count == files.len());
            prop_assert!(count == 0 || !are_kept(count - 1));
        }
    }
}
