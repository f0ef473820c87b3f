//! The observer of reproductions in tests, for this crate and those above it.

use capbench_model::not_measured::NotMeasured;
use capbench_plan::Result;
use capbench_plan::for_tests::Collector;

use crate::Observer;
use capbench_judge::reproduction::{LeftOut, Reproduction};

/// Collects all events of a reproduction.
pub type Collected = Collector<Reproduction>;

impl Observer for Collected {
    fn leaves_out(&mut self, left: &LeftOut) {
        self.not_measured.push(NotMeasured {
            method: left.method.to_string(),
            test: None,
            placement: Some(left.placement.to_string()),
            frame_size: None,
            reason: left.reason.clone(),
        });
    }

    fn reproduced(&mut self, so_far: Reproduction) -> Result<()> {
        self.reproduced.push(so_far);
        Ok(())
    }
}
