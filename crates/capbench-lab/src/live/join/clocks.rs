//! What the clocks of two hosts allow to be known of one-way times.

use capbench_model::clocks::{ClockClass, common_error, is_accepted, skew_bounds};
use capbench_model::latency::{Delays, Latency, Legs, OneWay, Relative, Skew};

use super::Halves;

/// The latency of a trial, and the class of its one-way times.
pub(super) struct Clocks {
    pub(super) latency: Option<Latency>,
    /// `None`: sender and receiver have one clock.
    pub(super) class: Option<ClockClass>,
    pub(super) error_ns: Option<u64>,
}

impl Halves<'_> {
    pub(super) fn clocks(&self) -> Clocks {
        let latency = self.receive.received.latency.clone();
        let (Some(one_way), Some(latency)) = (&self.receive.one_way, &latency) else {
            let class = self.link.clocks.map(|_| ClockClass::None);
            return Clocks { latency, class, error_ns: None };
        };
        let mut reasons: Vec<String> = latency.absent_because.clone().into_iter().collect();
        let relative = self.relative(one_way);
        let error_ns =
            self.stated_error(one_way).map_err(|reason| reasons.push(format!("one-way time: {reason}"))).ok();
        let limit = self.link.clocks.and_then(|clocks| clocks.accepted_error);
        let mut accepted = |leg: &str, delays: &Option<Delays>| {
            let (delays, error_ns) = (delays.as_ref()?, error_ns?);
            let found = is_accepted(error_ns, delays.min_ns, delays.p50_ns, limit);
            found.map_err(|reason| reasons.push(format!("{leg}: {reason}"))).ok().map(|()| delays.clone())
        };
        let to_kernel = accepted("to_kernel", &one_way.absolute.to_kernel);
        let total = accepted("total", &one_way.absolute.total);
        let class = match (&relative, to_kernel.is_some() || total.is_some()) {
            (_, true) => ClockClass::Absolute,
            (Some(_), false) => ClockClass::Relative,
            (None, false) => ClockClass::None,
        };
        let latency = Latency {
            to_kernel,
            total,
            relative,
            absent_because: (!reasons.is_empty()).then(|| reasons.join("; ")),
            clock_error_ns: error_ns.filter(|_| class == ClockClass::Absolute).or(latency.clock_error_ns),
            ..latency.clone()
        };
        Clocks { latency: Some(latency), class: Some(class), error_ns }
    }

    /// The error that both hosts state, and that of reading their clocks.
    fn stated_error(&self, one_way: &OneWay) -> Result<u64, String> {
        if let Some(reason) = &one_way.unusable_because {
            return Err(reason.clone());
        }
        let mut largest = 0;
        for half in self.each {
            let (Some(sender), Some(receiver)) = (&half.clock, &self.receive.clock) else {
                return Err("the hosts' clocks were not compared".into());
            };
            largest = common_error(sender, receiver)?.max(largest);
        }
        Ok(largest.saturating_add(one_way.reading_error_ns))
    }

    /// Relative delays. A skew that the clocks cannot have, as the exchanges around the trial show, is left in them.
    fn relative(&self, one_way: &OneWay) -> Option<Relative> {
        let relative = one_way.relative.clone()?;
        let can_be = |skew: &Skew| {
            let half = self.each.iter().find(|half| half.stream.0 == skew.stream);
            let clocks = half.and_then(|half| half.clock.as_ref()).zip(self.receive.clock.as_ref());
            clocks.is_none_or(|(sender, receiver)| skew_bounds(sender, receiver).contains(&skew.ppm))
        };
        if relative.skew.iter().all(can_be) {
            return Some(relative);
        }
        let skew = relative.skew.iter().map(|skew| Skew { removed: false, ..*skew }).collect();
        let Legs { to_kernel, total } = one_way.above_minimum.clone();
        Some(Relative { to_kernel, total, skew, ..relative })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::clocks::{Bounds, ClockReading, ClockState, HostClock, TimeService};
    use capbench_model::latency::{Began, Recording, Sample, Samples};
    use capbench_model::trial::Measured;

    use super::super::tests::{VIRTUAL, join, receive, transmit};
    use super::super::{LinkFacts, SeparateClocks};
    use super::*;

    const EPOCH: u64 = 1_795_000_000_000_000_000;
    const SECOND: u64 = 1_000_000_000;

    /// A host whose clock is ahead of the controller's by this much, as exchanges with a round trip of 100 us show.
    fn host(state: ClockState, ahead_ns: i64) -> HostClock {
        let ahead = Bounds { low_ns: ahead_ns - 50_000, high_ns: ahead_ns + 50_000 };
        let reading = |at_ns| ClockReading { at_ns, state: state.clone(), ahead };
        HostClock { before: reading(0), after: reading(10 * SECOND) }
    }

    fn synchronised(error_ns: u64) -> ClockState {
        ClockState::Synchronised { by: TimeService::Chrony, error_ns }
    }

    fn unsynchronised() -> ClockState {
        ClockState::Unsynchronised { reason: "STA_UNSYNC".into() }
    }

    /// A trial of ten seconds whose frames take 1 ms and every tenth one 3 ms, with this skew.
    fn trial(
        states: [ClockState; 2],
        ahead_ns: i64,
        skew_ppm: f64,
        accepted_error: Option<Duration>,
    ) -> Measured {
        let mut samples = Samples::default();
        for nth in 0..1000_u64 {
            let planned_ns = nth * SECOND / 100;
            let delay = if nth % 10 == 0 { 3_000_000 } else { 1_000_000 };
            let drift = (planned_ns as f64 * skew_ppm / 1e6) as i64;
            let kernel = planned_ns as i64 + delay + drift + ahead_ns;
            samples.note(Sample {
                stream: 0,
                planned_ns,
                kernel_ns: Some(kernel),
                delivered_ns: kernel + 5000,
            });
        }
        let began = Began { realtime_ns: EPOCH, error_ns: 10, set_by: None };
        let [sender, receiver] = states;
        let (mut transmit, mut receive) = (transmit(), receive());
        transmit.clock = Some(host(sender, 0));
        receive.clock = Some(host(receiver, ahead_ns));
        receive.one_way = Some(OneWay::of(&samples, EPOCH, &[(0, began)]));
        let latency = Latency { absent_because: None, ..Latency::unknown(Recording::default(), "") };
        receive.received.latency = Some(latency);
        join(LinkFacts { clocks: Some(SeparateClocks { accepted_error }), ..VIRTUAL }, &transmit, &receive)
    }

    #[test]
    fn one_clock_has_no_class_and_two_without_recorded_times_have_none() {
        assert_eq!(join(VIRTUAL, &transmit(), &receive()).trial.clock_class, None);
        let two = LinkFacts { clocks: Some(SeparateClocks::default()), ..VIRTUAL };
        let measured = join(two, &transmit(), &receive());
        assert_eq!(
            (measured.trial.clock_class, measured.trial.clock_error_ns),
            (Some(ClockClass::None), None)
        );
    }

    #[test]
    fn unsynchronised_clocks_allow_relative_times_and_the_reason_is_said() {
        let day = 86_400 * SECOND as i64;
        let measured = trial([synchronised(1000), unsynchronised()], day, 0.0, None);
        assert_eq!(
            (measured.trial.clock_class, measured.trial.clock_error_ns),
            (Some(ClockClass::Relative), None)
        );
        let latency = measured.trial.latency.unwrap();
        assert_eq!((latency.to_kernel, latency.total), (None, None));
        let relative = latency.relative.unwrap();
        assert_eq!(relative.to_kernel.unwrap().pdv_ns, 2_000_000);
        let reason = latency.absent_because.unwrap();
        assert!(reason.contains("the host that receives is not synchronised: STA_UNSYNC"), "{reason}");
    }

    #[test]
    fn synchronised_clocks_allow_absolute_times_with_the_sum_of_their_errors() {
        let measured = trial([synchronised(1000), synchronised(2000)], 0, 0.0, None);
        assert_eq!(
            (measured.trial.clock_class, measured.trial.clock_error_ns),
            (Some(ClockClass::Absolute), Some(3010))
        );
        let latency = measured.trial.latency.unwrap();
        assert_eq!((latency.clock_error_ns, latency.absent_because), (Some(3010), None));
        assert_eq!(latency.to_kernel.unwrap().min_ns, 1_000_000);
        assert_eq!(latency.total.unwrap().min_ns, 1_005_000);
        assert!(latency.relative.is_some());
    }

    #[test]
    fn an_error_above_a_tenth_of_the_median_needs_the_users_consent() {
        let states = || [synchronised(100_000), synchronised(2000)];
        let measured = trial(states(), 0, 0.0, None);
        assert_eq!(
            (measured.trial.clock_class, measured.trial.clock_error_ns),
            (Some(ClockClass::Relative), Some(102_010))
        );
        let reason = measured.trial.latency.unwrap().absent_because.unwrap();
        assert!(reason.contains("to_kernel: ") && reason.contains("--clock-error"), "{reason}");
        let measured = trial(states(), 0, 0.0, Some(Duration::from_millis(1)));
        assert_eq!(measured.trial.clock_class, Some(ClockClass::Absolute));
    }

    #[test]
    fn a_source_that_lies_is_caught_by_the_exchanges() {
        let measured = trial([synchronised(1000), synchronised(1000)], 7_000_000, 0.0, None);
        assert_eq!(
            (measured.trial.clock_class, measured.trial.clock_error_ns),
            (Some(ClockClass::Relative), None)
        );
        let reason = measured.trial.latency.unwrap().absent_because.unwrap();
        assert!(reason.contains("shows 7ms") && reason.contains("a stated error is wrong"), "{reason}");
    }

    #[test]
    fn a_skew_that_the_exchanges_exclude_is_left_in_the_delays() {
        // Round trips of 100 us around 10 s allow 10 ppm either way.
        let measured = trial([unsynchronised(), unsynchronised()], 0, 8.0, None);
        let relative = measured.trial.latency.unwrap().relative.unwrap();
        assert!(relative.skew[0].removed && (relative.skew[0].ppm - 8.0).abs() < 0.1, "{:?}", relative.skew);
        assert_eq!(relative.to_kernel.unwrap().pdv_ns / 1000, 2000);
        let measured = trial([unsynchronised(), unsynchronised()], 0, 200.0, None);
        let relative = measured.trial.latency.unwrap().relative.unwrap();
        assert!(!relative.skew[0].removed, "{:?}", relative.skew);
        assert!(relative.to_kernel.unwrap().max_ns > 3_900_000);
    }
}
