//! Frame sizes.

use capbench_frames::sizes::Sizes;
use capbench_frames::units::FrameSize;
use capbench_judge::sweep::PointUnit;
use capbench_model::laboratory::Setup;
use capbench_model::trial::{Load, SizeLabel};

use super::{Request, Setting};
use crate::Result;

impl Setting for Sizes {
    fn label(&self) -> String {
        format!("{} B", SizeLabel::from(self))
    }

    fn requested(request: &Request<'_>) -> Result<Vec<Self>> {
        request.refuse_range("frame sizes")?;
        request.refuse_list("--size")?;
        Ok(request.sizes.clone())
    }

    fn apply(&self, setup: &mut Setup, _: &mut Load) {
        setup.sizes = self.clone();
    }

    fn coordinate(&self) -> Option<(f64, PointUnit)> {
        match self {
            Self::Fixed(size) => Some((size.octets().into(), PointUnit::Octets)),
            _ => None,
        }
    }

    fn at(&self, octets: f64) -> Option<Self> {
        FrameSize::new(octets as u32).ok().map(Self::Fixed)
    }
}
