use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::least_by_chance;

fn least(strata: &[Groups]) -> f64 {
    least_by_chance(strata.iter().map(|(one, other)| (one.len(), other.len())))
}

/// The same probabilities by going through every permutation.
fn by_every_permutation(strata: &[Groups], shift: f64) -> Tails {
    let strata = rank(strata, shift);
    let observed = observed(&strata);
    let mut sums = vec![0_u64];
    for stratum in &strata {
        let (all, size) = (stratum.ranks.len(), stratum.second().len());
        let of = |chosen: u32| (0..all).filter(move |nth| chosen >> nth & 1 == 1);
        let here: Vec<u64> = (0_u32..1 << all)
            .filter(|chosen| chosen.count_ones() as usize == size)
            .map(|chosen| of(chosen).map(|nth| stratum.ranks[nth]).sum())
            .collect();
        sums = sums.iter().flat_map(|sum| here.iter().map(move |more| sum + more)).collect();
    }
    let share = |counts: fn(u64, u64) -> bool| {
        sums.iter().filter(|sum| counts(**sum, observed)).count() as f64 / sums.len() as f64
    };
    Tails { as_high: share(|sum, observed| sum >= observed), as_low: share(|sum, observed| sum <= observed) }
}

fn is_near(one: Tails, other: Tails, within: f64) -> bool {
    (one.as_high - other.as_high).abs() < within && (one.as_low - other.as_low).abs() < within
}

/// Values around a mean, normally distributed, with an outlier now and then.
struct Source(Xoshiro256PlusPlus);

impl Source {
    fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn value(&mut self, mean: f64, deviation: f64) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * self.uniform()).cos();
        let outlier = if self.uniform() < 0.1 { 5.0 } else { 1.0 };
        mean + deviation * outlier * normal
    }

    fn group(&mut self, count: usize, mean: f64, deviation: f64) -> Vec<f64> {
        (0..count).map(|_| self.value(mean, deviation)).collect()
    }
}

#[test]
fn pairs_are_wilcoxons_signed_ranks() {
    // Differences 1, 2, 3, 4, 5 and -0.5: of 64 signs, those with a sum of the negative ranks of at most 1.
    let pairs: Vec<Groups> =
        [1.0, 2.0, 3.0, 4.0, 5.0, -0.5].iter().map(|by| (vec![10.0], vec![10.0 + by])).collect();
    assert!((test(&pairs, 0.0).as_high - 2.0 / 64.0).abs() < 1e-12);
    assert!((least(&pairs) - 2.0 / 64.0).abs() < 1e-12);
    // The median of the means of two differences each.
    assert!((shift(&pairs, 0.9).unwrap().middle - 2.5).abs() < 1e-12, "{:?}", shift(&pairs, 0.9));
}

#[test]
fn tables_of_the_least_probability() {
    let of = |one: usize, other: usize| (vec![0.0; one], vec![0.0; other]);
    assert!((least(&[of(7, 7)]) - 2.0 / 3432.0).abs() < 1e-12);
    assert!((least(&[of(1, 1), of(1, 1), of(2, 2)]) - 2.0 / 24.0).abs() < 1e-12);
    assert_eq!((least(&[of(1, 1)]), least(&[])), (1.0, 1.0));
    assert_eq!(shift(&[], 0.95), None);
}

#[test]
fn equal_environments_have_no_differences() {
    let same = [(vec![0.0; 6], vec![0.0; 6])];
    assert_eq!(test(&same, 0.0).two_sided(), 1.0);
    assert_eq!(shift(&same, 0.95), Some(Shift { middle: 0.0, ends: Some((0.0, 0.0)) }));
    let few = [(vec![1.0], vec![2.0])];
    assert_eq!(shift(&few, 0.95), Some(Shift { middle: 1.0, ends: None }));
}

#[test]
fn the_shift_of_one_stratum_is_that_of_hodges_and_lehmann() {
    let one: Vec<f64> = vec![1.1, 2.7, 3.2, 4.9];
    let other: Vec<f64> = vec![4.0, 5.5, 6.8, 9.3];
    let mut differences: Vec<f64> =
        one.iter().flat_map(|one| other.iter().map(move |other| other - one)).collect();
    differences.sort_by(f64::total_cmp);
    let found = shift(&[(one, other)], 0.95).unwrap();
    assert!((found.middle - f64::midpoint(differences[7], differences[8])).abs() < 1e-12);
    // Of 70 permutations one alone is as extreme: the ends are the least and the largest difference.
    assert_eq!(found.ends, Some((differences[0], differences[15])));
}

#[test]
fn samples_and_the_normal_distribution_agree_with_counting() {
    let mut source = Source(Xoshiro256PlusPlus::seed_from_u64(4));
    let strata: Vec<Groups> = (0..4)
        .map(|nth| (source.group(5, f64::from(nth), 1.0), source.group(6, f64::from(nth) + 0.4, 1.0)))
        .collect();
    let ranked = rank(&strata, 0.0);
    let (exact, near, normal) = (counted(&ranked), sampled(&ranked), by_normal(&ranked));
    assert!(is_near(exact, near, 0.01), "{exact:?} {near:?}");
    assert!(is_near(exact, normal, 0.01), "{exact:?} {normal:?}");
    assert_eq!(sampled(&ranked), near, "the same every time");
}

/// Share of rounds that detect a difference of two sets of groups, the second higher by `by`; and those in
/// which the interval holds the difference.
fn rounds(seed: u64, sizes: &[(usize, usize)], by: f64, deviation: f64) -> (f64, f64) {
    const ROUNDS: usize = 400;
    let mut source = Source(Xoshiro256PlusPlus::seed_from_u64(seed));
    let (mut detected, mut covered) = (0, 0);
    for _ in 0..ROUNDS {
        let strata: Vec<Groups> = sizes
            .iter()
            .enumerate()
            .map(|(nth, &(one, other))| {
                let mean = 10.0 * nth as f64;
                (source.group(one, mean, deviation), source.group(other, mean + by, deviation))
            })
            .collect();
        detected += usize::from(test(&strata, 0.0).two_sided() <= 0.05);
        let (low, high) = shift(&strata, 0.95).unwrap().ends.unwrap();
        covered += usize::from((low..=high).contains(&by));
    }
    (detected as f64 / ROUNDS as f64, covered as f64 / ROUNDS as f64)
}

#[test]
fn lengthy_false_alarms_stay_below_the_level_and_intervals_cover_the_truth() {
    // Two standard deviations of the count above 0.05, and below 0.95.
    const DOUBT: f64 = 0.02;
    for sizes in [vec![(6, 6)], vec![(1, 1); 9], vec![(3, 3); 3], vec![(4, 5), (5, 3)]] {
        let (false_alarms, covered) = rounds(7, &sizes, 0.0, 1.0);
        assert!(false_alarms <= 0.05 + DOUBT, "{sizes:?}: {false_alarms}");
        assert!(covered >= 0.95 - DOUBT, "{sizes:?}: {covered}");
    }
}

#[test]
fn lengthy_a_difference_of_a_fifth_is_detected_and_is_in_the_interval() {
    // 20 % of a value that varies by 5 %, on a logarithmic scale.
    let by = 1.2_f64.ln();
    for sizes in [vec![(8, 8)], vec![(1, 1); 12], vec![(4, 4); 3]] {
        let (power, covered) = rounds(8, &sizes, by, 0.05);
        assert!(power > 0.85, "{sizes:?}: {power}");
        assert!(covered >= 0.93, "{sizes:?}: {covered}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_permutation_is_counted(
        strata in prop::collection::vec(
            (prop::collection::vec(0_u8..9, 1..4), prop::collection::vec(0_u8..9, 1..4)), 1..4,
        ),
        shift in -2.0..2.0_f64,
    ) {
        let values = |group: Vec<u8>| group.into_iter().map(f64::from).collect::<Vec<_>>();
        let strata: Vec<Groups> = strata.into_iter().map(|(one, other)| (values(one), values(other))).collect();
        let shift = shift.round();
        prop_assert!(is_near(test(&strata, shift), by_every_permutation(&strata, shift), 1e-9));
    }

    #[test]
    fn the_order_of_the_groups_does_not_change_the_answer(
        one in prop::collection::vec(-9.0..9.0_f64, 2..6), other in prop::collection::vec(-9.0..9.0_f64, 2..6),
    ) {
        let (there, back) = ([(one.clone(), other.clone())], [(other, one)]);
        prop_assert!((test(&there, 0.0).two_sided() - test(&back, 0.0).two_sided()).abs() < 1e-9);
        let (there, back) = (shift(&there, 0.8).unwrap(), shift(&back, 0.8).unwrap());
        prop_assert!((there.middle + back.middle).abs() < 1e-9);
        let ends = |shift: Shift| shift.ends;
        prop_assert_eq!(ends(there).is_some(), ends(back).is_some());
        if let (Some(there), Some(back)) = (ends(there), ends(back)) {
            prop_assert!((there.0 + back.1).abs() < 1e-9 && (there.1 + back.0).abs() < 1e-9);
        }
    }
}
