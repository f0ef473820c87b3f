//! The distribution of delays: counted in an HDR histogram while frames arrive, then reported in the figures of RFC 8219.

mod stored;

use std::fmt;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Longest delay of the histogram, one hour; longer ones count as one hour.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// The resolution of delays is 0.1 %.
const DIGITS: u8 = 3;

/// Counts delays. All of its memory is allocated at once.
#[derive(Clone, Debug)]
pub struct DelayRecorder {
    histogram: Histogram<u64>,
    total_ns: u64,
    min_ns: u64,
    max_ns: u64,
    below_zero: u64,
}

impl Default for DelayRecorder {
    /// A recorder without delays.
    fn default() -> Self {
        let histogram =
            Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).expect("bounds that the constructor accepts");
        Self { histogram, total_ns: 0, min_ns: u64::MAX, max_ns: 0, below_zero: 0 }
    }
}

impl DelayRecorder {
    /// Counts the time from one moment to another, both nanoseconds on one clock.
    #[inline]
    pub fn record(&mut self, from_ns: u64, to_ns: u64) {
        let ns = to_ns.saturating_sub(from_ns);
        self.below_zero += u64::from(to_ns < from_ns);
        self.total_ns = self.total_ns.saturating_add(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.histogram.saturating_record(ns);
    }

    /// Counts the delays of another recorder, too.
    pub fn add(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("all recorders have the same bounds");
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.below_zero += other.below_zero;
    }

    /// The figures; absent without frames.
    pub fn delays(self) -> Option<Delays> {
        let Self { histogram, total_ns, min_ns, max_ns, below_zero } = self;
        if histogram.is_empty() {
            return None;
        }
        // Quantiles are upper bounds within the histogram's resolution; none exceeds the largest delay.
        let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        let quantile = |share| signed(histogram.value_at_quantile(share).clamp(min_ns, max_ns));
        let p99_9_ns = quantile(0.999);
        Some(Delays {
            frames: histogram.len(),
            min_ns: signed(min_ns),
            mean_ns: total_ns as f64 / histogram.len() as f64,
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            p99_9_ns,
            max_ns: signed(max_ns),
            pdv_ns: p99_9_ns.abs_diff(signed(min_ns)),
            below_zero,
            histogram_from_ns: 0,
            histogram: Recorded(histogram),
        })
    }
}

/// The distribution of delays, in nanoseconds. Minimum, mean and maximum are exact, quantiles have a resolution of 0.1 %.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Delays {
    /// Number of frames.
    pub frames: u64,
    /// The shortest delay.
    pub min_ns: i64,
    /// Mean delay.
    pub mean_ns: f64,
    /// Delay not exceeded by half of the frames: typical latency of RFC 8219 7.2.
    pub p50_ns: i64,
    /// Delay not exceeded by 90 % of the frames.
    pub p90_ns: i64,
    /// Delay not exceeded by 99 % of the frames.
    pub p99_ns: i64,
    /// Delay not exceeded by 99.9 % of the frames: worst-case latency of RFC 8219 7.2.
    pub p99_9_ns: i64,
    /// The longest delay.
    pub max_ns: i64,
    /// Packet delay variation of RFC 8219 7.3.1 (RFC 5481 4.2): `p99_9_ns - min_ns`.
    pub pdv_ns: u64,
    /// Frames with a computed delay below zero, because clocks are read or synchronised with an error. Between two hosts they are
    /// as they are; on one host they count as 0.
    pub below_zero: u64,
    /// What to add to each value of `histogram`: the shortest delay if it is negative.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub histogram_from_ns: i64,
    /// All delays.
    pub histogram: Recorded,
}

impl Delays {
    /// The distribution of these delays in nanoseconds.
    pub fn of(delays: &[u64]) -> Option<Self> {
        let mut delaying = DelayRecorder::default();
        delays.iter().for_each(|delay| delaying.record(0, *delay));
        delaying.delays()
    }

    /// The histogram of these delays, in which those below zero are 0.
    pub fn positive(&self) -> Histogram<u64> {
        let values = self.histogram.histogram();
        if self.histogram_from_ns == 0 {
            return values.clone();
        }
        let mut positive = Histogram::new_from(values);
        for value in values.iter_recorded() {
            let ns = i64::try_from(value.value_iterated_to())
                .unwrap_or(i64::MAX)
                .saturating_add(self.histogram_from_ns);
            positive.saturating_record_n(ns.max(0) as u64, value.count_at_value());
        }
        positive
    }

    /// The same histogram in format V2 of HdrHistogram, deflated.
    pub fn positive_octets(&self) -> Vec<u8> {
        stored::to_octets(&self.positive())
    }

    /// The distribution of delays that may be negative.
    pub fn signed(delays: &[i64]) -> Option<Self> {
        let from_ns = delays.iter().copied().min()?.min(0);
        let mut delaying = DelayRecorder::default();
        delays.iter().for_each(|delay| delaying.record(0, delay.abs_diff(from_ns)));
        let found = delaying.delays()?;
        Some(Self {
            min_ns: found.min_ns.saturating_add(from_ns),
            mean_ns: found.mean_ns + from_ns as f64,
            p50_ns: found.p50_ns.saturating_add(from_ns),
            p90_ns: found.p90_ns.saturating_add(from_ns),
            p99_ns: found.p99_ns.saturating_add(from_ns),
            p99_9_ns: found.p99_9_ns.saturating_add(from_ns),
            max_ns: found.max_ns.saturating_add(from_ns),
            below_zero: delays.iter().filter(|delay| **delay < 0).count() as u64,
            histogram_from_ns: from_ns,
            ..found
        })
    }
}

fn is_zero(value: &i64) -> bool {
    *value == 0
}

/// A histogram of nanoseconds, stored as the text that tools of HdrHistogram exchange: format V2, deflated, in base64.
#[derive(Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Recorded(Histogram<u64>);

impl Recorded {
    /// The histogram, whose values are nanoseconds.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorded({} values)", self.0.len())
    }
}

impl From<Recorded> for String {
    fn from(recorded: Recorded) -> Self {
        stored::to_text(&recorded.0)
    }
}

impl TryFrom<String> for Recorded {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        stored::from_text(&text).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn without_frames_there_are_no_delays() {
        assert_eq!(Delays::of(&[]), None);
    }

    #[test]
    fn a_frame_that_seems_to_come_before_it_was_sent_is_said() {
        let mut delaying = DelayRecorder::default();
        delaying.record(1000, 400);
        delaying.record(1000, 1010);
        let delays = delaying.delays().unwrap();
        assert_eq!((delays.below_zero, delays.min_ns, delays.max_ns, delays.mean_ns), (1, 0, 10, 5.0));
    }

    #[test]
    fn a_day_counts_as_an_hour_in_the_histogram_and_as_a_day_in_the_largest() {
        let delays = Delays::of(&[86_400_000_000_000]).unwrap();
        assert_eq!(delays.max_ns, 86_400_000_000_000);
        assert!(delays.histogram.histogram().max() < 3_700_000_000_000);
    }

    #[test]
    fn negative_delays_stay_negative() {
        let delays = Delays::signed(&[-400, 10, 10, 20, 600]).unwrap();
        assert_eq!((delays.min_ns, delays.p50_ns, delays.max_ns), (-400, 10, 600));
        assert_eq!((delays.below_zero, delays.mean_ns, delays.histogram_from_ns), (1, 48.0, -400));
        assert_eq!(delays.pdv_ns, 1000);
        assert_eq!(delays.histogram.histogram().min(), 0);
        let positive = delays.positive();
        assert_eq!((positive.len(), positive.count_at(0), positive.max()), (5, 1, 600));
        let text = serde_json::to_string(&delays).unwrap();
        assert!(text.contains(r#""min_ns":-400"#) && text.contains(r#""histogram_from_ns":-400"#), "{text}");
        assert_eq!(Delays::signed(&[5, 7]), Delays::of(&[5, 7]), "without negative ones nothing differs");
        assert_eq!(Delays::signed(&[]), None);
    }

    proptest! {
        /// Against the definitions, on the sorted values: the least value that at least the share is at most.
        #[test]
        fn figures_are_those_of_the_sorted_delays(mut delays in prop::collection::vec(0..5_000_000_000_u64, 1..3000)) {
            let found = Delays::of(&delays).unwrap();
            delays.sort_unstable();
            let count = delays.len();
            let at = |share: f64| delays[((share * count as f64).ceil() as usize).clamp(1, count) - 1];
            let is_close = |recorded: i64, exact: u64| {
                let recorded = recorded as u64;
                recorded >= exact && recorded - exact <= exact / 1000 + 1
            };
            prop_assert_eq!((found.min_ns, found.max_ns), (delays[0] as i64, delays[count - 1] as i64));
            prop_assert_eq!(found.frames, count as u64);
            prop_assert!((found.mean_ns - delays.iter().sum::<u64>() as f64 / count as f64).abs() < 1e-3);
            for (recorded, share) in
                [(found.p50_ns, 0.5), (found.p90_ns, 0.9), (found.p99_ns, 0.99), (found.p99_9_ns, 0.999)]
            {
                prop_assert!(is_close(recorded, at(share)), "{} {} {}", share, recorded, at(share));
            }
            prop_assert_eq!(found.pdv_ns as i64, found.p99_9_ns - found.min_ns);
            let ordered = [found.min_ns, found.p50_ns, found.p90_ns, found.p99_ns, found.p99_9_ns, found.max_ns];
            prop_assert!(ordered.is_sorted(), "{:?}", ordered);
        }

        /// However delays are shared among recorders, they add up to what one would have.
        #[test]
        fn recorders_add_up(delays in prop::collection::vec((0..4096_u64, 0..5_000_000_u64, 0..3_usize), 0..300)) {
            let (mut parts, mut one) = ([(); 3].map(|()| DelayRecorder::default()), DelayRecorder::default());
            for (from, to, part) in delays {
                parts[part].record(from, to);
                one.record(from, to);
            }
            let [mut all, second, third] = parts;
            all.add(&second);
            all.add(&third);
            prop_assert_eq!(all.delays(), one.delays());
        }

        #[test]
        fn a_histogram_survives_being_stored(delays in prop::collection::vec(0..u64::MAX / 2, 1..300)) {
            let recorded = Delays::of(&delays).unwrap().histogram;
            let text = serde_json::to_string(&recorded).unwrap();
            prop_assert_eq!(serde_json::from_str::<Recorded>(&text).unwrap(), recorded);
        }

        #[test]
        fn any_text_is_a_histogram_or_an_error(text in "\\PC{0,60}") {
            let _ = Recorded::try_from(text);
        }
    }
}
