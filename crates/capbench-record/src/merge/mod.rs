//! Merges several ports (interfaces, queues, members of a fanout) of owned batches into one stream in time order.
//!
//! | file | what |
//! |---|---|
//! | `stream` | [`Merge`]: accepts batches and reports, delivers frames in order |
//! | `port` | state of a port: its promise and its unfinished batches |
//! | `eras` | progress of time, and steps of the host's clock |
//! | `run` | splits a batch into runs of ordered frames, and the heap that merges them |
//!
//! The merge copies nothing: it delivers a frame from its place in the batch, and drops the batch after its last frame. A ring
//! that several CPUs feed has frames out of order, by up to 1.5 ms as measured. The timestamps in block headers are not reliable
//! bounds. So the merge scans each batch once on arrival, splits it where timestamps fall back, and merges these runs.
//! `docs/merge.md` describes guarantees and costs.

mod eras;
mod port;
mod run;
mod stream;
#[cfg(test)]
mod tests;

pub use eras::Moment;
pub use port::{PortPlan, PortTally};
pub use stream::{Merge, MergeTally, Origin};
