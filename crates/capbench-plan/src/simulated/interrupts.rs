//! Interrupts of a simulated card, and their moderation by its driver.

use std::time::Duration;

use capbench_model::moderation::Moderation;

/// A card whose first frame starts a timer. When the timer ends, one interrupt covers all frames that have arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interrupts {
    /// Kernel time per interrupt.
    pub cost: Duration,
    /// Delay of interrupts if the set-up requests none.
    pub usual: Duration,
    /// Capacity of the card in frames until the interrupt; it misses further frames.
    pub descriptors: u64,
    /// Frames per interrupt at which the driver aims if it chooses the delay.
    pub aim: f64,
    /// Longest delay that the driver chooses.
    pub at_most: Duration,
}

/// Interrupts at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Held {
    /// Delay of an interrupt.
    pub(super) back: Duration,
    /// Frames per interrupt.
    pub(super) frames: f64,
    /// Share of the frames that the card misses.
    pub(super) missed: f64,
    /// The kernel's time per frame passed on, in nanoseconds.
    pub(super) cost_ns: f64,
}

impl Interrupts {
    /// The moderation's effect on frames at this rate.
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
    /// Delay of each frame until its interrupt at this rate, in nanoseconds.
    pub(super) fn delays(&self, frames: u64, pps: f64) -> Vec<u64> {
        let each = self.frames.round().max(1.0) as u64;
        let back_ns = self.back.as_nanos() as f64;
        (0..frames).map(|nth| (back_ns - (nth % each) as f64 * 1e9 / pps).max(0.0).round() as u64).collect()
    }
}
