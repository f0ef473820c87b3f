//! What trials take, counted before they run: plans are tried on paths whose losses are worked out, and this adds up.

use std::time::Duration;

use crate::guards::{OVERLOAD, PROBE};

/// What a trial takes beside sending: opening rings, draining, reading counters. Only for estimates.
pub(crate) const OVERHEAD: Duration = Duration::from_millis(250);

/// What plans of trials take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// How many trials.
    pub trials: u32,
    /// How long they send.
    pub traffic: Duration,
    /// How many of them wait until nothing comes any more, because frames are missing.
    pub waits: u32,
    /// How long buffers take to empty, where that is known beforehand.
    pub drain: Duration,
    /// Probes that follow overloads: one each, as where the path recovers at once. Guards send up to five, longer ones, where
    /// it does not.
    pub probes: u32,
    /// How long the path is left idle.
    pub idle: Duration,
}

/// The same plan on different paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// On the path on which it takes least.
    pub least: Cost,
    /// On half of the paths it takes at most that.
    pub median: Cost,
    /// On the path on which it takes most.
    pub most: Cost,
}

/// Adds up trials that run one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    cost: Cost,
    is_overloaded: bool,
}

impl Cost {
    /// The time for all of it, where a trial that misses frames waits for so long: sending, waiting, probing, resting, and
    /// for each trial what opening rings and reading counters take.
    pub fn time(&self, quiet: Duration) -> Duration {
        let opened = OVERHEAD.saturating_mul(self.trials.saturating_add(self.probes));
        [
            self.traffic,
            self.drain,
            self.idle,
            opened,
            quiet.saturating_mul(self.waits),
            PROBE.saturating_mul(self.probes),
        ]
        .into_iter()
        .fold(Duration::ZERO, Duration::saturating_add)
    }

    /// The same so many times.
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

    /// One after the other.
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
    /// What lies least, in the middle and most of these; nothing costs nothing.
    pub(crate) fn of(mut costs: Vec<Cost>, quiet: Duration) -> Self {
        costs.sort_by_key(|cost| cost.time(quiet));
        let at = |place: usize| costs.get(place).copied().unwrap_or_default();
        let last = costs.len().saturating_sub(1);
        Self { least: at(0), median: at(last / 2), most: at(last) }
    }
}

impl Meter {
    /// A trial that sent for so long and lost this share of what it sent.
    pub(crate) fn trial(&mut self, sending: Duration, loss_ratio: f64) {
        let was_overloaded = std::mem::replace(&mut self.is_overloaded, loss_ratio > OVERLOAD);
        self.cost = self.cost.and(Cost {
            trials: 1,
            traffic: sending,
            waits: u32::from(loss_ratio > 0.0),
            probes: u32::from(was_overloaded),
            ..Cost::default()
        });
    }

    /// Buffers empty after a trial.
    pub(crate) fn drain(&mut self, draining: Duration) {
        self.cost.drain = self.cost.drain.saturating_add(draining);
    }

    /// The path is left idle.
    pub(crate) fn rest(&mut self, while_idle: Duration) {
        self.cost.idle = self.cost.idle.saturating_add(while_idle);
    }

    /// What it came to.
    pub(crate) fn cost(&self) -> Cost {
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
        assert_eq!(cost.time(2 * SECOND), 11 * SECOND + 5 * OVERHEAD + PROBE);
        assert_eq!(cost.times(2), cost.and(cost));
        assert_eq!(cost.times(u32::MAX).time(Duration::MAX), Duration::MAX);
    }

    #[test]
    fn a_spread_is_ordered_by_time() {
        let traffic = |seconds: u32| Cost { traffic: seconds * SECOND, ..Cost::default() };
        let waiting = Cost { waits: 1, ..Cost::default() };
        let spread = Spread::of(vec![traffic(3), waiting, traffic(1)], 2 * SECOND);
        assert_eq!((spread.least, spread.median, spread.most), (traffic(1), waiting, traffic(3)));
        assert_eq!(Spread::of(Vec::new(), SECOND), Spread::default());
    }
}
