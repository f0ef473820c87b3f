//! Which sequence numbers of a stream arrived, how often, and in what order.

/// Positions remembered of a stream. Everything further back than this is too old to be told from a repetition.
const WINDOW: u64 = 1 << 24;

/// What a frame's sequence number says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// First arrival, and no later frame of the stream came before.
    InOrder,
    /// First arrival, after a later frame of the stream (RFC 4737: Type-P-Reordered).
    Reordered,
    /// It arrived before, or lies so far back that nobody can tell.
    Duplicate,
}

/// Follows one stream with bounded memory (2 MiB): one bit for each of the last 16 million sequence numbers.
#[derive(Debug)]
pub struct SequenceTracker {
    /// One more than the highest number seen: what an ordered stream brings next.
    next: u64,
    seen: Vec<u64>,
}

impl Default for SequenceTracker {
    fn default() -> Self {
        Self { next: 0, seen: vec![0; (WINDOW / 64) as usize] }
    }
}

impl SequenceTracker {
    /// Notes a frame.
    #[inline]
    pub fn note(&mut self, sequence: u64) -> Arrival {
        if sequence >= self.next {
            self.forget_up_to(sequence);
            self.mark(sequence);
            self.next = sequence + 1;
            return Arrival::InOrder;
        }
        if self.next - sequence > WINDOW {
            return Arrival::Duplicate;
        }
        if self.is_marked(sequence) {
            return Arrival::Duplicate;
        }
        self.mark(sequence);
        Arrival::Reordered
    }

    #[inline]
    fn place(sequence: u64) -> (usize, u64) {
        (((sequence % WINDOW) / 64) as usize, 1 << (sequence % 64))
    }

    #[inline]
    fn mark(&mut self, sequence: u64) {
        let (word, bit) = Self::place(sequence);
        self.seen[word] |= bit;
    }

    #[inline]
    fn is_marked(&self, sequence: u64) -> bool {
        let (word, bit) = Self::place(sequence);
        self.seen[word] & bit != 0
    }

    /// Clears the bits of the numbers from `next` to `sequence`, which still stand for numbers a window ago.
    #[inline]
    fn forget_up_to(&mut self, sequence: u64) {
        if sequence == self.next {
            let (word, bit) = Self::place(sequence);
            self.seen[word] &= !bit;
        } else if sequence - self.next >= WINDOW {
            self.seen.fill(0);
        } else {
            self.forget_range(sequence);
        }
    }

    #[cold]
    fn forget_range(&mut self, last: u64) {
        let mut at = self.next;
        while at <= last {
            let (word, bit) = Self::place(at);
            if at.is_multiple_of(64) && last - at >= 63 {
                self.seen[word] = 0;
                at += 64;
            } else {
                self.seen[word] &= !bit;
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrival, SequenceTracker, WINDOW};
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn loss_is_no_reordering_and_repetition_is_seen() {
        let mut tracker = SequenceTracker::default();
        let seen: Vec<_> = [0, 1, 5, 3, 3, 5, 6].into_iter().map(|n| tracker.note(n)).collect();
        use Arrival::{Duplicate as D, InOrder as I, Reordered as R};
        assert_eq!(seen, [I, I, I, R, D, D, I]);
    }

    #[test]
    fn bits_of_a_window_ago_do_not_count() {
        let mut tracker = SequenceTracker::default();
        for sequence in 0..200 {
            tracker.note(sequence);
        }
        assert_eq!(tracker.note(WINDOW + 100), Arrival::InOrder);
        assert_eq!(tracker.note(WINDOW + 50), Arrival::Reordered);
        assert_eq!(tracker.note(WINDOW + 50), Arrival::Duplicate);
        assert_eq!(tracker.note(50), Arrival::Duplicate, "too old to tell");
        assert_eq!(tracker.note(5 * WINDOW), Arrival::InOrder);
        assert_eq!(tracker.note(5 * WINDOW - 7), Arrival::Reordered);
    }

    proptest! {
        #[test]
        fn agrees_with_a_set(numbers in prop::collection::vec(0u64..300, 0..600)) {
            let mut tracker = SequenceTracker::default();
            let mut set = HashSet::new();
            let mut highest = None;
            for number in numbers {
                let expected = if !set.insert(number) {
                    Arrival::Duplicate
                } else if highest.is_some_and(|highest| number < highest) {
                    Arrival::Reordered
                } else {
                    Arrival::InOrder
                };
                highest = highest.max(Some(number));
                prop_assert_eq!(tracker.note(number), expected);
            }
        }
    }
}
