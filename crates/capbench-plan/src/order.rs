//! The order of visits: the points of a sweep or the loads of a bench. The order is random, so that drift during the run does
//! not look like a slope. At each place the methods run next to each other, so that the same conditions apply to all.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Orders of passes, reproducible from a seed.
#[derive(Debug)]
pub struct Shuffle(Xoshiro256PlusPlus);

impl Shuffle {
    /// A generator of orders, the same for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// One pass: the numbers below `places`, each once (Fisher and Yates).
    pub fn pass(&mut self, places: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..places).collect();
        for last in (1..places).rev() {
            // Bias below 2^-40 for any number of points that a sweep can have.
            let drawn = (u128::from(self.0.next_u64()) * (last as u128 + 1)) >> 64;
            order.swap(last, drawn as usize);
        }
        order
    }
}

/// The trials of a pass: every method at each place in turn, A B A B. Each pass begins with another method.
///
/// The result has the place and the method of each trial. `number` is that of the pass.
pub(crate) fn turns(pass: &[usize], methods: usize, number: usize) -> Vec<(usize, usize)> {
    let mut turns = Vec::new();
    for &place in pass {
        for nth in 0..methods {
            turns.push((place, (nth + number) % methods));
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::{Shuffle, turns};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_pass_visits_every_point_once(seed: u64, places in 0..200_usize, passes in 1..5) {
            let mut shuffle = Shuffle::new(seed);
            for _ in 0..passes {
                let mut pass = shuffle.pass(places);
                pass.sort_unstable();
                prop_assert_eq!(pass, (0..places).collect::<Vec<_>>());
            }
        }

        #[test]
        fn no_method_is_ever_more_than_a_trial_ahead_of_another(seed: u64, places in 1..50_usize, methods in 1..6_usize,
                                                      number in 0..9_usize) {
            let pass = Shuffle::new(seed).pass(places);
            let mut counts = vec![0; methods];
            let mut visited = Vec::new();
            for (place, method) in turns(&pass, methods, number) {
                counts[method] += 1;
                let (most, least) = (counts.iter().max().unwrap(), counts.iter().min().unwrap());
                prop_assert!(most - least <= 1, "{counts:?}");
                visited.push((place, method));
            }
            prop_assert_eq!(visited[0].1, number % methods);
            visited.sort_unstable();
            visited.dedup();
            prop_assert_eq!(visited.len(), places * methods);
        }
    }

    #[test]
    fn a_seed_names_an_order_and_orders_are_even() {
        assert_eq!(Shuffle::new(5).pass(30), Shuffle::new(5).pass(30));
        let mut first = [0; 5];
        let mut shuffle = Shuffle::new(1);
        for _ in 0..5000 {
            first[shuffle.pass(5)[0]] += 1;
        }
        assert!(first.iter().all(|count| (900..1100).contains(count)), "{first:?}");
    }
}
