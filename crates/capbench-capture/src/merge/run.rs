//! A batch as runs of frames that are in time order, and the heap that merges them.
//!
//! The heap is one over runs, not over frames: a port whose batches are in order has one run each, and only those whose
//! times overlap are ever compared. A batch without any order costs what sorting it would.

use super::eras::STEP_NS;
use super::place::{Place, Revisit};

/// A stretch of a batch in which times do not fall, nor leap by more than a step of the clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// Where it begins.
    pub place: Place,
    /// How many frames it has.
    pub frames: u32,
    /// Its least time in ns; 0 when none of its frames has one.
    pub first: u64,
    /// Its greatest time in ns.
    pub last: u64,
}

/// Gives a batch's stretches to `each` in arrival order; the octets of its frames.
///
/// A frame without a time stays where it is: it goes with the frame in front of it, or at a batch's start with the one
/// behind it.
pub(super) fn stretches<B: Revisit>(batch: &B, mut each: impl FnMut(Stretch)) -> u64 {
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
                // Backwards, which wraps around, or far forwards.
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

/// A time in the order of the stream: the clock's era, then nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub era: u32,
    pub time: u64,
}

impl Key {
    pub const LEAST: Self = Self { era: 0, time: 0 };
    pub const GREATEST: Self = Self { era: u32::MAX, time: u64::MAX };

    /// The key right in front of this one; `None` when it is the least.
    pub fn before(self) -> Option<Self> {
        match (self.era, self.time) {
            (0, 0) => None,
            (era, 0) => Some(Self { era: era - 1, time: u64::MAX }),
            (era, time) => Some(Self { era, time: time - 1 }),
        }
    }
}

/// What is left of a stretch that is being merged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Time of its next frame.
    pub next: Key,
    /// Which of several with equal times goes first: port, then arrival. No two runs have the same.
    pub order: Order,
    /// Its greatest time in ns.
    pub last: u64,
    /// Its next frame.
    pub place: Place,
    /// Frames left.
    pub frames: u32,
    /// The port's number of the batch in which it lies.
    pub batch: u32,
    /// Whether any of its frames has a time.
    pub timed: bool,
}

/// A port, and the number of a run among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Order(u64);

impl Order {
    /// Ports that can be told apart.
    pub const PORTS: usize = 1 << 16;
    const BITS: u32 = 48;

    /// The order of the run with this number: 2^48 of them last for years at a million a second.
    pub fn new(port: usize, number: u64) -> Self {
        Self((port as u64) << Self::BITS | number & ((1 << Self::BITS) - 1))
    }

    pub fn port(self) -> usize {
        (self.0 >> Self::BITS) as usize
    }
}

impl Run {
    #[inline]
    fn goes_before(&self, other: &Self) -> bool {
        (self.next, self.order) < (other.next, other.order)
    }
}

/// The runs that are held, as a binary heap with the one that goes first at the top.
///
/// Unlike that of the standard library it tells which would be second: up to there the first goes out in one piece.
#[derive(Debug, Default)]
pub(super) struct Runs(Vec<Run>);

impl Runs {
    #[inline]
    pub fn first(&self) -> Option<&Run> {
        self.0.first()
    }

    /// The run that would be first without the first.
    #[inline]
    pub fn second(&self) -> Option<&Run> {
        match (self.0.get(1), self.0.get(2)) {
            (Some(one), Some(other)) if other.goes_before(one) => Some(other),
            (one, _) => one,
        }
    }

    pub fn insert(&mut self, run: Run) {
        let mut at = self.0.len();
        self.0.push(run);
        while at > 0 {
            let parent = (at - 1) / 2;
            if !self.0[at].goes_before(&self.0[parent]) {
                break;
            }
            self.0.swap(at, parent);
            at = parent;
        }
    }

    /// Puts the first run back with less of it.
    #[inline]
    pub fn replace_first(&mut self, run: Run) {
        let mut at = 0;
        loop {
            let mut child = 2 * at + 1;
            if child + 1 < self.0.len() && self.0[child + 1].goes_before(&self.0[child]) {
                child += 1;
            }
            if child >= self.0.len() || !self.0[child].goes_before(&run) {
                break;
            }
            self.0[at] = self.0[child];
            at = child;
        }
        self.0[at] = run;
    }

    pub fn remove_first(&mut self) {
        if let Some(last) = self.0.pop()
            && !self.0.is_empty()
        {
            self.replace_first(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, Order, Place, Run, Runs};
    use proptest::prelude::*;

    fn run(time: u64, number: u64) -> Run {
        Run {
            next: Key { era: (time % 3) as u32, time },
            order: Order::new((number % 5) as usize, number),
            last: time,
            place: Place { offset: 0, left: 0 },
            frames: 1,
            batch: 0,
            timed: true,
        }
    }

    proptest! {
        #[test]
        fn the_heap_gives_runs_in_order_and_tells_the_second(
            mut times in prop::collection::vec(0u64..20, 1..60),
            later in prop::collection::vec(0u64..5, 200),
        ) {
            let mut runs = Runs::default();
            for (number, &time) in times.iter().enumerate() {
                runs.insert(run(time, number as u64));
            }
            let mut later = later.into_iter();
            let mut model: Vec<_> = times.drain(..).enumerate().map(|(n, time)| run(time, n as u64)).collect();
            while let Some(&first) = runs.first() {
                model.sort_by_key(|run| (run.next, run.order));
                prop_assert_eq!(first.order, model[0].order);
                prop_assert_eq!(runs.second().map(|run| run.order), model.get(1).map(|run| run.order));
                match later.next().filter(|&by| by > 0) {
                    Some(by) => {
                        let next = Key { time: first.next.time + by, ..first.next };
                        runs.replace_first(Run { next, ..first });
                        model[0].next = next;
                    }
                    None => {
                        runs.remove_first();
                        model.remove(0);
                    }
                }
            }
            prop_assert!(model.is_empty());
        }
    }

    #[test]
    fn in_front_of_an_era_lies_the_end_of_the_one_before() {
        assert_eq!(Key::LEAST.before(), None);
        assert_eq!(Key { era: 1, time: 0 }.before(), Some(Key { era: 0, time: u64::MAX }));
        assert_eq!(Key { era: 1, time: 5 }.before(), Some(Key { era: 1, time: 4 }));
    }
}
