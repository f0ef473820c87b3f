//! Rank test: are the repeats of one group above those of another? Exact for every distribution of the repeats.

/// Above this number of repeats in a group, the normal distribution replaces the exact one.
const EXACT: usize = 60;

/// Numbers of repeats in two groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stratum {
    /// In the group that is expected to be lower.
    pub low: usize,
    /// In the other group.
    pub high: usize,
}

/// Pairs that contradict a higher second group: its repeat is not above the first group's.
pub fn against(low: &[f64], high: &[f64]) -> usize {
    low.iter().map(|low| high.iter().filter(|high| *high <= low).count()).sum()
}

/// The probability of up to `against` contradicting pairs in all strata, if both groups have repeats of the same quantity
/// (Mann and Whitney, 1947; over strata, van Elteren, 1960, unweighted). If the second group's quantities are not above any
/// of the first group's, it is even smaller, so a group may have repeats of several quantities. Ties count as contradicting.
pub fn by_chance(against: usize, strata: &[Stratum]) -> f64 {
    let pairs: usize = strata.iter().map(|stratum| stratum.low * stratum.high).sum();
    if pairs == 0 {
        return 1.0;
    }
    if strata.iter().any(|stratum| stratum.low.max(stratum.high) > EXACT) {
        return by_normal(against, strata);
    }
    // The shares of permutations with 0, 1, 2 ... contradicting pairs: of a stratum, the Gaussian binomial coefficient.
    let mut shares = vec![0.0; against.min(pairs) + 1];
    shares[0] = 1.0;
    for stratum in strata {
        for nth in 1..=stratum.low {
            let larger = stratum.high + nth;
            for at in (larger..shares.len()).rev() {
                shares[at] -= shares[at - larger];
            }
            for at in nth..shares.len() {
                shares[at] += shares[at - nth];
            }
            // Divided by the number of permutations step by step, so that no number overflows.
            shares.iter_mut().for_each(|share| *share *= nth as f64 / larger as f64);
        }
    }
    shares.iter().sum::<f64>().clamp(0.0, 1.0)
}

fn by_normal(against: usize, strata: &[Stratum]) -> f64 {
    let (mut mean, mut variance) = (0.0, 0.0);
    for stratum in strata {
        let (low, high) = (stratum.low as f64, stratum.high as f64);
        mean += low * high / 2.0;
        variance += low * high * (low + high + 1.0) / 12.0;
    }
    below_normal((against as f64 + 0.5 - mean) / variance.sqrt())
}

/// The normal distribution function (Abramowitz and Stegun 26.2.17, error up to 7.5e-8). Beyond that precision it is Mills'
/// upper bound of the tail.
pub fn below_normal(deviations: f64) -> f64 {
    let x = deviations.abs();
    let density = (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let tail = if x > 4.0 {
        density / x
    } else {
        let t = 1.0 / (1.0 + 0.231_641_9 * x);
        let terms = [0.319_381_53, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
        density * terms.iter().rev().fold(0.0, |sum, term| (sum + term) * t)
    };
    if deviations < 0.0 { tail } else { 1.0 - tail }
}

#[cfg(test)]
mod tests {
    use super::{Stratum, against, below_normal, by_chance, by_normal};
    use proptest::prelude::*;

    fn one(low: usize, high: usize) -> [Stratum; 1] {
        [Stratum { low, high }]
    }

    /// Counts all permutations.
    fn counted(limit: usize, low: usize, high: usize) -> f64 {
        let (mut all, mut within) = (0_u32, 0_u32);
        for chosen in 0_u32..1 << (low + high) {
            if chosen.count_ones() as usize != low {
                continue;
            }
            let of = |bit: u32| -> Vec<f64> {
                (0..low + high).filter(|nth| chosen >> nth & 1 == bit).map(|nth| nth as f64).collect()
            };
            all += 1;
            within += u32::from(against(&of(1), &of(0)) <= limit);
        }
        f64::from(within) / f64::from(all)
    }

    #[test]
    fn tables_of_the_rank_test_are_met() {
        assert!((by_chance(0, &one(6, 6)) - 1.0 / 924.0).abs() < 1e-12);
        assert!((by_chance(0, &one(4, 4)) - 1.0 / 70.0).abs() < 1e-12);
        // Mann and Whitney's table: 5 against 5, at most 4 pairs.
        assert!((by_chance(4, &one(5, 5)) - 12.0 / 252.0).abs() < 1e-12);
        let strata = [Stratum { low: 4, high: 4 }; 3];
        assert!((by_chance(0, &strata) - 70_f64.powi(-3)).abs() < 1e-15);
        assert_eq!(by_chance(0, &[]), 1.0);
    }

    #[test]
    fn many_repeats_are_near_to_the_exact_figure() {
        for limit in [1300, 1500, 1700] {
            let (exact, near) = (by_chance(limit, &one(60, 60)), by_normal(limit, &one(60, 60)));
            assert!((exact / near - 1.0).abs() < 0.06, "{limit}: {exact} {near}");
        }
        assert!((below_normal(-1.959_964) - 0.025).abs() < 1e-6);
        assert!((below_normal(1.0) - 0.841_345).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn permutations_are_counted_right(low in 1..6_usize, high in 1..6_usize, limit in 0..26_usize) {
            prop_assert!((by_chance(limit, &one(low, high)) - counted(limit, low, high)).abs() < 1e-9);
        }
    }
}
