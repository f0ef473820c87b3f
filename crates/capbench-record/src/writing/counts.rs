//! Counters of the writer, readable by any thread while it runs.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Counters of a writer since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriterCounts {
    /// Files begun.
    pub files: u64,
    /// The first file's final name, even before the file has it.
    pub first_file: Option<PathBuf>,
    /// Bytes of files including headers, before compression.
    pub bytes: u64,
    /// Bytes written to the kernel, after compression.
    pub stored_bytes: u64,
    /// Buffers that were written.
    pub buffers: u64,
    /// Packets by interface.
    pub interfaces: Vec<PacketCounts>,
    /// The longest write of buffers to the file, including one in progress.
    pub longest_write: Duration,
    /// Whether files are synced. Without sync it is unknown what is on the disk.
    pub syncs: bool,
    /// Whether the sync of a folder failed: then the disk may not have the names of its files.
    pub is_folder_unsynced: bool,
    /// Old files removed, of this run and of earlier ones.
    pub deleted_files: u64,
    /// Their size on the disk in bytes.
    pub deleted_bytes: u64,
    /// Why old files could not be removed at the last attempt.
    pub retention_failure: Option<String>,
    /// Number of buffers in the pool.
    pub pool: u64,
    /// Buffers in use, as of the last change.
    pub in_use: u64,
    /// Maximum number of buffers in use.
    pub most_in_use: u64,
}

/// What became of an interface's packets. Each packet is in exactly one of the other six counts; [`PacketCounts::unsynced`] is a
/// part of `written`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// In files.
    pub written: u64,
    /// Not encoded: there was no free buffer, or writing had failed.
    pub refused: u64,
    /// Encoded, but the write failed.
    pub unwritten: u64,
    /// Written, but the disk reported an error afterwards.
    pub sync_failed: u64,
    /// Written to files that newer files of the ring have replaced.
    pub overwritten: u64,
    /// Written to files that were removed because of their age ([`super::Retention`]).
    pub deleted: u64,
    /// Written, but not yet known to be on the disk.
    pub unsynced: u64,
}

impl PacketCounts {
    /// Packets lost in the writer.
    pub fn lost(self) -> u64 {
        self.refused + self.unwritten
    }
}

impl WriterCounts {
    /// Sums of all interfaces.
    pub fn packets(&self) -> PacketCounts {
        self.interfaces.iter().fold(PacketCounts::default(), |sum, one| PacketCounts {
            written: sum.written + one.written,
            refused: sum.refused + one.refused,
            unwritten: sum.unwritten + one.unwritten,
            sync_failed: sum.sync_failed + one.sync_failed,
            overwritten: sum.overwritten + one.overwritten,
            deleted: sum.deleted + one.deleted,
            unsynced: sum.unsynced + one.unsynced,
        })
    }

    /// What an operator should know about the time since the earlier reading `before`.
    pub fn lag_since(&self, before: &Self) -> Option<Lag> {
        let lost = self.packets().lost().saturating_sub(before.packets().lost());
        let Self { in_use, pool, longest_write, .. } = *self;
        if lost > 0 {
            Some(Lag::Losing { lost, longest_write })
        } else if in_use * 4 >= pool * 3 {
            Some(Lag::Behind { in_use, pool })
        } else {
            None
        }
    }
}

/// The writer does not keep up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lag {
    /// Nothing is lost yet, but three quarters of the buffers are in use.
    Behind {
        /// Buffers in use.
        in_use: u64,
        /// Buffers in the pool.
        pool: u64,
    },
    /// Packets were lost.
    Losing {
        /// Lost packets.
        lost: u64,
        /// The longest write since the start.
        longest_write: Duration,
    },
}

impl fmt::Display for Lag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Behind { in_use, pool } => {
                write!(f, "the output falls behind: {in_use} of {pool} buffers wait to be written")
            }
            Self::Losing { lost, longest_write } => write!(
                f,
                "the output does not keep up: {lost} packets dropped at the writer; the longest write took {} ms",
                longest_write.as_millis()
            ),
        }
    }
}

/// Reads the counters of a writer, from any thread and even after its end.
#[derive(Clone, Debug)]
pub struct WriterGauge(pub(super) Arc<Gauge>);

impl WriterGauge {
    /// The counters so far. They are read one after the other, not at one moment.
    pub fn read(&self) -> WriterCounts {
        self.0.read()
    }
}

/// The numbers behind [`WriterCounts`]. None of them orders anything else.
#[derive(Debug)]
pub(super) struct Gauge {
    pub(super) files: AtomicU64,
    first_file: Mutex<Option<PathBuf>>,
    bytes: AtomicU64,
    stored_bytes: AtomicU64,
    buffers: AtomicU64,
    interfaces: Box<[Interface]>,
    longest_write_ns: AtomicU64,
    /// Reference point of the times below.
    origin: Instant,
    /// When the current write began, in ns since `origin`; 0 if there is none.
    write_began_ns: AtomicU64,
    syncs: bool,
    /// Whether the sync of a folder failed.
    pub(super) is_folder_unsynced: AtomicBool,
    deleted_files: AtomicU64,
    deleted_bytes: AtomicU64,
    retention_failure: Mutex<Option<String>>,
    pool: u64,
    in_use: AtomicU64,
    most_in_use: AtomicU64,
}

/// No counter ever decreases.
#[derive(Debug, Default)]
pub(super) struct Interface {
    /// Packets that the kernel accepted, including those lost or removed afterwards.
    accepted: AtomicU64,
    /// Packets that are on the disk, or whose output has no disk.
    pub(super) synced: AtomicU64,
    /// Written packets that the disk may not have.
    pub(super) sync_failed: AtomicU64,
    /// Packets of files that newer files have replaced.
    pub(super) overwritten: AtomicU64,
    deleted: AtomicU64,
    refused: AtomicU64,
    pub(super) unwritten: AtomicU64,
}

impl Interface {
    fn read(&self) -> PacketCounts {
        let of = |number: &AtomicU64| number.load(Relaxed);
        let (synced, sync_failed) = (of(&self.synced), of(&self.sync_failed));
        let (overwritten, deleted) = (of(&self.overwritten), of(&self.deleted));
        // Read last, so it is never less than the sum subtracted from it.
        let accepted = of(&self.accepted);
        PacketCounts {
            written: accepted.saturating_sub(sync_failed).saturating_sub(overwritten).saturating_sub(deleted),
            refused: of(&self.refused),
            unwritten: of(&self.unwritten),
            sync_failed,
            overwritten,
            deleted,
            unsynced: accepted.saturating_sub(synced).saturating_sub(sync_failed),
        }
    }
}

impl Gauge {
    pub(super) fn new(interfaces: usize, pool: usize, syncs: bool) -> Self {
        Self {
            files: AtomicU64::new(0),
            first_file: Mutex::default(),
            bytes: AtomicU64::new(0),
            stored_bytes: AtomicU64::new(0),
            buffers: AtomicU64::new(0),
            interfaces: (0..interfaces).map(|_| Interface::default()).collect(),
            longest_write_ns: AtomicU64::new(0),
            origin: Instant::now(),
            write_began_ns: AtomicU64::new(0),
            syncs,
            is_folder_unsynced: AtomicBool::new(false),
            deleted_files: AtomicU64::new(0),
            deleted_bytes: AtomicU64::new(0),
            retention_failure: Mutex::default(),
            pool: pool as u64,
            in_use: AtomicU64::new(0),
            most_in_use: AtomicU64::new(0),
        }
    }

    pub(super) fn interfaces(&self) -> usize {
        self.interfaces.len()
    }

    /// Notes a new file with this final name.
    pub(super) fn file_begun(&self, path: &Path) {
        if self.files.fetch_add(1, Relaxed) == 0 {
            *self.first_file.lock().unwrap_or_else(PoisonError::into_inner) = Some(path.into());
        }
    }

    /// Notes a file's final name. It differs from `wanted` if another process created a file of that name meanwhile.
    pub(super) fn file_published(&self, wanted: &Path, name: &Path) {
        let mut first = self.first_file.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_deref() == Some(wanted) {
            *first = Some(name.into());
        }
    }

    /// Notes bytes of a file, before and after compression: `now` instead of `before`, fewer if the file was cut.
    pub(super) fn stored(&self, before: (u64, u64), now: (u64, u64)) {
        self.bytes.fetch_add(now.0.wrapping_sub(before.0), Relaxed);
        self.stored_bytes.fetch_add(now.1.wrapping_sub(before.1), Relaxed);
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Notes that a write begins, in the writing thread.
    pub(super) fn write_begins(&self) {
        self.write_began_ns.store(self.now_ns().max(1), Relaxed);
    }

    /// Notes that the write has ended.
    pub(super) fn write_ends(&self) {
        self.longest_write_ns.fetch_max(self.running_write_ns(), Relaxed);
        self.write_began_ns.store(0, Relaxed);
    }

    fn running_write_ns(&self) -> u64 {
        match self.write_began_ns.load(Relaxed) {
            0 => 0,
            began => self.now_ns().saturating_sub(began),
        }
    }

    /// Adds packets to one of the counts of their interfaces.
    pub(super) fn count(&self, packets_of: &[u64], place: fn(&Interface) -> &AtomicU64) {
        for (interface, packets) in self.interfaces.iter().zip(packets_of) {
            place(interface).fetch_add(*packets, Relaxed);
        }
    }

    /// Notes that the kernel accepted the packets of a buffer.
    pub(super) fn written(&self, packets_of: &[u64]) {
        self.buffers.fetch_add(1, Relaxed);
        self.count(packets_of, |interface| &interface.accepted);
    }

    /// Notes the removal of an old file: its bytes, its packets if this run wrote it, and whether they were on the disk for
    /// certain.
    pub(super) fn deleted(&self, bytes: u64, packets_of: &[u64], is_synced: bool) {
        self.deleted_files.fetch_add(1, Relaxed);
        self.deleted_bytes.fetch_add(bytes, Relaxed);
        self.count(packets_of, |interface| &interface.deleted);
        if !is_synced {
            // Nobody asks later whether the disk has these packets.
            self.count(packets_of, |interface| &interface.synced);
        }
    }

    /// Notes why old files could not be removed; `None` after success.
    pub(super) fn retained(&self, failure: Option<String>) {
        *self.retention_failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }

    #[inline]
    pub(super) fn refused(&self, interface: u32) {
        self.interfaces[interface as usize].refused.fetch_add(1, Relaxed);
    }

    #[inline]
    pub(super) fn empty(&self) -> u64 {
        self.pool.saturating_sub(self.in_use.load(Relaxed))
    }

    pub(super) fn in_use(&self, empty: usize) {
        let in_use = self.pool.saturating_sub(empty as u64);
        self.in_use.store(in_use, Relaxed);
        self.most_in_use.fetch_max(in_use, Relaxed);
    }

    pub(super) fn read(&self) -> WriterCounts {
        let of = |number: &AtomicU64| number.load(Relaxed);
        WriterCounts {
            files: of(&self.files),
            first_file: self.first_file.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            bytes: of(&self.bytes),
            stored_bytes: of(&self.stored_bytes),
            buffers: of(&self.buffers),
            interfaces: self.interfaces.iter().map(Interface::read).collect(),
            longest_write: Duration::from_nanos(of(&self.longest_write_ns).max(self.running_write_ns())),
            syncs: self.syncs,
            is_folder_unsynced: self.is_folder_unsynced.load(Relaxed),
            deleted_files: of(&self.deleted_files),
            deleted_bytes: of(&self.deleted_bytes),
            retention_failure: self.retention_failure.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            pool: self.pool,
            in_use: of(&self.in_use),
            most_in_use: of(&self.most_in_use),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Gauge, Lag, PacketCounts};

    #[test]
    fn an_operator_hears_of_lag_and_of_loss() {
        let gauge = Gauge::new(2, 8, true);
        gauge.in_use(3);
        let calm = gauge.read();
        assert_eq!(calm.lag_since(&calm), None);
        gauge.in_use(2);
        let behind = gauge.read();
        assert_eq!(behind.lag_since(&calm), Some(Lag::Behind { in_use: 6, pool: 8 }));
        gauge.refused(1);
        gauge.count(&[2, 1], |of| &of.unwritten);
        gauge.longest_write_ns.store(812_000_000, super::Relaxed);
        let losing = gauge.read();
        assert_eq!(
            losing.lag_since(&behind).unwrap().to_string(),
            "the output does not keep up: 4 packets dropped at the writer; the longest write took 812 ms"
        );
        assert_eq!(losing.packets().lost(), 4);
        gauge.in_use(8);
        let over = gauge.read();
        assert_eq!((over.lag_since(&losing), over.most_in_use), (None, 6));
    }

    #[test]
    fn the_longest_write_is_known_while_it_lasts() {
        let gauge = Gauge::new(1, 8, true);
        gauge.write_begins();
        let first = gauge.read().longest_write;
        let mut later = first;
        while later <= first {
            later = gauge.read().longest_write;
        }
        gauge.write_ends();
        let whole = gauge.read().longest_write;
        assert!(whole >= later && gauge.read().longest_write == whole);
    }

    #[test]
    fn a_packet_is_in_one_place() {
        let gauge = Gauge::new(1, 8, true);
        [10, 20, 30, 40].iter().for_each(|packets| gauge.written(&[*packets]));
        gauge.count(&[10], |of| &of.synced);
        gauge.count(&[20], |of| &of.sync_failed);
        gauge.count(&[30], |of| &of.synced);
        gauge.count(&[30], |of| &of.overwritten);
        let packets = gauge.read().packets();
        let expected =
            PacketCounts { written: 50, sync_failed: 20, overwritten: 30, unsynced: 40, ..packets };
        assert_eq!((packets, packets.lost()), (expected, 0));
    }
}
