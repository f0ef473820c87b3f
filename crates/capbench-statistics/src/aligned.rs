//! Stratified permutation test of aligned ranks: is the second group above the first, and by how much?
//!
//! In each stratum the values of both groups were measured under the same conditions. Differences between strata are no
//! differences between groups, so the median of each stratum is subtracted. All values are then ranked together. The
//! statistic is the sum of the ranks of the second groups (Hodges and Lehmann, 1962). If the groups do not differ, every way
//! to divide the values of a stratum between them is equally likely. Counting these permutations gives the probability: exact
//! for every distribution of the values, and with ties. With one stratum it is Wilcoxon's test, with strata of one pair each
//! his signed-rank test. The interval contains the shifts that the same test does not reject.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::ranks::below_normal;
use super::shift::Groups;
use super::{median, ways};

/// Limit of the additions for an exact probability. Above it permutations are sampled.
const EXACT: usize = 5_000_000;
/// Limit of the additions for each probability of an interval. Above it the normal distribution replaces the exact one. With
/// that many ranks it is close.
const EXACT_AT_ENDS: usize = 200_000;
/// Sampled permutations: usually enough to estimate a probability of 1 in 1000 with an error of a tenth of it.
const SAMPLES: u32 = 20_000;
/// The fixed seed of the samples: the same data always give the same probability.
const SEED: u64 = 0x5eed_0fde_a150_0001;

/// Up to this many pairs, the means of every two differences are candidates. Above it, single differences are close enough.
const MEANS: usize = 1000;
/// Rounding error: sums of the same shares in another order differ by less.
const ROUNDING: f64 = 1e-9;

/// How likely chance alone gives ranks of the second groups as high, or as low, as observed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tails {
    /// As high, or higher.
    pub as_high: f64,
    /// As low, or lower.
    pub as_low: f64,
}

impl Tails {
    /// As far from the expected value, on either side.
    pub fn two_sided(self) -> f64 {
        (2.0 * self.as_high.min(self.as_low)).min(1.0)
    }
}

/// How much higher the second groups are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The shift that makes the groups equal.
    pub middle: f64,
    /// The interval of the true shift. Absent if there are too few values for the level.
    pub ends: Option<(f64, f64)>,
}

/// Whether all permutations give the same sum, because the values of each stratum are equal.
pub fn is_constant(strata: &[Groups]) -> bool {
    strata.iter().all(|(one, other)| one.iter().chain(other).all(|value| Some(value) == one.first()))
}

/// Compares the second groups, after subtracting `shift` from each value, with the first ones.
pub fn test(strata: &[Groups], shift: f64) -> Tails {
    let ranked = rank(strata, shift);
    if effort(&ranked) <= EXACT { counted(&ranked) } else { sampled(&ranked) }
}

/// A faster version for many shifts.
pub fn test_quickly(strata: &[Groups], shift: f64) -> Tails {
    let ranked = rank(strata, shift);
    if effort(&ranked) <= EXACT_AT_ENDS { counted(&ranked) } else { by_normal(&ranked) }
}

/// How much higher the second groups are, with an interval of this level.
pub fn shift(strata: &[Groups], level: f64) -> Option<Shift> {
    let candidates = candidates(strata);
    let (first, last) = (*candidates.first()?, *candidates.last()?);
    // The test runs at shifts between two candidates: at a candidate there are ties.
    let between = |gap: usize| {
        let at = match gap {
            0 => first - 1.0,
            gap if gap == candidates.len() => last + 1.0,
            gap => f64::midpoint(candidates[gap - 1], candidates[gap]),
        };
        test_quickly(strata, at)
    };
    let tail = (1.0 - level) / 2.0;
    // The more is subtracted from the second groups, the likelier are ranks as high as theirs, and the less likely as low.
    let middle = first_of(candidates.len(), |gap| {
        let tails = between(gap);
        tails.as_high >= tails.as_low - ROUNDING
    });
    let low = first_of(candidates.len(), |gap| between(gap).as_high > tail);
    let high = first_of(candidates.len(), |gap| between(gap).as_low <= tail);
    let is_even = |tails: Tails| (tails.as_high - tails.as_low).abs() <= ROUNDING;
    let middle = match middle {
        0 => first,
        gap if gap >= candidates.len() => last,
        gap if is_even(between(gap)) => f64::midpoint(candidates[gap - 1], candidates[gap]),
        gap => candidates[gap - 1],
    };
    let has_ends = low > 0 && high <= candidates.len();
    let ends = has_ends.then(|| match strata.len() == 1 || are_few_pairs(strata) {
        // Ranks change only at candidates, so these are the first shifts that the test does not reject.
        true => (candidates[low - 1], candidates[high - 1]),
        // The last rejected shift on either side.
        false => (
            if low == 1 { first } else { f64::midpoint(candidates[low - 2], candidates[low - 1]) },
            if high == candidates.len() {
                last
            } else {
                f64::midpoint(candidates[high - 1], candidates[high])
            },
        ),
    });
    Some(Shift { middle, ends })
}

fn are_few_pairs(strata: &[Groups]) -> bool {
    strata.len() <= MEANS && strata.iter().all(|(one, other)| one.len() == 1 && other.len() == 1)
}

/// The index of the first gap up to `last` for which `holds` is true; `last + 1` if there is none.
fn first_of(last: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut from, mut to) = (0, last + 1);
    while from < to {
        let middle = usize::midpoint(from, to);
        if holds(middle) { to = middle } else { from = middle + 1 }
    }
    from
}

/// Shifts at which ranks change: differences within a stratum or, for strata of pairs, the means of two differences (Walsh).
/// If several strata have several values, ranks change at other shifts, too.
fn candidates(strata: &[Groups]) -> Vec<f64> {
    let differences: Vec<f64> = strata
        .iter()
        .flat_map(|(one, other)| other.iter().flat_map(move |other| one.iter().map(move |one| other - one)))
        .collect();
    let mut candidates = if are_few_pairs(strata) {
        let with_later = |(nth, &one): (usize, &f64)| {
            differences[nth..].iter().map(move |&other| f64::midpoint(one, other)).collect::<Vec<_>>()
        };
        differences.iter().enumerate().flat_map(with_later).collect()
    } else {
        differences
    };
    candidates.sort_by(f64::total_cmp);
    candidates
}

/// The ranks of a stratum, doubled so that ranks of ties are whole numbers, minus the smallest of them. A part that all
/// permutations have in common has no effect.
#[derive(Debug)]
struct RankedStratum {
    /// Ranks of the first group, then ranks of the second group.
    ranks: Vec<u64>,
    /// Size of the first group.
    first: usize,
}

impl RankedStratum {
    fn second(&self) -> &[u64] {
        &self.ranks[self.first..]
    }

    /// The largest sum that a permutation can give the second group.
    fn most(&self) -> usize {
        self.ranks.iter().sum::<u64>() as usize
    }

    fn effort(&self) -> usize {
        self.ranks.len() * self.second().len() * (self.most() + 1)
    }

    /// The probability of each possible sum of the second group's ranks.
    fn sums(&self) -> Vec<(usize, f64)> {
        let (size, most) = (self.second().len(), self.most());
        // Indexed by the number of values in the second group: the number of ways to reach each sum.
        let mut counts = vec![vec![0.0; most + 1]; size + 1];
        counts[0][0] = 1.0;
        for (nth, &rank) in self.ranks.iter().enumerate() {
            let rank = rank as usize;
            for count in (0..size.min(nth + 1)).rev() {
                let (fewer, more) = counts.split_at_mut(count + 1);
                for sum in rank..=most {
                    more[0][sum] += fewer[count][sum - rank];
                }
            }
        }
        let all = ways(self.first, size);
        let possible = counts[size].iter().enumerate().filter(|(_, count)| **count > 0.0);
        possible.map(|(sum, count)| (sum, count / all)).collect()
    }
}

/// The sum of the ranks of the second groups.
fn observed(strata: &[RankedStratum]) -> u64 {
    strata.iter().flat_map(RankedStratum::second).sum()
}

/// Upper bound of the additions to count every permutation.
fn effort(strata: &[RankedStratum]) -> usize {
    let mut sum: usize = 1;
    let mut effort: usize = strata.iter().map(RankedStratum::effort).sum();
    for stratum in strata {
        let different = (ways(stratum.first, stratum.second().len()) as usize).min(stratum.most() + 1);
        effort = effort.saturating_add(sum.saturating_mul(different));
        sum += stratum.most();
    }
    effort
}

fn rank(strata: &[Groups], shift: f64) -> Vec<RankedStratum> {
    let mut aligned: Vec<(f64, usize, usize)> = Vec::new();
    for (nth, (one, other)) in strata.iter().enumerate() {
        let values: Vec<f64> = one.iter().copied().chain(other.iter().map(|value| value - shift)).collect();
        let middle = median(values.iter().copied()).unwrap_or_default();
        aligned.extend(values.iter().enumerate().map(|(place, value)| (value - middle, nth, place)));
    }
    aligned.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut ranked: Vec<RankedStratum> = strata
        .iter()
        .map(|(one, other)| RankedStratum { ranks: vec![0; one.len() + other.len()], first: one.len() })
        .collect();
    let mut from = 0;
    while from < aligned.len() {
        let ties = aligned[from..].iter().take_while(|value| value.0 == aligned[from].0).count();
        for &(_, stratum, place) in &aligned[from..from + ties] {
            ranked[stratum].ranks[place] = (2 * from + ties + 1) as u64;
        }
        from += ties;
    }
    for stratum in &mut ranked {
        let least = stratum.ranks.iter().copied().min().unwrap_or(0);
        stratum.ranks.iter_mut().for_each(|rank| *rank -= least);
    }
    ranked
}

fn counted(strata: &[RankedStratum]) -> Tails {
    let mut all = vec![1.0];
    for stratum in strata {
        let mut next = vec![0.0; all.len() + stratum.most()];
        for (sum, share) in stratum.sums() {
            for (reached, &likely) in next[sum..].iter_mut().zip(&all) {
                *reached += likely * share;
            }
        }
        all = next;
    }
    let observed = observed(strata) as usize;
    Tails {
        as_high: all[observed..].iter().sum::<f64>().min(1.0),
        as_low: all[..=observed].iter().sum::<f64>().min(1.0),
    }
}

/// The observed permutation is one of the samples, so no probability is too small (Phipson and Smyth, 2010).
fn sampled(strata: &[RankedStratum]) -> Tails {
    let observed = observed(strata);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut ranks: Vec<Vec<u64>> = strata.iter().map(|stratum| stratum.ranks.clone()).collect();
    let (mut as_high, mut as_low) = (1_u32, 1_u32);
    for _ in 0..SAMPLES {
        let mut sum = 0;
        for (stratum, ranks) in strata.iter().zip(&mut ranks) {
            for place in 0..stratum.second().len() {
                let left = (ranks.len() - place) as u128;
                let chosen = place + ((u128::from(random.next_u64()) * left) >> 64) as usize;
                ranks.swap(place, chosen);
                sum += ranks[place];
            }
        }
        as_high += u32::from(sum >= observed);
        as_low += u32::from(sum <= observed);
    }
    let share = |count: u32| f64::from(count) / f64::from(SAMPLES + 1);
    Tails { as_high: share(as_high), as_low: share(as_low) }
}

/// From the mean and the variance of the rank sum over all permutations.
fn by_normal(strata: &[RankedStratum]) -> Tails {
    let (mut mean, mut variance) = (0.0, 0.0);
    for stratum in strata {
        let (all, second) = (stratum.ranks.len() as f64, stratum.second().len() as f64);
        let middle = stratum.ranks.iter().sum::<u64>() as f64 / all;
        let squares: f64 = stratum.ranks.iter().map(|&rank| (rank as f64 - middle).powi(2)).sum();
        mean += second * middle;
        variance += second * (all - second) / (all * (all - 1.0).max(1.0)) * squares;
    }
    if variance == 0.0 {
        return Tails { as_high: 1.0, as_low: 1.0 };
    }
    // Ranks are doubled. Without ties sums are 2 apart, so the continuity correction of one half is 1.
    let above = (observed(strata) as f64 - mean) / variance.sqrt();
    let half = 1.0 / variance.sqrt();
    Tails { as_high: below_normal(half - above), as_low: below_normal(half + above) }
}

#[cfg(test)]
mod tests;
