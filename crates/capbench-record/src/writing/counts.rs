//! What a writer did, readable by any thread while it runs.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What a writer did since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriterCounts {
    /// Files begun.
    pub files: u64,
    /// The first of them: its final name, also before it has that.
    pub first_file: Option<PathBuf>,
    /// Bytes of files, headers and all, before compression.
    pub bytes: u64,
    /// Bytes that the kernel has, after compression.
    pub stored_bytes: u64,
    /// Buffers written.
    pub buffers: u64,
    /// Packets by interface.
    pub interfaces: Vec<PacketCounts>,
    /// The longest time that one write of buffers to the file took, or has taken so far.
    pub longest_write: Duration,
    /// Whether files are synced: without, it is never known what the disk has.
    pub syncs: bool,
    /// Whether a folder could not be synced, so that it is not known whether the disk has the names of its files.
    pub is_folder_unsynced: bool,
    /// Old files that were removed, of this run and of earlier ones.
    pub deleted_files: u64,
    /// What they took on the disk.
    pub deleted_bytes: u64,
    /// Why old files could not be removed when that was last due.
    pub retention_failure: Option<String>,
    /// Buffers of the pool.
    pub pool: u64,
    /// Those that held something, or were being filled, when last one was taken or came back.
    pub in_use: u64,
    /// The most that ever were.
    pub most_in_use: u64,
}

/// What became of the packets of an interface. A packet is counted in one of the six; [`PacketCounts::unsynced`] is a part of
/// those written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// They are in files.
    pub written: u64,
    /// There was no free buffer for them, or writing had failed: nothing of them was encoded.
    pub refused: u64,
    /// They were encoded, and could not be written.
    pub unwritten: u64,
    /// They were written, and the disk reported an error afterwards.
    pub sync_failed: u64,
    /// They were written to files that newer ones of the ring have replaced.
    pub overwritten: u64,
    /// They were written to files that were removed because they were old ([`super::Retention`]).
    pub deleted: u64,
    /// Those of the written ones that are not yet known to be on the disk.
    pub unsynced: u64,
}

impl PacketCounts {
    /// Packets lost here.
    pub fn lost(self) -> u64 {
        self.refused + self.unwritten
    }
}

impl WriterCounts {
    /// What became of the packets of all interfaces.
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

    /// What an operator must know about the time since `before`, an earlier reading.
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
    /// Nothing is lost yet; three quarters of the buffers wait.
    Behind {
        /// Buffers that wait or are being filled.
        in_use: u64,
        /// Buffers that there are.
        pool: u64,
    },
    /// Packets are lost.
    Losing {
        /// How many.
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

/// Reads the counts of a writer, from any thread and for as long as it likes.
#[derive(Clone, Debug)]
pub struct WriterGauge(pub(super) Arc<Gauge>);

impl WriterGauge {
    /// What the writer did so far. Each number is true for a moment of its own.
    pub fn read(&self) -> WriterCounts {
        self.0.read()
    }
}

/// The numbers behind [`WriterCounts`]. None of them orders anything else.
#[derive(Debug)]
pub(super) struct Gauge {
    files: AtomicU64,
    first_file: Mutex<Option<PathBuf>>,
    bytes: AtomicU64,
    stored_bytes: AtomicU64,
    buffers: AtomicU64,
    interfaces: Box<[Interface]>,
    longest_write_ns: AtomicU64,
    /// What times below count from.
    origin: Instant,
    /// When the write began that has not ended, in ns since `origin`; 0 while there is none.
    write_began_ns: AtomicU64,
    syncs: bool,
    is_folder_unsynced: AtomicBool,
    deleted_files: AtomicU64,
    deleted_bytes: AtomicU64,
    retention_failure: Mutex<Option<String>>,
    pool: u64,
    in_use: AtomicU64,
    most_in_use: AtomicU64,
}

/// None of them ever becomes less.
#[derive(Debug, Default)]
struct Interface {
    /// Packets that the kernel took, including those that were lost or removed afterwards.
    taken: AtomicU64,
    synced: AtomicU64,
    sync_failed: AtomicU64,
    overwritten: AtomicU64,
    deleted: AtomicU64,
    refused: AtomicU64,
    unwritten: AtomicU64,
}

impl Interface {
    fn read(&self) -> PacketCounts {
        let of = |number: &AtomicU64| number.load(Relaxed);
        let (synced, sync_failed) = (of(&self.synced), of(&self.sync_failed));
        let (overwritten, deleted) = (of(&self.overwritten), of(&self.deleted));
        // Read last: it is never less than what the others take from it.
        let taken = of(&self.taken);
        PacketCounts {
            written: taken.saturating_sub(sync_failed).saturating_sub(overwritten).saturating_sub(deleted),
            refused: of(&self.refused),
            unwritten: of(&self.unwritten),
            sync_failed,
            overwritten,
            deleted,
            unsynced: taken.saturating_sub(synced).saturating_sub(sync_failed),
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

    /// How many interfaces there are.
    pub(super) fn interfaces(&self) -> usize {
        self.interfaces.len()
    }

    /// A file was begun that is to have this name.
    pub(super) fn file_begun(&self, path: &Path) {
        if self.files.fetch_add(1, Relaxed) == 0 {
            *self.first_file.lock().unwrap_or_else(PoisonError::into_inner) = Some(path.into());
        }
    }

    /// A file got its final name, which is another one than `wanted` where somebody else made a file of that name meanwhile.
    pub(super) fn file_published(&self, wanted: &Path, name: &Path) {
        let mut first = self.first_file.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_deref() == Some(wanted) {
            *first = Some(name.into());
        }
    }

    /// A file was removed again.
    pub(super) fn file_discarded(&self) {
        self.files.fetch_sub(1, Relaxed);
    }

    /// The bytes of a file, before and after compression, were `before` and are `now`; fewer where it was cut.
    pub(super) fn stored(&self, before: (u64, u64), now: (u64, u64)) {
        self.bytes.fetch_add(now.0.wrapping_sub(before.0), Relaxed);
        self.stored_bytes.fetch_add(now.1.wrapping_sub(before.1), Relaxed);
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// A write begins, in the thread that writes.
    pub(super) fn write_begins(&self) {
        self.write_began_ns.store(self.now_ns().max(1), Relaxed);
    }

    /// It has ended.
    pub(super) fn write_ends(&self) {
        self.longest_write_ns.fetch_max(self.running_write_ns(), Relaxed);
        self.write_began_ns.store(0, Relaxed);
    }

    /// For how long a write has lasted.
    fn running_write_ns(&self) -> u64 {
        match self.write_began_ns.load(Relaxed) {
            0 => 0,
            began => self.now_ns().saturating_sub(began),
        }
    }

    fn count(&self, packets_of: &[u64], place: fn(&Interface) -> &AtomicU64) {
        for (interface, packets) in self.interfaces.iter().zip(packets_of) {
            place(interface).fetch_add(*packets, Relaxed);
        }
    }

    /// The kernel has packets of a buffer.
    pub(super) fn written(&self, packets_of: &[u64]) {
        self.buffers.fetch_add(1, Relaxed);
        self.count(packets_of, |interface| &interface.taken);
    }

    pub(super) fn unwritten(&self, packets_of: &[u64]) {
        self.count(packets_of, |interface| &interface.unwritten);
    }

    /// Written packets are on the disk, or have none to go to.
    pub(super) fn synced(&self, packets_of: &[u64]) {
        self.count(packets_of, |interface| &interface.synced);
    }

    /// The disk may not have written packets.
    pub(super) fn sync_failed(&self, packets_of: &[u64]) {
        self.count(packets_of, |interface| &interface.sync_failed);
    }

    /// A newer file has replaced the one with these packets.
    pub(super) fn overwritten(&self, packets_of: &[u64]) {
        self.count(packets_of, |interface| &interface.overwritten);
    }

    /// A folder cannot be synced.
    pub(super) fn folder_unsynced(&self) {
        self.is_folder_unsynced.store(true, Relaxed);
    }

    /// An old file of so many bytes on the disk was removed; its packets, where it is of this run, and whether these were known to be
    /// on the disk.
    pub(super) fn deleted(&self, bytes: u64, packets_of: &[u64], is_synced: bool) {
        self.deleted_files.fetch_add(1, Relaxed);
        self.deleted_bytes.fetch_add(bytes, Relaxed);
        self.count(packets_of, |interface| &interface.deleted);
        if !is_synced {
            // Nobody will ask any more whether the disk has them.
            self.synced(packets_of);
        }
    }

    /// Why old files could not be removed; `None` when they were.
    pub(super) fn retained(&self, failure: Option<String>) {
        *self.retention_failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }

    #[inline]
    pub(super) fn refused(&self, interface: u32) {
        self.interfaces[interface as usize].refused.fetch_add(1, Relaxed);
    }

    /// Buffers that are empty.
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
        gauge.unwritten(&[2, 1]);
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
        gauge.synced(&[10]);
        gauge.sync_failed(&[20]);
        gauge.synced(&[30]);
        gauge.overwritten(&[30]);
        let packets = gauge.read().packets();
        let expected =
            PacketCounts { written: 50, sync_failed: 20, overwritten: 30, unsynced: 40, ..packets };
        assert_eq!((packets, packets.lost()), (expected, 0));
    }
}
