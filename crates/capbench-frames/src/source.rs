//! Where the frames of a sender come from. To add a source: a variant, and a type that implements
//! [`WriteFrames`](crate::write::WriteFrames), and [`PlanFrames`](crate::write::PlanFrames) if its frames have times of their own.

use crate::flows::FlowSet;
use crate::head::HEAD_ROOM;
use crate::{FramePlan, FrameSize, RecordedFrames};

/// The frames of a sending phase, fixed before it starts.
#[derive(Debug, Clone, Copy)]
pub enum FrameSource<'a> {
    /// Stamped frames of a plan. Each sender has the whole plan as a stream.
    Generated(&'a FramePlan),
    /// Frames as they are, without stamps. Senders take them in turn.
    Recorded(&'a RecordedFrames),
    /// Flows with headers, times and limits of their own. Senders take flows in turn.
    Flows(&'a FlowSet),
}

impl<'a> From<&'a FramePlan> for FrameSource<'a> {
    fn from(plan: &'a FramePlan) -> Self {
        Self::Generated(plan)
    }
}

impl FrameSource<'_> {
    /// The longest frame.
    pub fn largest(self) -> FrameSize {
        match self {
            Self::Generated(plan) => plan.sizes().largest(),
            Self::Recorded(frames) => frames.largest(),
            Self::Flows(set) => set.largest(),
        }
    }

    /// Octets at the beginning of a frame that a ring copies even if it attaches the rest.
    pub fn head_octets(self) -> usize {
        match self {
            Self::Generated(plan) => plan.layout().minimum_size().captured(),
            Self::Recorded(_) => HEAD_ROOM,
            Self::Flows(set) => set.head_octets(),
        }
    }

    /// Mean frame size in octets, FCS included.
    pub fn mean_octets(self) -> f64 {
        match self {
            Self::Generated(plan) => plan.sizes().mean_octets(),
            Self::Recorded(frames) => frames.mean_octets(),
            Self::Flows(set) => set.mean_octets(),
        }
    }
}
