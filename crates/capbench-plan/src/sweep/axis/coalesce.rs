//! Interrupt moderation of the receiving interface.

use capbench_judge::sweep::PointUnit;
use capbench_model::laboratory::Setup;
use capbench_model::moderation::Moderation;
use capbench_model::trial::Load;

use super::{Request, Setting, contradiction};
use crate::Result;

impl Setting for Moderation {
    fn label(&self) -> String {
        format!("interrupt moderation {self}")
    }

    fn requested(request: &Request<'_>) -> Result<Vec<Self>> {
        request.refuse_range("settings")?;
        if request.points.is_empty() {
            return Err(contradiction("--points: name settings, for example 0us,10us,50us,200us,adaptive"));
        }
        request.listed(str::parse)
    }

    fn apply(&self, setup: &mut Setup, _: &mut Load) {
        setup.moderation = Some(*self);
    }

    fn coordinate(&self) -> Option<(f64, PointUnit)> {
        match *self {
            Self::Fixed(usecs) => Some((usecs.into(), PointUnit::Microseconds)),
            Self::Adaptive => None,
        }
    }

    fn at(&self, usecs: f64) -> Option<Self> {
        Some(Self::Fixed(usecs as u32))
    }
}
