//! The frames of a trial: sizes, headers, stamps, schedules, and their classification on receipt. No input or output.
//!
//! A [`FramePlan`] is a [`FrameLayout`] and [`Sizes`], checked against an MTU. A [`StackPlan`] is the same for any [`HeaderStack`],
//! and a [`FlowSet`] has several. A [`FrameSource`] is a plan, frames of a capture file, or flows. A [`Schedule`] has the planned send times. A
//! [`Classifier`] distinguishes the frames of the trial from all others and reads their [`Stamp`].
//!
//! ```
//! use capbench_frames::{FrameLayout, FramePlan, Mtu, Sizes};
//!
//! let plan = FramePlan::new(FrameLayout::default(), "imix".parse::<Sizes>()?, Mtu(1500))?;
//! assert_eq!(plan.sizes().mean_octets().round(), 354.0);
//! # Ok::<(), capbench_frames::FrameError>(())
//! ```
//!
//! Sizes count the FCS, as RFC 2544 does; [`FrameSize`] converts in one place.
//!
//! # To add
//!
//! - a source of frames to send: a variant of `FrameSource` in `capbench-frames/src/source.rs`, a type that implements
//!   `WriteFrames` of `write.rs` there, and its arm in `run` of `capbench-traffic/src/pacer.rs`.
//! - a protocol of header stacks: its row in `capbench-frames/src/stack/protocols.rs`, and its rows in `stacks.rs` of
//!   capbench-testing, by which tshark checks it.
#![forbid(unsafe_code)]

pub mod checksum;
pub mod classify;
pub mod error;
pub mod flows;
pub mod frame;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod head;
mod head_mask;
mod head_match;
pub mod imix;
pub mod lateness;
pub mod layout;
pub mod other_trials;
pub mod packet_file;
pub mod plan;
pub mod rates;
pub mod recorded;
pub mod schedule;
mod sent_frames;
pub mod sizes;
pub mod source;
pub mod stack;
pub mod stamp;
pub mod trailer;
pub mod transmit_spec;
pub mod units;
pub mod write;

pub use classify::{Classifier, FrameClass, TagMetadata};
pub use error::{FrameError, Result};
pub use flows::{FlowCommand, FlowCounts, FlowSet, FlowSummary, MergedFlows, StackFlow};
pub use frame::FrameWriter;
pub use head_mask::KnownOctets;
pub use imix::Imix;
pub use lateness::{Lateness, LatenessSummary};
pub use layout::{Flow, Flows, FrameLayout, MacAddress, Network, Transport, VlanTag};
pub use other_trials::OtherTrials;
pub use packet_file::{FlowDefaults, PacketFile};
pub use plan::{FlowOrder, FramePlan};
pub use rates::{AskedRate, Pps, StatedRate};
pub use recorded::RecordedFrames;
pub use schedule::{RecordedTimes, Schedule, Speed, Step, Turn};
pub use sent_frames::SentFrames;
pub use sizes::{SizeSequence, Sizes};
pub use source::FrameSource;
pub use stack::{FrameLimits, HeaderStack, Payload, StackPlan};
pub use stamp::{Stamp, StreamId, TrialId};
pub use trailer::TrailerReader;
pub use transmit_spec::TransmitSpec;
pub use units::{FrameSize, Mtu};
