//! The cost of trials, counted before they run: plans run on paths with computed losses, and this module sums the cost.

use crate::guards::is_overload;
use capbench_judge::durations::{Planned, PlannedTime, whole_run, with_repeats};
use capbench_judge::thresholds::{PROBE_LENGTH, TRIAL_OVERHEAD};

use std::time::Duration;

use capbench_model::units::ByteCount;

/// The assumed maximum rate of the generator, frames per second, before it is known. The number of trials depends on its
/// logarithm.
pub(crate) const SUPPOSED_MAXIMUM: f64 = 1e6;
/// Bytes that a frame takes in the ring of a method with slots of one size. With the ring's size they give how many frames wait.
pub(crate) const FIXED_SLOT: ByteCount = ByteCount(2048);
/// Bytes that a frame takes in a ring at least: a small frame with its header, where frames have the room that they need.
pub(crate) const SMALLEST_SLOT: ByteCount = ByteCount(128);

/// The cost of plans of trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Number of trials.
    pub trials: u32,
    /// Time of sending.
    pub traffic: Duration,
    /// Number of trials that wait for missing frames.
    pub waits: u32,
    /// Time that buffers take to empty, if known beforehand.
    pub drain: Duration,
    /// Probes after overloads, one each, as if the path recovers at once. Guards send up to five longer ones if it does not.
    pub probes: u32,
    /// Idle time of the path.
    pub idle: Duration,
}

/// The same plan on different paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// On the path with the lowest cost.
    pub least: Cost,
    /// The median of the paths.
    pub median: Cost,
    /// On the path with the highest cost.
    pub most: Cost,
}

/// Adds up trials that run one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter {
    cost: Cost,
    is_overloaded: bool,
}

impl Cost {
    /// The expected time of the trials: on most hosts, some are repeated.
    pub fn time(&self, quiet: Duration) -> Duration {
        with_repeats(self.least_time(quiet))
    }

    /// The time without repeats, if a trial that misses frames waits for `quiet`, with the time to open rings and read counters.
    pub fn least_time(&self, quiet: Duration) -> Duration {
        let opened = TRIAL_OVERHEAD.saturating_mul(self.trials.saturating_add(self.probes));
        [
            self.traffic,
            self.drain,
            self.idle,
            opened,
            quiet.saturating_mul(self.waits),
            PROBE_LENGTH.saturating_mul(self.probes),
        ]
        .into_iter()
        .fold(Duration::ZERO, Duration::saturating_add)
    }

    /// The whole run of these trials.
    pub fn planned(&self, quiet: Duration) -> Planned {
        let time = Some(PlannedTime::of_any_host(whole_run(self.time(quiet))));
        Planned { trials: self.trials as usize, sending: self.traffic, time, rounds: 0 }
    }

    /// The cost of `count` repetitions.
    #[must_use]
    pub fn times(self, count: u32) -> Self {
        Self {
            trials: self.trials.saturating_mul(count),
            traffic: self.traffic.saturating_mul(count),
            waits: self.waits.saturating_mul(count),
            drain: self.drain.saturating_mul(count),
            probes: self.probes.saturating_mul(count),
            idle: self.idle.saturating_mul(count),
        }
    }

    /// The cost of both, one after the other.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            trials: self.trials.saturating_add(other.trials),
            traffic: self.traffic.saturating_add(other.traffic),
            waits: self.waits.saturating_add(other.waits),
            drain: self.drain.saturating_add(other.drain),
            probes: self.probes.saturating_add(other.probes),
            idle: self.idle.saturating_add(other.idle),
        }
    }
}

impl Spread {
    /// The same of both plans, one after the other.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            least: self.least.and(other.least),
            median: self.median.and(other.median),
            most: self.most.and(other.most),
        }
    }

    /// The lowest, median and highest of these costs; zero if there are none.
    pub fn from_costs(mut costs: Vec<Cost>, quiet: Duration) -> Self {
        costs.sort_by_key(|cost| cost.time(quiet));
        let Some(last) = costs.len().checked_sub(1) else { return Self::default() };
        Self { least: costs[0], median: costs[last / 2], most: costs[last] }
    }
}

impl Meter {
    /// Adds a trial that sent for `sending` and lost `loss_ratio` of the sent frames.
    pub fn trial(&mut self, sending: Duration, loss_ratio: f64) {
        let was_overloaded = std::mem::replace(&mut self.is_overloaded, is_overload(loss_ratio));
        self.cost = self.cost.and(Cost {
            trials: 1,
            traffic: sending,
            waits: u32::from(loss_ratio > 0.0),
            probes: u32::from(was_overloaded),
            ..Cost::default()
        });
    }

    /// Adds the time in which buffers empty after a trial.
    pub fn drain(&mut self, draining: Duration) {
        self.cost.drain = self.cost.drain.saturating_add(draining);
    }

    /// Adds idle time of the path.
    pub fn rest(&mut self, while_idle: Duration) {
        self.cost.idle = self.cost.idle.saturating_add(while_idle);
    }

    /// The sum.
    pub fn cost(&self) -> Cost {
        self.cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn every_trial_is_opened_and_an_overload_is_waited_for_and_probed_after() {
        let mut meter = Meter::default();
        for loss in [0.0, 0.5, 1e-6, 0.0] {
            meter.trial(SECOND, loss);
        }
        meter.rest(3 * SECOND);
        let cost = meter.cost();
        let expected = Cost { trials: 4, traffic: 4 * SECOND, waits: 2, probes: 1, idle: 3 * SECOND, ..cost };
        assert_eq!((cost, cost.drain), (expected, Duration::ZERO));
        let least = 11 * SECOND + 5 * TRIAL_OVERHEAD + PROBE_LENGTH;
        assert_eq!(cost.least_time(2 * SECOND), least);
        assert_eq!(cost.time(2 * SECOND), least.mul_f64(1.1), "a tenth is for repeats");
        assert_eq!(cost.times(2), cost.and(cost));
        assert_eq!(cost.times(u32::MAX).time(Duration::MAX), Duration::MAX);
    }

    #[test]
    fn a_spread_is_ordered_by_time() {
        let traffic = |seconds: u32| Cost { traffic: seconds * SECOND, ..Cost::default() };
        let waiting = Cost { waits: 1, ..Cost::default() };
        let spread = Spread::from_costs(vec![traffic(3), waiting, traffic(1)], 2 * SECOND);
        assert_eq!((spread.least, spread.median, spread.most), (traffic(1), waiting, traffic(3)));
        assert_eq!(Spread::from_costs(Vec::new(), SECOND), Spread::default());
    }
}
