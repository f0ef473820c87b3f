//! The CPUs of each task.

use capbench_model::laboratory::Setup;
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::Load;

use super::{Request, Setting};
use crate::Result;

impl Setting for PlacementChoice {
    fn label(&self) -> String {
        format!("placement {self}")
    }

    fn requested(request: &Request<'_>) -> Result<Vec<Self>> {
        request.refuse_range("placements")?;
        request.refuse_list("--placement")?;
        Ok(request.placements.to_vec())
    }

    fn apply(&self, setup: &mut Setup, _: &mut Load) {
        setup.placement = *self;
    }
}
