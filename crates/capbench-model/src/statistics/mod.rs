//! What repeats say, and what is chance: exact for whatever distribution the repeats have, as loss has none that is normal.
//!
//! | file | what |
//! |---|---|
//! | [`interval`] | the median of repeats, and an interval for it |
//! | `ranks`, `shift` | whether repeats lie higher in one place than in another, and by how much they may |
//! | `aligned` | the same over strata, and by how much, with an interval |
//! | `holm` | what one probability is worth among many |
//! | `counts` | shares and rates of which a few were counted |

pub mod aligned;
pub mod counts;
pub mod holm;
pub mod interval;
pub mod ranks;
pub mod shift;

pub use interval::median;

/// A search among many comparisons may say something false with this probability, whatever their number.
pub const FALSE_ALARMS: f64 = 0.05;

/// The least probability, two-sided, that repeats of such numbers in two groups can have by ranks, over strata.
pub fn least_by_chance(strata: impl IntoIterator<Item = (usize, usize)>) -> f64 {
    (2.0 / strata.into_iter().map(|(one, other)| ways(one, other)).product::<f64>()).min(1.0)
}

/// Ways to divide values into two groups of these sizes.
pub fn ways(one: usize, other: usize) -> f64 {
    (1..=one.min(other)).fold(1.0, |ways, nth| ways * (one.max(other) + nth) as f64 / nth as f64)
}

/// Items by what they have in common, in the order in which they come.
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
