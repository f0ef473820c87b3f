//! Whether the second of two hands lies higher, over strata, and by how much: a permutation test of aligned ranks.
//!
//! In each stratum the values of both hands were measured under the same conditions, and what differs between strata is no
//! difference between the hands. So the median of both hands is subtracted stratum by stratum, all that is left is ranked
//! together, and the statistic is the sum of the ranks of the second hands (Hodges and Lehmann, 1962). Where chance dealt
//! the values, every way to deal them to the hands within each stratum is equally likely: counting them gives the probability,
//! exactly, for whatever distribution the values have, and with ties. One stratum makes it the test of Wilcoxon, strata of a
//! pair each make it his signed ranks. The interval is that of the shifts that the same test does not reject.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::ranks::below_normal;
use super::shift::Hands;
use super::{median, ways};

/// Additions that an exact probability may take; beyond it deals are drawn.
const EXACT: usize = 5_000_000;
/// Additions that each of the probabilities of an interval may take; beyond it the normal distribution stands for the exact one.
/// By then there are so many ranks that it is near.
const EXACT_AT_ENDS: usize = 200_000;
/// Deals that are drawn: enough to tell a probability of 1 in 1000 to a tenth of it, mostly.
const DRAWS: u32 = 20_000;
/// The draws are the same every time, so that the same data say the same.
const SEED: u64 = 0x5eed_0fde_a150_0001;

/// Pairs of which the means of two are looked at; of more, single differences are near enough to each other.
const MEANS: usize = 1000;
/// Sums of the same shares in another order differ by less.
const ROUNDING: f64 = 1e-9;

/// How likely chance alone gives the second hands ranks as high, or as low, as they have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tails {
    /// As high, or higher.
    pub as_high: f64,
    /// As low, or lower.
    pub as_low: f64,
}

impl Tails {
    /// As far from what is expected, on whichever side.
    pub fn two_sided(self) -> f64 {
        (2.0 * self.as_high.min(self.as_low)).min(1.0)
    }
}

/// How much higher the second hands are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The shift that makes the hands alike.
    pub middle: f64,
    /// The shifts between which the true one lies; absent where there are too few values for the level.
    pub ends: Option<(f64, f64)>,
}

/// Whether every deal gives the same, because the values of each stratum do not differ.
pub fn is_constant(strata: &[Hands]) -> bool {
    strata.iter().all(|(one, other)| one.iter().chain(other).all(|value| Some(value) == one.first()))
}

/// Sets the second hands, each value less this shift, against the first ones.
pub fn test(strata: &[Hands], shift: f64) -> Tails {
    let dealt = ranked(strata, shift);
    if effort(&dealt) <= EXACT { counted(&dealt) } else { drawn(&dealt) }
}

/// The same where many shifts are tried.
fn test_quickly(strata: &[Hands], shift: f64) -> Tails {
    let dealt = ranked(strata, shift);
    if effort(&dealt) <= EXACT_AT_ENDS { counted(&dealt) } else { by_normal(&dealt) }
}

/// How much higher the second hands are, with an interval of this level.
pub fn shift(strata: &[Hands], level: f64) -> Option<Shift> {
    let candidates = candidates(strata);
    let (first, last) = (*candidates.first()?, *candidates.last()?);
    // The test is asked between two candidates: at a candidate there are ties.
    let between = |gap: usize| {
        let at = match gap {
            0 => first - 1.0,
            gap if gap == candidates.len() => last + 1.0,
            gap => f64::midpoint(candidates[gap - 1], candidates[gap]),
        };
        test_quickly(strata, at)
    };
    let tail = (1.0 - level) / 2.0;
    // The more is taken off the second hands, the likelier are ranks as high as theirs, and the less likely as low.
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
        // Ranks change at candidates only, so these are the shifts from which on the test does not reject.
        true => (candidates[low - 1], candidates[high - 1]),
        // The last shift that was rejected on either side.
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

fn are_few_pairs(strata: &[Hands]) -> bool {
    strata.len() <= MEANS && strata.iter().all(|(one, other)| one.len() == 1 && other.len() == 1)
}

/// The first gap for which it holds, of those up to the last one; the one behind it where it holds for none.
fn first_of(last: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut from, mut to) = (0, last + 1);
    while from < to {
        let middle = usize::midpoint(from, to);
        if holds(middle) { to = middle } else { from = middle + 1 }
    }
    from
}

/// Shifts at which ranks change: differences within a stratum, or where strata are pairs, the means of two of them (Walsh).
/// Where several strata have several values, ranks change at other shifts, too.
fn candidates(strata: &[Hands]) -> Vec<f64> {
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

/// The ranks of a stratum, twice what they are so that those of ties are whole, less the least of them: what all deals have in
/// common does not matter.
#[derive(Debug)]
struct Dealt {
    /// Those of the first hand and then those of the second.
    ranks: Vec<u64>,
    first: usize,
}

impl Dealt {
    fn second(&self) -> &[u64] {
        &self.ranks[self.first..]
    }

    /// The largest sum that a deal can give the second hand, or a bound of it.
    fn most(&self) -> usize {
        self.ranks.iter().sum::<u64>() as usize
    }

    fn effort(&self) -> usize {
        self.ranks.len() * self.second().len() * (self.most() + 1)
    }

    /// How likely each sum of the second hand's ranks is, those that cannot be left out.
    fn sums(&self) -> Vec<(usize, f64)> {
        let (taken, most) = (self.second().len(), self.most());
        // By how many values were taken: the number of ways to each sum.
        let mut counts = vec![vec![0.0; most + 1]; taken + 1];
        counts[0][0] = 1.0;
        for (nth, &rank) in self.ranks.iter().enumerate() {
            let rank = rank as usize;
            for count in (0..taken.min(nth + 1)).rev() {
                let (fewer, more) = counts.split_at_mut(count + 1);
                for sum in rank..=most {
                    more[0][sum] += fewer[count][sum - rank];
                }
            }
        }
        let all = ways(self.first, taken);
        let possible = counts[taken].iter().enumerate().filter(|(_, count)| **count > 0.0);
        possible.map(|(sum, count)| (sum, count / all)).collect()
    }
}

/// The sum of the ranks of the second hands.
fn found(dealt: &[Dealt]) -> u64 {
    dealt.iter().flat_map(Dealt::second).sum()
}

/// Additions that counting every deal takes, at most.
fn effort(dealt: &[Dealt]) -> usize {
    let mut sum: usize = 1;
    let mut effort: usize = dealt.iter().map(Dealt::effort).sum();
    for stratum in dealt {
        let different = (ways(stratum.first, stratum.second().len()) as usize).min(stratum.most() + 1);
        effort = effort.saturating_add(sum.saturating_mul(different));
        sum += stratum.most();
    }
    effort
}

fn ranked(strata: &[Hands], shift: f64) -> Vec<Dealt> {
    let mut aligned: Vec<(f64, usize, usize)> = Vec::new();
    for (nth, (one, other)) in strata.iter().enumerate() {
        let values: Vec<f64> = one.iter().copied().chain(other.iter().map(|value| value - shift)).collect();
        let middle = median(values.iter().copied()).unwrap_or_default();
        aligned.extend(values.iter().enumerate().map(|(place, value)| (value - middle, nth, place)));
    }
    aligned.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut dealt: Vec<Dealt> = strata
        .iter()
        .map(|(one, other)| Dealt { ranks: vec![0; one.len() + other.len()], first: one.len() })
        .collect();
    let mut from = 0;
    while from < aligned.len() {
        let ties = aligned[from..].iter().take_while(|value| value.0 == aligned[from].0).count();
        for &(_, stratum, place) in &aligned[from..from + ties] {
            dealt[stratum].ranks[place] = (2 * from + ties + 1) as u64;
        }
        from += ties;
    }
    for stratum in &mut dealt {
        let least = stratum.ranks.iter().copied().min().unwrap_or(0);
        stratum.ranks.iter_mut().for_each(|rank| *rank -= least);
    }
    dealt
}

fn counted(dealt: &[Dealt]) -> Tails {
    let mut all = vec![1.0];
    for stratum in dealt {
        let mut next = vec![0.0; all.len() + stratum.most()];
        for (sum, share) in stratum.sums() {
            for (before, likely) in all.iter().enumerate() {
                next[before + sum] += likely * share;
            }
        }
        all = next;
    }
    let found = found(dealt) as usize;
    Tails {
        as_high: all[found..].iter().sum::<f64>().min(1.0),
        as_low: all[..=found].iter().sum::<f64>().min(1.0),
    }
}

/// The deal that was found counts as one of those drawn, so that no probability comes out too small (Phipson and Smyth, 2010).
fn drawn(dealt: &[Dealt]) -> Tails {
    let found = found(dealt);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut ranks: Vec<Vec<u64>> = dealt.iter().map(|stratum| stratum.ranks.clone()).collect();
    let (mut as_high, mut as_low) = (1_u32, 1_u32);
    for _ in 0..DRAWS {
        let mut sum = 0;
        for (stratum, ranks) in dealt.iter().zip(&mut ranks) {
            for place in 0..stratum.second().len() {
                let left = (ranks.len() - place) as u128;
                let drawn = place + ((u128::from(random.next_u64()) * left) >> 64) as usize;
                ranks.swap(place, drawn);
                sum += ranks[place];
            }
        }
        as_high += u32::from(sum >= found);
        as_low += u32::from(sum <= found);
    }
    let share = |count: u32| f64::from(count) / f64::from(DRAWS + 1);
    Tails { as_high: share(as_high), as_low: share(as_low) }
}

/// By the mean and the variance that sums of ranks have when they are dealt.
fn by_normal(dealt: &[Dealt]) -> Tails {
    let (mut mean, mut variance) = (0.0, 0.0);
    for stratum in dealt {
        let (all, second) = (stratum.ranks.len() as f64, stratum.second().len() as f64);
        let middle = stratum.ranks.iter().sum::<u64>() as f64 / all;
        let squares: f64 = stratum.ranks.iter().map(|&rank| (rank as f64 - middle).powi(2)).sum();
        mean += second * middle;
        variance += second * (all - second) / (all * (all - 1.0).max(1.0)) * squares;
    }
    if variance == 0.0 {
        return Tails { as_high: 1.0, as_low: 1.0 };
    }
    // Ranks are doubled, so sums are 2 apart where there are no ties, and half of that is 1.
    let above = (found(dealt) as f64 - mean) / variance.sqrt();
    let half = 1.0 / variance.sqrt();
    Tails { as_high: below_normal(half - above), as_low: below_normal(half + above) }
}

#[cfg(test)]
mod tests;
