//! Send times from a capture file.

use std::str::FromStr;

use super::{Period, saturated};
use crate::{FrameError, Pps, Result};

/// How many times as fast as recorded frames are sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed(f64);

impl Speed {
    /// As recorded.
    pub const RECORDED: Self = Self(1.0);

    /// A time since the first frame, at this speed, rounded down. Exact at speed 1, else up to 2^53 ns (104 days).
    fn scaled(self, time_ns: u64) -> u64 {
        // A cast of a number that is too large gives the largest one.
        if self == Self::RECORDED { time_ns } else { (time_ns as f64 / self.0) as u64 }
    }
}

impl FromStr for Speed {
    type Err = FrameError;

    fn from_str(text: &str) -> Result<Self> {
        let factor = text.trim().parse().ok().filter(|factor| (1e-6..=1e6).contains(factor));
        factor
            .map(Self)
            .ok_or_else(|| FrameError::parse(text, "a factor from 0.000001 to 1000000, such as 2 or 0.5"))
    }
}

/// Times of recorded frames, from 0 on, and when they repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedTimes {
    /// One time or more, none before the one in front of it.
    times: Box<[u64]>,
    period_ns: u64,
}

impl RecordedTimes {
    /// Memory for each frame.
    pub const OVERHEAD: usize = size_of::<u64>();

    /// Of frames with these times in nanoseconds since any moment, at this speed.
    ///
    /// Each repetition begins one mean interval after the last frame of the one before.
    ///
    /// # Errors
    /// No frame, or a time before the one in front of it.
    pub fn new(mut times: Vec<u64>, speed: Speed) -> Result<Self> {
        if !times.is_sorted() {
            return Err(FrameError::Schedule("the times of the recorded frames go backwards"));
        }
        let first = *times.first().ok_or(FrameError::Schedule("there is no recorded frame"))?;
        times.iter_mut().for_each(|time| *time = speed.scaled(*time - first));
        let (last, intervals) = (times[times.len() - 1], times.len() as u64 - 1);
        // At least one: the next repetition begins after the last frame.
        let mean = last.checked_div(intervals).unwrap_or(0).max(last.min(1));
        Ok(Self { times: times.into(), period_ns: last.saturating_add(mean) })
    }

    /// Bursts: `frames` frames at a rate, again after `gap_ns` more than their interval.
    ///
    /// # Errors
    /// More than a million frames.
    pub fn bursts(frames: u32, rate: Pps, gap_ns: u64) -> Result<Self> {
        if !(1..=1_000_000).contains(&frames) {
            return Err(FrameError::Schedule("a burst has 1 to 1000000 frames"));
        }
        let period = Period::of(rate);
        let times = (0..u64::from(frames)).map(|number| period.times(number)).collect();
        Ok(Self { times, period_ns: period.times(frames.into()).saturating_add(gap_ns) })
    }

    /// Time from the beginning of one repetition to the beginning of the next, in nanoseconds. 0: the file has no interval, and
    /// the frames of all repetitions are due at once.
    pub fn period_ns(&self) -> u64 {
        self.period_ns
    }

    /// Time of the last frame, in nanoseconds since the first one.
    pub fn last_ns(&self) -> u64 {
        self.times[self.times.len() - 1]
    }

    /// Planned send time of frame `number`, counted over all repetitions.
    pub(super) fn planned_ns(&self, number: u64) -> u64 {
        let count = self.times.len() as u64;
        self.at((number % count) as usize, (number / count).saturating_mul(self.period_ns))
    }

    /// Planned time of a frame in the repetition that begins at `begin_ns`.
    #[inline]
    pub(super) fn at(&self, index: usize, begin_ns: u64) -> u64 {
        begin_ns.saturating_add(self.times[index])
    }

    /// The next frame after frame `index` of the repetition that begins at `begin_ns`.
    #[inline]
    pub(super) fn after(&self, index: usize, begin_ns: u64) -> (usize, u64) {
        if index + 1 < self.times.len() {
            (index + 1, begin_ns)
        } else {
            (0, begin_ns.saturating_add(self.period_ns))
        }
    }

    /// Frames planned before `end_ns`.
    pub(super) fn planned_before(&self, end_ns: u128) -> u64 {
        let count = self.times.len() as u128;
        let before = |end_ns: u128| self.times.partition_point(|time| u128::from(*time) < end_ns) as u128;
        match u128::from(self.period_ns) {
            // Without interval all are at 0.
            0 if end_ns == 0 => 0,
            0 => u64::MAX,
            period => saturated(end_ns / period * count + before(end_ns % period)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::{Schedule, Turn};

    fn intervals() -> impl Strategy<Value = Vec<u64>> {
        let interval = prop_oneof![Just(0), 1..5_u64, 1..10_000_000_000_u64];
        prop::collection::vec(interval, 0..30)
    }

    fn times(begin: u64, intervals: &[u64]) -> Vec<u64> {
        let add = |at: &mut u64, interval: &u64| {
            *at += interval;
            Some(*at)
        };
        [begin].into_iter().chain(intervals.iter().scan(begin, add)).collect()
    }

    #[test]
    fn each_repetition_begins_one_mean_interval_after_the_last_frame() {
        let recorded =
            |times: &[u64], speed: &str| RecordedTimes::new(times.to_vec(), speed.parse().unwrap()).unwrap();
        let twice = recorded(&[1_000, 1_100, 1_300], "2");
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(|nth| twice.planned_ns(nth)), [0, 50, 150, 225, 275, 375, 450]);
        assert_eq!((twice.last_ns(), twice.period_ns()), (150, 225));
        let [one, at_once] = [&[7][..], &[7, 7]].map(|times| recorded(times, "1"));
        assert_eq!((one.period_ns(), at_once.period_ns(), at_once.planned_ns(9)), (0, 0, 0));
        assert!(RecordedTimes::new(vec![], Speed::RECORDED).is_err());
        assert!(RecordedTimes::new(vec![2, 1], Speed::RECORDED).is_err());
        for text in ["0", "-1", "NaN", "inf", "1e7", "fast", ""] {
            assert!(text.parse::<Speed>().unwrap_err().to_string().contains("is not a factor"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_schedule_in_order_by_number_and_by_time_is_the_same(
            begin in 0..1_u64 << 62,
            intervals in intervals(),
            speed in prop_oneof![Just("1".to_string()), (1e-3..1e3).prop_map(|factor: f64| factor.to_string())],
            senders in 1..5_u32,
            frames in 0..150_u64,
        ) {
            let recorded = times(begin, &intervals);
            let count = recorded.len() as u64;
            let factor: f64 = speed.parse().unwrap();
            let schedule = Schedule::Recorded(Arc::new(RecordedTimes::new(recorded.clone(), speed.parse().unwrap()).unwrap()));
            let planned = |number| schedule.planned_ns(number).unwrap();
            for number in 0..count {
                let exact = (recorded[number as usize] - begin) as f64 / factor;
                let error = exact - planned(number) as f64;
                prop_assert!((0.0..=1.0).contains(&error), "frame {number}: {error} ns");
            }
            let span = planned(count - 1);
            let mean = if span == 0 { 0 } else { (span / (count - 1)).max(1) };
            for number in 0..frames {
                prop_assert_eq!(planned(number), number / count * (span + mean) + planned(number % count));
            }
            for turn in Turn::of_each(senders.try_into().unwrap()) {
                let mut times = schedule.times(turn).unwrap();
                for nth in 0..frames {
                    prop_assert_eq!(times.next_ns(), planned(turn.number(nth)));
                    times.advance();
                }
            }
            if span > 0 {
                for end in [planned(frames), planned(frames) + 1, planned(frames) + mean / 2] {
                    let before = (0..).take_while(|number| planned(*number) < end).count() as u64;
                    prop_assert_eq!(schedule.intended(Duration::from_nanos(end)), Some(before));
                }
            }
        }
    }
}
