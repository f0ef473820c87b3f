//! A path without a network: a method's behaviour is computed at once, and is the same for the same seed. Tests of benches,
//! searches and sweeps use it.
//!
//! | file | content |
//! |---|---|
//! | [`laboratory`] | the path: generator, backlog, noise, bursts of loss; runs trials |
//! | [`method`] | a method with its capacity, its cost regimes and its room |
//! | `passage` | where the frames of one trial go, and when they are lost; noise, and interrupts of a card |

pub mod laboratory;
pub mod method;
mod passage;
#[cfg(test)]
pub(crate) mod tampered;

use std::time::Duration;

use capbench_capture::{CaptureOptions, MethodSpec};
use capbench_frames::layout::FrameLayout;
use capbench_frames::sizes::Sizes;
use capbench_frames::units::FrameSize;

pub use laboratory::SimulatedLaboratory;
pub use method::{Room, SimulatedMethod, TwoRegimes};
pub use passage::{Interrupts, LossBursts, Noise};

use crate::laboratory::Setup;
use crate::trial::SizeLabel;
use crate::work::WorkModel;
use capbench_model::placement::PlacementChoice;

/// A set-up with fixed frame size and defaults for the rest.
///
/// # Panics
/// When the size is no legal frame size.
pub fn setup(octets: u16) -> Setup {
    Setup {
        method: MethodSpec::plain("packet-v3"),
        label: SizeLabel::Octets(octets),
        sizes: Sizes::Fixed(FrameSize::new(octets.into()).expect("a legal frame size")),
        layout: FrameLayout::default(),
        placement: PlacementChoice::Same,
        work: WorkModel::None.into(),
        capture: CaptureOptions::default(),
        moderation: None,
        transmit: "simulated".into(),
        burst: None,
        quiet: Duration::ZERO,
        latency: None,
    }
}

#[cfg(test)]
mod tests;
