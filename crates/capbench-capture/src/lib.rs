//! Methods to capture frames from a Linux interface, behind one trait.
//!
//! | file | what |
//! |---|---|
//! | [`capture`] | the trait: batches of frames, borrowed or owned, and their counters |
//! | [`running`] | what an open capture uses: engine, sizes, source of times |
//! | [`method`], [`methods`] | properties of a method; the table of methods, one row each |
//! | [`method_spec`] | how a user names a method and its settings |
//! | [`backends`] | one file per method |
//! | [`fanout`] | several captures that share the frames of one interface |
//! | [`options`], [`interface`], [`units`] | settings of the user, checked before anything is opened |
//! | [`counters`] | counters of a method, by the place that lost the frames |
//! | [`occupancy`] | how full a capture is |
//! | [`stats_socket`] | reading a capture's losses, and closing it, while its frames are borrowed |
//! | [`filter`] | which frames are wanted: expressions, programs, and what runs them |
//! | [`mark`] | how in-kernel counting methods recognise the frames of a trial |
//! | `wait` | spinning and polling |
//!
//! A frame borrows from its batch, a batch from its capture. Dropping the batch returns the memory:
//!
//! ```no_run
//! use std::time::Duration;
//! use capbench_capture::{Batch, Capture, CaptureOptions, Interface, MethodSpec, backends::packet_v3::PacketV3};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (method, interface) = (MethodSpec::plain("packet-v3"), Interface::of_name("eth0", 1500)?);
//! let mut capture = PacketV3::open(&method, &interface, &CaptureOptions::default())?;
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
mod context;
pub use capbench_model::counters;
pub mod error;
pub use capbench_model::fanout;
pub mod filter;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod interface;
pub mod occupancy;
pub mod stats_socket;
pub use capbench_model::mark;
pub mod method;
pub use capbench_model::method_spec;
pub mod methods;
pub use capbench_model::options;
pub mod pool;
pub mod ring_memory;
pub use capbench_model::running;
mod socket_counters;
pub use capbench_model::units;
mod wait;

pub use capbench_model::direction::Direction;
pub use capbench_sys::packet::{FanoutMode, Frame, PacketType, VlanTag};
pub use capture::{Batch, Capture, LossMark, OwnedBatch, Packed, Taker, TimeSpan};
pub use counters::{Counters, Loss, Place, WaitCounts};
pub use error::CaptureError;
pub use fanout::Fanout;
pub use filter::Filter;
pub use interface::Interface;
pub use mark::{FrameMark, MaskedOctet, Tally};
pub use method::{CapturePoint, Delivery, Method, VlanTags};
pub use method_spec::{MethodSpec, Setting};
pub use methods::{METHODS, MembersVisitor, Visitor, open_members, open_with};
pub use occupancy::Occupancy;
pub use options::CaptureOptions;
pub use running::{CaptureFacts, Engine, RingGeometry, Running, TimeSource};
pub use stats_socket::StatsSocket;
pub use units::{ByteCount, SnapLength};
