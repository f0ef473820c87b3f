//! Ways to capture frames from a Linux interface, behind one trait.
//!
//! | file | what |
//! |---|---|
//! | [`capture`] | the trait: batches of frames, counters, what really runs |
//! | [`methods`] | the table of methods; one row each |
//! | [`backends`] | one file per method |
//! | [`options`] | what a user can set, checked before anything is opened |
//! | [`counters`] | kernel counters that reset on read, accumulated in 64 bits in one place |
//! | [`wait`] | spinning and polling |
//!
//! A frame is borrowed from its batch, a batch from its capture; dropping the batch gives the memory back:
//!
//! ```no_run
//! use std::time::Duration;
//! use capbench_capture::{Batch, Capture, CaptureOptions, Interface, backends::packet_v3::PacketV3};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut capture = PacketV3::open(&Interface::of_name("eth0", 1500)?, &CaptureOptions::default())?;
//! while let Some(batch) = capture.next_batch(Duration::from_millis(100))? {
//!     for frame in batch.frames() {
//!         println!("{} of {} octets", frame.data.len(), frame.wire_length);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

pub mod backends;
pub mod capture;
pub mod counters;
pub mod error;
mod filter;
pub mod methods;
pub mod options;
pub mod wait;

pub use capbench_sys::packet::{Frame, PacketType, VlanTag};
pub use capture::{Batch, Capture, Running};
pub use counters::Counters;
pub use error::CaptureError;
pub use methods::{METHODS, Method, Visitor, open_with};
pub use options::{ByteCount, CaptureOptions, Direction, Interface, SnapLength};
pub use wait::WaitCounts;
