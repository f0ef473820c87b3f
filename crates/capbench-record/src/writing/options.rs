//! Options of the writer, checked before anything is opened.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use capbench_model::units::ByteCount;
use capbench_sys::host::memory::available;
use capbench_sys::memory::{ALIGNMENT, carve};

use super::buffer::Buffer;
use super::names::FileNames;
use super::own_names::OwnNames;
use super::part::Making;
use super::retention::Retention;
use super::rotation::Rotation;
use crate::error::{RecordError, Result};
use crate::file::EarlierFiles;

/// Options of the writer.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// The file name; `-` is the standard output. With an interval it is a pattern of strftime(3). A complete new file replaces a
    /// file of the same name; names of a pattern replace nothing. With compression, `.zst` is appended.
    pub path: PathBuf,
    /// When a new file begins.
    pub rotation: Rotation,
    /// Memory for buffers. While the output stalls, packets must fit into it and into the buffers before it: 64 MiB are half a
    /// second at 1 Gbit/s.
    pub pool: ByteCount,
    /// Size of one buffer, a multiple of 4 KiB. The largest record must fit into it; with direct I/O, add 4 KiB.
    pub buffer: ByteCount,
    /// Number of interfaces whose packets are recorded, numbered from 0.
    pub interfaces: usize,
    /// Zstandard compression level: 1 is fast, and negative levels are faster.
    pub compression: Option<i32>,
    /// Write with `O_DIRECT`, without the page cache. It needs a fraction of the CPU time, and leaves the host's memory alone.
    /// But only the pool then buffers packets that arrive faster than the disk writes.
    pub direct: bool,
    /// Memory to fill before a write, if [`WriteOptions::direct`] is set: a direct write costs about the same for any size.
    /// Maximum: a quarter of the pool. Data older than a second is written without waiting.
    pub gather: ByteCount,
    /// What happens while no buffer is free.
    pub when_full: WhenFull,
    /// Whether to sync each file to the disk before it gets its final name.
    pub syncs: bool,
    /// Permissions of new files.
    pub mode: u32,
    /// Group of new files; `None` for the group of the process.
    pub group: Option<u32>,
    /// Which old files of the recording are removed.
    pub retention: Retention,
}

/// What happens to a packet while no buffer is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// The packet is refused and counted, so that a capture's ring does not fill.
    Refuse,
    /// The caller waits: for packets from a file.
    Wait,
}

/// Minimum number of buffers for encoding and writing at the same time: one is filled, one is written, and one may wait until the
/// block in which it ends is full.
const FEWEST: u64 = 4;

/// Minimum size of a buffer in bytes: one block for the end of an earlier buffer, and one for records.
const SMALLEST: u64 = 2 * ALIGNMENT as u64;

impl WriteOptions {
    /// One file of this name for one interface, with default options.
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

    /// Name of the first file, if names are not patterns.
    ///
    /// # Errors
    /// An empty name.
    pub fn first_file(&self) -> Result<PathBuf> {
        self.names().path(0, 0)
    }

    /// Seconds after which names of a pattern repeat, counted from this second since 1970-01-01 UTC. Repeated names get numbers.
    /// `None` without an interval, or if names do not repeat soon.
    pub fn names_repeat_after(&self, second: i64) -> Option<u32> {
        let interval = self.rotation.seconds?;
        self.names().repeat_after(second, interval)
    }

    /// The flags by which files with packets of this recording are replaced or removed; `None` if all files stay.
    pub fn removes_files_by(&self) -> Option<&'static str> {
        if self.rotation.is_ring() {
            Some("-W")
        } else if !self.retention.is_nothing() {
            Some("--keep-files and --keep-free")
        } else {
            None
        }
    }

    /// The first existing file of an earlier recording that this one will replace, if files are numbered without an interval.
    pub fn first_replaced(&self) -> Option<PathBuf> {
        self.names().first_replaced(self.rotation.files)
    }

    pub(super) fn names(&self) -> FileNames {
        let is_suffixed = self.compression.is_some() && !self.is_standard_output();
        FileNames::new(&self.path, &self.rotation, is_suffixed)
    }

    /// What becomes of earlier files of the recording.
    pub(crate) fn earlier_files(&self) -> EarlierFiles {
        match self.rotation.files.filter(|_| self.rotation.is_ring()) {
            Some(files) => EarlierFiles::Ring(files),
            None if self.retention.is_nothing() => EarlierFiles::Kept,
            None => EarlierFiles::Removed,
        }
    }

    /// Whether the output is the standard output.
    pub fn is_standard_output(&self) -> bool {
        self.path == Path::new("-")
    }

    /// Sets the permissions and the group of the capture files on another new file of the recording, such as its account.
    ///
    /// # Errors
    /// The user is not a member of the group; the file then keeps the permissions of its creation.
    pub fn equip(&self, file: &File) -> io::Result<()> {
        self.making().equip(file)
    }

    pub(super) fn making(&self) -> Making {
        Making { mode: self.mode, group: self.group }
    }

    /// Bytes of memory to fill before a write; the page cache needs none.
    pub(super) fn gathered(&self) -> usize {
        let most = if self.direct { self.gather.0.min(self.pool.0 / 4) } else { 0 };
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    /// # Errors
    /// [`RecordError::Option`] for invalid options, or options that exclude each other.
    pub(crate) fn check(&self) -> Result<()> {
        let refuse = |option, reason: &str| Err(RecordError::Option { option, reason: reason.into() });
        let Rotation { bytes, packets, seconds, files, last } = self.rotation;
        let counts = [seconds, files, last].map(|count| count.map(u64::from));
        if [bytes, packets].into_iter().chain(counts).any(|limit| limit == Some(0)) {
            return refuse("-C, -G, -W or -a", "0 is no limit for a file; leave it out");
        }
        let rotates = self.rotation.is_numbered() || seconds.is_some();
        if files.is_some() && !rotates {
            return refuse("-W", "only files with an end can be counted; give -C or -G, too");
        }
        if last.is_some() && !rotates && bytes.is_none() {
            return refuse("-a files", "only files with an end can be counted; give -b, -C or -G, too");
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

    /// The name patterns of the recording's files, including earlier runs.
    pub(super) fn own_names(&self) -> std::result::Result<OwnNames, String> {
        OwnNames::new(&self.path, &self.rotation, self.compression.is_some())
    }

    /// Allocates the buffers.
    /// Errors: Invalid sizes, or more memory than the host has.
    pub(super) fn buffers(&self) -> Result<Vec<Buffer>> {
        let refuse = |reason: String| RecordError::Option { option: "--write-buffer", reason };
        let Self { pool, buffer, .. } = self;
        let count = pool.0 / buffer.0.max(1);
        if buffer.0 < SMALLEST || !buffer.0.is_multiple_of(ALIGNMENT as u64) || count < FEWEST {
            return Err(refuse(format!(
                "{pool} in buffers of {buffer}; it needs at least {FEWEST} buffers, each a multiple of {} and at least {}",
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
    fn contradicting_options_name_the_flag() {
        let plain = WriteOptions::new("a.pcap");
        plain.check().unwrap();
        let ring = Rotation { files: Some(3), ..Rotation::default() };
        let error = WriteOptions { rotation: ring, ..plain.clone() }.check().unwrap_err().to_string();
        assert!(error.starts_with("-W: "), "{error}");
        let counted = Rotation { last: Some(3), ..Rotation::default() };
        let error = WriteOptions { rotation: counted, ..plain.clone() }.check().unwrap_err().to_string();
        assert!(error.starts_with("-a files: "), "{error}");
        let whole = Rotation { bytes: Some(1000), last: Some(1), ..Rotation::default() };
        WriteOptions { rotation: whole, path: "-".into(), ..plain.clone() }.check().unwrap();
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
