//! Encoded records to files, as fast as the disk takes them.
//!
//! | file | what |
//! |---|---|
//! | [`Output`] (`output`) | room for records, in the file that they belong to |
//! | `buffer`, `pool` | whole records on their way, and the bounded memory for them |
//! | [`WriteOptions`] (`options`) | what a user can say about it |
//! | [`Rotation`] (`rotation`), `names` | when a file ends, and what the next one is called |
//! | `writer` | the thread that writes |
//! | `files`, `sink`, `direct`, `compress` | what it writes to: page cache or pipe, disk, Zstandard |
//! | [`WriterCounts`] (`counts`) | what was written and what not, while it runs |
//! | `records` | where records end, for files that have to end early |
//!
//! The thread that takes packets encodes them straight into a buffer, and never waits: when no buffer is free the packet is
//! refused and counted at [`crate::LossPlace::Writer`] ([`WhenFull::Wait`] is for packets that come from files). A buffer can also be a block of a ring, where the frames lie: that is
//! written from there, and the ring has it back afterwards. Files hold nothing but records one after the other, so that whatever
//! ends the process leaves files that can be read up to the last whole record; with direct I/O up to the last block of
//! 4 KiB or the last flush, with compression up to the last buffer.

mod buffer;
mod compress;
mod counts;
mod direct;
mod files;
mod names;
mod options;
mod output;
mod pool;
mod records;
mod rotation;
mod sink;
mod writer;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;

pub use buffer::Origin;
pub use counts::{Lag, PacketCounts, WriterCounts, WriterGauge};
pub use options::{WhenFull, WriteOptions};
pub use output::{FileEnds, NoRoom, Output, Recorded};
pub use records::{Record, RecordReader};
pub use rotation::Rotation;
pub use writer::Ending;
