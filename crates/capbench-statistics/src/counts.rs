//! Exact intervals for shares and rates from small counts, and a test whether two shares differ by more than chance.

use std::cmp::Ordering;

use super::LEVEL;

/// Halvings of an interval from 0 to 1, down to the precision of the numbers.
const HALVINGS: u32 = 60;

/// An interval for a quantity, of [`LEVEL`].
pub type Limits = (f64, f64);

/// Where `is_below` turns from true to false.
fn turn(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if is_below(middle) { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// An interval for the true share, from `hits` of `all` (Clopper and Pearson, 1934). It contains the true share with a
/// probability of at least [`LEVEL`].
pub fn share(hits: u32, all: u32) -> Limits {
    let tail = (1.0 - LEVEL) / 2.0;
    let low = match hits {
        0 => 0.0,
        _ => turn(0.0, 1.0, |share| 1.0 - at_most(hits - 1, all, share) < tail),
    };
    let high = match hits.cmp(&all) {
        Ordering::Less => turn(0.0, 1.0, |share| at_most(hits, all, share) > tail),
        Ordering::Equal | Ordering::Greater => 1.0,
    };
    (low, high)
}

/// An interval for the mean of a Poisson distribution, from a count of events (Garwood, 1936). Without an event only the
/// upper end is open, and it gets the whole level.
pub fn events(count: u64) -> Limits {
    let tail = (1.0 - LEVEL) / 2.0;
    let most = count as f64 + 10.0 * (count as f64 + 1.0).sqrt();
    match count {
        0 => (0.0, -(1.0 - LEVEL).ln()),
        _ => (
            turn(0.0, most, |mean| 1.0 - poisson_at_most(count - 1, mean) < tail),
            turn(0.0, most, |mean| poisson_at_most(count, mean) > tail),
        ),
    }
}

/// The probability of up to `hits` hits in `all` tries, for a `share` between 0 and 1. Terms are logarithms, because the
/// first of many is too small for a float.
fn at_most(hits: u32, all: u32, share: f64) -> f64 {
    let odds = share.ln() - (-share).ln_1p();
    let first = f64::from(all) * (-share).ln_1p();
    sum(first, (0..hits).map(|nth| f64::from(all - nth).ln() - f64::from(nth + 1).ln() + odds))
}

fn poisson_at_most(count: u64, mean: f64) -> f64 {
    sum(-mean, (0..count).map(|nth| mean.ln() - ((nth + 1) as f64).ln()))
}

/// The sum of terms. The arguments are logarithms: the first term, then the ratio of each term to the one before.
fn sum(first: f64, ratios: impl Iterator<Item = f64>) -> f64 {
    let terms = ratios.scan(first, |term, ratio| {
        *term += ratio;
        Some(*term)
    });
    (first.exp() + terms.map(f64::exp).sum::<f64>()).min(1.0)
}

/// Hits among tries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// Number of hits.
    pub hits: u32,
    /// Number of tries.
    pub of: u32,
}

impl Hits {
    /// The sum of both.
    pub fn and(self, other: Self) -> Self {
        Self { hits: self.hits + other.hits, of: self.of + other.of }
    }
}

/// The probability of as few hits as the first has, or fewer, if both have the same share (Fisher's exact test, one-sided).
pub fn as_few(few: Hits, many: Hits) -> f64 {
    let hits = few.hits + many.hits;
    let least = hits.saturating_sub(many.of);
    let choose = |of: u32, hits: u32| -> f64 {
        (0..hits).map(|nth| f64::from(of - nth).ln() - f64::from(nth + 1).ln()).sum()
    };
    let first = choose(few.of, least) + choose(many.of, hits - least) - choose(few.of + many.of, hits);
    let ratio = |nth: u32| {
        let up = f64::from(few.of - nth) * f64::from(hits - nth);
        (up / (f64::from(nth + 1) * f64::from(many.of + nth + 1 - hits))).ln()
    };
    sum(first, (least..few.hits).map(ratio))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Hits, as_few, at_most, events, share};

    fn is_near(found: (f64, f64), expected: (f64, f64)) {
        assert!((found.0 - expected.0).abs() < 5e-4 && (found.1 - expected.1).abs() < 5e-4, "{found:?}");
    }

    #[test]
    fn intervals_are_those_of_tables() {
        is_near(share(0, 10), (0.0, 0.3085));
        is_near(share(1, 10), (0.0025, 0.4450));
        is_near(share(5, 10), (0.1871, 0.8129));
        is_near(share(10, 10), (0.6915, 1.0));
        is_near(events(0), (0.0, 2.9957));
        is_near(events(1), (0.0253, 5.5716));
        is_near(events(10), (4.7954, 18.3904));
        let (low, high) = events(1000);
        assert!((low - 938.97).abs() < 0.1 && (high - 1063.96).abs() < 0.1, "{low} {high}");
    }

    #[test]
    fn fishers_tea_is_tasted() {
        // The lady who tasted tea: all eight cups right has one chance in seventy, one pair wrong 17.
        let hits = |hits, of| Hits { hits, of };
        assert!((as_few(hits(0, 4), hits(4, 4)) - 1.0 / 70.0).abs() < 1e-12);
        assert!((as_few(hits(1, 4), hits(3, 4)) - 17.0 / 70.0).abs() < 1e-12);
        assert!((as_few(hits(4, 4), hits(0, 4)) - 1.0).abs() < 1e-12);
        assert!((as_few(hits(0, 3), hits(0, 5)) - 1.0).abs() < 1e-12);
    }

    proptest! {
        /// At the ends of the interval the tail is what the level leaves.
        #[test]
        fn lengthy_ends_of_shares_have_the_tails_that_they_are_to_have(all in 1_u32..3000, part in 0.0..1.0f64) {
            let hits = (f64::from(all) * part) as u32;
            let (low, high) = share(hits, all);
            prop_assert!(low <= f64::from(hits) / f64::from(all) && f64::from(hits) / f64::from(all) <= high);
            if hits > 0 {
                prop_assert!((1.0 - at_most(hits - 1, all, low) - 0.025).abs() < 1e-6);
            }
            if hits < all {
                prop_assert!((at_most(hits, all, high) - 0.025).abs() < 1e-6);
            }
        }

        #[test]
        fn more_hits_in_the_second_make_fewer_in_the_first_less_likely_by_chance(
            few in 0_u32..20, of in 20_u32..40, many in 0_u32..39,
        ) {
            let hits = |hits, of| Hits { hits, of };
            let now = as_few(hits(few, of), hits(many, 40));
            prop_assert!((0.0..=1.0).contains(&now));
            prop_assert!(as_few(hits(few, of), hits(many + 1, 40)) <= now + 1e-12);
        }
    }
}
