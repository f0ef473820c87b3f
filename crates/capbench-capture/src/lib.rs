//! Ways to capture frames from a Linux interface, behind one trait.
//!
//! | file | what |
//! |---|---|
//! | [`capture`] | the trait: batches of frames, counters, what really runs |
//! | [`methods`] | the table of methods; one row each |
//! | [`spec`] | how a user names a method and its settings |
//! | [`backends`] | one file per method |
//! | [`owned`] | batches that outlive the call that gave them and may go to other threads |
//! | [`hand_off`] | those batches for worker threads, by bounded queues |
//! | [`fanout`] | several captures that share the frames of one interface |
//! | [`options`] | what a user can set, checked before anything is opened |
//! | [`counters`] | what a method counted, by the place that lost it |
//! | [`fill`] | how full a capture is |
//! | [`intake`] | asking a capture what it lost, and closing it, while its frames are borrowed |
//! | [`merge`] | several captures as one stream in time order |
//! | [`filter`] | which frames are wanted: expressions, programs, and who runs them |
//! | [`mark`] | the frames of a trial, for methods that count them where they are |
//! | [`wait`] | spinning and polling |
//! | [`mod@file`] | frames laid into memory as capture files have them, and read back |
//! | [`writing`] | encoded records to files |
//! | [`convert`] | capture files of one format into files of another |
//! | [`recording`] | all of these in threads: captures of several interfaces to files, with an account |
//!
//! A frame is borrowed from its batch, a batch from its capture; dropping the batch gives the memory back:
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
pub mod convert;
pub mod counters;
pub mod error;
pub mod fanout;
pub mod file;
pub mod fill;
pub mod filter;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod hand_off;
pub mod intake;
pub mod mark;
pub mod merge;
pub mod methods;
pub mod options;
pub mod owned;
mod pool;
pub mod recording;
pub mod spec;
pub mod wait;
pub mod writing;

pub use capbench_sys::packet::{FanoutMode, Frame, PacketType, VlanTag};
pub use capture::{Batch, Capture, LossMark, Running, Taker, TimeSource, TimeSpan};
pub use counters::{Counters, Loss, LossPlace};
pub use error::CaptureError;
pub use fanout::Fanout;
pub use fill::Fill;
pub use filter::Filter;
pub use intake::Intake;
pub use mark::{FrameMark, MaskedOctet, Tally};
pub use methods::{
    CapturePoint, Delivery, METHODS, MembersVisitor, Method, Visitor, VlanTags, open_members, open_with,
};
pub use options::{ByteCount, CaptureOptions, Direction, Interface, SnapLength};
pub use owned::{OwnedBatch, Packed};
pub use spec::{MethodSpec, Setting};
pub use wait::WaitCounts;
