//! Encoded records to files, as fast as the disk takes them.
//!
//! | file | what |
//! |---|---|
//! | [`Output`] (`output`) | room for records, in the file that they belong to |
//! | `buffer`, `pool` | whole records on their way, and the bounded memory for them |
//! | [`WriteOptions`] (`options`) | what a user can say about it |
//! | [`Rotation`] (`rotation`), `names` | when a file ends, and what the next one is called |
//! | `writer`, `current` | the thread that writes, and the file that it writes to |
//! | `closer` | the thread that waits until the disk has a file, and gives the file its final name |
//! | `files`, `part`, `holder` | how files are made: with a temporary name, permissions and a lock |
//! | `lock` | one recorder at a time for the files of one `-w` |
//! | [`Retention`] (`retention`), `own_names`, `keeper` | which old files of the recording are removed, and removing them |
//! | `sink`, `descriptor`, `direct`, `compress` | what is written to: page cache or pipe, disk, Zstandard |
//! | `failure` | what could not be done to which file |
//! | [`WriterCounts`] (`counts`) | what was written and what not, while it runs |
//! | `records` | where records end, for files that have to end early |
//!
//! The thread that takes packets encodes them straight into a buffer, and never waits: when no buffer is free the packet is
//! refused and counted at [`capbench_capture::LossPlace::Writer`] ([`WhenFull::Wait`] is for packets that come from files). A buffer can also be a block of a ring, where the frames lie: that is
//! written from there, and the ring has it back afterwards. Files hold nothing but records one after the other, so that whatever
//! ends the process leaves files that can be read up to the last whole record; with direct I/O up to the last block of
//! 4 KiB or the last flush, with compression up to the last buffer.

mod buffer;
mod closer;
mod compress;
mod counts;
mod current;
mod descriptor;
mod direct;
mod failure;
mod files;
mod holder;
mod keeper;
mod lock;
mod names;
mod options;
mod output;
mod own_names;
mod part;
mod pool;
mod records;
mod retention;
mod rotation;
mod sink;
mod writer;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;

pub use buffer::Origin;
pub use counts::{Lag, PacketCounts, WriterCounts, WriterGauge};
pub use failure::CONFINED;
pub use options::{WhenFull, WriteOptions};
pub use output::{FileEnds, NoRoom, Output, Recorded};
pub use records::{Record, RecordReader};
pub use retention::{FreeSpace, Retention};
pub use rotation::Rotation;
pub use writer::Ending;
