//! Where the frames of one trial go: a fluid in time slices within which nothing changes. A slice is up to one second long if
//! seconds differ.

use std::time::Duration;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::laboratory::Conditions;
use super::method::{Ability, SimulatedMethod};
use capbench_model::loss_pattern::LossPattern;
use capbench_model::moderation::Moderation;

/// Where the frames of a trial went. Counts are whole; they add up to what was sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Passage {
    pub(super) delivered: u64,
    pub(super) lost_in_ring: u64,
    pub(super) lost_in_backlog: u64,
    /// Frames that still waited when the last one was sent.
    pub(super) waiting: u64,
    /// When frames were lost.
    pub(super) moments: Moments,
}

/// Frames that were offered, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offered {
    pub(super) frames: u64,
    pub(super) pps: f64,
    pub(super) seconds: f64,
}

/// Sends the offered frames through, one phase after the other; frames that wait at the end of a phase wait in the next.
pub(super) fn through(
    method: &SimulatedMethod,
    ability: Ability,
    room: u64,
    stretches: &[Offered],
    conditions: &Conditions,
    chance: &mut Chance,
) -> Passage {
    // If all seconds are alike, a trial of days is computed as fast as a short one.
    let is_steady = conditions.noise.per_second == 0.0 && conditions.bursts.is_none();
    let longest_slice = if is_steady { f64::INFINITY } else { 1.0 };
    let of_trial = chance.factor(conditions.noise.per_trial);
    let mut passage = Passage::default();
    let (mut waiting, mut begun) = (0.0_f64, 0.0_f64);
    for offered in stretches {
        let arriving = offered.pps.min(conditions.backlog_pps);
        let lost_in_backlog = if arriving < offered.pps {
            offered.frames - (arriving * offered.seconds).round() as u64
        } else {
            0
        };
        let reached = offered.frames - lost_in_backlog;
        let end = begun + offered.seconds;
        if lost_in_backlog > 0 {
            passage.moments.between(begun, end);
        }
        let stolen_ns = if ability.shares_cpu { ability.kernel_ns } else { 0.0 };
        let left_to_application = (1.0 - arriving * stolen_ns * 1e-9).max(0.0);
        let (mut overflow, mut in_bursts) = (0.0, 0);
        let mut left = offered.seconds;
        while left > 0.0 {
            let slice = left.min(longest_slice);
            let from = end - left;
            left -= slice;
            let capacity = ability.capacity
                * left_to_application
                * of_trial
                * chance.factor(conditions.noise.per_second);
            let excess = (arriving - capacity).max(0.0);
            let taken = (capacity - method.livelock * excess).max(0.0);
            let filled = waiting;
            waiting = (waiting + (arriving - taken) * slice).max(0.0);
            let above = (waiting - room as f64).max(0.0);
            // A fluid's rounding error is not a frame.
            if above > 0.5 {
                let until_full = (room as f64 - filled) / (arriving - taken);
                passage.moments.between(from + until_full, from + slice);
            }
            overflow += above;
            waiting = waiting.min(room as f64);
            if let Some(bursts) = conditions.bursts
                && chance.happens(bursts.per_second * slice)
            {
                in_bursts += bursts.frames;
                // The exact time within the slice makes no difference.
                passage.moments.at(from + slice / 2.0);
            }
        }
        if offered.pps > method.bursts_above {
            in_bursts += offered.frames / 1000;
            passage.moments.between(begun, end);
        }
        let lost_in_ring = (overflow.round() as u64 + in_bursts).min(reached);
        passage.delivered += reached - lost_in_ring;
        passage.lost_in_ring += lost_in_ring;
        passage.lost_in_backlog += lost_in_backlog;
        begun = end;
    }
    // The waiting frames are read after the last frame was sent.
    Passage { waiting: waiting.round() as u64, ..passage }
}

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
    pub(super) back: Duration,
    pub(super) frames: f64,
    /// Share of the frames that the card misses.
    pub(super) missed: f64,
    /// The kernel's time per frame passed on, in nanoseconds.
    pub(super) cost_ns: f64,
}

impl Interrupts {
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

/// Windows of 100 ms per second.
const PER_SECOND: f64 = 10.0;

/// Times with loss, in seconds from the beginning.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Moments(Vec<(f64, f64)>);

impl Moments {
    pub(super) fn between(&mut self, from: f64, to: f64) {
        self.0.push((from, to.max(from)));
    }

    pub(super) fn at(&mut self, at: f64) {
        self.between(at, at);
    }

    /// Number of 100 ms windows with loss among the first `windows`.
    fn lossy_windows(mut self, windows: u64) -> u64 {
        self.0.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut lossy, mut next) = (0, 0);
        for (from, to) in self.0 {
            let first = ((from * PER_SECOND) as u64).max(next);
            let after = ((to * PER_SECOND).ceil() as u64).max((from * PER_SECOND) as u64 + 1).min(windows);
            lossy += after.saturating_sub(first);
            next = next.max(after);
        }
        lossy
    }

    pub(super) fn shape(self, sent: u64, lost: u64, sending: Duration) -> LossPattern {
        let windows = ((sending.as_secs_f64() * PER_SECOND).ceil() as u64).max(1);
        LossPattern::in_windows(sent, lost, windows, self.lossy_windows(windows).max(1))
    }
}

/// Variation of the capacity: standard deviations of a normal distribution, relative to the capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// From trial to trial: memory placement, CPU clock.
    pub per_trial: f64,
    /// From second to second within a trial.
    pub per_second: f64,
}

/// Other work that takes a share of the application's CPU during some trials. The trial reports it as foreign load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForeignWork {
    /// Probability that a trial is disturbed.
    pub per_trial: f64,
    /// Share of the CPU that the other work takes then.
    pub share: f64,
}

/// Frames lost at one moment in the ring at any load: the application was not scheduled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossBursts {
    /// Probability of a burst per second.
    pub per_second: f64,
    /// Frames lost per burst.
    pub frames: u64,
}

#[derive(Debug)]
pub(super) struct Chance(Xoshiro256PlusPlus);

/// Separates the seeds of neighbouring trials; the seeding spreads small changes.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

impl Chance {
    pub(super) fn of_trial(seed: u64, trial: u32) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ u64::from(trial).wrapping_mul(STRIDE)))
    }

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

#[cfg(test)]
mod tests {
    use super::Moments;

    #[test]
    fn each_time_of_100_ms_counts_once() {
        let mut moments = Moments::default();
        moments.between(0.65, 1.0);
        moments.between(0.68, 0.72);
        moments.at(0.25);
        assert_eq!(moments.clone().lossy_windows(10), 5, "the third, and those from the seventh on");
        moments.between(0.0, 1.0);
        assert_eq!(moments.lossy_windows(10), 10);
        assert_eq!(Moments::default().lossy_windows(10), 0);
    }
}
