//! The Universal Scalability Law (N. J. Gunther, Guerrilla Capacity Planning, 2007): the rate of N equal workers.
//!
//! `X(N) = λN / (1 + σ(N − 1) + κN(N − 1))`. λ is the rate of one worker. σ is the share of the work that only one worker can do
//! at a time (contention). κ is the work that each pair of workers causes each other (coherence): with κ above 0 the rate falls
//! again from some number of workers on.
//!
//! `N / X(N)` is linear in 1/λ, σ/λ and κ/λ. So least squares are three linear equations. Residuals are relative to the rates,
//! because rates vary in proportion to their size. σ and κ are not negative: of all fits with one of them or both at 0, and the
//! one with neither, the best that has no negative constant is the best fit.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::LEVEL;
use super::interval::median;
use crate::thresholds::{SCALABILITY_MISFIT, SCALABILITY_NUMBERS};

/// A pivot of equations between numbers up to 1 that is as small is rounding.
const SINGULAR: f64 = 1e-12;
/// Number of resamplings of the visits for an interval.
const RESAMPLINGS: usize = 1000;

/// The constants of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    /// λ: the rate of one worker.
    pub lambda: f64,
    /// σ: contention.
    pub sigma: f64,
    /// κ: coherence.
    pub kappa: f64,
}

impl Law {
    /// The rate of this many workers.
    pub fn rate(&self, workers: f64) -> f64 {
        let others = workers - 1.0;
        self.lambda * workers / (1.0 + self.sigma * others + self.kappa * workers * others)
    }

    /// The number of workers with the highest rate; `None` if more workers never have a lower rate.
    pub fn peak(&self) -> Option<f64> {
        (self.kappa > 0.0).then(|| ((1.0 - self.sigma).max(0.0) / self.kappa).sqrt().max(1.0))
    }
}

/// A constant with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Constant {
    /// Its value.
    pub value: f64,
    /// The interval's lower end. Absent if a point had one visit only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// The law through measured rates. The intervals hold 95 % of the fits through 1,000 resamplings of the visits (bootstrap).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ScalabilityFit {
    /// λ: the rate of one worker, per second.
    pub lambda_pps: Constant,
    /// σ: contention.
    pub sigma: Constant,
    /// κ: coherence.
    pub kappa: Constant,
    /// The number of workers with the highest rate; absent if more workers never have a lower rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<f64>,
    /// The largest difference between a median and the law, as a share of the median.
    pub largest_error: f64,
}

/// Why there is no law through some rates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Unfit {
    /// Too few different numbers of workers.
    TooFewNumbers {
        /// How many there are.
        numbers: u32,
    },
    /// The rates do not follow the law.
    OffTheLaw {
        /// The largest difference between a median and the law, as a share of the median.
        error: f64,
    },
}

impl ScalabilityFit {
    /// The law through the rates of each number of workers, one rate per visit, each number once.
    ///
    /// # Errors
    /// Why the rates have no law.
    pub fn of(rates: &[(f64, Vec<f64>)]) -> Result<Self, Unfit> {
        let medians = |rates: &[(f64, Vec<f64>)]| -> Vec<(f64, f64)> {
            let known =
                rates.iter().filter_map(|(workers, rates)| Some((*workers, median(rates.iter().copied())?)));
            known.filter(|(_, rate)| *rate > 0.0).collect()
        };
        let points = medians(rates);
        let too_few = Unfit::TooFewNumbers { numbers: points.len() as u32 };
        let law = if points.len() < SCALABILITY_NUMBERS { None } else { least_squares(&points) };
        let law = law.ok_or(too_few)?;
        let error = points.iter().map(|(workers, rate)| (law.rate(*workers) / rate - 1.0).abs());
        let error = error.fold(0.0, f64::max);
        if error > SCALABILITY_MISFIT {
            return Err(Unfit::OffTheLaw { error });
        }
        let mut random = Xoshiro256PlusPlus::seed_from_u64(points.len() as u64);
        let has_spread = rates.iter().all(|(_, rates)| rates.len() > 1);
        let again = |_| {
            let resampled: Vec<_> =
                rates.iter().map(|(workers, rates)| (*workers, resampled(rates, &mut random))).collect();
            least_squares(&medians(&resampled))
        };
        let laws: Vec<Law> = (0..if has_spread { RESAMPLINGS } else { 0 }).filter_map(again).collect();
        let constant = |of: fn(&Law) -> f64| {
            let mut all: Vec<f64> = laws.iter().map(of).collect();
            all.sort_by(f64::total_cmp);
            let end = |share: f64| all.get(((all.len() as f64 - 1.0) * share).round() as usize).copied();
            let outside = (1.0 - LEVEL) / 2.0;
            Constant { value: of(&law), low: end(outside), high: end(1.0 - outside) }
        };
        Ok(Self {
            lambda_pps: constant(|law| law.lambda),
            sigma: constant(|law| law.sigma),
            kappa: constant(|law| law.kappa),
            peak: law.peak(),
            largest_error: error,
        })
    }

    /// The fitted constants.
    pub fn law(&self) -> Law {
        let Self { lambda_pps, sigma, kappa, .. } = self;
        Law { lambda: lambda_pps.value, sigma: sigma.value, kappa: kappa.value }
    }
}

fn resampled(values: &[f64], random: &mut Xoshiro256PlusPlus) -> Vec<f64> {
    values.iter().map(|_| values[random.next_u64() as usize % values.len()]).collect()
}

/// The law with the least squares of relative residuals of `N / X(N)`, without negative constants.
fn least_squares(points: &[(f64, f64)]) -> Option<Law> {
    // Numbers up to 1 keep the equations well conditioned.
    let most = points.iter().map(|(workers, _)| *workers).fold(1.0, f64::max);
    let each = points.iter().map(|(workers, rate)| rate / workers).fold(0.0, f64::max);
    let columns = |(workers, rate): &(f64, f64)| {
        let (others, weight) = ((workers - 1.0) / most, rate / workers / each);
        [weight, weight * others, weight * others * workers / most]
    };
    let rows: Vec<[f64; 3]> = points.iter().map(columns).collect();
    let residual = |[a, b, c]: [f64; 3]| -> f64 {
        rows.iter().map(|row| (row[0] * a + row[1] * b + row[2] * c - 1.0).powi(2)).sum()
    };
    let fits = [[true, true], [true, false], [false, true], [false, false]].into_iter();
    let fits = fits.filter_map(|[sigma, kappa]| solved(&rows, [true, sigma, kappa]));
    let best = fits
        .filter(|[a, b, c]| *a > 0.0 && *b >= 0.0 && *c >= 0.0)
        .min_by(|one, other| residual(*one).total_cmp(&residual(*other)));
    best.map(|[a, b, c]| Law { lambda: each / a, sigma: b / most / a, kappa: c / (most * most) / a })
}

/// The solution of the normal equations for the columns that are used, 0 for the others; `None` if they have no single solution.
fn solved(rows: &[[f64; 3]], used: [bool; 3]) -> Option<[f64; 3]> {
    let mut equations = [[0.0; 4]; 3];
    for (nth, equation) in equations.iter_mut().enumerate() {
        equation[nth] = 1.0;
        if used[nth] {
            let product = |other: usize| rows.iter().map(|row| row[nth] * row[other]).sum::<f64>();
            let factors = [0, 1, 2].map(|other| if used[other] { product(other) } else { 0.0 });
            *equation = [factors[0], factors[1], factors[2], rows.iter().map(|row| row[nth]).sum()];
        }
    }
    // The matrix is symmetric and positive definite, or has no single solution: no rows need to be exchanged.
    for pivot in 0..3 {
        let divisor = equations[pivot][pivot];
        if divisor <= SINGULAR {
            return None;
        }
        equations[pivot] = equations[pivot].map(|value| value / divisor);
        let row = equations[pivot];
        for (_, other) in equations.iter_mut().enumerate().filter(|(nth, _)| *nth != pivot) {
            let factor = other[pivot];
            other.iter_mut().zip(row).for_each(|(value, own)| *value -= factor * own);
        }
    }
    Some(equations.map(|equation| equation[3]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exact(law: Law, numbers: &[u32]) -> Vec<(f64, Vec<f64>)> {
        numbers.iter().map(|&workers| (workers.into(), vec![law.rate(workers.into())])).collect()
    }

    #[test]
    fn gunthers_own_example_has_his_constants() {
        // His ray-tracing benchmark, for which he found σ = 0.05 and κ = 0.000006.
        let scans = [
            (1.0, 20.0),
            (4.0, 78.0),
            (8.0, 130.0),
            (12.0, 170.0),
            (16.0, 190.0),
            (20.0, 200.0),
            (24.0, 210.0),
        ];
        let more = [(28.0, 230.0), (32.0, 260.0), (48.0, 280.0), (64.0, 310.0)];
        let rates: Vec<_> = scans.iter().chain(&more).map(|&(n, rate)| (n, vec![rate])).collect();
        let fit = ScalabilityFit::of(&rates).unwrap();
        assert!((0.04..0.06).contains(&fit.sigma.value), "{fit:?}");
        assert!(fit.kappa.value < 1e-4 && (fit.lambda_pps.value - 20.0).abs() < 2.5, "{fit:?}");
        assert_eq!((fit.sigma.low, fit.lambda_pps.high), (None, None), "one visit");
    }

    #[test]
    fn rates_that_have_no_law_have_a_reason() {
        let law = Law { lambda: 1e6, sigma: 0.1, kappa: 0.01 };
        assert_eq!(ScalabilityFit::of(&exact(law, &[1, 2, 3])), Err(Unfit::TooFewNumbers { numbers: 3 }));
        assert_eq!(ScalabilityFit::of(&[]), Err(Unfit::TooFewNumbers { numbers: 0 }));
        let rates = [1.0, 3.0, 2.0, 5.0].into_iter().zip(1..).map(|(rate, n)| (f64::from(n), vec![rate]));
        let off = ScalabilityFit::of(&rates.collect::<Vec<_>>()).unwrap_err();
        assert!(matches!(off, Unfit::OffTheLaw { error } if error > 0.2), "{off:?}");
    }

    #[test]
    fn workers_that_do_not_disturb_each_other_have_no_peak() {
        let fit =
            ScalabilityFit::of(&exact(Law { lambda: 5e5, sigma: 0.0, kappa: 0.0 }, &[1, 2, 4, 8])).unwrap();
        assert!(fit.sigma.value.abs() < 1e-9 && fit.kappa.value.abs() < 1e-9, "{fit:?}");
        let contended =
            ScalabilityFit::of(&exact(Law { lambda: 5e5, sigma: 1.0, kappa: 0.0 }, &[1, 2, 4, 8]));
        assert!((contended.unwrap().sigma.value - 1.0).abs() < 1e-9);
        assert_eq!(Law { lambda: 1.0, sigma: 0.2, kappa: 0.0 }.peak(), None);
        let peak = Law { lambda: 1.0, sigma: 0.0, kappa: 0.01 }.peak();
        assert!(peak.is_some_and(|peak| (peak - 10.0).abs() < 1e-9));
    }

    /// Rates of 1 to 12 workers around a law, by 1 %.
    fn noisy(law: Law, seed: u64) -> Vec<(f64, Vec<f64>)> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut uniform = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mut around = |rate: f64| (0..8).map(|_| rate * (0.99 + 0.02 * uniform())).collect();
        (1..=12).map(|workers| (workers.into(), around(law.rate(workers.into())))).collect()
    }

    #[test]
    fn intervals_mostly_hold_the_constants() {
        let law = Law { lambda: 1e6, sigma: 0.05, kappa: 0.004 };
        let (mut held, rounds) = (0, 40);
        for seed in 0..rounds {
            let fit = ScalabilityFit::of(&noisy(law, seed)).unwrap();
            let holds = |found: Constant, built_in: f64| {
                found.low.is_some_and(|low| low <= built_in)
                    && found.high.is_some_and(|high| high >= built_in)
            };
            held += u64::from(holds(fit.lambda_pps, law.lambda))
                + u64::from(holds(fit.sigma, law.sigma))
                + u64::from(holds(fit.kappa, law.kappa));
        }
        // Fewer than 95 %: a median of eight visits has few different resamplings.
        assert!(held * 100 >= rounds * 3 * 80, "{held} of {}", rounds * 3);
    }

    proptest! {
        #[test]
        fn constants_are_found_whatever_they_are(lambda in 1e3..1e8f64, sigma in 0.0..1.0f64, kappa in 0.0..0.1f64) {
            let law = Law { lambda, sigma, kappa };
            let found = ScalabilityFit::of(&exact(law, &[1, 2, 3, 4, 8, 16, 64])).unwrap().law();
            prop_assert!((found.lambda / lambda - 1.0).abs() < 1e-6, "{found:?}");
            prop_assert!((found.sigma - sigma).abs() < 1e-6 && (found.kappa - kappa).abs() < 1e-6, "{found:?}");
        }
    }
}
