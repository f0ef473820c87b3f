//! How a recording is written, checked before anything is opened.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use capbench_capture::units::ByteCount;
use capbench_sys::host::memory::available;
use capbench_sys::memory::pages::{ALIGNMENT, carve};

use super::buffer::Buffer;
use super::names::FileNames;
use super::own_names::OwnNames;
use super::part::Making;
use super::retention::Retention;
use super::rotation::Rotation;
use crate::error::{RecordError, Result};

/// How a recording is written.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// The file, a pattern of strftime(3) where an interval begins new ones; `-` is the standard output. A file of this name is
    /// replaced when the new one is complete; names of a pattern replace nothing. With compression `.zst` is put behind it.
    pub path: PathBuf,
    /// When the next file begins.
    pub rotation: Rotation,
    /// Memory for buffers. What comes while the output stands still has to fit into it, and into what else holds packets in front
    /// of it: 64 MiB are half a second at 1 Gbit/s.
    pub pool: ByteCount,
    /// Memory of one buffer, a multiple of 4 KiB; the largest record has to fit into it, and with direct I/O 4 KiB more.
    pub buffer: ByteCount,
    /// Interfaces whose packets are recorded, numbered from 0.
    pub interfaces: usize,
    /// Compress with Zstandard at this level: 1 is fastest, and a negative one faster still.
    pub compression: Option<i32>,
    /// Write past the page cache. It takes a fraction of the CPU time, and leaves the host's memory alone; but nothing
    /// behind the pool holds what comes faster than the disk writes.
    pub direct: bool,
    /// Memory that is filled before it is written, where [`WriteOptions::direct`] is set: a direct write costs about as much
    /// whatever its size. At most a quarter of the pool. What is older than a second does not wait.
    pub gather: ByteCount,
    /// What happens while no buffer is free.
    pub when_full: WhenFull,
    /// Whether to wait until the disk has each file, before it gets its final name.
    pub syncs: bool,
    /// Permissions of new files.
    pub mode: u32,
    /// Their group; `None` for that of the process.
    pub group: Option<u32>,
    /// Which old files of the recording are removed.
    pub retention: Retention,
}

/// What happens to a packet while no buffer is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// It is refused and counted, so that a capture's ring does not fill.
    Refuse,
    /// It waits: for packets that come from a file.
    Wait,
}

/// Fewer buffers would not let encoding and writing go on side by side: one is filled, one written, and one may have to wait
/// until the block that it ends in is full.
const FEWEST: u64 = 4;

/// Bytes of the smallest buffer: one block that an earlier buffer ends in, and one for records.
const SMALLEST: u64 = 2 * ALIGNMENT as u64;

impl WriteOptions {
    /// One file of this name for one interface, and what is best without knowing more.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            rotation: Rotation::default(),
            pool: ByteCount(64 << 20),
            buffer: ByteCount(1 << 20),
            interfaces: 1,
            compression: None,
            direct: false,
            gather: ByteCount(4 << 20),
            when_full: WhenFull::Refuse,
            syncs: true,
            mode: 0o600,
            group: None,
            retention: Retention::default(),
        }
    }

    /// The first file, where names are not patterns.
    ///
    /// # Errors
    /// An empty name.
    pub fn first_file(&self) -> Result<PathBuf> {
        FileNames::new(&self.path, &self.rotation, self.compression.is_some()).path(0, 0)
    }

    /// After how many seconds names of a pattern come again, counted from this second since 1970-01-01 UTC. Then files get
    /// numbers. `None` where there is no interval, or names do not repeat soon.
    pub fn names_repeat_after(&self, second: i64) -> Option<u32> {
        let interval = self.rotation.seconds?;
        FileNames::new(&self.path, &self.rotation, self.compression.is_some()).repeat_after(second, interval)
    }

    /// The first file of an earlier recording that this one will replace, where files are numbered without an interval.
    pub fn first_replaced(&self) -> Option<PathBuf> {
        FileNames::new(&self.path, &self.rotation, self.compression.is_some())
            .first_replaced(self.rotation.files)
    }

    /// Whether it goes to the standard output.
    pub fn is_standard_output(&self) -> bool {
        self.path == Path::new("-")
    }

    /// Gives another new file of the recording, such as its account, the permissions and the group of its captures.
    ///
    /// # Errors
    /// A group of which the user is no member; the file then has the permissions that it was made with.
    pub fn equip(&self, file: &File) -> io::Result<()> {
        self.making().equip(file)
    }

    pub(super) fn making(&self) -> Making {
        Making { mode: self.mode, group: self.group }
    }

    /// Bytes of memory for which the writer waits. The page cache gathers by itself.
    pub(super) fn gathered(&self) -> usize {
        let most = if self.direct { self.gather.0.min(self.pool.0 / 4) } else { 0 };
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    /// # Errors
    /// [`RecordError::Option`] for options that cannot be, or not together.
    pub(super) fn check(&self) -> Result<()> {
        let refuse = |option, reason: &str| Err(RecordError::Option { option, reason: reason.into() });
        let Rotation { bytes, packets, seconds, files } = self.rotation;
        if [bytes, packets, seconds.map(u64::from), files.map(u64::from)].contains(&Some(0)) {
            return refuse("-C, -G or -W", "0 is no limit for a file; leave it out");
        }
        let rotates = self.rotation.is_numbered() || seconds.is_some();
        if files.is_some() && !rotates {
            return refuse("-W", "only files with an end can be counted; give -C or -G, too");
        }
        if self.is_standard_output() && rotates {
            return refuse("-C, -G or -W", "the standard output is one file; give a name with -w");
        }
        if !self.retention.is_nothing() {
            const OPTION: &str = "--keep-files or --keep-free";
            if !rotates || files.is_some() {
                return refuse(
                    OPTION,
                    "removes old files of a recording that goes on; give -G or -C, and no -W",
                );
            }
            self.own_names().map_err(|reason| RecordError::Option { option: OPTION, reason })?;
        }
        if self.direct && (self.is_standard_output() || self.compression.is_some()) {
            return refuse("--direct", "is for files that are written as they are, without compression");
        }
        if let Some(level) = self.compression
            && !zstd::compression_level_range().contains(&level)
        {
            let range = zstd::compression_level_range();
            return refuse("--zstd", &format!("levels are {} to {}", range.start(), range.end()));
        }
        Ok(())
    }

    /// The names of the recording's files, also of earlier runs.
    ///
    /// # Errors
    /// Why they cannot be recognised.
    pub(super) fn own_names(&self) -> std::result::Result<OwnNames, String> {
        OwnNames::new(&self.path, &self.rotation, self.compression.is_some())
    }

    /// The buffers.
    ///
    /// # Errors
    /// Sizes that cannot be, or more than the host has.
    pub(super) fn buffers(&self) -> Result<Vec<Buffer>> {
        let refuse = |reason: String| RecordError::Option { option: "--write-buffer", reason };
        let Self { pool, buffer, .. } = self;
        let count = pool.0 / buffer.0.max(1);
        if buffer.0 < SMALLEST || !buffer.0.is_multiple_of(ALIGNMENT as u64) || count < FEWEST {
            return Err(refuse(format!(
                "{pool} in buffers of {buffer}; it takes {FEWEST} of them, each a multiple of {} and at least {}",
                ByteCount(ALIGNMENT as u64),
                ByteCount(SMALLEST)
            )));
        }
        if let Ok(available) = available()
            && pool.0 > available.bytes / 10 * 9
        {
            return Err(refuse(format!(
                "{pool} is more than 90 % of the memory that is available here, {available}; ask for less"
            )));
        }
        let size = |bytes: u64| usize::try_from(bytes).map_err(|_| refuse(format!("{pool} is too large")));
        let memory = carve(size(count)?, size(buffer.0)?).map_err(|error| refuse(error.to_string()))?;
        Ok(memory.into_iter().map(|pages| Buffer::new(pages, self.interfaces)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{ByteCount, Rotation, WriteOptions};

    #[test]
    fn what_cannot_be_together_names_the_flag() {
        let plain = WriteOptions::new("a.pcap");
        plain.check().unwrap();
        let ring = Rotation { files: Some(3), ..Rotation::default() };
        let error = WriteOptions { rotation: ring, ..plain.clone() }.check().unwrap_err().to_string();
        assert!(error.starts_with("-W: "), "{error}");
        let timed = Rotation { seconds: Some(3), ..ring };
        WriteOptions { rotation: timed, ..plain.clone() }.check().unwrap();
        assert!(WriteOptions { rotation: timed, path: "-".into(), ..plain.clone() }.check().is_err());
        let none = Rotation { seconds: Some(0), ..ring };
        assert!(WriteOptions { rotation: none, ..plain.clone() }.check().is_err());
        assert!(WriteOptions { direct: true, compression: Some(1), ..plain.clone() }.check().is_err());
        assert!(WriteOptions { compression: Some(99), ..plain.clone() }.check().is_err());
    }

    #[test]
    fn pools_of_impossible_sizes_are_refused() {
        let plain = WriteOptions::new("a.pcap");
        assert_eq!(plain.buffers().unwrap().len(), 64);
        for (pool, buffer) in [(0, 0), (1 << 20, 1 << 20), (1 << 20, 5000), (1 << 60, 1 << 20)] {
            let odd = WriteOptions { pool: ByteCount(pool), buffer: ByteCount(buffer), ..plain.clone() };
            assert!(odd.buffers().is_err(), "{pool} {buffer}");
        }
    }
}
