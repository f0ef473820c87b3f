//! Verification of every frame that an application reads.

use std::time::Instant;

use capbench_capture::Frame;
use capbench_frames::classify::{Classifier, FrameClass, TagMetadata};
use capbench_frames::layout::VlanTag;
use capbench_frames::plan::FlowOrder;
use capbench_frames::stamp::StreamId;
use capbench_model::counters::{Counters, LossMark};
use capbench_model::mark::Tally;
use capbench_model::places::Place;

use crate::latency::Timekeeper;
use capbench_model::arrivals::{Arrivals, StreamArrivals};
use capbench_model::loss_pattern::{Arrival, LossRecord, SequenceTracker, Watch};
use capbench_sys::host::clock;

/// The streams of a trial: each has a sender.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    /// How many there are, 1 to 256. Their numbers are those below.
    pub count: usize,
    /// The order of the flows in each.
    pub flows: FlowOrder,
    /// Those whose senders write no time into their frames.
    pub untimed: StreamSet,
}

/// Some streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamSet([u64; 4]);

impl StreamSet {
    /// Whether the stream with this number is one of them.
    pub fn has(&self, stream: usize) -> bool {
        self.0.get(stream / 64).is_some_and(|word| word >> (stream % 64) & 1 == 1)
    }
}

impl FromIterator<StreamId> for StreamSet {
    fn from_iter<I: IntoIterator<Item = StreamId>>(streams: I) -> Self {
        let mut words = [0; 4];
        for StreamId(stream) in streams {
            words[usize::from(stream / 64)] |= 1 << (stream % 64);
        }
        Self(words)
    }
}

impl Streams {
    /// A single stream with this order of flows.
    pub fn one(flows: FlowOrder) -> Self {
        Self { count: 1, flows, untimed: StreamSet::default() }
    }
}

/// One stream's frames so far.
#[derive(Debug)]
struct Stream {
    tracker: SequenceTracker,
    delivered: u64,
    duplicates: u64,
    reordered: u64,
    /// When its sending began, by its first frame, in nanoseconds since the epoch.
    began_ns: i64,
    /// Whether its frames have their planned times. If not, the time since the first one that came is in their place.
    is_timed: bool,
}

/// Verifies frames: whether a frame belongs to this trial, is intact, and which number it has.
#[derive(Debug)]
pub struct Verifier {
    recogniser: Classifier,
    vlan_metadata: bool,
    streams: Vec<Stream>,
    arrivals: Arrivals,
    watch: Watch,
    /// Whether it sees all frames of its only stream, so that a gap in their numbers is a loss.
    sees_all: bool,
}

impl Verifier {
    /// A verifier for the frames that `recogniser` recognises, in this many streams.
    pub fn new(recogniser: Classifier, streams: usize, vlan_metadata: bool) -> Self {
        let trackers = (0..streams).map(|_| SequenceTracker::default());
        Self::of(recogniser, trackers, FlowOrder::default(), StreamSet::default(), vlan_metadata)
    }

    /// A verifier that records which frames of the streams never arrive: see [`Verifier::into_record`].
    pub fn recording(recogniser: Classifier, streams: Streams, vlan_metadata: bool) -> Self {
        let Streams { count, flows, untimed } = streams;
        let trackers = (0..count).map(|_| SequenceTracker::recording_one_of(count, flows));
        Self::of(recogniser, trackers, flows, untimed, vlan_metadata)
    }

    /// The same for one of several members, which together receive up to this many frames. A gap in the numbers that it sees is not
    /// a loss: another member has the frames.
    pub fn of_member(recogniser: Classifier, streams: Streams, vlan_metadata: bool, frames: u64) -> Self {
        let Streams { count, flows, untimed } = streams;
        let trackers = (0..count).map(|_| SequenceTracker::recording_member(frames, flows));
        Self { sees_all: false, ..Self::of(recogniser, trackers, flows, untimed, vlan_metadata) }
    }

    fn of(
        recogniser: Classifier,
        trackers: impl Iterator<Item = SequenceTracker>,
        flows: FlowOrder,
        untimed: StreamSet,
        vlan_metadata: bool,
    ) -> Self {
        let stream = |(number, tracker)| {
            let is_timed = !untimed.has(number);
            Stream { tracker, delivered: 0, duplicates: 0, reordered: 0, began_ns: 0, is_timed }
        };
        let streams: Vec<Stream> = trackers.enumerate().map(stream).collect();
        Self {
            recogniser,
            vlan_metadata,
            sees_all: streams.len() == 1,
            streams,
            arrivals: Arrivals::default(),
            watch: Watch::new(flows),
        }
    }

    /// Begins a batch: later frames belong to it. Marks and queues are followed in a single stream: which of several streams
    /// lost frames before a mark is unknown.
    #[inline]
    pub fn begin(&mut self, mark: LossMark, queue: Option<u32>) {
        if let Some(only) = self.streams.first().filter(|_| self.sees_all) {
            self.watch.begin(mark, queue, &self.arrivals, only.tracker.next());
        }
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
                if stream.tracker.next() == 0 {
                    stream.began_ns = began_ns(frame, stamp.planned_ns);
                }
                let (is_timed, began_ns) = (stream.is_timed, stream.began_ns);
                let planned_ns = || if is_timed { stamp.planned_ns } else { since(began_ns, frame) };
                match stream.tracker.note(stamp.sequence, planned_ns) {
                    Arrival::InOrder => {}
                    Arrival::AfterGap { missing } => {
                        if self.watch.gap(frame, missing, &self.arrivals) {
                            stream.tracker.note_mark(stamp.sequence);
                        }
                    }
                    Arrival::Reordered => {
                        self.arrivals.reordered += 1;
                        stream.reordered += 1;
                    }
                    Arrival::Duplicate => {
                        self.arrivals.duplicates += 1;
                        stream.duplicates += 1;
                        return;
                    }
                }
                stream.delivered += 1;
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

    /// The arrivals of each stream so far.
    pub fn streams(&self) -> Vec<StreamArrivals> {
        let began = |stream: &Stream| (stream.tracker.next() > 0).then_some(stream.began_ns);
        let first_ns = self.streams.iter().filter_map(began).min();
        let arrivals = |stream: &Stream| StreamArrivals {
            delivered: stream.delivered,
            duplicates: stream.duplicates,
            reordered: stream.reordered,
            reached: stream.tracker.next(),
            start_ns: began(stream).zip(first_ns).map(|(began, first)| began.abs_diff(first)),
        };
        self.streams.iter().map(arrivals).collect()
    }

    /// Which frames of each stream arrived; absent if it was not recorded.
    pub fn into_record(mut self) -> Option<LossRecord> {
        if let Some(only) = self.streams.first().filter(|_| self.sees_all) {
            self.watch.end(&self.arrivals, only.tracker.next());
        }
        let trackers: Vec<_> = self.streams.into_iter().map(|stream| stream.tracker).collect();
        let is_recorded = trackers.first().is_some_and(SequenceTracker::is_recording);
        is_recorded.then(|| LossRecord::new(trackers, self.watch))
    }

    /// Highest received sequence number plus 1, summed over streams: later sent frames are missing at the end.
    pub fn reached(&self) -> u64 {
        self.streams.iter().map(|stream| stream.tracker.next()).sum()
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

/// When the sending of a stream began, in nanoseconds since the epoch, by its first frame that came: the time of the frame, less
/// the planned one. A frame without a timestamp has the present time.
#[cold]
fn began_ns(frame: &Frame<'_>, planned_ns: u64) -> i64 {
    came_ns(frame).wrapping_sub(planned_ns).cast_signed()
}

fn came_ns(frame: &Frame<'_>) -> u64 {
    if frame.time_ns > 0 { frame.time_ns } else { clock::realtime_ns() }
}

/// Time of a frame after the first one of its stream; 0 if it overtook that one.
#[cold]
fn since(began_ns: i64, frame: &Frame<'_>) -> u64 {
    u64::try_from(came_ns(frame).cast_signed().wrapping_sub(began_ns)).unwrap_or(0)
}

/// Cost of verifying a frame on the calling thread's CPU in nanoseconds: the fastest of several runs over `frames` (without FCS)
/// in memory that was just written.
pub fn verification_cost(recogniser: &Classifier, frames: &[Vec<u8>]) -> f64 {
    const ROUNDS: usize = 20;
    let mut fastest = f64::INFINITY;
    for _ in 0..ROUNDS {
        let mut verifier = Verifier::recording(recogniser.clone(), Streams::one(FlowOrder::default()), true);
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
