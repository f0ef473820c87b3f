//! The missing numbers of a stream, exactly, as ranges.

use std::collections::BTreeMap;
use std::ops::Range;

use capbench_model::loss_pattern::Arrival;

/// Follows a stream whose numbers begin at 0. It stores missing numbers, not received ones: memory grows with the number of
/// ranges, up to a limit. Beyond the limit it forgets the earliest ranges: their numbers stay missing, and one that still arrives
/// counts as a duplicate.
#[derive(Debug)]
pub(super) struct MissingRanges {
    /// Beginning and end of each missing range.
    ranges: BTreeMap<u64, u64>,
    most_ranges: usize,
    next: u64,
    given_up: Missing,
}

/// Missing numbers, and the number of their ranges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Number of missing numbers.
    pub numbers: u64,
    /// Number of ranges of consecutive numbers.
    pub ranges: u64,
}

impl MissingRanges {
    pub(super) fn new(most_ranges: usize) -> Self {
        Self { ranges: BTreeMap::new(), most_ranges, next: 0, given_up: Missing::default() }
    }

    pub(super) fn note(&mut self, sequence: u64) -> Arrival {
        if sequence == self.next {
            self.next += 1;
            return Arrival::InOrder;
        }
        if sequence > self.next {
            let missing = sequence - self.next;
            self.insert(self.next..sequence);
            self.next = sequence + 1;
            return Arrival::AfterGap { missing };
        }
        let Some((&start, &end)) =
            self.ranges.range(..=sequence).next_back().filter(|(_, end)| sequence < **end)
        else {
            return Arrival::Duplicate;
        };
        self.ranges.remove(&start);
        self.insert(start..sequence);
        self.insert(sequence + 1..end);
        Arrival::Reordered
    }

    /// Ends the stream after `sent` numbers, if that is known: those that did not arrive are also missing.
    pub(super) fn end(&mut self, sent: Option<u64>) {
        if let Some(sent) = sent.filter(|sent| *sent > self.next) {
            self.insert(self.next..sent);
            self.next = sent;
        }
    }

    /// The missing numbers and ranges.
    pub(super) fn missing(&self) -> Missing {
        let numbers: u64 = self.ranges.iter().map(|(start, end)| end - start).sum();
        Missing {
            numbers: self.given_up.numbers + numbers,
            ranges: self.given_up.ranges + self.ranges.len() as u64,
        }
    }

    /// The stored ranges in ascending order.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        self.ranges.iter().map(|(&start, &end)| start..end)
    }

    fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        self.ranges.insert(range.start, range.end);
        if self.ranges.len() > self.most_ranges
            && let Some((start, end)) = self.ranges.pop_first()
        {
            self.given_up.numbers += end - start;
            self.given_up.ranges += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{Missing, MissingRanges};
    use capbench_model::loss_pattern::Arrival;

    #[test]
    fn beyond_the_limit_the_earliest_are_given_up_and_stay_missing() {
        let mut stream = MissingRanges::new(2);
        for sequence in [1, 3, 5, 7] {
            assert_eq!(stream.note(sequence), Arrival::AfterGap { missing: 1 });
        }
        assert_eq!(stream.missing(), Missing { numbers: 4, ranges: 4 });
        assert!(stream.ranges().eq([4..5, 6..7]));
        assert_eq!(stream.note(2), Arrival::Duplicate, "given up");
        assert_eq!(stream.note(4), Arrival::Reordered);
        stream.end(Some(8));
        assert_eq!(stream.missing(), Missing { numbers: 3, ranges: 3 });
    }

    proptest! {
        #[test]
        fn agrees_with_a_set(numbers in prop::collection::vec(0u64..80, 0..200), behind in 0u64..9) {
            let mut stream = MissingRanges::new(usize::MAX);
            let mut came = BTreeSet::new();
            for &number in &numbers {
                let highest = came.last().map_or(0, |last: &u64| last + 1);
                let expected = match (came.insert(number), number.checked_sub(highest)) {
                    (false, _) => Arrival::Duplicate,
                    (true, Some(0)) => Arrival::InOrder,
                    (true, Some(missing)) => Arrival::AfterGap { missing },
                    (true, None) => Arrival::Reordered,
                };
                prop_assert_eq!(stream.note(number), expected);
            }
            let sent = came.last().map_or(0, |last| last + 1) + behind;
            stream.end(Some(sent));
            let missing: Vec<u64> = (0..sent).filter(|number| !came.contains(number)).collect();
            prop_assert_eq!(stream.missing().numbers, missing.len() as u64);
            prop_assert!(stream.ranges().flatten().eq(missing));
        }
    }
}
