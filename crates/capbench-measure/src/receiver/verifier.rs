//! Verification of every frame that an application takes.

use std::time::Instant;

use capbench_capture::{Counters, Frame, LossMark, LossPlace, Tally};
use capbench_frames::classify::{Classifier, FrameClass, TagMetadata};
use capbench_frames::layout::VlanTag;
use capbench_frames::plan::FlowOrder;

use crate::latency::Timekeeper;
use crate::loss_shape::{Arrival, SequenceTracker};
use crate::loss_shape::{LossRecord, Watch};
use capbench_model::arrivals::Arrivals;

/// Verifies frames: is it of this trial, intact, and which number does it have.
#[derive(Debug)]
pub struct Verifier {
    recogniser: Classifier,
    vlan_metadata: bool,
    streams: Vec<SequenceTracker>,
    arrivals: Arrivals,
    watch: Watch,
}

impl Verifier {
    /// A verifier for the frames that `recogniser` knows, in so many streams.
    pub fn new(recogniser: Classifier, streams: u8, vlan_metadata: bool) -> Self {
        let streams = (0..streams).map(|_| SequenceTracker::default()).collect();
        let watch = Watch::new(FlowOrder::default());
        Self { recogniser, vlan_metadata, streams, arrivals: Arrivals::default(), watch }
    }

    /// A verifier for the frames of one stream that records which of them never come: see
    /// [`Verifier::into_record`].
    pub fn recording(recogniser: Classifier, flows: FlowOrder, vlan_metadata: bool) -> Self {
        Self {
            streams: vec![SequenceTracker::recording(flows)],
            watch: Watch::new(flows),
            ..Self::new(recogniser, 0, vlan_metadata)
        }
    }

    /// Notes that the frames from here on are those of another batch.
    #[inline]
    pub fn begin(&mut self, mark: LossMark, queue: Option<u32>) {
        let next = self.streams.first().map_or(0, SequenceTracker::next);
        self.watch.begin(mark, queue, &self.arrivals, next);
    }

    /// Whether the method's counters are to be read now, because it marks frames or blocks until that is done.
    #[inline]
    pub fn wants_counters(&self) -> bool {
        self.watch.wants_counters(self.arrivals.read)
    }

    /// Notes what the method's counters say.
    pub fn note_counters(&mut self, counters: &Counters) {
        self.watch.counted(counters.lost_at(LossPlace::Ring), self.arrivals.read);
    }

    /// Notes a frame.
    #[inline]
    pub fn note(&mut self, frame: &Frame<'_>) {
        self.note_timed(frame, &mut ());
    }

    /// Notes a frame, and its times where it is one of the trial that has come for the first time.
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
                timekeeper.note(stamp.planned_ns, frame.time_ns);
            }
            FrameClass::Corrupt => self.arrivals.corrupt += 1,
            FrameClass::Truncated => self.arrivals.truncated += 1,
            FrameClass::Foreign => self.arrivals.foreign += 1,
        }
    }

    /// Takes over what a method counted in the kernel; whether that is more than before.
    pub fn adopt(&mut self, tally: Tally) -> bool {
        let duplicates = tally.duplicates.unwrap_or(0);
        let read = tally.marked + duplicates + tally.other;
        let is_more = read > self.arrivals.read;
        self.arrivals =
            Arrivals { read, delivered: tally.marked, duplicates, foreign: tally.other, ..self.arrivals };
        is_more
    }

    /// What arrived so far.
    pub fn arrivals(&self) -> Arrivals {
        self.arrivals
    }

    /// Which frames came; absent where it is not recorded.
    pub fn into_record(mut self) -> Option<LossRecord> {
        let stream = self.streams.pop().filter(SequenceTracker::is_recording)?;
        self.watch.end(&self.arrivals, stream.next());
        Some(LossRecord::new(stream, self.watch))
    }

    /// One more than the highest sequence number that came, streams added up: what is sent beyond it is missing at the end.
    pub fn reached(&self) -> u64 {
        self.streams.iter().map(SequenceTracker::next).sum()
    }

    /// Notes frames that were taken from the method and are not going to be verified.
    pub fn note_unverified(&mut self, frames: u64) {
        self.arrivals.read += frames;
    }

    /// Frames of the trial that came, whatever their state.
    pub fn accounted(&self) -> u64 {
        self.arrivals.delivered + self.arrivals.corrupt + self.arrivals.truncated
    }
}

/// What verifying a frame of so many octets (without FCS) costs on the calling thread's CPU, in nanoseconds: the
/// fastest of several runs over frames as they lie in memory that was just written.
pub fn verification_cost(recogniser: &Classifier, frames: &[Vec<u8>]) -> f64 {
    const ROUNDS: usize = 20;
    let mut fastest = f64::INFINITY;
    for _ in 0..ROUNDS {
        let mut verifier = Verifier::recording(recogniser.clone(), FlowOrder::default(), true);
        // The first frame is the first to touch memory of the verifier, which a trial does once in thousands of frames.
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

/// A frame as a method hands it over.
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
