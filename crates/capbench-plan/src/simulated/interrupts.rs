//! A card that interrupts: how many frames share an interrupt at a rate, how long they wait for it, and which the card misses.

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

/// Interrupts at one rate of frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct InterruptsAtRate {
    /// From the first frame to the interrupt.
    pub(super) delay: Duration,
    /// Frames per interrupt.
    pub(super) frames: f64,
    /// Share of the frames that the card misses.
    pub(super) missed_share: f64,
    /// The kernel's time per frame passed on, in nanoseconds.
    pub(super) cost_ns: f64,
}

impl Interrupts {
    pub(super) fn at_rate(&self, pps: f64, requested: Option<Moderation>) -> InterruptsAtRate {
        let delay = match requested {
            None => self.usual,
            Some(Moderation::Fixed(usecs)) => Duration::from_micros(usecs.into()),
            Some(Moderation::Adaptive) => {
                Duration::from_secs_f64((self.aim - 1.0).max(0.0) / pps.max(1.0)).min(self.at_most)
            }
        };
        let arrived = 1.0 + pps * delay.as_secs_f64();
        let frames = arrived.min(self.descriptors.max(1) as f64);
        InterruptsAtRate {
            delay,
            frames,
            missed_share: 1.0 - frames / arrived,
            cost_ns: self.cost.as_nanos() as f64 / frames,
        }
    }
}

impl InterruptsAtRate {
    /// Delay of each frame until its interrupt, in nanoseconds.
    pub(super) fn delays(&self, frames: u64, pps: f64) -> Vec<u64> {
        let frames_per_interrupt = self.frames.round().max(1.0) as u64;
        let delay_ns = self.delay.as_nanos() as f64;
        let mut delays = Vec::new();
        for nth in 0..frames {
            let arrives_ns = (nth % frames_per_interrupt) as f64 * 1e9 / pps;
            delays.push((delay_ns - arrives_ns).max(0.0).round() as u64);
        }
        delays
    }
}
