//! Interrupts of a simulated card, and how its driver holds them back.

use std::time::Duration;

use capbench_model::moderation::Moderation;

/// A card whose first frame starts a timer, at the end of which one interrupt is raised for all that have come meanwhile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interrupts {
    /// What one costs the kernel.
    pub cost: Duration,
    /// How long they are held back where nothing is asked for.
    pub usual: Duration,
    /// Frames that the card has room for until then; it misses those beyond.
    pub descriptors: u64,
    /// Frames to an interrupt that the driver aims at where it chooses.
    pub aim: f64,
    /// How long it holds them back at most, where it chooses.
    pub at_most: Duration,
}

/// Interrupts at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Held {
    /// How long they are held back.
    pub(super) back: Duration,
    /// Frames that one hands over.
    pub(super) frames: f64,
    /// Share of the frames that the card misses.
    pub(super) missed: f64,
    /// The kernel's time for each frame handed over.
    pub(super) cost_ns: f64,
}

impl Interrupts {
    /// What becomes of frames that come at this rate.
    pub(super) fn at(&self, pps: f64, asked: Option<Moderation>) -> Held {
        let back = match asked {
            None => self.usual,
            Some(Moderation::Fixed(usecs)) => Duration::from_micros(usecs.into()),
            Some(Moderation::Adaptive) => {
                Duration::from_secs_f64((self.aim - 1.0).max(0.0) / pps.max(1.0)).min(self.at_most)
            }
        };
        let came = 1.0 + pps * back.as_secs_f64();
        let frames = came.min(self.descriptors.max(1) as f64);
        Held { back, frames, missed: 1.0 - frames / came, cost_ns: self.cost.as_nanos() as f64 / frames }
    }
}

impl Held {
    /// How long frame after frame waits for its interrupt, nanoseconds, at this rate.
    pub(super) fn delays(&self, frames: u64, pps: f64) -> Vec<u64> {
        let each = self.frames.round().max(1.0) as u64;
        let back_ns = self.back.as_nanos() as f64;
        (0..frames).map(|nth| (back_ns - (nth % each) as f64 * 1e9 / pps).max(0.0).round() as u64).collect()
    }
}
