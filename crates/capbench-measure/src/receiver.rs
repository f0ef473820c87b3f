//! The application of a trial: takes every frame, verifies it, does its work, and knows when to stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use capbench_capture::{Capture, Counters, Frame, LossMark, LossPlace, Taker, Tally, Visitor, WaitCounts};
use capbench_sys::host::{clock, thread};
use capbench_traffic::layout::VlanTag;
use capbench_traffic::plan::FlowOrder;
use capbench_traffic::recognise::{Recogniser, Seen, TagMetadata};

use crate::accounts::kernel_work::{KernelWorkProbe, KernelWorkSnapshot};
use crate::accounts::threads::ThreadTimes;
use crate::error::Result;
use crate::loss_shape::{LossRecord, Watch};
use crate::sequence::{Arrival, SequenceTracker};
use crate::trial::{Arrivals, ProgramReport};
use crate::work::Work;

/// How long one wait for frames lasts; bounds how late the end of a trial is noticed.
const TICK: Duration = Duration::from_millis(10);
/// A drain that still makes progress after this time is ended all the same; what is left is booked as unread.
const LONGEST_DRAIN: Duration = Duration::from_secs(60);

/// Frames after which the method's counters are read in between: their 32 bits would have to hold 256 times as many
/// dropped ones to overflow.
const READ_COUNTERS_EVERY: u64 = 1 << 24;

/// What sender and receiver of a trial tell each other.
#[derive(Debug, Default)]
pub struct Progress {
    /// Set once, after the sender has stopped and written `sent`.
    pub finished: AtomicBool,
    /// Frames handed to the kernel; valid once `finished` is set.
    pub sent: AtomicU64,
}

/// What the application of a trial did.
#[derive(Debug)]
pub struct Received {
    /// What arrived.
    pub arrivals: Arrivals,
    /// Counters of the method, read once, after the last frame.
    pub counters: Counters,
    /// Batches that the method gave.
    pub batches: u64,
    /// How often it waited.
    pub waits: WaitCounts,
    /// CPU time that the scheduler charged to the application's thread.
    pub cpu_ns: u64,
    /// The kernel's account when the last frame had been read.
    pub kernel: KernelWorkSnapshot,
    /// Context switches of the application's thread.
    pub switches: Option<ThreadTimes>,
    /// From the end of sending to the last look for frames.
    pub drain: Duration,
    /// What does the work, found out: a library with its version, the mode of XDP, a program with its version.
    pub engine: String,
    /// Sizes as they were granted, and where times come from.
    pub running: String,
    /// Why its frames were not verified one by one; absent where they were.
    pub taken_on_trust: Option<String>,
    /// Which of its frames came, and what the method said of the others; absent where frames were not looked at.
    pub record: Option<LossRecord>,
    /// What the program under test said that it counted; absent for methods of capbench.
    pub report: Option<ProgramReport>,
    /// Whether a socket filter could drop frames.
    pub filtered: bool,
    /// What is to be known about the trial's numbers, for example what the method got less of than was asked for.
    pub notes: Vec<String>,
}

/// Verifies frames: is it of this trial, intact, and which number does it have.
#[derive(Debug)]
pub struct Verifier {
    recogniser: Recogniser,
    vlan_metadata: bool,
    streams: Vec<SequenceTracker>,
    arrivals: Arrivals,
    watch: Watch,
}

impl Verifier {
    /// A verifier for the frames that `recogniser` knows, in so many streams.
    pub fn new(recogniser: Recogniser, streams: u8, vlan_metadata: bool) -> Self {
        let streams = (0..streams).map(|_| SequenceTracker::default()).collect();
        let watch = Watch::new(FlowOrder::default());
        Self { recogniser, vlan_metadata, streams, arrivals: Arrivals::default(), watch }
    }

    /// A verifier for the frames of one stream that records which of them never come: see
    /// [`Verifier::into_record`].
    pub fn recording(recogniser: Recogniser, flows: FlowOrder, vlan_metadata: bool) -> Self {
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
        let tag = match frame.vlan {
            Some(tag) => TagMetadata::Stripped(VlanTag { tci: tag.tci }),
            None if self.vlan_metadata => TagMetadata::Absent,
            None => TagMetadata::Unknown,
        };
        self.arrivals.read += 1;
        match self.recogniser.look(frame.data, frame.wire_length, tag) {
            Seen::Ours(stamp) => match self.streams.get_mut(usize::from(stamp.stream.0)) {
                Some(stream) => match stream.note(stamp.sequence, stamp.planned_ns) {
                    Arrival::InOrder => self.arrivals.delivered += 1,
                    Arrival::AfterGap { missing } => {
                        if self.watch.gap(frame, missing, &self.arrivals) {
                            stream.note_mark(stamp.sequence);
                        }
                        self.arrivals.delivered += 1;
                    }
                    Arrival::Reordered => {
                        self.arrivals.delivered += 1;
                        self.arrivals.reordered += 1;
                    }
                    Arrival::Duplicate => self.arrivals.duplicates += 1,
                },
                None => self.arrivals.foreign += 1,
            },
            Seen::Corrupt => self.arrivals.corrupt += 1,
            Seen::Truncated => self.arrivals.truncated += 1,
            Seen::Foreign => self.arrivals.foreign += 1,
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

    /// Frames of the trial that came, whatever their state.
    fn accounted(&self) -> u64 {
        self.arrivals.delivered + self.arrivals.corrupt + self.arrivals.truncated
    }
}

/// Runs the application on whichever method it is given.
#[derive(Debug)]
pub struct Application<'a> {
    /// Knows the trial's frames.
    pub recogniser: Recogniser,
    /// The order of its flows.
    pub flows: FlowOrder,
    /// Work per frame.
    pub work: Work,
    /// News from the sender.
    pub progress: &'a Progress,
    /// The user wants to stop.
    pub stop: &'a AtomicBool,
    /// Told once the method can receive.
    pub ready: SyncSender<()>,
    /// Reads the kernel's account.
    pub probe: KernelWorkProbe,
    /// How long nothing may come before a trial that still misses frames is over.
    pub quiet: Duration,
}

impl Visitor for Application<'_> {
    type Output = Result<Received>;

    fn visit<C: Capture>(self, mut capture: C) -> Result<Received> {
        let vlan_metadata = capture.running().vlan_metadata;
        let mut work = self.work;
        let mut verifier = Verifier::recording(self.recogniser, self.flows, vlan_metadata);
        let mut end = End::new(self.quiet);
        let mut batches = 0;
        let mut next_read = READ_COUNTERS_EVERY;
        let switches = ThreadTimes::read(thread::current_thread());
        let cpu_start = clock::thread_cpu_ns();
        // A receiver that is gone has been given up by the trial; the loop below then ends at once by `stop`.
        let _ = self.ready.send(());
        loop {
            let came = capture.take_with(TICK, &mut Loop { verifier: &mut verifier, work: &mut work })?;
            batches += u64::from(came);
            if verifier.arrivals.read >= next_read || verifier.wants_counters() {
                // The kernel counts in 32 bits until it is asked, and marks what comes after a loss until then.
                verifier.note_counters(&capture.counters()?);
                next_read = verifier.arrivals.read + READ_COUNTERS_EVERY;
            }
            // Methods that count in the kernel hand nothing over; whether something came shows in their tally.
            let came = came || capture.tally()?.is_some_and(|tally| verifier.adopt(tally));
            if self.stop.load(Ordering::Relaxed) || end.is_reached(self.progress, verifier.accounted(), came)
            {
                break;
            }
        }
        let cpu_ns = clock::thread_cpu_ns() - cpu_start;
        // Now rather than by whoever waits for this thread: freeing the ring takes time on this CPU, too.
        let kernel = self.probe.snapshot()?;
        let switches = ThreadTimes::read(thread::current_thread())
            .zip(switches)
            .map(|(after, before)| after.since(&before));
        let counters = capture.counters()?;
        let tallied = capture.tally()?.is_some();
        // Now rather than at the start: some things show only when frames have come.
        let running = capture.running().clone();
        Ok(Received {
            arrivals: verifier.arrivals(),
            record: verifier.into_record().filter(|_| !tallied),
            counters,
            batches,
            waits: capture.waits(),
            cpu_ns,
            kernel,
            switches,
            drain: end.drained(),
            running: format!("{}; time: {}", running.geometry, running.time_source),
            engine: running.engine,
            taken_on_trust: tallied
                .then(|| "its frames were counted in the kernel, their contents not verified".into()),
            report: None,
            filtered: running.filtered,
            notes: running.shortfall.into_iter().collect(),
        })
    }
}

/// What the application does with each frame.
struct Loop<'a> {
    verifier: &'a mut Verifier,
    work: &'a mut Work,
}

impl Taker for Loop<'_> {
    #[inline]
    fn begin(&mut self, mark: LossMark, queue: Option<u32>) {
        self.verifier.begin(mark, queue);
    }

    #[inline]
    fn take(&mut self, frame: &Frame<'_>) {
        self.verifier.note(frame);
        self.work.apply(frame.data);
    }
}

/// Decides when a trial is over: at once when every frame is accounted for, else when nothing came for a while.
struct End {
    quiet: Duration,
    finished: Option<Instant>,
    last: Instant,
}

impl End {
    fn new(quiet: Duration) -> Self {
        Self { quiet, finished: None, last: Instant::now() }
    }

    /// Looks at the clock only after the sender has finished: once a batch, never once a frame.
    fn is_reached(&mut self, progress: &Progress, accounted: u64, came: bool) -> bool {
        // Acquire: pairs with the Release store of the sender's side; `sent` is valid once this is seen.
        if !progress.finished.load(Ordering::Acquire) {
            return false;
        }
        let now = Instant::now();
        let finished = *self.finished.get_or_insert(now);
        if came || self.last < finished {
            self.last = now;
        }
        accounted >= progress.sent.load(Ordering::Relaxed)
            || now - self.last >= self.quiet
            || now - finished >= LONGEST_DRAIN
    }

    fn drained(&self) -> Duration {
        self.finished.map_or(Duration::ZERO, |finished| finished.elapsed())
    }
}

/// What verifying a frame of so many octets (without FCS) costs on the calling thread's CPU, in nanoseconds: the
/// fastest of several runs over frames as they lie in memory that was just written.
pub fn verification_cost(recogniser: &Recogniser, frames: &[Vec<u8>]) -> f64 {
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
