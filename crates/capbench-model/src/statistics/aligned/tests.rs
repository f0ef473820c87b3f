use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::statistics::least_by_chance;
use crate::statistics::ranks::{self, Stratum};

fn least(strata: &[Hands]) -> f64 {
    least_by_chance(strata.iter().map(|(one, other)| (one.len(), other.len())))
}

/// The same probabilities by going through every deal.
fn by_every_deal(strata: &[Hands], shift: f64) -> Tails {
    let dealt = ranked(strata, shift);
    let found = found(&dealt);
    let mut sums = vec![0_u64];
    for stratum in &dealt {
        let (all, taken) = (stratum.ranks.len(), stratum.second().len());
        let of = |deal: u32| (0..all).filter(move |nth| deal >> nth & 1 == 1);
        let here: Vec<u64> = (0_u32..1 << all)
            .filter(|deal| deal.count_ones() as usize == taken)
            .map(|deal| of(deal).map(|nth| stratum.ranks[nth]).sum())
            .collect();
        sums = sums.iter().flat_map(|sum| here.iter().map(move |more| sum + more)).collect();
    }
    let share = |counts: fn(u64, u64) -> bool| {
        sums.iter().filter(|sum| counts(**sum, found)).count() as f64 / sums.len() as f64
    };
    Tails { as_high: share(|sum, found| sum >= found), as_low: share(|sum, found| sum <= found) }
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

    fn hand(&mut self, count: usize, mean: f64, deviation: f64) -> Vec<f64> {
        (0..count).map(|_| self.value(mean, deviation)).collect()
    }
}

#[test]
fn one_stratum_is_wilcoxons_test() {
    let one = vec![1.0, 2.0, 3.0, 4.0, 7.0];
    let other = vec![5.0, 6.0, 8.0, 9.0, 10.0];
    let against = ranks::against(&one, &other);
    let table = ranks::by_chance(against, &[Stratum { low: 5, high: 5 }]);
    let tails = test(&[(one, other)], 0.0);
    assert!((tails.as_high - table).abs() < 1e-12, "{tails:?} {table}");
    assert!((tails.two_sided() - 2.0 * table).abs() < 1e-12);
}

#[test]
fn pairs_are_wilcoxons_signed_ranks() {
    // Differences 1, 2, 3, 4, 5 and -0.5: of 64 signs, those with a sum of the negative ranks of at most 1.
    let pairs: Vec<Hands> =
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
fn what_is_the_same_differs_by_nothing() {
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
    // Of 70 deals one alone is as extreme: the ends are the least and the largest difference.
    assert_eq!(found.ends, Some((differences[0], differences[15])));
}

#[test]
fn draws_and_the_normal_distribution_agree_with_counting() {
    let mut source = Source(Xoshiro256PlusPlus::seed_from_u64(4));
    let strata: Vec<Hands> = (0..4)
        .map(|nth| (source.hand(5, f64::from(nth), 1.0), source.hand(6, f64::from(nth) + 0.4, 1.0)))
        .collect();
    let dealt = ranked(&strata, 0.0);
    let (exact, near, normal) = (counted(&dealt), drawn(&dealt), by_normal(&dealt));
    assert!(is_near(exact, near, 0.01), "{exact:?} {near:?}");
    assert!(is_near(exact, normal, 0.01), "{exact:?} {normal:?}");
    assert_eq!(drawn(&dealt), near, "the same every time");
}

/// Share of rounds in which two sets of hands, the second higher by so much, are told apart at the level; and those in
/// which the interval holds the difference.
fn rounds(seed: u64, sizes: &[(usize, usize)], by: f64, deviation: f64) -> (f64, f64) {
    const ROUNDS: usize = 400;
    let mut source = Source(Xoshiro256PlusPlus::seed_from_u64(seed));
    let (mut told, mut held) = (0, 0);
    for _ in 0..ROUNDS {
        let strata: Vec<Hands> = sizes
            .iter()
            .enumerate()
            .map(|(nth, &(one, other))| {
                let mean = 10.0 * nth as f64;
                (source.hand(one, mean, deviation), source.hand(other, mean + by, deviation))
            })
            .collect();
        told += usize::from(test(&strata, 0.0).two_sided() <= 0.05);
        let (low, high) = shift(&strata, 0.95).unwrap().ends.unwrap();
        held += usize::from((low..=high).contains(&by));
    }
    (told as f64 / ROUNDS as f64, held as f64 / ROUNDS as f64)
}

#[test]
fn lengthy_nothing_is_told_of_nothing_more_often_than_the_level_and_intervals_hold_what_is_true() {
    // Two standard deviations of the count above 0.05, and below 0.95.
    const DOUBT: f64 = 0.02;
    for sizes in [vec![(6, 6)], vec![(1, 1); 9], vec![(3, 3); 3], vec![(4, 5), (5, 3)]] {
        let (false_alarms, held) = rounds(7, &sizes, 0.0, 1.0);
        assert!(false_alarms <= 0.05 + DOUBT, "{sizes:?}: {false_alarms}");
        assert!(held >= 0.95 - DOUBT, "{sizes:?}: {held}");
    }
}

#[test]
fn lengthy_a_difference_of_a_fifth_is_told_and_lies_in_the_interval() {
    // 20 % of a value that varies by 5 %, on a logarithmic scale.
    let by = 1.2_f64.ln();
    for sizes in [vec![(8, 8)], vec![(1, 1); 12], vec![(4, 4); 3]] {
        let (power, held) = rounds(8, &sizes, by, 0.05);
        assert!(power > 0.85, "{sizes:?}: {power}");
        assert!(held >= 0.93, "{sizes:?}: {held}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_deal_is_counted(
        strata in prop::collection::vec(
            (prop::collection::vec(0_u8..9, 1..4), prop::collection::vec(0_u8..9, 1..4)), 1..4,
        ),
        shift in -2.0..2.0_f64,
    ) {
        let values = |hand: Vec<u8>| hand.into_iter().map(f64::from).collect::<Vec<_>>();
        let strata: Vec<Hands> = strata.into_iter().map(|(one, other)| (values(one), values(other))).collect();
        let shift = shift.round();
        prop_assert!(is_near(test(&strata, shift), by_every_deal(&strata, shift), 1e-9));
    }

    #[test]
    fn whoever_is_called_second_the_same_is_said(
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
