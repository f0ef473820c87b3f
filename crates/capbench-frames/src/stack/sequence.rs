//! The values of a varying field, one after the other.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Pattern;
use super::protocols::Field;

/// The values of a field that differ from frame to frame, again and again from the first one.
#[derive(Debug, Clone)]
pub(super) struct Sequence {
    next: u128,
    /// Values until it begins again.
    left: u64,
    count: u64,
    values: Values,
}

#[derive(Debug, Clone)]
enum Values {
    Counter { start: u128, step: u128, most: u128 },
    List(Arc<[u128]>),
    Random { random: Xoshiro256PlusPlus, begin: Xoshiro256PlusPlus, min: u128, range: u64 },
}

impl Sequence {
    /// The values of a pattern; `None` for one that the protocol computes.
    pub fn of(field: &Field, pattern: &Pattern) -> Option<Self> {
        let (first, count, values) = match *pattern {
            Pattern::Value(value) => (value, 1, Values::List([value].into())),
            Pattern::Values(ref values) => (values[0], values.len() as u64, Values::List(Arc::clone(values))),
            Pattern::Counter { start, step, count, down } => {
                let step = if down { step.wrapping_neg() } else { step };
                (start, count, Values::Counter { start, step, most: field.most() })
            }
            Pattern::Random { min, max, count, seed } => {
                let seed = if seed == 0 { RandomState::new().hash_one(count) } else { seed };
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                let begin = random.clone();
                // Fields with random values have up to 48 bits.
                let range = (max - min) as u64 + 1;
                let first = drawn(&mut random, min, range);
                (first, count, Values::Random { random, begin, min, range })
            }
            Pattern::Auto | Pattern::WrongChecksum => return None,
        };
        Some(Self { next: first, left: count, count, values })
    }

    /// Whether all values are one.
    pub fn is_constant(&self) -> bool {
        self.count == 1
    }

    /// The next value.
    #[inline]
    pub fn take(&mut self) -> u128 {
        let value = self.next;
        self.left -= 1;
        let is_over = self.left == 0;
        if is_over {
            self.left = self.count;
        }
        self.next = match &mut self.values {
            Values::Counter { start, .. } if is_over => *start,
            Values::Counter { step, most, .. } => value.wrapping_add(*step) & *most,
            Values::List(values) => values[(self.count - self.left) as usize],
            Values::Random { random, begin, min, range } => {
                if is_over {
                    *random = begin.clone();
                }
                drawn(random, *min, *range)
            }
        };
        value
    }
}

/// One of `range` values from `min` on, by multiplication with a 64-bit fraction.
#[inline]
fn drawn(random: &mut Xoshiro256PlusPlus, min: u128, range: u64) -> u128 {
    min + ((u128::from(random.next_u64()) * u128::from(range)) >> 64)
}

#[cfg(test)]
mod tests {
    use super::super::protocols::Protocol;
    use super::*;

    /// The first values of a field of 3 bits.
    fn taken(pattern: &Pattern, count: usize) -> Vec<u128> {
        let field = &Protocol::find("vlan").unwrap().fields[0];
        let mut sequence = Sequence::of(field, pattern).unwrap();
        (0..count).map(|_| sequence.take()).collect()
    }

    #[test]
    fn values_repeat_after_their_count_and_stay_inside_the_field() {
        let counter = |start, step, count, down| Pattern::Counter { start, step, count, down };
        assert_eq!(taken(&counter(6, 1, 4, false), 6), [6, 7, 0, 1, 6, 7]);
        assert_eq!(taken(&counter(1, 3, 3, true), 5), [1, 6, 3, 1, 6]);
        assert_eq!(taken(&Pattern::Values([3, 1, 3].into()), 5), [3, 1, 3, 3, 1]);
        assert_eq!(taken(&Pattern::Value(5), 3), [5, 5, 5]);
        let values: Arc<[u128]> = [3, 1].into();
        let field = &Protocol::find("vlan").unwrap().fields[0];
        let sequence = Sequence::of(field, &Pattern::Values(Arc::clone(&values)));
        assert_eq!((sequence.is_some(), Arc::strong_count(&values)), (true, 2), "a list is there once");
        let random = |seed| Pattern::Random { min: 2, max: 5, count: 50, seed };
        let values = taken(&random(1), 100);
        assert_eq!(
            (&values[..50], values.iter().min(), values.iter().max()),
            (&values[50..], Some(&2), Some(&5))
        );
        assert_eq!(values, taken(&random(1), 100));
        assert_ne!(values, taken(&random(2), 100));
        assert_ne!(taken(&random(0), 100), taken(&random(0), 100));
    }
}
