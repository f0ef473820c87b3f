//! Correction for multiple comparisons: among many comparisons, chance produces some large differences.

/// Each probability after Holm's correction (1979) for all of them. A result up to the probability of a false alarm is significant.
pub fn corrected(by_chance: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..by_chance.len()).collect();
    order.sort_by(|&a, &b| by_chance[a].total_cmp(&by_chance[b]));
    let mut corrected = vec![1.0; by_chance.len()];
    let mut most = 0.0_f64;
    for (rank, &nth) in order.iter().enumerate() {
        most = most.max(by_chance[nth] * (by_chance.len() - rank) as f64).min(1.0);
        corrected[nth] = most;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::corrected;

    #[test]
    fn the_least_probability_is_multiplied_by_the_number_of_comparisons() {
        assert_eq!(corrected(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert_eq!(corrected(&[0.9, 0.8]), [1.0, 1.0]);
        assert_eq!(corrected(&[]), [0.0; 0]);
    }

    proptest! {
        #[test]
        fn a_correction_never_makes_a_probability_smaller(mut list in prop::collection::vec(0.0..1.0_f64, 1..40)) {
            let after = corrected(&list);
            prop_assert!(list.iter().zip(&after).all(|(before, after)| after >= before && *after <= 1.0));
            list.push(0.5);
            prop_assert!(corrected(&list).iter().zip(&after).all(|(more, fewer)| more >= fewer), "more comparisons");
        }
    }
}
