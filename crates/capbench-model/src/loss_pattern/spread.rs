//! The distribution of a quantity, in bounded memory for any number of values.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Larger values count as this one: 2^48 exceeds any number of frames or of nanoseconds in a trial.
const MOST: u64 = (1 << 48) - 1;

/// Counts values; its memory is bounded, and allocated at once.
#[derive(Clone, Debug)]
pub(super) struct Spreading {
    total: u64,
    max: u64,
    /// Values from `2^i` to `2^(i+1) - 1` in entry `i`; 0 counts as 1.
    powers: [u64; 48],
    /// The same values at a resolution of 1 %.
    histogram: Histogram<u64>,
}

impl Spreading {
    pub(super) fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, MOST, 2).expect("bounds that the constructor accepts");
        Self { total: 0, max: 0, powers: [0; 48], histogram }
    }

    pub(super) fn record(&mut self, value: u64) {
        self.total = self.total.saturating_add(value);
        self.max = self.max.max(value);
        self.powers[value.clamp(1, MOST).ilog2() as usize] += 1;
        self.histogram.saturating_record(value.max(1));
    }

    pub(super) fn spread(&self) -> Spread {
        let quantile = |share| {
            (!self.histogram.is_empty()).then(|| self.histogram.value_at_quantile(share).min(self.max))
        };
        let buckets = self.powers.iter().enumerate().filter(|(_, count)| **count > 0);
        Spread {
            count: self.histogram.len(),
            total: self.total,
            p50: quantile(0.5),
            p99: quantile(0.99),
            max: (!self.histogram.is_empty()).then_some(self.max),
            buckets: buckets.map(|(power, &count)| Bucket { from: 1 << power, count }).collect(),
        }
    }
}

/// The distribution of a quantity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Spread {
    /// Number of values.
    pub count: u64,
    /// Their sum.
    pub total: u64,
    /// Median: half of the values are less than or equal to this, with a resolution of 1 %; absent without values.
    pub p50: Option<u64>,
    /// 99 % of the values are less than or equal to this, with a resolution of 1 %.
    pub p99: Option<u64>,
    /// The largest value, exactly.
    pub max: Option<u64>,
    /// Number of values between two powers of two; without empty buckets.
    pub buckets: Vec<Bucket>,
}

/// Values from `from` to less than twice `from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Bucket {
    /// The smallest value, a power of two; 0 counts as 1.
    pub from: u64,
    /// Number of values.
    pub count: u64,
}

#[cfg(test)]
mod tests {
    use super::{Bucket, Spread, Spreading};

    #[test]
    fn counts_sums_and_bounds_are_exact() {
        let mut spreading = Spreading::new();
        assert_eq!(spreading.spread(), Spread::default());
        for value in [1, 1, 2, 3, 4, 1000, u64::MAX] {
            spreading.record(value);
        }
        let spread = spreading.spread();
        assert_eq!((spread.count, spread.total, spread.max), (7, u64::MAX, Some(u64::MAX)));
        assert_eq!(spread.p50, Some(3));
        let buckets: Vec<_> = spread.buckets.iter().map(|Bucket { from, count }| (*from, *count)).collect();
        assert_eq!(buckets, [(1, 2), (2, 2), (4, 1), (512, 1), (1 << 47, 1)]);
    }
}
