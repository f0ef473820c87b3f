//! The observer of reproductions in tests, for this crate and those above it.

use capbench_model::not_measured::NotMeasured;
use capbench_model::saved::Saved;
use capbench_plan::Result;
use capbench_plan::for_tests::Collector;

use crate::Observer;
use capbench_judge::reproduction::{LeftOut, Reproduction};

/// Collects all events of a reproduction.
pub type Collected = Collector<Reproduction>;

impl Observer for Collected {
    fn leaves_out(&mut self, left: &LeftOut) {
        self.not_measured.push(NotMeasured {
            method: Saved::Known(left.method.clone()),
            test: None,
            placement: Some(Saved::Known(left.placement.name())),
            frame_size: None,
            reason: left.reason.clone(),
        });
    }

    fn reproduced(&mut self, so_far: Reproduction) -> Result<()> {
        self.reproduced.push(so_far);
        Ok(())
    }
}
