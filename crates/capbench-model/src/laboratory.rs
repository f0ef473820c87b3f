//! Where trials run: the interface between measurements and the path that they measure.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::method_spec::MethodSpec;
use crate::options::CaptureOptions;
use crate::statement::Statement;
use capbench_frames::TransmitSpec;
use capbench_frames::layout::FrameLayout;
use capbench_frames::sizes::Sizes;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::latency::Recording;
use crate::moderation::Moderation;
use crate::placement::PlacementChoice;
use crate::softirqs::SoftirqTiming;
use crate::trial::{SizeLabel, Trial};
use crate::work::WorkPlan;

/// Everything about a trial except its load and duration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Setup {
    /// The method under test.
    pub method: MethodSpec,
    /// Frame sizes.
    pub sizes: Sizes,
    /// Headers and flows.
    pub layout: FrameLayout,
    /// Which CPU does which work.
    pub placement: PlacementChoice,
    /// What the application does per frame, and by which thread.
    pub work: WorkPlan,
    /// Options of the capture.
    pub capture: CaptureOptions,
    /// Interrupt moderation of the receiving interface; `None`: unchanged.
    pub moderation: Option<Moderation>,
    /// The transmit method.
    pub transmit: TransmitSpec,
    /// Frames that the generator sends at once if the load is a constant rate, which is then the mean (RFC 2544 section 21);
    /// `None`: evenly spaced frames.
    pub burst: Option<NonZeroU32>,
    /// How long no frame may arrive before a trial that still misses frames ends (RFC 2544 section 23: 2 s).
    pub quiet: Duration,
    /// Whether and how the latency of frames is recorded. Recording costs time per frame.
    pub latency: Option<Recording>,
    /// Which trials time the kernel's receive softirq, if there is a tracer.
    #[serde(default)]
    pub softirqs: SoftirqTiming,
}

impl Setup {
    /// Name of the sizes in results.
    pub fn label(&self) -> SizeLabel {
        (&self.sizes).into()
    }
}

/// A path with a sender at one end and a capture at the other.
pub trait Laboratory {
    /// Prepares trials of one set-up.
    ///
    /// # Errors
    /// When the path does not support the set-up.
    fn prepare(&mut self, setup: &Setup) -> Result<Box<dyn Trial + '_>>;

    /// Leaves the path idle for `while_idle`, so that queues and buffers drain. A path without real time does not wait. There is
    /// no default: a laboratory that wraps another one must pass the call on.
    fn rest(&mut self, while_idle: Duration);

    /// Says whether the next trials are short ones in turns: each is compared with those of the other methods right before and after
    /// it, so it is neither repeated nor probed after. What they share stays prepared, and a trial waits for no frame that the counters
    /// show to be lost. A laboratory that wraps another one passes the call on.
    fn take_turns(&mut self, _are_in_turns: bool) {}

    /// Makes later trials use numbers above `last`, probes and discarded attempts included: a continued run goes on counting.
    fn number_after(&mut self, last: u32);

    /// Statements about the path for its results.
    fn statements(&self) -> Vec<Statement>;
}
