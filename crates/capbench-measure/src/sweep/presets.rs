//! Sweeps of publications.

use capbench_frames::layout::FrameLayout;
use capbench_frames::rates::Pps;
use capbench_frames::sizes::Sizes;

use super::axis::{Axis, Spacing};
use crate::error::Result;
use crate::laboratory::Setup;
use crate::trial::{Load, SizeLabel};
use crate::work::WorkModel;

/// Points of a preset where nothing else is asked for: a plateau is three points at least, and Dain's first one lies in a
/// sixth of his range.
pub const POINTS: u16 = 40;

/// A work sweep at one rate.
#[derive(Clone, Copy, Debug)]
pub struct WorkPreset {
    /// Its name.
    pub name: &'static str,
    /// The name of the publication, which stands for all of its sweeps.
    pub publication: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// Frames per second.
    pub pps: f64,
    /// The first number of iterations.
    pub from: u32,
    /// The last.
    pub to: u32,
}

/// The two sweeps of Dain (linux-kernel list, 26 April 2004), with his rates, frames and iterations. An iteration took
/// his Pentium III 2.4 to 3 ns: `from` and `to` are his, not what keeps a CPU of today as long.
pub const WORK: [WorkPreset; 2] = [
    WorkPreset {
        name: "dain-2004-45kpps",
        publication: "dain-2004",
        summary: "45,000 packets/s: why does capture improve as the work per packet grows?",
        pps: 45_000.0,
        from: 1500,
        to: 10_000,
    },
    WorkPreset {
        name: "dain-2004-167kpps",
        publication: "dain-2004",
        summary: "167,000 packets/s: why does the ring hurt once packets are dropped?",
        pps: 167_000.0,
        from: 5,
        to: 1700,
    },
];

impl WorkPreset {
    /// Its load.
    ///
    /// # Errors
    /// None: the rates of presets are rates.
    pub fn load(&self) -> Result<Load> {
        Ok(Load::Rate(Pps::new(self.pps)?))
    }

    /// Its points, evenly spread.
    ///
    /// # Errors
    /// Fewer than 2.
    pub fn axis(&self, points: usize) -> Result<Axis> {
        Axis::work(WorkModel::Loop(self.from), WorkModel::Loop(self.to), points, Spacing::Linear)
    }

    /// A set-up with its frames: TCP with 4 octets of payload.
    pub fn setup(&self, setup: &Setup) -> Setup {
        let layout = FrameLayout::dain_2004();
        let size = layout.minimum_size();
        Setup { label: SizeLabel::Octets(size.octets()), sizes: Sizes::Fixed(size), layout, ..setup.clone() }
    }
}
