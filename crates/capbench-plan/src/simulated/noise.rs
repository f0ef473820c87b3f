//! The random parts of a simulated trial. The same seed gives the same trials.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Variation of the capacity: standard deviations of a normal distribution, relative to the capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// From trial to trial: memory placement, CPU clock.
    pub per_trial: f64,
    /// From second to second within a trial.
    pub per_second: f64,
}

/// Frames lost at one moment in the ring at any load: the application was not scheduled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossBursts {
    /// Probability of a burst per second.
    pub per_second: f64,
    /// Frames lost per burst.
    pub frames: u64,
}

/// The randomness of one trial.
#[derive(Debug)]
pub(super) struct Chance(Xoshiro256PlusPlus);

/// Separates the seeds of neighbouring trials; the seeding spreads small changes.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

impl Chance {
    pub(super) fn of_trial(seed: u64, trial: u32) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ u64::from(trial).wrapping_mul(STRIDE)))
    }

    /// Uniform in [0, 1).
    fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn happens(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// A factor around 1, by the method of Box and Muller; exactly 1 without deviation, and never below 0.
    pub(super) fn factor(&mut self, deviation: f64) -> f64 {
        if deviation == 0.0 {
            return 1.0;
        }
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * self.uniform()).cos();
        (1.0 + deviation * normal).max(0.0)
    }
}
