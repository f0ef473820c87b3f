//! The application of a trial: reads every frame, verifies it, does the work per frame, and decides when the trial ends.

#[cfg(test)]
mod mark_tests;
mod members;
mod queue;
#[cfg(test)]
mod stream_tests;
mod verifier;

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use capbench_capture::{Capture, Frame, Taker, Visitor};
use capbench_frames::classify::Classifier;
use capbench_model::counters::{Counters, LossMark, WaitCounts};
use capbench_model::mark::Tally;
use capbench_model::members::{FlowSharing, Member};
use capbench_model::noise::Noise;
use capbench_sys::host::{CpuId, clock, thread};

use serde::{Deserialize, Serialize};

use crate::latency::{LatencyRecorder, Timekeeper, Times};
use crate::work::Work;
use crate::{LabError, Result};
use capbench_host::accounts::kernel_work::{KernelWorkProbe, KernelWorkSnapshot};
use capbench_host::accounts::threads::ThreadTimes;
use capbench_model::arrivals::{Arrivals, StreamArrivals};
use capbench_model::evidence::{QueueAccount, UnreadFrames};
use capbench_model::latency::{Latency, Recording};
use capbench_model::loss_pattern::LossRecord;
use capbench_model::reasons::{NoDelays, Unverified};
use capbench_model::running::CaptureFacts;
use capbench_model::trial::{Emptying, ProgramReport, TICK};
pub use members::{Accounted, together};
use queue::Queue;
pub use queue::QueueSize;
pub use verifier::{StreamSet, Streams, Verifier, verification_cost};

/// Longest drain after the planned end, even if it still makes progress; the remaining frames count as unread.
const LONGEST_DRAIN: Duration = Duration::from_secs(60);

/// When to read the method's counters during a trial. Counters of packet sockets and of libpcap have 32 bits. libpcap's must not
/// grow by half of that between two reads, or they appear to go backwards.
struct NextRead {
    /// Frames read from the ring until the next counter read.
    taken: u64,
    turns: u32,
    at: Instant,
}

impl NextRead {
    /// At this count a ring that loses 99 % of its frames has counted 1.7 billion.
    const FRAMES: u64 = 1 << 24;
    /// No network card of today receives 200 million packets/s. An application that reads hardly any frame loses the rest.
    const TIME: Duration = Duration::from_secs(10);
    /// Iterations of the loop between two clock reads.
    const TURNS: u32 = 64;

    fn after(taken: u64, now: Instant) -> Self {
        Self { taken: taken + Self::FRAMES, turns: 0, at: now + Self::TIME }
    }

    /// Whether to read the counters now. Called once per loop iteration.
    #[inline]
    fn is_due(&mut self, taken: u64, clock: impl FnOnce() -> Instant) -> bool {
        self.turns += 1;
        if self.turns < Self::TURNS {
            return taken >= self.taken;
        }
        self.turns = 0;
        taken >= self.taken || clock() >= self.at
    }
}

/// When the schedule of a trial begins: set once, before its first frame is sent. Both sides know it because they share a clock.
pub type SharedStart = Arc<OnceLock<Instant>>;

/// How far the sending of a trial is, for the application's thread.
#[derive(Debug)]
pub struct Progress {
    /// When the schedule begins; `None`: the sender does not share this process's clock.
    pub start: Option<SharedStart>,
    finished: AtomicBool,
    /// Frames passed to the kernel; valid once `finished` is set.
    sent: AtomicU64,
    /// How long frames are still sent by the plan, in nanoseconds; valid once `finished` is set.
    due_ns: AtomicU64,
    accounted: Accounted,
}

impl Default for Progress {
    fn default() -> Self {
        Self::new(None, 1)
    }
}

impl Progress {
    /// The number of sent frames where a generator did not report its own. Then a trial ends when no more frames come.
    pub const UNKNOWN: u64 = u64::MAX;

    /// Nothing was sent yet to this many members.
    pub fn new(start: Option<SharedStart>, members: usize) -> Self {
        Self {
            start,
            finished: AtomicBool::default(),
            sent: AtomicU64::default(),
            due_ns: AtomicU64::default(),
            accounted: Accounted::of(members),
        }
    }

    /// No further frame follows the `sent` ones. Some of these are sent for `due_ns` from now on, if nobody knows that sending is
    /// over.
    pub fn finish(&self, sent: u64, due_ns: u64) {
        self.sent.store(sent, Ordering::Relaxed);
        self.due_ns.store(due_ns, Ordering::Relaxed);
        // Release: pairs with the Acquire of `sent`; the numbers above are visible with the flag.
        self.finished.store(true, Ordering::Release);
    }

    /// The number of sent frames, or [`Self::UNKNOWN`], once it is known.
    #[inline]
    pub fn sent(&self) -> Option<u64> {
        self.finished.load(Ordering::Acquire).then(|| self.sent.load(Ordering::Relaxed))
    }
}

/// The results of a trial's application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Received {
    /// The received frames.
    pub arrivals: Arrivals,
    /// The part of each member; empty if there was one thread.
    #[serde(default)]
    pub members: Vec<Member>,
    /// Whether the members got whole flows; absent if frames were not examined one by one.
    #[serde(default)]
    pub flow_sharing: Option<FlowSharing>,
    /// Those of each stream; empty if frames were not examined one by one.
    pub streams: Vec<StreamArrivals>,
    /// The account of the application's queue; absent if it has none.
    pub queue: Option<QueueAccount>,
    /// Counters of the method, read once, after the last frame.
    pub counters: Counters,
    /// Batches that the method delivered.
    pub batches: u64,
    /// Number of waits.
    pub waits: WaitCounts,
    /// CPU time that the scheduler charged to the application's threads.
    pub cpu_ns: u64,
    /// Context switches of the application's threads.
    pub switches: Option<ThreadTimes>,
    /// From the end of sending to the last poll for frames.
    pub drain: Duration,
    /// How long frames went on arriving after sending ended; absent if nobody sees when the last one is read.
    pub emptying: Option<Emptying>,
    /// Whether the trial ended while frames may still have waited: the user stopped it, or the longest drain was over.
    pub cut_short: bool,
    /// What is known of frames that a program had not read when it ended; absent for methods of capbench.
    #[serde(default)]
    pub unread: Option<UnreadFrames>,
    /// What captured the frames.
    pub capture: CaptureFacts,
    /// Why capbench did not verify the frames one by one; absent if it did.
    pub unverified_because: Option<String>,
    /// The delay of the frames; absent if it was not recorded.
    pub latency: Option<Latency>,
    /// The counts that the program under test reported; absent for methods of capbench.
    pub report: Option<ProgramReport>,
    /// Whether a socket filter could drop frames.
    pub filtered: bool,
    /// Notes on the trial's numbers, for example a size smaller than requested.
    pub notes: Vec<Noise>,
    /// Cost of verifying a frame in nanoseconds; 0 if none was verified during the trial.
    pub verify_ns: f64,
    /// Time of one iteration of the wait loop on the application's CPU in nanoseconds; absent for other work.
    pub iteration_ns: Option<f64>,
}

/// The application's results, and what others evaluate after it.
#[derive(Debug)]
pub struct Outcome {
    /// The application's results.
    pub received: Received,
    /// The kernel's account when the last frame had been read.
    pub kernel: KernelWorkSnapshot,
    /// Which frames arrived, and what the method reported of the others; absent if frames were not examined.
    pub record: Option<LossRecord>,
    /// The times of the frames; absent if they were not recorded.
    pub times: Option<Times>,
}

impl Received {
    /// CPU time of the application's threads on a CPU; `alone` is where it runs with one thread. `None`: none runs there.
    pub fn cpu_ns_on(&self, cpu: CpuId, alone: CpuId) -> Option<u64> {
        if self.members.is_empty() {
            return (cpu == alone).then_some(self.cpu_ns);
        }
        let here = self.members.iter().filter(|member| member.cpu == cpu.number());
        here.map(|member| member.cpu_ns).reduce(|one, other| one + other)
    }

    /// Whether all of the application's threads run on this CPU; `alone` as above.
    pub fn is_only_on(&self, cpu: CpuId, alone: CpuId) -> bool {
        self.cpu_ns_on(cpu, alone).is_some() && self.members.iter().all(|member| member.cpu == cpu.number())
    }
}

/// A trial to receive.
#[derive(Debug)]
pub struct Order {
    /// Recognises the trial's frames.
    pub recogniser: Classifier,
    /// State of the sender.
    pub progress: Arc<Progress>,
    /// Receives a message once the method can receive.
    pub ready: SyncSender<()>,
}

/// Which of several members a thread is.
#[derive(Clone, Copy, Debug)]
pub struct MemberOf {
    /// Its number, from 0.
    pub nth: usize,
    /// Most frames that a trial can have.
    pub frames: u64,
}

/// Runs the application on a capture method: trials one after the other on one open capture.
#[derive(Debug)]
pub struct Application<'a> {
    /// The streams of each trial.
    pub streams: Streams,
    /// Work per frame.
    pub work: Work,
    /// The queue in front of the work, if a second thread does it.
    pub queue: Option<QueueSize>,
    /// Cost of verifying a frame on this CPU in nanoseconds.
    pub verify_ns: f64,
    /// The trials. The channel closes after the last one.
    pub orders: Receiver<Order>,
    /// Whether there can be more than one.
    pub is_held: bool,
    /// Channel for the outcome of each trial.
    pub done: &'a SyncSender<Outcome>,
    /// Set when the user wants to stop.
    pub stop: &'a AtomicBool,
    /// Reads the kernel's account.
    pub probe: KernelWorkProbe,
    /// How long no frame may arrive before a trial that still misses frames ends.
    pub quiet: Duration,
    /// Whether and how the latency of frames is recorded.
    pub latency: Option<Recording>,
    /// `None`: the only thread.
    pub member: Option<MemberOf>,
}

impl Visitor for Application<'_> {
    type Output = Result<()>;

    fn visit<C: Capture>(self, mut capture: C) -> Result<()> {
        if self.is_held && capture.tally()?.is_some() {
            return Err(LabError::Unsupported {
                what: "a soak".into(),
                reason: "the method counts the frames of one trial in the kernel, and no others".into(),
            });
        }
        while let Ok(Order { recogniser, progress, ready }) = self.orders.recv() {
            let reception = Reception {
                progress: &progress,
                stop: self.stop,
                ready,
                probe: &self.probe,
                quiet: self.quiet,
                nth: self.member.map_or(0, |member| member.nth),
            };
            let has_tags = capture.running().vlan_metadata;
            let verifier = match self.member {
                None => Verifier::recording(recogniser, self.streams, has_tags),
                Some(member) => Verifier::of_member(recogniser, self.streams, has_tags, member.frames),
            };
            let mut outcome = self.outcome(&mut capture, reception, verifier)?;
            outcome.received.verify_ns = self.verify_ns;
            outcome.received.iteration_ns = self.work.iteration_ns();
            // The caller may have given up waiting.
            let _ = self.done.send(outcome);
        }
        Ok(())
    }
}

impl Application<'_> {
    /// Runs one trial with the inline or the queued worker, as its work and its latency need.
    fn outcome<C: Capture>(
        &self,
        capture: &mut C,
        reception: Reception<'_>,
        verifier: Verifier,
    ) -> Result<Outcome> {
        let (work, queue) = (self.work.clone(), self.queue);
        let Some(recording) = self.latency else {
            return match queue {
                None => reception.run(capture, Direct { verifier, work, timekeeper: () }),
                Some(size) => reception.run(capture, Queue::start(size, verifier, work)?),
            };
        };
        let source = capture.running().time_source.clone();
        let mut recorder = LatencyRecorder::new(recording, reception.progress.start.as_deref(), source);
        let mut outcome = match queue {
            None => reception.run(capture, Direct { verifier, work, timekeeper: &mut recorder })?,
            Some(size) => reception.run(capture, Queue::start(size, verifier, work)?)?,
        };
        let unknown = match (&outcome.received.unverified_because, queue) {
            (Some(reason), _) => Some(reason.clone()),
            (None, Some(_)) => Some(NoDelays::WorkQueue.to_string()),
            (None, None) => None,
        };
        match unknown.map(|reason| Latency::unknown(recording, &reason)) {
            None => outcome.times = Some(recorder.times()),
            unknown => outcome.received.latency = unknown,
        }
        Ok(outcome)
    }
}

/// What an application needs besides frames.
struct Reception<'a> {
    progress: &'a Progress,
    stop: &'a AtomicBool,
    ready: SyncSender<()>,
    probe: &'a KernelWorkProbe,
    quiet: Duration,
    /// Which member reads.
    nth: usize,
}

impl Reception<'_> {
    /// Reads frames until the trial is over.
    fn run<C: Capture, H: FrameSink>(self, capture: &mut C, mut hands: H) -> Result<Outcome> {
        let mut end = End::new(self.quiet);
        let mut batches = 0;
        let mut next_read = NextRead::after(0, Instant::now());
        // Counts of earlier trials do not belong to this one.
        let (counted, waited) = (capture.counters()?, capture.waits());
        let switches = ThreadTimes::read(thread::current_thread());
        let cpu_start = clock::thread_cpu_ns();
        // If the receiver of this message is gone, the trial was given up; the loop below then ends at once by `stop`.
        let _ = self.ready.send(());
        let cut_short = loop {
            let came = capture.take_with(TICK, &mut hands)?;
            hands.end_batch();
            batches += u64::from(came);
            if next_read.is_due(hands.taken(), Instant::now) || hands.wants_counters() {
                // The kernel counts in 32 bits until the counters are read, and until then marks the frames after a loss.
                hands.note_counters(&capture.counters()?.since(&counted));
                next_read = NextRead::after(hands.taken(), Instant::now());
            }
            // Methods that count in the kernel deliver no frames; their tally shows new arrivals.
            let came = came || capture.tally()?.is_some_and(|tally| hands.adopt(tally));
            let is_stopped = self.stop.load(Ordering::Relaxed);
            let accounted = self.progress.accounted.sum_with(self.nth, hands.accounted());
            if is_stopped || end.is_reached(self.progress, accounted, came) {
                break is_stopped || end.is_cut_short;
            }
        };
        let Done { verifier, queue, cpu_ns, switches: others } = hands.finish(self.stop)?;
        let cpu_ns = clock::thread_cpu_ns() - cpu_start + cpu_ns;
        // Now, not in the thread that waits for this one: freeing the ring also takes time on this CPU.
        let kernel = self.probe.snapshot()?;
        let switches = ThreadTimes::read(thread::current_thread())
            .zip(switches)
            .map(|(after, before)| after.since(&before))
            .map(|own| others.map_or(own, |others| own.plus(&others)));
        let counters = capture.counters()?.since(&counted);
        let tallied = capture.tally()?.is_some();
        // Now, not at the start: some properties are known only after frames have arrived.
        let running = capture.running().clone();
        let received = Received {
            arrivals: verifier.arrivals(),
            members: Vec::new(),
            flow_sharing: None,
            streams: if tallied { Vec::new() } else { verifier.streams() },
            queue,
            counters,
            batches,
            waits: capture.waits().since(waited),
            cpu_ns,
            switches,
            drain: end.drained(),
            emptying: Some(Emptying {
                after_s: end.emptied().as_secs_f64(),
                holds_s: running.holds.as_secs_f64(),
            }),
            cut_short,
            unread: None,
            unverified_because: tallied.then(|| Unverified::CountedInKernel.to_string()),
            latency: None,
            report: None,
            filtered: running.filtered,
            notes: shortfalls(&running.shortfalls),
            capture: running.into(),
            verify_ns: 0.0,
            iteration_ns: None,
        };
        let record = verifier.into_record().filter(|_| !tallied);
        Ok(Outcome { received, kernel, record, times: None })
    }
}

/// What of a capture is not as the user asked.
fn shortfalls(words: &[String]) -> Vec<Noise> {
    words.iter().map(|words| Noise::Shortfall { words: words.clone() }).collect()
}

/// Destination of a trial's frames behind the thread that reads them.
trait FrameSink: Taker {
    /// The batch is over; the next one may take a while to arrive.
    fn end_batch(&mut self) {}

    /// Frames read so far.
    fn taken(&self) -> u64;

    /// Whether the method's counters must be read now.
    fn wants_counters(&self) -> bool;

    /// Records the method's counters.
    fn note_counters(&mut self, counters: &Counters);

    /// Adopts the count of a method that counts in the kernel. Returns whether it grew.
    fn adopt(&mut self, tally: Tally) -> bool;

    /// Frames of the trial that are known to have arrived, in any state.
    fn accounted(&self) -> u64;

    /// No more frames will arrive. Completes the work on those that did; `stop` ends it early.
    fn finish(self, stop: &AtomicBool) -> Result<Done>;
}

/// Results of processing a trial's frames.
struct Done {
    verifier: Verifier,
    queue: Option<QueueAccount>,
    /// CPU time of threads other than the one that reads the frames.
    cpu_ns: u64,
    /// Context switches of those threads.
    switches: Option<ThreadTimes>,
}

/// The thread that reads the frames also does the work. Compiled once with and once without a timekeeper, so that timestamps cost
/// nothing in a trial that does not need them.
struct Direct<T> {
    verifier: Verifier,
    work: Work,
    timekeeper: T,
}

impl<T: Timekeeper> Taker for Direct<T> {
    #[inline]
    fn begin(&mut self, mark: LossMark, queue: Option<u32>) {
        self.timekeeper.begin_batch();
        self.verifier.begin(mark, queue);
    }

    #[inline]
    fn take(&mut self, frame: &Frame<'_>) {
        self.verifier.note_timed(frame, &mut self.timekeeper);
        self.work.apply(frame.data);
    }
}

impl<T: Timekeeper> FrameSink for Direct<T> {
    /// Methods without batches never report the begin of one.
    fn end_batch(&mut self) {
        self.timekeeper.begin_batch();
    }

    #[inline]
    fn taken(&self) -> u64 {
        self.verifier.arrivals().read
    }

    fn wants_counters(&self) -> bool {
        self.verifier.wants_counters()
    }

    fn note_counters(&mut self, counters: &Counters) {
        self.verifier.note_counters(counters);
    }

    fn adopt(&mut self, tally: Tally) -> bool {
        self.verifier.adopt(tally)
    }

    fn accounted(&self) -> u64 {
        self.verifier.accounted()
    }

    fn finish(self, _: &AtomicBool) -> Result<Done> {
        Ok(Done { verifier: self.verifier, queue: None, cpu_ns: 0, switches: None })
    }
}

/// Decides when a trial is over: at once when every frame is accounted for, else when no frame arrived for a while.
struct End {
    quiet: Duration,
    finished: Option<Instant>,
    last: Instant,
    /// Whether the longest drain ended it.
    is_cut_short: bool,
}

impl End {
    fn new(quiet: Duration) -> Self {
        Self { quiet, finished: None, last: Instant::now(), is_cut_short: false }
    }

    /// Reads the clock only after the sender has finished: once per batch, never once per frame.
    fn is_reached(&mut self, progress: &Progress, accounted: u64, came: bool) -> bool {
        let Some(sent) = progress.sent() else { return false };
        let now = Instant::now();
        let finished = *self.finished.get_or_insert(now);
        if came || self.last < finished {
            self.last = now;
        }
        let is_complete = accounted >= sent;
        if is_complete {
            // Behind a queue the last frames are finished when none has arrived for a while.
            self.last = now;
        }
        let is_over = is_complete || now - self.last >= self.quiet;
        let due = Duration::from_nanos(progress.due_ns.load(Ordering::Relaxed));
        self.is_cut_short = !is_over && now - finished >= due.saturating_add(LONGEST_DRAIN);
        is_over || self.is_cut_short
    }

    fn drained(&self) -> Duration {
        self.finished.map_or(Duration::ZERO, |finished| finished.elapsed())
    }

    /// Time until the last frame arrived.
    fn emptied(&self) -> Duration {
        self.finished.map_or(Duration::ZERO, |finished| self.last.saturating_duration_since(finished))
    }
}

#[cfg(test)]
mod tests {
    use super::{End, Instant, LONGEST_DRAIN, NextRead, Progress};
    use std::time::Duration;

    #[test]
    fn the_longest_drain_begins_when_no_frame_is_due_any_more() {
        let begun = Instant::now().checked_sub(LONGEST_DRAIN).expect("the host runs for longer");
        for (due, expected) in [(Duration::ZERO, true), (Duration::from_secs(600), false)] {
            let (progress, mut end) = (Progress::default(), End::new(Duration::from_secs(1)));
            end.finished = Some(begun);
            progress.finish(100, due.as_nanos() as u64);
            assert_eq!(end.is_reached(&progress, 50, true), expected, "{due:?}");
            assert!(end.is_cut_short == expected);
            // It ends all the same when no frame comes.
            end.last = begun;
            assert!(end.is_reached(&progress, 50, false));
        }
    }

    /// At 100 million packets/s, of which the application reads one each second, a counter of 32 bits passes its end in
    /// 43 s, and half of it in 21 s.
    #[test]
    fn counters_of_32_bits_are_read_before_they_can_pass_their_half() {
        let begun = Instant::now();
        let (mut next, mut last, mut largest) = (NextRead::after(0, begun), begun, Duration::ZERO);
        // Turns of 10 ms, as when nothing comes or what comes is worked on.
        for turn in 0..30_000u32 {
            let now = begun + Duration::from_millis(10) * turn;
            if next.is_due(u64::from(turn) / 100, || now) {
                largest = largest.max(now - last);
                (next, last) = (NextRead::after(u64::from(turn) / 100, now), now);
            }
        }
        assert!(last > begun && largest.as_secs_f64() * 100e6 < f64::from(u32::MAX / 2), "{largest:?}");
    }

    #[test]
    fn many_frames_are_a_reason_without_a_look_at_the_clock() {
        let begun = Instant::now();
        let mut next = NextRead::after(7, begun);
        assert!(!next.is_due(NextRead::FRAMES + 6, || unreachable!("not in the first turns")));
        assert!(next.is_due(NextRead::FRAMES + 7, || unreachable!("not in the first turns")));
    }
}
