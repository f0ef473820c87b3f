//! Where trials run: the seam between what is measured and the path that it is measured on.

use std::num::NonZeroU32;
use std::time::Duration;

use capbench_capture::{CaptureOptions, MethodSpec};
use capbench_frames::layout::FrameLayout;
use capbench_frames::sizes::Sizes;

use crate::error::Result;
use crate::latency::Recording;
use crate::trial::{SizeLabel, Trial};
use crate::work::WorkPlan;
use capbench_model::moderation::Moderation;
use capbench_model::placement::PlacementChoice;

/// Everything about a trial but its load and duration.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What is under test.
    pub method: MethodSpec,
    /// How results name the sizes.
    pub label: SizeLabel,
    /// Frame sizes.
    pub sizes: Sizes,
    /// Headers and flows.
    pub layout: FrameLayout,
    /// Which CPUs do what.
    pub placement: PlacementChoice,
    /// What the application does per frame, and by which thread.
    pub work: WorkPlan,
    /// How to capture.
    pub capture: CaptureOptions,
    /// How the receiving interface holds interrupts back; `None`: as it is.
    pub moderation: Option<Moderation>,
    /// The transmit method's name.
    pub transmit: String,
    /// Frames that are sent at once where the load is a constant rate, which is the mean then (RFC 2544 section 21); `None`:
    /// evenly spaced ones.
    pub burst: Option<NonZeroU32>,
    /// How long nothing may come any more before a trial that still misses frames is over (RFC 2544 section 23: 2 s).
    pub quiet: Duration,
    /// Whether and how the latency of frames is recorded. It costs time for each frame.
    pub latency: Option<Recording>,
}

/// A path with a sender at one end and a capture at the other.
pub trait Laboratory {
    /// Prepares trials of one set-up.
    ///
    /// # Errors
    /// When the set-up cannot be had on this path.
    fn prepare(&mut self, setup: &Setup) -> Result<Box<dyn Trial + '_>>;

    /// Leaves the path idle for a while, so that whatever holds frames gives them up. On a path where time does not pass
    /// there is nothing to wait for; a laboratory around another one hands it on, so there is no default.
    fn rest(&mut self, while_idle: Duration);

    /// Trials from now on have higher numbers than this, probes and attempts that are set aside among them: a run that is gone
    /// on with goes on counting.
    fn number_after(&mut self, last: u32);

    /// What results on this path have to say about it.
    fn statements(&self) -> Vec<String>;
}
