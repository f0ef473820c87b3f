//! Which sequence numbers of a stream arrived, how often, and in what order. On request also which numbers never arrived.

use capbench_frames::plan::FlowOrder;

use super::recorder::{Anchor, LossRecorder};

/// Numbers per word of the memory.
const BITS: u64 = u64::BITS as u64;
/// Words remembered of all streams together: 2^24 numbers, in 2 MiB. An older number cannot be distinguished from a duplicate.
const WORDS: usize = 1 << 18;

/// Meaning of a frame's sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// First arrival, with exactly the expected number.
    InOrder,
    /// First arrival after all its predecessors so far, but with missing numbers before it.
    AfterGap {
        /// Missing numbers between it and the highest one before.
        missing: u64,
    },
    /// First arrival, after a later frame of the stream (RFC 4737: Type-P-Reordered).
    Reordered,
    /// It arrived before, or is too old to decide.
    Duplicate,
}

/// Follows one stream with bounded memory: one bit for each of the last 16 million sequence numbers, give or take 64, or for its
/// share of them where there are several streams.
///
/// A late number counts as received if it is still remembered; later it counts as a duplicate and stays lost. So a number's
/// outcome is final when it is forgotten. A tracker that records loss then passes the outcome to [`crate::loss_pattern`]: a number
/// recorded as lost never arrived in time.
#[derive(Debug)]
pub struct SequenceTracker {
    /// Highest number seen plus 1: the next number of an ordered stream.
    next: u64,
    /// Number of words begun: as many as `seen` has are remembered.
    top: u64,
    /// A power of two of them.
    seen: Box<[u64]>,
    recording: Option<Recording>,
}

/// Additional data per word, besides the arrivals, until it is forgotten.
#[derive(Debug)]
struct Recording {
    words: Box<[[u64; 2]]>,
    recorder: LossRecorder,
}

/// Data about 64 numbers, in an array of numbers: the kernel provides zeroed memory for it when a word begins.
struct Notes;

impl Notes {
    /// Where the frame that arrived first is, and its planned time: see [`Notes::anchor`].
    const ANCHOR: usize = 0;
    /// Where the frames with a mark of loss before them are.
    const MARKS: usize = 1;

    /// 48 bits of time and 6 bits of the number leave bits free; one means "present".
    const IS_THERE: u64 = 1 << 63;

    fn at(sequence: u64, planned_ns: u64) -> [u64; 2] {
        let planned_ns = planned_ns & (Self::IS_THERE / BITS - 1);
        [Self::IS_THERE | (planned_ns * BITS) | (sequence % BITS), 0]
    }

    fn anchor([anchor, _]: [u64; 2], word: u64) -> Option<Anchor> {
        let time_ns = (anchor & !Self::IS_THERE) / BITS;
        (anchor != 0).then_some(Anchor { number: word * BITS + anchor % BITS, time_ns })
    }
}

impl Default for SequenceTracker {
    fn default() -> Self {
        Self::sized(WORDS)
    }
}

impl SequenceTracker {
    /// A tracker that records missing numbers, for the only stream, with this order of flows.
    pub fn recording(flows: FlowOrder) -> Self {
        Self::recording_one_of(1, flows)
    }

    /// A tracker that records missing numbers, for one of this many streams, which share the memory of one.
    pub fn recording_one_of(streams: usize, flows: FlowOrder) -> Self {
        Self::sized_recording((WORDS / streams.next_power_of_two()).max(1), flows)
    }

    /// A tracker that remembers this many words, a power of two.
    fn sized(words: usize) -> Self {
        Self { next: 0, top: 0, seen: vec![0; words].into_boxed_slice(), recording: None }
    }

    /// A tracker of this size that records missing numbers, by flow.
    pub(super) fn sized_recording(words: usize, flows: FlowOrder) -> Self {
        let notes = vec![[0; 2]; words].into_boxed_slice();
        let recording = Recording { words: notes, recorder: LossRecorder::new(flows) };
        Self { recording: Some(recording), ..Self::sized(words) }
    }

    /// Records the arrival of a frame with this planned time, which is not asked for of most frames.
    #[inline]
    pub fn note(&mut self, sequence: u64, planned_ns: impl FnOnce() -> u64) -> Arrival {
        // The usual frame: the next one, in a word that has begun.
        if sequence == self.next && !sequence.is_multiple_of(BITS) {
            self.mark(sequence);
            self.next = sequence + 1;
            return Arrival::InOrder;
        }
        self.note_closely(sequence, planned_ns())
    }

    /// A tracker that records missing numbers and remembers all of `frames` numbers: for one of several members, whose trackers are
    /// [joined](Self::join) at the end.
    pub fn recording_member(frames: u64, flows: FlowOrder) -> Self {
        Self::sized_recording((frames.div_ceil(BITS) as usize).next_power_of_two(), flows)
    }

    /// Adds what another member's tracker saw, and returns how many numbers both had. `None` if one of them no longer remembers
    /// all.
    pub fn join(&mut self, other: &Self) -> Option<u64> {
        if self.seen.len() != other.seen.len() || self.top.max(other.top) > self.seen.len() as u64 {
            return None;
        }
        let mut twice = 0;
        for (word, bits) in other.seen[..other.top as usize].iter().enumerate() {
            twice += u64::from((self.seen[word] & bits).count_ones());
            self.seen[word] |= bits;
        }
        if let Some((own, others)) = self.recording.as_mut().zip(other.recording.as_ref()) {
            for (own, other) in own.words.iter_mut().zip(&others.words[..other.top as usize]) {
                if own[Notes::ANCHOR] == 0 {
                    own[Notes::ANCHOR] = other[Notes::ANCHOR];
                }
                own[Notes::MARKS] |= other[Notes::MARKS];
            }
        }
        self.next = self.next.max(other.next);
        self.top = self.top.max(other.top);
        Some(twice)
    }

    /// The numbers that it saw and remembers, in order.
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        let first = self.top.saturating_sub(self.seen.len() as u64);
        (first..self.top).flat_map(move |word| {
            let bits = self.seen[self.slot(word)];
            (0..BITS).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * BITS + bit)
        })
    }

    /// Highest number seen plus 1.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Whether it records missing numbers.
    pub fn is_recording(&self) -> bool {
        self.recording.is_some()
    }

    /// Records that the frame, which has just arrived after a gap, has a mark that frames before it were lost.
    pub fn note_mark(&mut self, sequence: u64) {
        if let Some(recording) = &mut self.recording {
            recording.words[slot_in(&self.seen, sequence / BITS)][Notes::MARKS] |= 1 << (sequence % BITS);
        }
    }

    /// Whether this number has arrived, if it is still remembered.
    #[cfg(any(test, feature = "testing"))]
    pub fn has_seen(&self, sequence: u64) -> bool {
        sequence < self.next && self.is_marked(sequence)
    }

    #[cfg(test)]
    pub(crate) fn recorder(&self) -> Option<&LossRecorder> {
        self.recording.as_ref().map(|recording| &recording.recorder)
    }

    /// Ends the stream after `sent` frames. Returns the recorded data, if any.
    pub fn finish(self, sent: u64) -> Option<LossRecorder> {
        let Self { top, seen, recording, .. } = self;
        let Recording { words, mut recorder } = recording?;
        recorder.limit(sent);
        for word in top.saturating_sub(seen.len() as u64)..top {
            let slot = slot_in(&seen, word);
            recorder.word(seen[slot], words[slot][Notes::MARKS], Notes::anchor(words[slot], word));
        }
        Some(recorder)
    }

    #[inline(never)]
    fn note_closely(&mut self, sequence: u64, planned_ns: u64) -> Arrival {
        let word = sequence / BITS;
        if sequence >= self.next {
            let missing = sequence - self.next;
            if word >= self.top {
                self.begin(word, Notes::at(sequence, planned_ns));
            }
            self.mark(sequence);
            self.next = sequence + 1;
            return if missing > 0 { Arrival::AfterGap { missing } } else { Arrival::InOrder };
        }
        if word + (self.seen.len() as u64) < self.top || self.is_marked(sequence) {
            return Arrival::Duplicate;
        }
        self.mark(sequence);
        if let Some(recording) = &mut self.recording {
            let notes = &mut recording.words[slot_in(&self.seen, word)];
            if notes[Notes::ANCHOR] == 0 {
                *notes = Notes::at(sequence, planned_ns);
            }
        }
        Arrival::Reordered
    }

    /// Begins a word and those before it, and forgets as many old ones.
    fn begin(&mut self, word: u64, notes: [u64; 2]) {
        let remembered = self.seen.len() as u64;
        let first = (word + 1).saturating_sub(remembered);
        if let Some(Recording { words, recorder }) = &mut self.recording {
            for leaving in self.top.saturating_sub(remembered)..first.min(self.top) {
                let slot = slot_in(&self.seen, leaving);
                recorder.word(
                    self.seen[slot],
                    words[slot][Notes::MARKS],
                    Notes::anchor(words[slot], leaving),
                );
            }
            recorder.skip(first.saturating_sub(self.top) * BITS);
            for begun in first.max(self.top)..word {
                words[slot_in(&self.seen, begun)] = [0; 2];
            }
            words[slot_in(&self.seen, word)] = notes;
        }
        for begun in first.max(self.top)..=word {
            let slot = self.slot(begun);
            self.seen[slot] = 0;
        }
        self.top = word + 1;
    }

    #[inline]
    fn slot(&self, word: u64) -> usize {
        slot_in(&self.seen, word)
    }

    #[inline]
    fn mark(&mut self, sequence: u64) {
        let slot = self.slot(sequence / BITS);
        self.seen[slot] |= 1 << (sequence % BITS);
    }

    #[inline]
    fn is_marked(&self, sequence: u64) -> bool {
        self.seen[self.slot(sequence / BITS)] & 1 << (sequence % BITS) != 0
    }
}

/// The place of a word among those that are remembered.
#[inline]
fn slot_in(seen: &[u64], word: u64) -> usize {
    word as usize & (seen.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::{Arrival, SequenceTracker};
    use capbench_frames::plan::FlowOrder;
    use proptest::prelude::*;
    use std::collections::HashSet;

    const WINDOW: u64 = 1 << 24;

    #[test]
    fn loss_is_no_reordering_and_repetition_is_seen() {
        let mut tracker = SequenceTracker::default();
        let seen: Vec<_> = [0, 1, 5, 3, 3, 5, 6].into_iter().map(|n| tracker.note(n, || 0)).collect();
        use Arrival::{AfterGap, Duplicate as D, InOrder as I, Reordered as R};
        assert_eq!(seen, [I, I, AfterGap { missing: 3 }, R, D, D, I]);
    }

    #[test]
    fn bits_of_a_window_ago_do_not_count() {
        let mut tracker = SequenceTracker::default();
        for sequence in 0..200 {
            tracker.note(sequence, || 0);
        }
        assert_eq!(tracker.note(WINDOW + 100, || 0), Arrival::AfterGap { missing: WINDOW - 100 });
        assert_eq!(tracker.note(WINDOW + 50, || 0), Arrival::Reordered);
        assert_eq!(tracker.note(WINDOW + 50, || 0), Arrival::Duplicate);
        assert_eq!(tracker.note(50, || 0), Arrival::Duplicate, "too old to be known");
        assert_eq!(tracker.note(5 * WINDOW, || 0), Arrival::AfterGap { missing: 4 * WINDOW - 101 });
        assert_eq!(tracker.note(5 * WINDOW - 7, || 0), Arrival::Reordered);
    }

    proptest! {
        /// However the frames are shared, the members together see what one tracker would.
        #[test]
        fn members_together_see_what_one_would(
            arrivals in prop::collection::vec((0u64..2000, 0usize..3), 0..600)
        ) {
            let new = || SequenceTracker::recording_member(2000, FlowOrder::default());
            let (mut members, mut one) = ([new(), new(), new()], new());
            let mut twice = 0;
            for (number, to) in &arrivals {
                let is_own = members[*to].note(*number, || *number) == Arrival::Duplicate;
                twice += u64::from(one.note(*number, || *number) == Arrival::Duplicate) - u64::from(is_own);
            }
            let [mut joined, second, third] = members;
            let found = joined.join(&second).unwrap() + joined.join(&third).unwrap();
            prop_assert_eq!(found, twice);
            prop_assert!(joined.numbers().eq(one.numbers()));
            prop_assert_eq!(joined.next(), one.next());
            let lost = |tracker: SequenceTracker| tracker.finish(2000).unwrap().finish(2000).tally.lost;
            prop_assert_eq!(lost(joined), lost(one));
        }

        #[test]
        fn agrees_with_a_set(numbers in prop::collection::vec(0u64..300, 0..600)) {
            let mut tracker = SequenceTracker::default();
            let mut set = HashSet::new();
            let mut next = 0;
            for number in numbers {
                let expected = if !set.insert(number) {
                    Arrival::Duplicate
                } else if number < next {
                    Arrival::Reordered
                } else if number == next {
                    Arrival::InOrder
                } else {
                    Arrival::AfterGap { missing: number - next }
                };
                next = next.max(number + 1);
                prop_assert_eq!(tracker.note(number, || 0), expected);
            }
        }
    }
}
