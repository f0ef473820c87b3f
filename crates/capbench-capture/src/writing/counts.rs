//! What a writer did, readable by any thread while it runs.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// What a writer did since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriterCounts {
    /// Files begun.
    pub files: u64,
    /// Bytes of files, headers and all, before compression.
    pub bytes: u64,
    /// Bytes that were handed to the kernel, after compression.
    pub stored_bytes: u64,
    /// Buffers written.
    pub buffers: u64,
    /// Packets by interface. A packet stands in one of the three.
    pub interfaces: Vec<PacketCounts>,
    /// The longest time that one handing over of buffers to the file took.
    pub longest_write: Duration,
    /// Buffers of the pool.
    pub pool: u64,
    /// Those that held something, or were being filled, when last one was taken or came back.
    pub in_use: u64,
    /// The most that ever were.
    pub most_in_use: u64,
}

/// What became of the packets of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// A reader of the file has them.
    pub written: u64,
    /// There was no free buffer for them, or writing had failed: nothing of them was encoded.
    pub refused: u64,
    /// They were encoded, and could not be written.
    pub unwritten: u64,
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
    bytes: AtomicU64,
    stored_bytes: AtomicU64,
    buffers: AtomicU64,
    interfaces: Box<[Interface]>,
    longest_write_ns: AtomicU64,
    pool: u64,
    in_use: AtomicU64,
    most_in_use: AtomicU64,
}

#[derive(Debug, Default)]
struct Interface {
    written: AtomicU64,
    refused: AtomicU64,
    unwritten: AtomicU64,
}

impl Gauge {
    pub(super) fn new(interfaces: usize, pool: usize) -> Self {
        Self {
            files: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            stored_bytes: AtomicU64::new(0),
            buffers: AtomicU64::new(0),
            interfaces: (0..interfaces).map(|_| Interface::default()).collect(),
            longest_write_ns: AtomicU64::new(0),
            pool: pool as u64,
            in_use: AtomicU64::new(0),
            most_in_use: AtomicU64::new(0),
        }
    }

    pub(super) fn file_begun(&self) {
        self.files.fetch_add(1, Relaxed);
    }

    pub(super) fn stored(&self, bytes: u64, stored: u64) {
        self.bytes.fetch_add(bytes, Relaxed);
        self.stored_bytes.fetch_add(stored, Relaxed);
    }

    pub(super) fn wrote_for(&self, time: Duration) {
        self.longest_write_ns.fetch_max(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    pub(super) fn written(&self, packets_of: &[u64]) {
        self.buffers.fetch_add(1, Relaxed);
        for (interface, packets) in self.interfaces.iter().zip(packets_of) {
            interface.written.fetch_add(*packets, Relaxed);
        }
    }

    pub(super) fn unwritten(&self, packets_of: &[u64]) {
        for (interface, packets) in self.interfaces.iter().zip(packets_of) {
            interface.unwritten.fetch_add(*packets, Relaxed);
        }
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
            bytes: of(&self.bytes),
            stored_bytes: of(&self.stored_bytes),
            buffers: of(&self.buffers),
            interfaces: self
                .interfaces
                .iter()
                .map(|one| PacketCounts {
                    written: of(&one.written),
                    refused: of(&one.refused),
                    unwritten: of(&one.unwritten),
                })
                .collect(),
            longest_write: Duration::from_nanos(of(&self.longest_write_ns)),
            pool: self.pool,
            in_use: of(&self.in_use),
            most_in_use: of(&self.most_in_use),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Gauge, Lag};
    use std::time::Duration;

    #[test]
    fn an_operator_hears_of_lag_and_of_loss() {
        let gauge = Gauge::new(2, 8);
        gauge.in_use(3);
        let calm = gauge.read();
        assert_eq!(calm.lag_since(&calm), None);
        gauge.in_use(2);
        let behind = gauge.read();
        assert_eq!(behind.lag_since(&calm), Some(Lag::Behind { in_use: 6, pool: 8 }));
        gauge.refused(1);
        gauge.unwritten(&[2, 1]);
        gauge.wrote_for(Duration::from_millis(812));
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
}
