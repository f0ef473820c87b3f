//! Splits a batch into runs of frames in time order, and merges runs with a heap.
//!
//! The heap orders runs, not frames. A port with ordered batches has one run per batch, and only overlapping runs are compared. A
//! batch in random order costs as much as sorting it.

use capbench_capture::capture::{Place, SeekableBatch};

use super::eras::STEP_NS;

/// A part of a batch in which timestamps neither fall nor jump forward by more than a clock step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// Position of its first frame.
    pub place: Place,
    /// Number of frames.
    pub frames: u32,
    /// Its smallest timestamp in ns; 0 if no frame has one.
    pub first: u64,
    /// Its greatest timestamp in ns.
    pub last: u64,
}

/// Passes the runs of a batch to `each` in arrival order. Returns the octets of the frames.
///
/// A frame without a timestamp keeps its place: it follows the frame before it, or at the start of a batch precedes the next one.
pub(super) fn stretches<B: SeekableBatch>(batch: &B, mut each: impl FnMut(Stretch)) -> u64 {
    let mut place = batch.start();
    let mut stretch = Stretch { place, frames: 0, first: 0, last: 0 };
    let mut octets = 0;
    loop {
        let before = place;
        let Some(frame) = batch.frame_at(&mut place) else { break };
        octets += frame.data.len() as u64;
        let time = frame.time_ns;
        if time != 0 {
            if stretch.first == 0 {
                stretch.first = time;
            } else if time.wrapping_sub(stretch.last) > STEP_NS {
                // A backward jump (the subtraction wraps around) or a far forward jump.
                each(stretch);
                stretch = Stretch { place: before, frames: 0, first: time, last: time };
            }
            stretch.last = time;
        }
        stretch.frames += 1;
    }
    if stretch.frames > 0 {
        each(stretch);
    }
    octets
}

/// A position in the order of the stream: the clock's era, then nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub era: u32,
    pub time: u64,
}

impl Key {
    pub const LEAST: Self = Self { era: 0, time: 0 };
    pub const GREATEST: Self = Self { era: u32::MAX, time: u64::MAX };

    /// The key directly before this one; `None` for the smallest.
    pub fn before(self) -> Option<Self> {
        match (self.era, self.time) {
            (0, 0) => None,
            (era, 0) => Some(Self { era: era - 1, time: u64::MAX }),
            (era, time) => Some(Self { era, time: time - 1 }),
        }
    }
}

/// The rest of a run that is being merged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// The port that delivered it.
    pub port: u32,
    /// The number of its batch, counted per port.
    pub batch: u32,
    /// Position of the next frame.
    pub place: Place,
    /// Frames left.
    pub frames: u32,
    /// Whether any of its frames has a time.
    pub timed: bool,
    /// Its greatest time in ns.
    pub last: u64,
    /// Its number among all runs, which decides between equal times.
    pub number: u64,
}

/// A run in the heap. It has two words, so that it moves in registers: a read of the whole after writing it in parts would stall
/// the CPU (store forwarding).
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// The time of the run's next frame.
    time: u64,
    /// The era of that time in the upper half, the run's slot in the lower one.
    tag: u64,
}

impl Entry {
    /// Placeholder for no run.
    const NONE: Self = Self { time: u64::MAX, tag: u64::MAX };

    /// The time of the run's next frame.
    #[inline]
    pub fn next(self) -> Key {
        Key { era: self.era(), time: self.time }
    }

    #[inline]
    fn era(self) -> u32 {
        (self.tag >> 32) as u32
    }

    #[inline]
    fn slot(self) -> usize {
        self.tag as u32 as usize
    }

    #[inline]
    fn is_none(self) -> bool {
        self.tag == Self::NONE.tag
    }
}

/// All runs: the first one, and a binary heap of the others.
///
/// The top of the heap is the second run. Up to its time, the first run is delivered in one piece.
#[derive(Debug)]
pub(super) struct Runs {
    first: Entry,
    others: Vec<Entry>,
    slots: Vec<Run>,
    free: Vec<u32>,
}

impl Runs {
    pub fn new() -> Self {
        Self { first: Entry::NONE, others: Vec::new(), slots: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub fn first(&self) -> Option<Entry> {
        (!self.first.is_none()).then_some(self.first)
    }

    #[inline]
    pub fn run(&mut self, entry: Entry) -> &mut Run {
        &mut self.slots[entry.slot()]
    }

    /// The time in ns up to which the first run is delivered before any other run, limited by `limit`. At equal times the lower
    /// port goes first, then the run that arrived first.
    #[inline]
    pub fn first_goes_to(&self, first: Entry, limit: Key) -> u64 {
        let limit = if limit.era > first.era() { u64::MAX } else { limit.time };
        match self.others.first() {
            Some(&second) if second.era() == first.era() => {
                limit.min(second.time.saturating_sub(u64::from(self.wins_ties(second, first))))
            }
            _ => limit,
        }
    }

    #[inline]
    fn goes_before(&self, one: Entry, other: Entry) -> bool {
        if one.next() == other.next() { self.wins_ties(one, other) } else { one.next() < other.next() }
    }

    #[inline]
    fn wins_ties(&self, one: Entry, other: Entry) -> bool {
        let (one, other) = (&self.slots[one.slot()], &self.slots[other.slot()]);
        (one.port, one.number) < (other.port, other.number)
    }

    pub fn insert(&mut self, next: Key, run: Run) {
        let slot = self.free.pop().unwrap_or(self.slots.len() as u32);
        match self.slots.get_mut(slot as usize) {
            Some(free) => *free = run,
            None => self.slots.push(run),
        }
        let entry = Entry { time: next.time, tag: u64::from(next.era) << 32 | u64::from(slot) };
        if self.first.is_none() {
            self.first = entry;
            return;
        }
        let goes_first = self.goes_before(entry, self.first);
        let entry = if goes_first { std::mem::replace(&mut self.first, entry) } else { entry };
        let mut at = self.others.len();
        self.others.push(entry);
        while at > 0 {
            let parent = (at - 1) / 2;
            if !self.goes_before(entry, self.others[parent]) {
                break;
            }
            self.others[at] = self.others[parent];
            at = parent;
        }
        self.others[at] = entry;
    }

    /// Updates the first run after its next frame changed.
    #[inline]
    pub fn first_goes_on(&mut self, first: Entry, time: u64) {
        let entry = Entry { time, ..first };
        match self.others.first() {
            Some(&second) if self.goes_before(second, entry) => {
                self.first = second;
                self.sink(entry);
            }
            _ => self.first = entry,
        }
    }

    /// Removes the first run, which is finished.
    pub fn first_ends(&mut self, first: Entry) {
        self.free.push(first.slot() as u32);
        self.first = self.others.first().copied().unwrap_or(Entry::NONE);
        if let Some(last) = self.others.pop()
            && !self.others.is_empty()
        {
            self.sink(last);
        }
    }

    /// Sifts an entry down from the top of the heap.
    #[inline]
    fn sink(&mut self, entry: Entry) {
        let mut at = 0;
        let length = self.others.len();
        loop {
            let mut child = 2 * at + 1;
            if child >= length {
                break;
            }
            let mut lower = self.others[child];
            if child + 1 < length {
                let other = self.others[child + 1];
                if self.goes_before(other, lower) {
                    (child, lower) = (child + 1, other);
                }
            }
            if !self.goes_before(lower, entry) {
                break;
            }
            self.others[at] = lower;
            at = child;
        }
        self.others[at] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, Place, Run, Runs};
    use proptest::prelude::*;

    fn run(time: u64, number: u64) -> (Key, Run) {
        let next = Key { era: (time % 3) as u32, time };
        let run = Run {
            port: (number % 5) as u32,
            batch: 0,
            place: Place { offset: 0, left: 0 },
            frames: 1,
            timed: true,
            last: time,
            number,
        };
        (next, run)
    }

    proptest! {
        #[test]
        fn the_heap_gives_runs_in_order_and_knows_where_the_next_one_begins(
            times in prop::collection::vec(0u64..20, 1..60),
            later in prop::collection::vec(0u64..5, 200),
        ) {
            let mut runs = Runs::new();
            let mut model: Vec<_> = times.iter().enumerate().map(|(n, &time)| run(time, n as u64)).collect();
            for &(next, run) in &model {
                runs.insert(next, run);
            }
            let mut later = later.into_iter();
            while let Some(first) = runs.first() {
                model.sort_by_key(|(next, run)| (*next, run.port, run.number));
                let (next, run) = model[0];
                prop_assert_eq!((first.next(), runs.run(first).number), (next, run.number));
                let limit = Key { era: next.era, time: next.time + 3 };
                let to = (next.time..=limit.time).take_while(|&time| match model.get(1) {
                    Some((second, other)) => {
                        (Key { time, ..next }, run.port, run.number) < (*second, other.port, other.number)
                    }
                    None => true,
                });
                prop_assert_eq!(Some(runs.first_goes_to(first, limit)), to.last());
                match later.next().filter(|&by| by > 0) {
                    Some(by) => {
                        runs.first_goes_on(first, next.time + by);
                        model[0].0.time += by;
                    }
                    None => {
                        runs.first_ends(first);
                        model.remove(0);
                    }
                }
            }
            prop_assert!(model.is_empty());
        }
    }

    #[test]
    fn an_era_begins_at_the_end_of_the_one_before() {
        assert_eq!(Key::LEAST.before(), None);
        assert_eq!(Key { era: 1, time: 0 }.before(), Some(Key { era: 0, time: u64::MAX }));
        assert_eq!(Key { era: 1, time: 5 }.before(), Some(Key { era: 1, time: 4 }));
    }
}
