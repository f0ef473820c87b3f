//! The times of a trial's frames by two hosts' clocks, kept while frames arrive. What they mean is known only after the trial.

/// Samples that are kept: of 262,144, the 99.9th percentile has 262 above it.
const MOST: usize = 1 << 18;

/// The times of one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The stream of its generator.
    pub stream: u8,
    /// Planned send time in nanoseconds since that generator's start.
    pub planned_ns: u64,
    /// The kernel's timestamp in nanoseconds, by the receiver's clock; `None` if there is none.
    pub kernel_ns: Option<i64>,
    /// Delivery in nanoseconds, by the receiver's clock.
    pub delivered_ns: i64,
}

/// Samples of a trial's frames. One frame of each group of `one_in` is kept, at random, so that no pattern of the load is in step
/// with the choice. All of the memory is allocated and touched at the start.
#[derive(Clone, Debug)]
pub struct Samples {
    kept: Vec<Sample>,
    most: usize,
    one_in: u64,
    /// Frames of the current group so far, and which of them is kept.
    seen: u64,
    chosen: u64,
    state: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Self::up_to(MOST)
    }
}

impl Samples {
    pub(super) fn up_to(most: usize) -> Self {
        // Written once, so that no page is missing during the trial.
        let mut kept = vec![Sample { planned_ns: 1, ..Sample::default() }; most];
        kept.clear();
        Self { kept, most, one_in: 1, seen: 0, chosen: 0, state: 0x9e37_79b9_7f4a_7c15 }
    }

    /// Adds the times of the next frame.
    #[inline]
    pub fn note(&mut self, sample: Sample) {
        if self.seen == self.chosen {
            self.kept.push(sample);
        }
        self.seen += 1;
        if self.seen == self.one_in {
            self.next_group();
        }
    }

    fn next_group(&mut self) {
        if self.kept.len() == self.most {
            self.halve();
        }
        self.seen = 0;
        self.chosen = self.random() % self.one_in;
    }

    /// Keeps one sample of each two.
    fn halve(&mut self) {
        for pair in 0..self.kept.len() / 2 {
            let either = (self.random() & 1) as usize;
            self.kept[pair] = self.kept[2 * pair + either];
        }
        self.kept.truncate(self.kept.len() / 2);
        self.one_in *= 2;
    }

    /// Adds the samples of another member, whose receiver's times count from a moment so much later.
    pub fn join(&mut self, mut other: Self, later_ns: i64) {
        while self.one_in < other.one_in {
            self.halve();
        }
        while other.one_in < self.one_in {
            other.halve();
        }
        self.kept.extend(other.kept.into_iter().map(|sample| Sample {
            kernel_ns: sample.kernel_ns.map(|ns| ns + later_ns),
            delivered_ns: sample.delivered_ns + later_ns,
            ..sample
        }));
    }

    /// Xorshift (Marsaglia 2003).
    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// One frame in so many was kept.
    pub fn one_in(&self) -> u64 {
        self.one_in
    }

    /// What was kept.
    pub fn kept(&self) -> &[Sample] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(frames: u64) -> Samples {
        let mut samples = Samples::up_to(64);
        for planned_ns in 0..frames {
            samples.note(Sample { planned_ns, ..Sample::default() });
        }
        samples
    }

    #[test]
    fn every_frame_is_kept_while_there_is_room_and_then_one_of_each_group() {
        assert_eq!((of(63).kept().len(), of(63).one_in()), (63, 1));
        for frames in [64, 65, 1000, 100_000] {
            let samples = of(frames);
            let one_in = samples.one_in();
            let kept: Vec<u64> = samples.kept().iter().map(|sample| sample.planned_ns).collect();
            assert!(kept.len() < 64 && kept.len() as u64 >= frames / one_in, "{frames}: {}", kept.len());
            assert!(kept.is_sorted());
            for (group, planned) in kept.iter().enumerate() {
                assert_eq!(planned / one_in, group as u64, "{frames} frames, one in {one_in}");
            }
        }
    }

    #[test]
    fn members_have_one_origin_and_one_share() {
        let of = |frames: u64, came_ns: i64| {
            let mut samples = Samples::up_to(64);
            for planned_ns in 0..frames {
                let (kernel_ns, delivered_ns) = (Some(came_ns), came_ns + 1);
                samples.note(Sample { stream: 0, planned_ns, kernel_ns, delivered_ns });
            }
            samples
        };
        let (mut many, few) = (of(1000, 500), of(40, 480));
        let (kept, one_in) = (many.kept().len(), many.one_in());
        many.join(few.clone(), 20);
        assert_eq!((many.one_in(), many.kept().len()), (one_in, kept + 40 / one_in as usize));
        let mut joined = few;
        joined.join(many, -20);
        assert!(joined.one_in() == one_in && joined.kept().len() > kept);
        assert!(
            joined.kept().iter().all(|sample| (sample.kernel_ns, sample.delivered_ns) == (Some(480), 481))
        );
    }

    #[test]
    fn what_alternates_is_kept_in_equal_parts() {
        let samples = of(1 << 20);
        let odd = samples.kept().iter().filter(|sample| sample.planned_ns % 2 == 1).count();
        assert!((8..56).contains(&odd), "{odd} of {}", samples.kept().len());
    }
}
