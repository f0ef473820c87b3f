//! Writes encoded records to files, as fast as the disk accepts them.
//!
//! | file | what |
//! |---|---|
//! | [`Output`] (`output`) | reserves room for records, in the file that they belong to |
//! | `buffer`, `pool` | buffers of whole records, and the bounded memory for them |
//! | [`WriteOptions`] (`options`) | the user's options |
//! | [`Rotation`] (`rotation`), `names` | when a file ends, and the name of the next one |
//! | `writer` | the thread that writes |
//! | `closer` | the thread that syncs complete files, and gives them their final names |
//! | `files`, `part` | create files: temporary name, permissions, lock |
//! | `lock` | allows one recorder at a time for the files of one `-w` |
//! | [`Retention`] (`retention`), `own_names`, `keeper` | which old files of the recording are removed, and their removal |
//! | `sink`, `descriptor` | kinds of output: page cache or pipe, direct I/O, Zstandard |
//! | `failure` | a failed operation, its file, and what to do |
//! | [`WriterCounts`] (`counts`) | counters of the writer, readable while it runs |
//!
//! The thread that reads packets encodes them straight into a buffer, and never waits. If no buffer is free, the packet is
//! refused and counted at [`capbench_model::places::Place::Writer`] ([`WhenFull::Wait`] is for packets from files). A buffer can
//! also be a ring block: the writer writes it straight from the ring, then returns it. Files contain only consecutive records. So
//! after any end of the process, files are readable up to the last whole record; with direct I/O up to the last block of 4 KiB or
//! the last flush; with compression up to the last buffer.

mod buffer;
mod closer;
mod counts;
mod descriptor;
mod failure;
mod files;
mod keeper;
mod lock;
mod names;
mod options;
mod output;
mod own_names;
mod part;
mod pool;
mod retention;
mod rotation;
mod sink;
mod writer;

#[cfg(test)]
mod tests;

pub use buffer::Origin;
pub use counts::{Lag, PacketCounts, WriterCounts, WriterGauge};
pub use failure::CONFINED;
pub use options::{WhenFull, WriteOptions};
pub use output::{EncodeRecord, FileEnds, Output, Recorded};
pub use pool::NoRoom;
pub use retention::{FreeSpace, Retention};
pub use rotation::Rotation;
pub use writer::Ending;
