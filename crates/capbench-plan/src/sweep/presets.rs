//! Sweeps of publications.

use capbench_frames::layout::FrameLayout;
use capbench_frames::rates::Pps;
use capbench_frames::sizes::Sizes;

use super::axis::{Axis, Spacing};
use crate::Result;
use capbench_model::laboratory::Setup;
use capbench_model::trial::Load;
use capbench_model::work::WorkModel;

/// Default number of points: a plateau has at least three, and Dain's first one is in a sixth of his range.
pub const POINTS: u16 = 40;

/// A work sweep at one rate.
#[derive(Clone, Copy, Debug)]
pub struct WorkPreset {
    /// Its name.
    pub name: &'static str,
    /// The name of the publication, which selects all of its sweeps.
    pub publication: &'static str,
    /// Frames per second.
    pub pps: f64,
    /// The first number of iterations.
    pub from: u32,
    /// The last.
    pub to: u32,
}

/// The two sweeps of Dain (linux-kernel list, 26 April 2004), with his rates, frames and iterations. An iteration took 2.4 to 3
/// ns on his Pentium III. `from` and `to` are his numbers: on a current CPU they take less time. The first asks why capture improves
/// as the work per packet grows, the second why the ring hurts once packets are dropped.
pub const WORK: [WorkPreset; 2] = [
    WorkPreset { name: "dain-2004-45kpps", publication: "dain-2004", pps: 45_000.0, from: 1500, to: 10_000 },
    WorkPreset { name: "dain-2004-167kpps", publication: "dain-2004", pps: 167_000.0, from: 5, to: 1700 },
];

impl WorkPreset {
    /// Its load.
    pub fn load(&self) -> Load {
        Load::Rate(Pps::new(self.pps).expect("a legal rate"))
    }

    /// Its points, evenly spread. Fails for fewer than 2 points.
    pub fn axis(&self, points: usize) -> Result<Axis> {
        Axis::work(WorkModel::Loop(self.from), WorkModel::Loop(self.to), points, Spacing::Linear)
    }

    /// A set-up with its frames: TCP with 4 octets of payload.
    pub fn setup(&self, setup: &Setup) -> Setup {
        let layout = FrameLayout::dain_2004();
        let size = layout.minimum_size();
        Setup { sizes: Sizes::Fixed(size), layout, ..setup.clone() }
    }
}
