//! What is sent: frame plans, sizes, flows, stamps and schedules, a pacer, and one file per way to transmit.
//!
//! A [`FramePlan`] is a [`FrameLayout`] and [`Sizes`], checked against an MTU. A [`Schedule`] says when its frames are
//! due. [`METHODS`](transmit::METHODS) opens a [`Sender`], which runs a [`SendJob`] and returns a [`SendReport`] in
//! which every intended frame is sent or unsent. At the other end a [`Recogniser`] tells the frames of the trial from
//! everything else and reads their [`Stamp`].
//!
//! ```
//! use capbench_traffic::{FrameLayout, FramePlan, Mtu, Sizes};
//!
//! let plan = FramePlan::new(FrameLayout::default(), "imix".parse::<Sizes>()?, Mtu(1500))?;
//! assert_eq!(plan.sizes().mean_octets().round(), 354.0);
//! # Ok::<(), capbench_traffic::TrafficError>(())
//! ```
//!
//! Sizes count the FCS, as RFC 2544 does; [`FrameSize`] converts in one place.
#![forbid(unsafe_code)]

mod checksum;
pub mod error;
pub mod frame;
mod head;
mod head_mask;
mod head_match;
pub mod imix;
pub mod layout;
pub mod pacer;
pub mod plan;
pub mod rates;
pub mod recognise;
pub mod report;
pub mod schedule;
pub mod sizes;
pub mod stamp;
pub mod transmission;
pub mod transmit;
pub mod units;

pub use error::{Result, TrafficError};
pub use frame::FrameWriter;
pub use head_mask::KnownOctets;
pub use imix::Imix;
pub use layout::{Flow, Flows, FrameLayout, MacAddress, Network, Transport, VlanTag};
pub use pacer::{Limits, SendJob};
pub use plan::{FlowOrder, FramePlan};
pub use rates::{BitRate, L1, L2, Pps, line_rate};
pub use recognise::{Recogniser, Seen, TagMetadata};
pub use report::{Lateness, LatenessSummary, SendReport};
pub use schedule::{Schedule, Step};
pub use sizes::{Raised, SizeSequence, Sizes};
pub use stamp::{Stamp, StreamId, TrialId};
pub use transmission::Transmit;
pub use transmit::{Opened, Sender, TransmitConfig, TransmitFacts, TransmitMethod};
pub use units::{FrameSize, Mtu};
