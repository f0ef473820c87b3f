//! The largest difference that the repeats do not exclude, if no difference is found.
//!
//! The second of two groups of repeats may be higher by a limited factor: up to the factor at which the rank test would see it
//! as lower ([`capbench_statistics::shift`]). Many groups are compared, so all comparisons share the level. Blocks of
//! neighbouring points are as short as the number of repeats allows. Their length does not depend on the values.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::thresholds::{CONTRASTED_POINTS, SWEEP_FALSE_ALARMS};

use capbench_statistics::shift::{Groups, largest};

/// A comparison of two groups of repeats at neighbouring points.
#[derive(Clone)]
pub(super) struct ComparedBlock {
    /// Index of the first point; where blocks of points are compared with later ones, of the first point of the earlier block.
    pub(super) first_point: usize,
    /// The repeats, in strata. The second group of each is the one that may be higher.
    pub(super) strata: Vec<Groups>,
}

/// How much higher the second group of a comparison may be.
#[derive(Clone, Debug, PartialEq)]
struct BlockLimit {
    first_point: usize,
    /// The largest factor that the repeats do not exclude.
    factor: f64,
}

/// The largest factors that comparisons of one kind do not exclude.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Limits {
    /// Neighbouring points of a block.
    width: usize,
    /// The limit of each comparison.
    blocks: Vec<BlockLimit>,
}

impl Limits {
    /// The limits of the comparisons of the shortest blocks that have enough repeats. `comparisons` gives those of a length. `None` if
    /// even the longest blocks have too few repeats.
    pub(super) fn from_comparisons(comparisons: impl Fn(usize) -> Vec<ComparedBlock>) -> Option<Self> {
        for width in 1..=CONTRASTED_POINTS {
            let blocks = limits_of_blocks(&comparisons(width)).unwrap_or_default();
            if !blocks.is_empty() {
                return Some(Self { width, blocks });
            }
        }
        None
    }

    /// The largest factor of the selected blocks, as an increase; 0 if there is no increase. `None` if no block is selected, or if no
    /// factor is excluded. Blocks are selected by the indices of their points.
    pub(super) fn increase(&self, is_selected: impl Fn(Range<usize>) -> bool) -> Option<f64> {
        let mut largest: Option<f64> = None;
        for block in &self.blocks {
            if is_selected(block.first_point..block.first_point + self.width) {
                largest = Some(largest.map_or(block.factor, |known| known.max(block.factor)));
            }
        }
        let increase = (largest? - 1.0).max(0.0);
        increase.is_finite().then_some(increase)
    }

    /// The basis of the figure.
    pub(super) fn basis(&self) -> LimitBasis {
        LimitBasis { points: self.width, comparisons: self.blocks.len(), level: 1.0 - SWEEP_FALSE_ALARMS }
    }
}

/// The limit of each comparison, at its share of the level; `None` if one of them has too few repeats for that.
fn limits_of_blocks(comparisons: &[ComparedBlock]) -> Option<Vec<BlockLimit>> {
    let level = SWEEP_FALSE_ALARMS / comparisons.len() as f64;
    let mut limits = Vec::new();
    for ComparedBlock { first_point, strata } in comparisons {
        limits.push(BlockLimit { first_point: *first_point, factor: largest(strata, level)? });
    }
    Some(limits)
}

/// What a limit is based on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LimitBasis {
    /// Neighbouring points that are compared together.
    pub points: usize,
    /// Number of comparisons.
    pub comparisons: usize,
    /// The confidence level for all comparisons together.
    pub level: f64,
}

#[cfg(test)]
mod tests {
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::{ComparedBlock, LimitBasis, Limits};

    /// The limits of ten comparisons of equal values, with so many repeats at each point.
    fn limits_with(repeats: usize) -> Option<Limits> {
        Limits::from_comparisons(|width| {
            let repeats_of_block = vec![1.0; repeats * width];
            let strata = vec![(repeats_of_block.clone(), repeats_of_block)];
            (0..10).map(|first_point| ComparedBlock { first_point, strata: strata.clone() }).collect()
        })
    }

    #[test]
    fn as_few_points_are_put_together_as_repeats_allow() {
        assert_eq!(limits_with(1), None);
        assert_eq!(limits_with(2).unwrap().basis().points, 3);
        assert_eq!(limits_with(4).unwrap().basis().points, 2);
        let limits = limits_with(8).unwrap();
        assert_eq!(limits.basis(), LimitBasis { points: 1, comparisons: 10, level: 0.95 });
        assert_eq!(limits.increase(|_| true), Some(0.0));
        assert_eq!(limits.increase(|block| block.start > 10), None, "there is no such block");
        assert_eq!(Limits::from_comparisons(|_| Vec::new()), None);
    }

    /// Eight repeats from this value up to a tenth above it.
    fn repeats(random: &mut Xoshiro256PlusPlus, least: f64) -> Vec<f64> {
        let mut repeats = Vec::new();
        for _ in 0..8 {
            let uniform = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            repeats.push(least * (1.0 + 0.1 * uniform));
        }
        repeats
    }

    #[test]
    fn a_rise_that_is_there_is_hardly_ever_excluded() {
        const ROUNDS: usize = 2000;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut rounds_that_exclude_it = 0;
        for _ in 0..ROUNDS {
            // In each of five comparisons the second group is higher by 3 %.
            let mut comparisons = Vec::new();
            for first_point in 0..5 {
                let strata = vec![(repeats(&mut random, 100.0), repeats(&mut random, 103.0))];
                comparisons.push(ComparedBlock { first_point, strata });
            }
            let limits = Limits::from_comparisons(|_| comparisons.clone()).unwrap();
            let excludes_it = limits.blocks.iter().any(|block| block.factor < 1.03);
            rounds_that_exclude_it += usize::from(excludes_it);
        }
        // The level is 0.05; 2000 rounds estimate it to less than 1.3 of that.
        assert!(
            rounds_that_exclude_it as f64 <= 1.3 * 0.05 * ROUNDS as f64,
            "{rounds_that_exclude_it} rounds"
        );
        assert!(rounds_that_exclude_it > 0);
    }
}
