//! How long the two ends of a connection wait for each other, and how often a lost agent is started again.

use std::time::Duration;

/// Pauses before an agent that was lost is started again, and before an OTG server that was lost is asked again: so often it is tried.
pub(crate) const RECONNECT: [Duration; 3] =
    [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];

/// The longest waits. Both ends have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// For an answer that needs no trial: a connection over ssh, the tracer, the driver's counters.
    pub answer: Duration,
    /// How long a side drains and reads its counters when sending is over, besides the time for which it waits for missing
    /// frames.
    pub drain: Duration,
    /// How much longer than its trial an agent waits for a silent controller.
    pub grace: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        let [answer, drain, grace] = [60, 90, 30].map(Duration::from_secs);
        Self { answer, drain, grace }
    }
}

impl Waits {
    /// The waits of a build with assertions can be shortened, for tests of connections that are silent for ever:
    /// `CAPBENCH_TEST_WAITS` has the three in milliseconds. Other builds do not read it.
    pub fn of_this_build() -> Self {
        let told = if cfg!(debug_assertions) { std::env::var("CAPBENCH_TEST_WAITS").ok() } else { None };
        told.and_then(|text| Self::parsed(&text)).unwrap_or_default()
    }

    fn parsed(text: &str) -> Option<Self> {
        let mut all = text.split(',').map(|part| part.parse().map(Duration::from_millis).ok());
        Some(Self { answer: all.next()??, drain: all.next()??, grace: all.next()?? })
    }

    /// How long an agent with an interface lets its controller be silent, around a trial of this length.
    pub fn lease(&self, plan: Duration) -> Duration {
        plan.saturating_add(self.drain).saturating_add(self.grace)
    }

    /// How long an agent may take for a call and its answer, if its controller asked for this much: also for the longest one,
    /// `report`, and a preparation besides.
    pub fn call(&self, asked: Duration) -> Duration {
        self.lease(asked).saturating_add(2 * self.answer)
    }

    /// How often a controller that rests shows that it is there.
    pub fn between_signs_of_life(&self) -> Duration {
        self.lease(Duration::ZERO) / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_ends_half_a_minute_after_the_plan_and_the_drain() {
        let waits = Waits::default();
        assert_eq!(waits.lease(Duration::from_secs(10)), Duration::from_secs(10 + 90 + 30));
        assert!(waits.between_signs_of_life() < waits.drain);
    }

    #[test]
    fn waits_of_tests_are_three_numbers() {
        let short = Waits::parsed("1,2,3").unwrap();
        assert_eq!([short.answer, short.drain, short.grace], [1, 2, 3].map(Duration::from_millis));
        assert_eq!(Waits::parsed("1,2"), None);
        assert_eq!(Waits::parsed("1,x,3"), None);
    }
}
