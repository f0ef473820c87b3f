//! Statistics of repeats, exact for every distribution of the repeats, because loss is not normally distributed.
//!
//! | file | what |
//! |---|---|
//! | [`interval`] | the median of repeats, and an interval for it |
//! | `ranks`, `shift` | rank test of two groups, and the largest factor that it does not exclude |
//! | `aligned` | stratified permutation test of two groups, and their difference with an interval |
//! | `blocks` | the same of few rounds, if the noise is about normal |
//! | `holm` | correction for many comparisons |
//! | [`scalability`] | the Universal Scalability Law through the rates of several numbers of workers |
//! | `counts` | intervals for shares and rates from small counts; Fisher's exact test |
//! | [`mod@thresholds`] | the numbers that decide what statistics show, and the form of such tables |

#![forbid(unsafe_code)]

pub mod aligned;
pub mod blocks;
pub mod counts;
pub mod holm;
pub mod interval;
pub mod ranks;
pub mod scalability;
pub mod shift;
pub mod thresholds;

pub use crate::thresholds::LEVEL;
pub use interval::median;

/// The smallest two-sided probability that a rank test over strata can give for groups of these sizes.
pub fn least_by_chance(strata: impl IntoIterator<Item = (usize, usize)>) -> f64 {
    (2.0 / strata.into_iter().map(|(one, other)| ways(one, other)).product::<f64>()).min(1.0)
}

/// The probability that up to `contrary` of `values` are on one side of a limit, if each is on either side by chance (sign test).
pub fn sign_test(contrary: usize, values: usize) -> f64 {
    let mut term = 0.5_f64.powi(values as i32);
    let mut sum = 0.0;
    for nth in 0..=contrary.min(values) {
        sum += term;
        term *= (values - nth) as f64 / (nth + 1) as f64;
    }
    sum
}

/// The number of ways to divide values into two groups of these sizes.
pub fn ways(one: usize, other: usize) -> f64 {
    (1..=one.min(other)).fold(1.0, |ways, nth| ways * (one.max(other) + nth) as f64 / nth as f64)
}

/// Groups items by a common key, in the order in which they come.
pub fn by_key<T, K: PartialEq>(
    items: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for item in items {
        let key = key(&item);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}
