//! Differences of methods that took turns, by the analysis of randomized blocks: a round is a block, in which each method has one
//! value.
//!
//! A permutation test of n rounds cannot give a probability below 1 in 2^n, however large the difference is. This analysis also uses the
//! size of the differences, and estimates the noise from all methods together, so that few rounds show a large difference. It assumes that
//! the noise is about normal on the scale of the values. That is why [`super::aligned`], which assumes nothing, is used besides.

use crate::thresholds::UNLIKE_VARIANCE;

/// The values of one round, a place a method. `None`: the method has no value in this round.
pub type Block = Vec<Option<f64>>;

/// What the values have in common with neither their method nor their round.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Noise {
    variance: f64,
    degrees: usize,
}

/// By how much one method is above another one in the rounds in which both have values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The mean of the rounds.
    pub mean: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The degrees of freedom of that error.
    pub degrees: usize,
}

impl Difference {
    /// How much method `one` is above `other`. `None` without two rounds that have both.
    pub fn between(blocks: &[Block], one: usize, other: usize) -> Option<Self> {
        let mut differences = Vec::new();
        for block in blocks {
            if let (Some(value), Some(other_value)) = (block[one], block[other]) {
                differences.push(value - other_value);
            }
        }
        let rounds = differences.len();
        if rounds < 2 {
            return None;
        }
        let mean = differences.iter().sum::<f64>() / rounds as f64;
        let squares: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
        let own_variance = squares / (rounds - 1) as f64;
        let mut variance = own_variance;
        let mut degrees = rounds - 1;
        // The noise of all methods is known better than that of two, unless these two have more of it.
        if let Some(noise) = noise(blocks)
            && noise.degrees > degrees
            && own_variance <= UNLIKE_VARIANCE * 2.0 * noise.variance
        {
            variance = own_variance.max(2.0 * noise.variance);
            degrees = noise.degrees;
        }
        Some(Self { mean, standard_error: (variance / rounds as f64).sqrt(), degrees })
    }

    /// The probability that chance alone gives a mean as far from 0, on either side.
    pub fn by_chance(&self) -> f64 {
        if self.mean == 0.0 {
            return 1.0;
        }
        outside(self.mean.abs() / self.standard_error, self.degrees)
    }

    /// The interval that contains the true difference with this probability.
    pub fn interval(&self, level: f64) -> (f64, f64) {
        let mut within = 0.0;
        let mut beyond = 1.0;
        while outside(beyond, self.degrees) > 1.0 - level {
            beyond *= 2.0;
        }
        // Forty halvings leave less than a millionth of a millionth.
        for _ in 0..40 {
            let middle = f64::midpoint(within, beyond);
            if outside(middle, self.degrees) > 1.0 - level { within = middle } else { beyond = middle }
        }
        (self.mean - beyond * self.standard_error, self.mean + beyond * self.standard_error)
    }
}

/// The noise of the values: what is left of them without the effects of method and round. `None` if there are too few.
fn noise(blocks: &[Block]) -> Option<Noise> {
    let mut residuals = blocks.to_vec();
    let methods = blocks.first()?.len();
    let values = blocks.iter().flatten().flatten().count();
    let present = (0..methods).filter(|&method| blocks.iter().any(|block| block[method].is_some())).count();
    let rounds = blocks.iter().filter(|block| block.iter().flatten().next().is_some()).count();
    let degrees = (values + 1).checked_sub(present + rounds).filter(|degrees| *degrees > 0)?;
    // One pass of each is exact if every round has every method. Otherwise the passes approach the least squares.
    for _ in 0..10 {
        for method in 0..methods {
            let mean = mean(residuals.iter().filter_map(|block| block[method]));
            for block in &mut residuals {
                block[method] = block[method].map(|value| value - mean);
            }
        }
        for block in &mut residuals {
            let mean = mean(block.iter().flatten().copied());
            for value in block.iter_mut().flatten() {
                *value -= mean;
            }
        }
    }
    let squares: f64 = residuals.iter().flatten().flatten().map(|residual| residual * residual).sum();
    Some(Noise { variance: squares / degrees as f64, degrees })
}

/// The mean of the values; 0 without any.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let mut sum = 0.0;
    let mut count = 0;
    for value in values {
        sum += value;
        count += 1;
    }
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

/// The probability of Student's distribution outside of -t to t (Abramowitz and Stegun 26.7.3 and 26.7.4).
fn outside(t: f64, degrees: usize) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    let angle = (t / (degrees as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let is_odd = degrees % 2 == 1;
    let mut term = if is_odd { cosine } else { 1.0 };
    let mut sum = if is_odd && degrees == 1 { 0.0 } else { term };
    let mut power = if is_odd { 3 } else { 2 };
    while power < degrees {
        term *= cosine * cosine * (power - 1) as f64 / power as f64;
        sum += term;
        power += 2;
    }
    let within = if is_odd { (angle + sine * sum) * std::f64::consts::FRAC_2_PI } else { sine * sum };
    (1.0 - within).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::{Block, Difference, noise, outside};
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn blocks(rounds: &[&[f64]]) -> Vec<Block> {
        rounds.iter().map(|round| round.iter().copied().map(Some).collect()).collect()
    }

    #[test]
    fn probabilities_are_those_of_students_table() {
        for (t, degrees, probability) in [
            (12.706, 1, 0.05),
            (4.303, 2, 0.05),
            (3.182, 3, 0.05),
            (2.228, 10, 0.05),
            (2.131, 15, 0.05),
            (5.841, 3, 0.01),
            (4.587, 10, 0.001),
            (0.0, 4, 1.0),
        ] {
            let found = outside(t, degrees);
            assert!((found - probability).abs() < 2e-3 * probability, "{t}, {degrees}: {found}");
        }
    }

    #[test]
    fn what_a_round_shares_is_no_noise_and_a_missing_value_leaves_its_round_out() {
        let mut values = blocks(&[&[1.0, 2.0, 4.0], &[11.0, 12.0, 14.0], &[21.0, 22.0, 24.0]]);
        let even = Difference::between(&values, 2, 0).unwrap();
        assert!((even.mean - 3.0).abs() < 1e-9 && even.standard_error < 1e-9, "{even:?}");
        assert!(even.by_chance() < 1e-9);
        values[1][0] = None;
        let fewer = Difference::between(&values, 2, 0).unwrap();
        assert_eq!((fewer.mean, fewer.degrees), (3.0, 3));
        values[2][0] = None;
        assert_eq!(Difference::between(&values, 2, 0), None);
    }

    #[test]
    fn two_methods_with_more_noise_than_the_others_are_judged_by_their_own() {
        let values = blocks(&[&[0.0, 0.9, 5.0, 5.0], &[1.0, 0.1, 5.0, 5.0], &[0.2, 1.3, 5.0, 5.0]]);
        assert_eq!(Difference::between(&values, 0, 1).unwrap().degrees, 2);
        assert_eq!(Difference::between(&values, 2, 3).unwrap().degrees, 6);
    }

    /// The degrees of freedom with which two methods are compared whose difference has this variance, as a multiple of that of all.
    fn degrees_at(ratio: f64) -> usize {
        let mut noisier = 1.0;
        loop {
            let mut values = Vec::new();
            for round in 0..6_u32 {
                // Signs that neither rounds nor methods share.
                let sign = |method: u32| {
                    if (round * (method + 3) / 2 + method).is_multiple_of(2) { 1.0 } else { -1.0 }
                };
                let block: Block = (0..8)
                    .map(|method| Some(if method < 2 { noisier } else { 1.0 } * sign(method)))
                    .collect();
                values.push(block);
            }
            let own = Difference::between(&values, 0, 1).unwrap();
            let differences: Vec<f64> =
                values.iter().map(|block| block[0].unwrap() - block[1].unwrap()).collect();
            let variance = differences.iter().map(|value| (value - own.mean).powi(2)).sum::<f64>() / 5.0;
            if variance >= ratio * 2.0 * noise(&values).unwrap().variance {
                return own.degrees;
            }
            noisier *= 1.001;
            assert!(noisier < 100.0, "{ratio}");
        }
    }

    #[test]
    fn noise_of_twice_that_of_all_is_of_another_kind() {
        assert_eq!([1.7, 1.9, 2.1, 2.6].map(degrees_at), [35, 35, 5, 5]);
    }

    #[test]
    fn equal_methods_differ_as_seldom_as_stated_and_intervals_hold_the_difference() {
        const RUNS: u32 = 4000;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
        let mut uniform = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let mut alarms = 0;
        let mut held = 0;
        for _ in 0..RUNS {
            let mut values = Vec::new();
            for round in 0..5 {
                // The sum of twelve is about normal.
                let block: Block = (0..4).map(|_| Some((0..12).map(|_| uniform()).sum())).collect();
                values.push(block.iter().map(|value| value.map(|value| value + f64::from(round))).collect());
            }
            let difference = Difference::between(&values, 0, 1).unwrap();
            alarms += u32::from(difference.by_chance() <= 0.05);
            let (low, high) = difference.interval(0.95);
            held += u32::from(low <= 0.0 && 0.0 <= high);
        }
        assert_eq!(alarms + held, RUNS);
        assert!(alarms <= RUNS / 20 + 40, "{alarms} of {RUNS}");
    }
}
