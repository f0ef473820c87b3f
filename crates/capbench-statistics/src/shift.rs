//! By which factor one group of repeats can be above another (Hodges and Lehmann, 1963). The result is the range of shifts that
//! the rank test does not reject. It is exact for every distribution of the repeats.

use super::ranks::{Stratum, by_chance};

/// Repeats in two groups, the one that is expected to be lower first.
pub type Groups = (Vec<f64>, Vec<f64>);

/// The largest factor by which the second group can be above the first. `None` if there are too few repeats.
pub fn largest(strata: &[Groups], level: f64) -> Option<f64> {
    let sizes: Vec<Stratum> =
        strata.iter().map(|(low, high)| Stratum { low: low.len(), high: high.len() }).collect();
    if by_chance(0, &sizes) > level {
        return None;
    }
    let pairs: usize = sizes.iter().map(|stratum| stratum.low * stratum.high).sum();
    // The largest number of pairs that may exceed the factor: the probability grows with their number.
    let (mut within, mut beyond) = (0, pairs);
    while beyond - within > 1 {
        let middle = usize::midpoint(within, beyond);
        if by_chance(middle, &sizes) <= level { within = middle } else { beyond = middle }
    }
    // Relative to 0 every factor is exceeded.
    let factor = |low: f64, high: f64| if low > 0.0 { high / low } else { f64::INFINITY };
    let mut factors: Vec<f64> = strata
        .iter()
        .flat_map(|(low, high)| {
            low.iter().flat_map(move |&low| high.iter().map(move |&high| factor(low, high)))
        })
        .collect();
    factors.sort_by(|a, b| b.total_cmp(a));
    factors.get(within).copied()
}

#[cfg(test)]
mod tests {
    use super::largest;

    #[test]
    fn the_limit_is_the_factor_that_as_many_pairs_exceed_as_chance_allows() {
        // Of 6 and 6 repeats, 5 pairs against have the probability 19 in 924, and 6 have 30.
        let low: Vec<f64> = (0..6).map(|nth| 100.0 + f64::from(nth)).collect();
        let groups = [(low.clone(), low.clone())];
        assert_eq!(largest(&groups, 0.025), Some(105.0 / 102.0));
        assert_eq!(largest(&groups, 0.001), None, "one in 924 is the least");
        assert_eq!(largest(&[(vec![0.0; 6], low)], 0.025), Some(f64::INFINITY));
    }
}
