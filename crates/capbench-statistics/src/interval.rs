//! The median of repeats, and an interval that contains the true median with a known probability.

use serde::{Deserialize, Serialize};

use super::{LEVEL, sign_test};

/// What the interval around a median is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntervalMethod {
    /// The interval between two order statistics, as [`Estimate::of`] has it.
    OrderStatistics,
}

/// Repeats of one quantity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Estimate {
    /// The median.
    pub median: f64,
    /// The interval's lower end. Absent with one repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Lower bound of the probability that the interval contains the true median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<f64>,
    /// Number of repeats.
    pub repeats: u32,
}

impl Estimate {
    /// The estimate from repeats. `None` without a repeat.
    ///
    /// The k-th smallest and the k-th largest of n values enclose the median unless fewer than k values are on one side of
    /// it. That probability is the one of as many heads of a coin (David and Nagaraja, Order Statistics, 7.1). It assumes no
    /// distribution: sweeps have few repeats, and loss is not normally distributed.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (n, median) = (sorted.len(), middle(&sorted)?);
        let repeats = n as u32;
        if n == 1 {
            return Some(Self { median, low: None, high: None, level: None, repeats });
        }
        let rank = (2..=n / 2).take_while(|&rank| level(n, rank) >= LEVEL).last().unwrap_or(1);
        Some(Self {
            median,
            low: Some(sorted[rank - 1]),
            high: Some(sorted[n - rank]),
            level: Some(level(n, rank)),
            repeats,
        })
    }

    /// Half the width of the interval. 0 without an interval.
    pub fn half_width(&self) -> f64 {
        self.low.zip(self.high).map_or(0.0, |(low, high)| (high - low) / 2.0)
    }
}

/// The median. `None` without a value.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    middle(&sorted)
}

fn middle(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    Some(if sorted.len() % 2 == 1 { upper } else { sorted[sorted.len() / 2 - 1].midpoint(upper) })
}

/// The probability that the `rank`-th smallest and largest of n enclose the median.
fn level(n: usize, rank: usize) -> f64 {
    1.0 - 2.0 * sign_test(rank - 1, n)
}

#[cfg(test)]
mod tests {
    use super::{Estimate, level};
    use proptest::prelude::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn levels_are_those_of_the_binomial_distribution() {
        assert_eq!((level(2, 1), level(5, 1), level(6, 1)), (0.5, 0.9375, 0.96875));
        let estimate = Estimate::of((1..=20).map(f64::from)).unwrap();
        assert_eq!((estimate.median, estimate.low, estimate.high), (10.5, Some(6.0), Some(15.0)));
        assert!((estimate.level.unwrap() - 0.9586).abs() < 1e-4);
    }

    #[test]
    fn one_repeat_has_no_interval_and_none_no_estimate() {
        let one = Estimate::of([3.0]).unwrap();
        assert_eq!((one.median, one.low, one.level, one.repeats), (3.0, None, None, 1));
        assert_eq!(Estimate::of([]), None);
    }

    #[test]
    fn intervals_hold_the_median_as_often_as_they_say() {
        const ROUNDS: usize = 20_000;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
        let mut uniform = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        for n in [3, 5, 7, 12, 20] {
            // Skewed, as loss is: the median of -ln(u) is ln 2.
            let mut covered = 0;
            let mut stated = 0.0;
            for _ in 0..ROUNDS {
                let estimate = Estimate::of((0..n).map(|_| -(1.0 - uniform()).ln())).unwrap();
                let range = estimate.low.unwrap()..=estimate.high.unwrap();
                covered += usize::from(range.contains(&std::f64::consts::LN_2));
                stated = estimate.level.unwrap();
            }
            let share = covered as f64 / ROUNDS as f64;
            // Three standard deviations of the count.
            assert!(
                (share - stated).abs() < 3.0 * (stated * (1.0 - stated) / ROUNDS as f64).sqrt() + 1e-9,
                "{n}: {share} {stated}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_median_is_in_its_interval(values in prop::collection::vec(-1e9..1e9_f64, 2..40)) {
            let estimate = Estimate::of(values).unwrap();
            prop_assert!(estimate.low.unwrap() <= estimate.median && estimate.median <= estimate.high.unwrap());
        }
    }
}
