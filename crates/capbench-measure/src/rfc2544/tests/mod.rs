//! The tests of RFC 2544 on paths whose answers are known.

mod back_to_back;
mod frame_loss;
mod guarded;
mod latency;
mod queue;
mod recovery;
mod suite;

use capbench_frames::rates::Pps;

use super::MaximumRate;
use crate::error::{MeasureError, Result};
use crate::laboratory::Setup;
use crate::search::MaximumSource;
use crate::session::Observer;
use crate::simulated;
use crate::trial::{Load, TrialResult};

/// Watches in silence, and stops where it is told to.
#[derive(Debug, Default)]
struct Watching {
    ended: usize,
    skipped: usize,
    stop_after: Option<usize>,
}

impl Observer for Watching {
    fn starts(&mut self, _: &str) {}
    fn ends(&mut self, _: &TrialResult) -> Result<()> {
        self.ended += 1;
        Ok(())
    }
    fn skips(&mut self, _: &Setup, _: Load, _: &MeasureError) {
        self.skipped += 1;
    }
    fn stopping(&self) -> bool {
        self.stop_after.is_some_and(|limit| self.ended >= limit)
    }
}

fn pps(rate: f64) -> Pps {
    Pps::new(rate).unwrap()
}

fn maximum(rate: f64) -> MaximumRate {
    MaximumRate { pps: pps(rate), source: MaximumSource::Generator }
}

fn setup() -> Setup {
    simulated::setup(64)
}
