//! Verification of every frame that an application reads.

use std::time::Instant;

use capbench_capture::Frame;
use capbench_frames::classify::{Classifier, FrameClass, TagMetadata};
use capbench_frames::layout::VlanTag;
use capbench_frames::plan::FlowOrder;
use capbench_model::counters::{Counters, LossMark};
use capbench_model::mark::Tally;
use capbench_model::places::Place;

use crate::latency::Timekeeper;
use capbench_model::arrivals::Arrivals;
use capbench_model::loss_pattern::{Arrival, SequenceTracker};
use capbench_model::loss_pattern::{LossRecord, Watch};

/// Verifies frames: whether a frame belongs to this trial, is intact, and which number it has.
#[derive(Debug)]
pub struct Verifier {
    recogniser: Classifier,
    vlan_metadata: bool,
    streams: Vec<SequenceTracker>,
    arrivals: Arrivals,
    watch: Watch,
}

impl Verifier {
    /// A verifier for the frames that `recogniser` recognises, in `streams` streams.
    pub fn new(recogniser: Classifier, streams: u8, vlan_metadata: bool) -> Self {
        let streams = (0..streams).map(|_| SequenceTracker::default()).collect();
        let watch = Watch::new(FlowOrder::default());
        Self { recogniser, vlan_metadata, streams, arrivals: Arrivals::default(), watch }
    }

    /// A verifier for the frames of one stream that records which of them never arrive: see [`Verifier::into_record`].
    pub fn recording(recogniser: Classifier, flows: FlowOrder, vlan_metadata: bool) -> Self {
        Self {
            streams: vec![SequenceTracker::recording(flows)],
            watch: Watch::new(flows),
            ..Self::new(recogniser, 0, vlan_metadata)
        }
    }

    /// Begins a batch: later frames belong to it.
    #[inline]
    pub fn begin(&mut self, mark: LossMark, queue: Option<u32>) {
        let next = self.streams.first().map_or(0, SequenceTracker::next);
        self.watch.begin(mark, queue, &self.arrivals, next);
    }

    /// Whether the method's counters must be read now, because it marks frames or blocks until they are read.
    #[inline]
    pub fn wants_counters(&self) -> bool {
        self.watch.wants_counters(self.arrivals.read)
    }

    /// Records the method's counters.
    pub fn note_counters(&mut self, counters: &Counters) {
        self.watch.counted(counters.lost_at(Place::Ring), self.arrivals.read);
    }

    /// Verifies and counts a frame.
    #[inline]
    pub fn note(&mut self, frame: &Frame<'_>) {
        self.note_timed(frame, &mut ());
    }

    /// Verifies and counts a frame. Records its times if it belongs to the trial and is its first copy.
    #[inline]
    pub fn note_timed(&mut self, frame: &Frame<'_>, timekeeper: &mut impl Timekeeper) {
        let tag = match frame.vlan {
            Some(tag) => TagMetadata::Stripped(VlanTag { tci: tag.tci }),
            None if self.vlan_metadata => TagMetadata::Absent,
            None => TagMetadata::Unknown,
        };
        self.arrivals.read += 1;
        match self.recogniser.look(frame.data, frame.wire_length, tag) {
            FrameClass::Own(stamp) => {
                let Some(stream) = self.streams.get_mut(usize::from(stamp.stream.0)) else {
                    self.arrivals.foreign += 1;
                    return;
                };
                match stream.note(stamp.sequence, stamp.planned_ns) {
                    Arrival::InOrder => {}
                    Arrival::AfterGap { missing } => {
                        if self.watch.gap(frame, missing, &self.arrivals) {
                            stream.note_mark(stamp.sequence);
                        }
                    }
                    Arrival::Reordered => self.arrivals.reordered += 1,
                    Arrival::Duplicate => {
                        self.arrivals.duplicates += 1;
                        return;
                    }
                }
                self.arrivals.delivered += 1;
                timekeeper.note(stamp.stream, stamp.planned_ns, frame.time_ns);
            }
            FrameClass::Corrupt => self.arrivals.corrupt += 1,
            FrameClass::Truncated => self.arrivals.truncated += 1,
            FrameClass::Foreign => self.arrivals.foreign += 1,
        }
    }

    /// Adopts the count of a method that counts in the kernel. Returns whether it grew.
    pub fn adopt(&mut self, tally: Tally) -> bool {
        let duplicates = tally.duplicates.unwrap_or(0);
        let read = tally.marked + duplicates + tally.other;
        let is_more = read > self.arrivals.read;
        self.arrivals =
            Arrivals { read, delivered: tally.marked, duplicates, foreign: tally.other, ..self.arrivals };
        is_more
    }

    /// The arrivals so far.
    pub fn arrivals(&self) -> Arrivals {
        self.arrivals
    }

    /// Which frames arrived; absent if it was not recorded.
    pub fn into_record(mut self) -> Option<LossRecord> {
        let stream = self.streams.pop().filter(SequenceTracker::is_recording)?;
        self.watch.end(&self.arrivals, stream.next());
        Some(LossRecord::new(stream, self.watch))
    }

    /// Highest received sequence number plus 1, summed over streams: later sent frames are missing at the end.
    pub fn reached(&self) -> u64 {
        self.streams.iter().map(SequenceTracker::next).sum()
    }

    /// Counts frames that were read from the method and will not be verified.
    pub fn note_unverified(&mut self, frames: u64) {
        self.arrivals.read += frames;
    }

    /// Frames of the trial that arrived, in any state.
    pub fn accounted(&self) -> u64 {
        self.arrivals.delivered + self.arrivals.corrupt + self.arrivals.truncated
    }
}

/// Cost of verifying a frame on the calling thread's CPU in nanoseconds: the fastest of several runs over `frames` (without FCS)
/// in memory that was just written.
pub fn verification_cost(recogniser: &Classifier, frames: &[Vec<u8>]) -> f64 {
    const ROUNDS: usize = 20;
    let mut fastest = f64::INFINITY;
    for _ in 0..ROUNDS {
        let mut verifier = Verifier::recording(recogniser.clone(), FlowOrder::default(), true);
        // The first frame touches the verifier's memory for the first time. In a trial that happens once in thousands of frames.
        let (first, frames) =
            frames.split_first().map_or((None, frames), |(first, rest)| (Some(first), rest));
        first.into_iter().for_each(|data| verifier.note(&captured(data)));
        let start = Instant::now();
        for data in frames {
            verifier.note(std::hint::black_box(&captured(data)));
        }
        fastest = fastest.min(start.elapsed().as_nanos() as f64 / frames.len().max(1) as f64);
        std::hint::black_box(verifier.arrivals());
    }
    fastest
}

/// A frame as a method delivers it.
fn captured(data: &[u8]) -> Frame<'_> {
    Frame {
        data,
        wire_length: data.len() as u32,
        time_ns: 0,
        vlan: None,
        packet_type: capbench_capture::PacketType::OtherHost,
        hash: None,
        status: 0,
    }
}
