//! Methods to capture frames from a Linux interface, behind one trait.
//!
//! | file | what |
//! |---|---|
//! | [`capture`] | the trait: batches of frames, borrowed or owned, and their counters |
//! | [`method`], [`methods`] | properties of a method; the table of methods, one row each |
//! | [`backends`] | one file per method |
//! | [`interface`] | the interface, checked before anything is opened |
//! | [`occupancy`] | how full a capture is |
//! | [`stats_socket`] | reading a capture's losses, and closing it, while its frames are borrowed |
//! | [`filter`] | which frames are wanted: expressions, programs, and what runs them |
//! | `wait` | spinning and polling |
//!
//! A frame borrows from its batch, a batch from its capture. Dropping the batch returns the memory:
//!
//! ```no_run
//! use std::time::Duration;
//! use capbench_capture::{Batch, Capture, Interface, backends::packet_v3::PacketV3};
//! use capbench_model::{method_spec::MethodSpec, options::CaptureOptions};
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
//!
//! # To add
//!
//! - a capture method: its name in `MethodSpec::delivery` of `capbench-model/src/method_spec.rs`; a file in
//!   `capbench-capture/src/backends/` with `METHOD` and a type that implements `Capture`; its line in `backends/mod.rs`; its
//!   row in `methods.rs`. Its system calls are in `capbench-sys/src/`; a BPF program has its `*.bpf.c`.
#![forbid(unsafe_code)]

pub mod backends;
pub mod capture;
mod context;
pub mod error;
pub mod fanout_choice;
pub mod filter;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod interface;
pub mod method;
pub mod methods;
pub mod occupancy;
pub mod pool;
pub mod ring_memory;
mod socket_counters;
pub mod stats_socket;
mod wait;

pub use capbench_sys::packet::{FanoutMode, Frame, PacketType, VlanTag};
pub use capture::{Batch, Capture, OwnedBatch, Packed, Packing, Taker, TimeSpan};
pub use error::{CaptureError, Result};
pub use filter::Filter;
pub use interface::Interface;
pub use method::{Argument, CapturePoint, Method, SettingInfo, VlanTags, duration_of, number_of};
pub use methods::{METHODS, MembersVisitor, Visitor, open_members, open_with};
pub use occupancy::Occupancy;
pub use stats_socket::StatsSocket;

pub(crate) use context::Context;
pub(crate) use socket_counters::Accumulator;
pub(crate) use wait::Waiter;
