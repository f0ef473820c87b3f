//! The largest difference that the repeats do not exclude, if no difference is found.
//!
//! The second of two groups of repeats may be higher by a limited factor: up to the factor at which the rank test would see it
//! as lower ([`capbench_model::statistics::shift`]). Many groups are compared, so all comparisons share the level. Blocks of
//! neighbouring points are as short as the number of repeats allows. Their length does not depend on the values.

use crate::thresholds::CONTRASTED_POINTS;

use capbench_model::statistics::FALSE_ALARMS;
use capbench_model::statistics::shift::{Groups, largest};

/// The largest factors that one kind of comparison does not exclude.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Limits {
    /// Neighbouring points of a block.
    pub(super) width: usize,
    pub(super) comparisons: usize,
    /// The largest factor of each comparison, by its first point, or by the points of each group.
    factors: Vec<(usize, f64)>,
}

impl Limits {
    /// By the comparisons of a width: first point, and groups of strata, the lower first. `None` without enough repeats.
    pub(super) fn from_comparisons(comparisons: impl Fn(usize) -> Vec<(usize, Vec<Groups>)>) -> Option<Self> {
        (1..=CONTRASTED_POINTS).find_map(|width| {
            let all = comparisons(width);
            let level = FALSE_ALARMS / all.len() as f64;
            let factors: Option<Vec<(usize, f64)>> =
                all.iter().map(|(first, strata)| Some((*first, largest(strata, level)?))).collect();
            factors.filter(|factors| !factors.is_empty()).map(|factors| Self {
                width,
                comparisons: factors.len(),
                factors,
            })
        })
    }

    /// The largest factor of the comparisons whose first point is selected, as an increase; 0 if there is no increase.
    pub(super) fn increase(&self, is_asked: impl Fn(usize) -> bool) -> Option<f64> {
        let asked = self.factors.iter().filter(|(first, _)| is_asked(*first)).map(|(_, factor)| *factor);
        asked.reduce(f64::max).map(|factor| (factor - 1.0).max(0.0)).filter(|increase| increase.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::Limits;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn as_few_points_are_put_together_as_repeats_allow() {
        let hands = |count: usize| (vec![1.0; count], vec![1.0; count]);
        let limits_with = |repeats: usize| {
            Limits::from_comparisons(|width| {
                (0..10).map(|first| (first, vec![hands(repeats * width)])).collect()
            })
        };
        assert_eq!(limits_with(1), None);
        assert_eq!(limits_with(4).unwrap().width, 2);
        let limits = limits_with(8).unwrap();
        assert_eq!((limits.width, limits.comparisons, limits.increase(|_| true)), (1, 10, Some(0.0)));
        assert_eq!(limits.increase(|first| first > 10), None);
        assert_eq!(Limits::from_comparisons(|_| Vec::new()), None);
    }

    #[test]
    fn a_rise_that_is_there_is_hardly_ever_excluded() {
        const ROUNDS: usize = 2000;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut around =
            |mean: f64| mean * (1.0 + 0.1 * ((random.next_u64() >> 11) as f64 / (1u64 << 53) as f64));
        let mut excluded = 0;
        for _ in 0..ROUNDS {
            let comparisons: Vec<_> = (0..5)
                .map(|first| {
                    let hand =
                        |mean, around: &mut dyn FnMut(f64) -> f64| (0..8).map(|_| around(mean)).collect();
                    (first, vec![(hand(100.0, &mut around), hand(103.0, &mut around))])
                })
                .collect();
            let limits = Limits::from_comparisons(|_| comparisons.clone()).unwrap();
            excluded += usize::from(limits.factors.iter().any(|(_, factor)| *factor < 1.03));
        }
        assert!(excluded as f64 <= 0.05 * ROUNDS as f64 * 1.3, "{excluded} of {ROUNDS}");
        assert!(excluded > 0);
    }
}
