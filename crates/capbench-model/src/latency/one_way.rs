//! One-way delays from the times of two hosts' clocks.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Delays, Relative, Sample, Samples};
use crate::clocks::{Point, Slope, slope};
use crate::reasons::NoDelays;
use crate::thresholds::CLOCK_RATES_DIFFERENCE_PPM;

/// When a generator began, by the clock that its host shares with the world: CLOCK_REALTIME.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Began {
    /// Nanoseconds since the epoch.
    pub realtime_ns: u64,
    /// Largest error of reading the clock.
    pub error_ns: u64,
    /// By how much the clock was set during the trial; absent if it was not set.
    pub set_by: Option<Duration>,
}

/// The difference of two clocks' rates, as the delays of a generator's frames show it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Skew {
    /// The generator's stream.
    pub stream: u8,
    /// By how many parts per million the smallest delays grew during the trial.
    pub ppm: f64,
    /// How uncertain that is; absent if there are too few frames to say it.
    pub error_ppm: Option<f64>,
    /// Whether it was removed from the delays. It was not if it is within its uncertainty, and if clocks cannot differ that much:
    /// then a queue filled or emptied.
    pub removed: bool,
}

/// The two one-way legs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Legs {
    /// From planned send time to the kernel's timestamp.
    pub to_kernel: Option<Delays>,
    /// From planned send time to delivery.
    pub total: Option<Delays>,
}

impl Legs {
    fn of([to_kernel, total]: &[Vec<i64>; 2]) -> Self {
        Self { to_kernel: Delays::signed(to_kernel), total: Delays::signed(total) }
    }
}

/// One-way delays of a trial between two hosts, before it is known whether the clocks agree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct OneWay {
    /// Less their minimum and the skew.
    pub relative: Option<Relative>,
    /// Less their minimum only.
    pub above_minimum: Legs,
    /// As both clocks show them.
    pub absolute: Legs,
    /// Why `absolute` is empty, or what makes it wrong; absent if only the clocks' agreement matters.
    pub unusable_because: Option<String>,
    /// Largest error of reading the clocks.
    pub reading_error_ns: u64,
}

/// A leg of a frame.
type Leg = fn(&Sample) -> Option<i64>;

const TO_KERNEL: Leg = |sample| sample.kernel_ns;
const TOTAL: Leg = |sample| Some(sample.delivered_ns);

impl OneWay {
    /// The delays of `samples`, whose receiver's times count from `origin_ns` of its CLOCK_REALTIME. `began` is when each
    /// generator did, with its stream.
    pub fn of(samples: &Samples, origin_ns: u64, began: &[(u8, Began)]) -> Self {
        let mut sorted = samples.kept().to_vec();
        sorted.sort_by_key(|sample| (sample.stream, sample.planned_ns));
        let streams: Vec<&[Sample]> = sorted.chunk_by(|one, other| one.stream == other.stream).collect();
        let mut unusable_because = None;
        let mut absolute = [Vec::new(), Vec::new()];
        let mut relative = [Vec::new(), Vec::new()];
        let mut plain = [Vec::new(), Vec::new()];
        let mut skews = Vec::new();
        for frames in streams {
            let stream = frames[0].stream;
            let skew = skew(stream, frames);
            let removed = skew.filter(|skew| skew.removed).map_or(0.0, |skew| skew.ppm / 1e6);
            skews.extend(skew);
            let began = began.iter().find(|(of, _)| *of == stream).map(|(_, began)| began);
            match began {
                None => unusable_because = Some(NoDelays::StartUnknown.to_string()),
                Some(Began { set_by: Some(by), .. }) => {
                    unusable_because = Some(NoDelays::SenderClockSet(*by).to_string());
                }
                Some(_) => {}
            }
            // Far below 2^63: nanoseconds since the epoch reach that in the year 2262.
            let start = began.map_or(0, |began| began.realtime_ns as i64) - origin_ns as i64;
            for (nth, leg) in [TO_KERNEL, TOTAL].into_iter().enumerate() {
                relative[nth].extend(above_minimum(frames, leg, removed));
                plain[nth].extend(above_minimum(frames, leg, 0.0));
                absolute[nth].extend(delays(frames, leg).map(|(_, delay)| delay - start));
            }
        }
        let Legs { to_kernel, total } = Legs::of(&relative);
        let relative =
            total.is_some().then(|| Relative { to_kernel, total, skew: skews, one_in: samples.one_in() });
        let absolute = if unusable_because.is_none() { Legs::of(&absolute) } else { Legs::default() };
        let reading_error_ns = began.iter().map(|(_, began)| began.error_ns).max().unwrap_or(0);
        Self { relative, above_minimum: Legs::of(&plain), absolute, unusable_because, reading_error_ns }
    }
}

/// Each frame's planned time, and its delay plus a constant.
fn delays(frames: &[Sample], leg: Leg) -> impl Iterator<Item = (u64, i64)> {
    frames.iter().filter_map(move |frame| Some((frame.planned_ns, leg(frame)? - frame.planned_ns as i64)))
}

/// The skew in the kernel's timestamps, which an application does not delay; else in the deliveries.
fn skew(stream: u8, frames: &[Sample]) -> Option<Skew> {
    let of = |leg: Leg| {
        let points: Vec<Point> =
            delays(frames, leg).map(|(at_ns, delay_ns)| Point { at_ns, delay_ns }).collect();
        slope(&points)
    };
    let Slope { ppm, error_ppm } = of(TO_KERNEL).or_else(|| of(TOTAL))?;
    let removed = ppm.abs() <= CLOCK_RATES_DIFFERENCE_PPM && ppm.abs() > error_ppm;
    Some(Skew { stream, ppm, error_ppm: Some(error_ppm).filter(|error| error.is_finite()), removed })
}

/// Delays less their minimum, without a slope.
fn above_minimum(frames: &[Sample], leg: Leg, slope: f64) -> Vec<i64> {
    let level = |(at_ns, delay): (u64, i64)| delay - (at_ns as f64 * slope).round() as i64;
    let levelled: Vec<i64> = delays(frames, leg).map(level).collect();
    let least = levelled.iter().copied().min().unwrap_or(0);
    levelled.into_iter().map(|delay| delay - least).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EPOCH: u64 = 1_795_000_000_000_000_000;

    fn began(realtime_ns: u64) -> Began {
        Began { realtime_ns, error_ns: 40, set_by: None }
    }

    /// Frames that take so long to the kernel, and 7 us more to the application, between clocks that differ.
    fn samples(stream: u8, delays_ns: &[u64], offset_ns: i64, skew_ppm: f64, into: &mut Samples) {
        for (nth, delay) in delays_ns.iter().enumerate() {
            let planned_ns = nth as u64 * 1_000_000;
            let arrival = planned_ns + delay;
            let kernel = arrival as i64 + offset_ns + (arrival as f64 * skew_ppm / 1e6).round() as i64;
            into.note(Sample { stream, planned_ns, kernel_ns: Some(kernel), delivered_ns: kernel + 7000 });
        }
    }

    proptest! {
        #[test]
        fn figures_are_those_of_the_true_delays(
            mut delays_ns in prop::collection::vec(0..3_000_000_u64, 300..600),
            offset_ns in -90_000_000_000_000..90_000_000_000_000_i64,
            skew_ppm in -300.0..300.0_f64,
        ) {
            let last = delays_ns.len() - 1;
            for at in [0, last / 3, last / 2, last * 2 / 3, last] {
                delays_ns[at] = 0;
            }
            let mut drifting = Samples::up_to(1024);
            samples(0, &delays_ns, offset_ns, skew_ppm, &mut drifting);
            let relative = OneWay::of(&drifting, EPOCH, &[(0, began(EPOCH))]).relative.unwrap();
            let truth = Delays::of(&delays_ns).unwrap();
            for found in [relative.to_kernel.unwrap(), relative.total.unwrap()] {
                prop_assert!(found.pdv_ns.abs_diff(truth.pdv_ns) < 6000, "{} {}", found.pdv_ns, truth.pdv_ns);
                prop_assert!((found.mean_ns - truth.mean_ns).abs() < 1000.0, "{} {}", found.mean_ns, truth.mean_ns);
            }
            prop_assert!((relative.skew[0].ppm - skew_ppm).abs() < 1.0);
        }

        #[test]
        fn absolute_delays_have_the_offset_of_the_clocks_and_keep_their_sign(
            delays_ns in prop::collection::vec(0..3_000_000_u64, 2..100),
            apart_ns in -1_000_000_000..1_000_000_000_i64,
        ) {
            let mut wrong = Samples::up_to(1024);
            samples(0, &delays_ns, apart_ns, 0.0, &mut wrong);
            let found = OneWay::of(&wrong, EPOCH, &[(0, began(EPOCH))]).absolute.to_kernel.unwrap();
            let least = *delays_ns.iter().min().unwrap() as i64 + apart_ns;
            prop_assert_eq!(found.min_ns, least);
            let negative = delays_ns.iter().filter(|delay| (**delay as i64) < -apart_ns).count();
            prop_assert_eq!(found.below_zero, negative as u64);
        }
    }

    #[test]
    fn a_start_that_differs_from_the_receivers_origin_is_taken_into_account() {
        let mut late = Samples::up_to(1024);
        samples(0, &[1000, 2000], 5_000_000, 0.0, &mut late);
        let found = OneWay::of(&late, EPOCH, &[(0, began(EPOCH + 5_000_000))]);
        let (to_kernel, total) = (found.absolute.to_kernel.unwrap(), found.absolute.total.unwrap());
        assert_eq!((to_kernel.min_ns, to_kernel.max_ns), (1000, 2000));
        assert_eq!((total.min_ns, total.max_ns), (8000, 9000));
        assert_eq!((found.reading_error_ns, found.unusable_because), (40, None));
    }

    #[test]
    fn a_queue_that_fills_is_not_mistaken_for_a_clock() {
        let filling: Vec<u64> = (0..500).map(|nth| nth * 5000).collect();
        let mut overload = Samples::up_to(1024);
        samples(0, &filling, 0, 0.0, &mut overload);
        let relative = OneWay::of(&overload, EPOCH, &[(0, began(EPOCH))]).relative.unwrap();
        assert!(
            (relative.skew[0].ppm - 5000.0).abs() < 1.0 && !relative.skew[0].removed,
            "{:?}",
            relative.skew
        );
        assert_eq!(relative.to_kernel.unwrap().max_ns, 499 * 5000);
        let mut slow = Samples::up_to(1024);
        samples(0, &(0..500).map(|nth| nth * 500).collect::<Vec<u64>>(), 0, 0.0, &mut slow);
        let found = OneWay::of(&slow, EPOCH, &[(0, began(EPOCH))]);
        let relative = found.relative.unwrap();
        assert!(relative.skew[0].removed && relative.to_kernel.unwrap().max_ns < 1000, "as a clock may do");
        assert_eq!(found.above_minimum.to_kernel.unwrap().max_ns, 499 * 500, "for a caller who knows better");
    }

    #[test]
    fn each_generator_has_its_own_clock() {
        let mut both = Samples::up_to(1024);
        let delays: Vec<u64> = (0..200).map(|nth| nth % 4 * 100).collect();
        samples(0, &delays, 0, 50.0, &mut both);
        samples(1, &delays, 86_400_000_000_000, -50.0, &mut both);
        let starts = [(0, began(EPOCH)), (1, began(EPOCH + 86_400_000_000_000))];
        let found = OneWay::of(&both, EPOCH, &starts);
        let relative = found.relative.unwrap();
        let ppm: Vec<i64> = relative.skew.iter().map(|skew| skew.ppm.round() as i64).collect();
        assert_eq!(ppm, [50, -50]);
        let to_kernel = relative.to_kernel.unwrap();
        assert!(to_kernel.frames == 400 && to_kernel.max_ns <= 310, "{to_kernel:?}");
        assert!(found.absolute.to_kernel.unwrap().max_ns < 20_000, "skew over 0.2 s is left in it");
    }

    #[test]
    fn without_the_start_or_with_a_clock_that_was_set_there_is_no_absolute_time() {
        let mut some = Samples::up_to(1024);
        samples(0, &[5, 6, 7], 0, 0.0, &mut some);
        let set = Began { set_by: Some(Duration::from_millis(3)), ..began(EPOCH) };
        for (starts, why) in [(vec![], "unknown"), (vec![(0, set)], "was set during the trial, by 3ms")] {
            let found = OneWay::of(&some, EPOCH, &starts);
            assert_eq!(found.absolute, Legs::default());
            assert!(found.unusable_because.unwrap().contains(why));
            assert!(found.relative.is_some());
        }
    }

    #[test]
    fn without_timestamps_of_the_kernel_the_deliveries_remain() {
        let mut some = Samples::up_to(1024);
        for planned_ns in [0, 10, 20] {
            some.note(Sample { planned_ns, delivered_ns: planned_ns as i64 + 5, ..Sample::default() });
        }
        let found = OneWay::of(&some, EPOCH, &[(0, began(EPOCH))]);
        assert_eq!((found.absolute.to_kernel, found.absolute.total.unwrap().max_ns), (None, 5));
        assert_eq!(found.relative.unwrap().to_kernel, None);
    }
}
