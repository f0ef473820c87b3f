//! Several ports (interfaces, queues, members of a fanout) as one stream in time order, from owned batches.
//!
//! | file | what |
//! |---|---|
//! | `stream` | [`Merge`]: batches and reports go in, frames come out in order |
//! | `port` | what is known of a port: what it promised, what of it is held |
//! | `eras` | how far time has gone, and steps of the host's clock |
//! | `run` | a batch as runs of frames that are in order, and the heap that merges them |
//! | `tally` | what the merge counted |
//!
//! Nothing is copied: a frame is given out where it lies, and a batch is dropped when its last frame is out. A ring that
//! several CPUs feed holds frames out of order, by up to 1.5 ms where that was measured, and the times in the headers of
//! blocks are no bounds. So each batch is read through once when it comes, and split where times fall back: runs are what
//! is merged. What is promised, and what it costs, is in `docs/merge.md`.

mod eras;
mod port;
mod run;
mod stream;
mod tally;
#[cfg(test)]
mod tests;

pub use eras::Moment;
pub use port::PortPlan;
pub use stream::{Merge, Origin};
pub use tally::{MergeTally, PortTally};
