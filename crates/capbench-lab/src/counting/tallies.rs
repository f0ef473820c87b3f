//! What is counted of frames: all of them, those of each filter, and those of a trial.

use std::sync::Arc;

use capbench_capture::filter::{Filter, FrameMetadata, SoftwareFilter, Tags};
use capbench_capture::{CaptureError, Frame};
use capbench_frames::{Classifier, OtherTrials};
use capbench_model::arrivals::Arrivals;
use capbench_model::counters::Counters;
use capbench_model::mark::Tally;
use capbench_model::units::SnapLength;

use super::limit::{Allowance, Limit};
use super::{Counting, Part};
use crate::receiver::Verifier;

/// Packets and their octets without FCS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Packets.
    pub packets: u64,
    /// Their octets.
    pub octets: u64,
}

impl Sum {
    /// What came since an earlier sum.
    pub fn since(self, before: Self) -> Self {
        Self { packets: self.packets - before.packets, octets: self.octets - before.octets }
    }

    /// Both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, octets: self.octets + other.octets }
    }

    #[inline]
    fn add(&mut self, frame: &Frame<'_>) {
        self.packets += 1;
        self.octets += u64::from(frame.wire_length);
    }
}

/// The filters of a count, compiled for its interface.
#[derive(Debug, Default)]
pub struct Filters {
    /// The filter of all packets, where the method has no socket filter.
    pub all: Option<Filter>,
    /// Filters whose packets are counted each, by their text.
    pub each: Vec<(String, Filter)>,
}

impl Filters {
    /// Whether no filter reads frames that the capture has returned.
    pub fn need_no_octets(&self) -> bool {
        self.all.is_none() && self.each.is_empty()
    }

    /// The texts of the filters that count each.
    pub fn names(&self) -> Vec<String> {
        self.each.iter().map(|(text, _)| text.clone()).collect()
    }
}

/// Counts of frames.
#[derive(Debug)]
pub(super) struct Tallies {
    allowance: Allowance,
    all: Sum,
    filter: Option<SoftwareFilter>,
    /// A frame counts for each filter that it passes.
    each: Vec<(SoftwareFilter, Sum)>,
    /// Frames that pass none of them.
    in_none: Sum,
    trial: Option<Trial>,
    /// The count of a method that returns no frames.
    in_kernel: Option<Tally>,
}

/// The frames of the trial that the user asked for.
#[derive(Debug)]
struct Trial {
    verifier: Verifier,
    classifier: Classifier,
    /// Trials that foreign frames are of.
    others: OtherTrials,
}

/// What is known of a trial's frames.
#[derive(Debug)]
pub enum Seen {
    /// capbench verified each frame.
    Verified {
        /// The frames, delivered once, twice, and damaged.
        arrivals: Arrivals,
        /// Highest sequence number plus 1.
        reached: u64,
        /// Trials that foreign frames are of.
        others: OtherTrials,
    },
    /// The method counted the frames where they arrived.
    Counted(Tally),
}

impl Tallies {
    /// For frames with this metadata.
    ///
    /// # Errors
    /// A filter that asks for other metadata.
    pub(super) fn new(
        counting: &Counting,
        limit: Option<Arc<Limit>>,
        metadata: &FrameMetadata,
    ) -> Result<Self, CaptureError> {
        let Counting { filters, classifier, .. } = counting;
        let prepare = |filter: &Filter| SoftwareFilter::new(filter, SnapLength::EVERYTHING, metadata);
        let each = filters.each.iter().map(|(_, filter)| Ok((prepare(filter)?, Sum::default())));
        Ok(Self {
            allowance: Allowance::of(limit),
            all: Sum::default(),
            filter: filters.all.as_ref().map(prepare).transpose()?,
            each: each.collect::<Result<_, CaptureError>>()?,
            in_none: Sum::default(),
            trial: classifier.clone().map(|classifier| Trial {
                verifier: Verifier::new(classifier.clone(), 256, metadata.tags == Tags::InMetadata),
                classifier,
                others: OtherTrials::default(),
            }),
            in_kernel: None,
        })
    }

    /// Counts a frame. Inlined, so that of a frame only what is counted is read from the ring.
    #[inline(always)]
    pub fn note(&mut self, frame: &Frame<'_>) {
        if !self.allowance.allows(self.all.packets) {
            return;
        }
        if let Some(filter) = &mut self.filter
            && filter.pass(frame).is_none()
        {
            return;
        }
        self.all.add(frame);
        let mut is_in_one = self.each.is_empty();
        for (filter, sum) in &mut self.each {
            if filter.matches(frame).is_some() {
                sum.add(frame);
                is_in_one = true;
            }
        }
        if !is_in_one {
            self.in_none.add(frame);
        }
        if let Some(trial) = &mut self.trial {
            trial.note(frame);
        }
    }

    /// Adopts the count of a method that counts in the kernel.
    pub fn adopt(&mut self, tally: Tally) {
        let packets = tally.marked + tally.duplicates.unwrap_or(0) + tally.other;
        self.all = Sum { packets, octets: tally.octets };
        self.in_kernel = Some(tally);
    }

    /// Ends a batch of frames. Returns whether as many packets are counted as the user asked for.
    pub fn end_batch(&mut self) -> bool {
        self.allowance.end_batch(self.all.packets);
        self.allowance.is_used_up()
    }

    /// What is counted, with the counters of the method.
    pub fn part(&self, counters: Counters, cpu_ns: u64) -> Part {
        let each = self.each.iter().map(|(_, sum)| *sum);
        let rest = (!self.each.is_empty()).then_some(self.in_none);
        Part {
            all: self.all,
            each: each.chain(rest).collect(),
            filtered: self.filter.as_ref().and_then(|filter| filter.filtered().count),
            counters,
            cpu_ns,
        }
    }

    /// What is known of the trial; `None` if the user asked for none.
    pub fn seen(&self) -> Option<Seen> {
        let Trial { verifier, others, .. } = self.trial.as_ref()?;
        Some(match self.in_kernel {
            Some(tally) => Seen::Counted(tally),
            None => {
                Seen::Verified { arrivals: verifier.arrivals(), reached: verifier.reached(), others: *others }
            }
        })
    }
}

impl Trial {
    #[inline]
    fn note(&mut self, frame: &Frame<'_>) {
        let before = self.verifier.arrivals().foreign;
        self.verifier.note(frame);
        if self.verifier.arrivals().foreign > before {
            self.note_foreign(frame.data);
        }
    }

    #[cold]
    fn note_foreign(&mut self, data: &[u8]) {
        if let Some(trial) = self.classifier.trial_of(data) {
            self.others.note(trial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Counters, Counting, Filter, Filters, FrameMetadata, Limit, Part, Sum, Tags, Tallies};
    use capbench_capture::Frame;

    /// A filter for frames longer than some octets.
    fn longer_than(octets: u32) -> Filter {
        format!("4\n128 0 0 0\n37 0 1 {octets}\n6 0 0 262144\n6 0 0 0\n").parse().unwrap()
    }

    #[test]
    fn a_frame_counts_for_each_filter_that_it_passes_and_else_for_none() {
        let each = [100, 200].map(|octets| (octets.to_string(), longer_than(octets)));
        let filters = Filters { all: Some(longer_than(50)), each: each.into() };
        let counting = Counting { filters, ..Counting::default() };
        let limit = Some(Limit::new(4, 1));
        let mut tallies = Tallies::new(&counting, limit, &FrameMetadata::tags(Tags::InFrames)).unwrap();
        let octets = [0; 300];
        for length in [60, 40, 150, 250, 250, 250] {
            tallies.note(&Frame::new(&octets[..length], length as u32, 0));
        }
        let sum = |packets, octets| Sum { packets, octets };
        // The filter of all leaves out 40 octets; the sixth frame is beyond the limit.
        assert!(tallies.end_batch() && tallies.seen().is_none());
        let part = tallies.part(Counters::default(), 7);
        assert_eq!((part.all, &part.each), (sum(4, 710), &vec![sum(3, 650), sum(2, 500), sum(1, 60)]));
        let both = Part::sum(&[part.clone(), Part { filtered: Some(2), ..part }]);
        assert_eq!(
            (both.all, both.each[2], both.filtered, both.cpu_ns),
            (sum(8, 1420), sum(2, 120), Some(3), 14)
        );
    }
}
