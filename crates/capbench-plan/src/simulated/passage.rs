//! Where the frames of one trial go: a fluid in time slices within which nothing changes. A slice is up to one second long if
//! seconds differ.

use std::time::Duration;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::method::{Ability, SimulatedMethod};
use capbench_model::loss_pattern::{LossPattern, windows_in, windows_per_second};

/// Conditions of every trial on the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conditions {
    /// Frames per second that the backlog passes on.
    pub(super) backlog_pps: f64,
    pub(super) noise: Noise,
    pub(super) bursts: Option<LossBursts>,
    pub(super) foreign: Option<ForeignWork>,
    pub(super) speed: Option<UnevenSpeed>,
    pub(super) seed: u64,
}

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
    phases: &[Offered],
    conditions: &Conditions,
    chance: &mut Chance,
) -> Passage {
    // If all seconds are alike, a trial of days is computed as fast as a short one.
    let is_steady = conditions.noise.per_second == 0.0 && conditions.bursts.is_none();
    let mut flow = Flow {
        method,
        ability,
        room: room as f64,
        conditions,
        longest_slice_s: if is_steady { f64::INFINITY } else { 1.0 },
        factor_of_trial: chance.factor(conditions.noise.per_trial),
        waiting: 0.0,
        begins_s: 0.0,
        passage: Passage::default(),
    };
    for offered in phases {
        flow.pass(offered, chance);
    }
    // The waiting frames are read after the last frame was sent.
    Passage { waiting: flow.waiting.round() as u64, ..flow.passage }
}

/// The frames of a trial on their way.
struct Flow<'c> {
    method: &'c SimulatedMethod,
    ability: Ability,
    room: f64,
    conditions: &'c Conditions,
    longest_slice_s: f64,
    /// Of the capacity, by the noise of this trial.
    factor_of_trial: f64,
    /// Frames that wait for the application.
    waiting: f64,
    /// When the next phase begins.
    begins_s: f64,
    passage: Passage,
}

/// Frames that the ring lost in a phase.
#[derive(Default)]
struct LostInRing {
    overflow: f64,
    in_bursts: u64,
}

impl Flow<'_> {
    /// Adds a phase.
    fn pass(&mut self, offered: &Offered, chance: &mut Chance) {
        let arriving_pps = offered.pps.min(self.conditions.backlog_pps);
        let ends_s = self.begins_s + offered.seconds;
        let mut lost_in_backlog = 0;
        if arriving_pps < offered.pps {
            lost_in_backlog = offered.frames - (arriving_pps * offered.seconds).round() as u64;
        }
        if lost_in_backlog > 0 {
            self.passage.moments.between(self.begins_s, ends_s);
        }
        let mut lost = LostInRing::default();
        let mut left_s = offered.seconds;
        while left_s > 0.0 {
            let slice_s = left_s.min(self.longest_slice_s);
            self.pass_slice(arriving_pps, ends_s - left_s, slice_s, chance, &mut lost);
            left_s -= slice_s;
        }
        if offered.pps > self.method.bursts_above {
            lost.in_bursts += offered.frames / 1000;
            self.passage.moments.between(self.begins_s, ends_s);
        }
        let reached = offered.frames - lost_in_backlog;
        let lost_in_ring = (lost.overflow.round() as u64 + lost.in_bursts).min(reached);
        self.passage.delivered += reached - lost_in_ring;
        self.passage.lost_in_ring += lost_in_ring;
        self.passage.lost_in_backlog += lost_in_backlog;
        self.begins_s = ends_s;
    }

    /// Adds a slice of a phase, in which nothing changes.
    fn pass_slice(
        &mut self,
        arriving_pps: f64,
        from_s: f64,
        slice_s: f64,
        chance: &mut Chance,
        lost: &mut LostInRing,
    ) {
        let stolen_ns = if self.ability.shares_cpu { self.ability.kernel_ns } else { 0.0 };
        let left_to_application = (1.0 - arriving_pps * stolen_ns * 1e-9).max(0.0);
        let capacity_pps = self.ability.capacity
            * left_to_application
            * self.factor_of_trial
            * chance.factor(self.conditions.noise.per_second);
        let excess_pps = (arriving_pps - capacity_pps).max(0.0);
        let read_pps = (capacity_pps - self.method.livelock * excess_pps).max(0.0);
        let waiting_before = self.waiting;
        self.waiting = (self.waiting + (arriving_pps - read_pps) * slice_s).max(0.0);
        let above = (self.waiting - self.room).max(0.0);
        // A fluid's rounding error is not a frame.
        if above > 0.5 {
            let full_after_s = (self.room - waiting_before) / (arriving_pps - read_pps);
            self.passage.moments.between(from_s + full_after_s, from_s + slice_s);
        }
        lost.overflow += above;
        self.waiting = self.waiting.min(self.room);
        if let Some(bursts) = self.conditions.bursts
            && chance.happens(bursts.per_second * slice_s)
        {
            lost.in_bursts += bursts.frames;
            // The exact time within the slice makes no difference.
            self.passage.moments.at(from_s + slice_s / 2.0);
        }
    }
}

/// Times with loss: when each begins and ends, in seconds from the beginning of the trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Moments(Vec<(f64, f64)>);

impl Moments {
    pub(super) fn between(&mut self, from: f64, to: f64) {
        self.0.push((from, to.max(from)));
    }

    pub(super) fn at(&mut self, at: f64) {
        self.between(at, at);
    }

    /// Number of windows with loss among the first `windows`.
    fn lossy_windows(mut self, windows: u64) -> u64 {
        self.0.sort_by(|a, b| a.0.total_cmp(&b.0));
        let per_second = windows_per_second();
        let mut lossy = 0;
        let mut counted_to = 0;
        for (from_s, to_s) in self.0 {
            let from = (from_s * per_second) as u64;
            let to = ((to_s * per_second).ceil() as u64).max(from + 1).min(windows);
            lossy += to.saturating_sub(from.max(counted_to));
            counted_to = counted_to.max(to);
        }
        lossy
    }

    pub(super) fn shape(self, sent: u64, lost: u64, sending: Duration) -> LossPattern {
        let windows = windows_in(sending.as_secs_f64());
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

/// A core whose speed changes, as on a host that others share. It is never above its best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnevenSpeed {
    /// From trial to trial: the standard deviation of a normal distribution whose sign does not matter, relative to the speed.
    pub per_trial: f64,
    /// How much slower it is at the slowest of a wave over some dozens of trials, which the trials of a round nearly share.
    pub over_time: f64,
}

/// Trials of a wave of the core's speed.
const WAVE: f64 = 37.0;

impl UnevenSpeed {
    /// The share of its best speed in a trial.
    pub(super) fn of_trial(self, trial: u32, chance: &mut Chance) -> f64 {
        let slower_in_trial = (chance.factor(self.per_trial) - 1.0).abs();
        let turn = std::f64::consts::TAU * f64::from(trial) / WAVE;
        let slower_now = self.over_time * (1.0 - turn.cos()) / 2.0;
        (-slower_in_trial - slower_now).exp()
    }
}

/// Frames lost at one moment in the ring at any load: the application was not scheduled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossBursts {
    /// Probability of a burst per second.
    pub per_second: f64,
    /// Frames lost per burst.
    pub frames: u64,
}

/// The random numbers of one trial.
#[derive(Debug)]
pub(super) struct Chance(Xoshiro256PlusPlus);

/// Separates the seeds of neighbouring trials; the seeding spreads small changes.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

impl Chance {
    pub(super) fn of_trial(seed: u64, trial: u32) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ u64::from(trial).wrapping_mul(STRIDE)))
    }

    /// A number from 0 to below 1.
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
