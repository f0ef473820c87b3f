//! The application of a trial: takes every frame, verifies it, does its work, and knows when to stop.

mod queue;
mod verifier;

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use capbench_capture::{Capture, Counters, Frame, LossMark, Taker, Tally, Visitor, WaitCounts};
use capbench_frames::classify::Classifier;
use capbench_frames::plan::FlowOrder;
use capbench_sys::host::{clock, thread};

use crate::error::{MeasureError, Result};
use crate::evidence::QueueAccount;
use crate::latency::{Latency, LatencyRecorder, Recording, Timekeeper};
use crate::loss_shape::LossRecord;
use crate::trial::{Emptying, ProgramReport, TICK};
use crate::work::Work;
use capbench_host::accounts::kernel_work::{KernelWorkProbe, KernelWorkSnapshot};
use capbench_host::accounts::threads::ThreadTimes;
use capbench_model::arrivals::Arrivals;
use queue::Queue;
pub use queue::QueueSize;
pub use verifier::{Verifier, verification_cost};

/// A drain that still makes progress after this time is ended all the same; what is left is booked as unread.
const LONGEST_DRAIN: Duration = Duration::from_secs(60);

/// When the method's counters are read in between: those of packet sockets and of libpcap have 32 bits, and libpcap's must not
/// grow by half of that between two readings, or they look as if they went backwards.
struct NextRead {
    /// So many frames were read from the ring.
    taken: u64,
    turns: u32,
    at: Instant,
}

impl NextRead {
    /// A ring that loses 99 % of its frames has counted 1.7 billion by then.
    const FRAMES: u64 = 1 << 24;
    /// No network card of today receives 200 million packets/s. An application that reads hardly any frame loses the rest.
    const TIME: Duration = Duration::from_secs(10);
    /// Turns of the loop between two looks at the clock.
    const TURNS: u32 = 64;

    fn after(taken: u64, now: Instant) -> Self {
        Self { taken: taken + Self::FRAMES, turns: 0, at: now + Self::TIME }
    }

    /// Whether they are to be read now; asked once in each turn.
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

/// What sender and receiver of a trial tell each other.
#[derive(Debug, Default)]
pub struct Progress {
    /// When the schedule begins; set once, before the first frame is sent.
    pub start: OnceLock<Instant>,
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
    /// What the application's queue did; absent where it has none.
    pub queue: Option<QueueAccount>,
    /// Counters of the method, read once, after the last frame.
    pub counters: Counters,
    /// Batches that the method gave.
    pub batches: u64,
    /// How often it waited.
    pub waits: WaitCounts,
    /// CPU time that the scheduler charged to the application's threads.
    pub cpu_ns: u64,
    /// The kernel's account when the last frame had been read.
    pub kernel: KernelWorkSnapshot,
    /// Context switches of the application's threads.
    pub switches: Option<ThreadTimes>,
    /// From the end of sending to the last look for frames.
    pub drain: Duration,
    /// How long frames went on coming after it; absent where nobody sees when the last one is taken.
    pub emptying: Option<Emptying>,
    /// Whether it ended while frames may still have waited: the user stopped it, or the longest drain was over.
    pub cut_short: bool,
    /// What does the work, found out: a library with its version, the mode of XDP, a program with its version.
    pub engine: String,
    /// Sizes as they were granted, and where times come from.
    pub running: String,
    /// Why its frames were not verified one by one; absent where they were.
    pub unverified_because: Option<String>,
    /// Which of its frames came, and what the method said of the others; absent where frames were not looked at.
    pub record: Option<LossRecord>,
    /// How long frames took; absent where it was not recorded.
    pub latency: Option<Latency>,
    /// What the program under test said that it counted; absent for methods of capbench.
    pub report: Option<ProgramReport>,
    /// Whether a socket filter could drop frames.
    pub filtered: bool,
    /// What is to be known about the trial's numbers, for example what the method got less of than was asked for.
    pub notes: Vec<String>,
}

/// The application's result, and what its verification costs per frame.
#[derive(Debug)]
pub struct Outcome {
    /// What it did.
    pub received: Received,
    /// What verifying a frame costs, in nanoseconds; 0 where none was verified while it ran.
    pub verify_ns: f64,
    /// What an iteration of its wait loop takes on its CPU, in nanoseconds; absent where its work is another.
    pub iteration_ns: Option<f64>,
}

/// A trial to receive.
#[derive(Debug)]
pub struct Order {
    /// Knows the trial's frames.
    pub recogniser: Classifier,
    /// News from the sender.
    pub progress: Arc<Progress>,
    /// Told once the method can receive.
    pub ready: SyncSender<()>,
}

/// Runs the application on whichever method it is given: trials one after the other on one open capture.
#[derive(Debug)]
pub struct Application<'a> {
    /// The order of flows.
    pub flows: FlowOrder,
    /// Work per frame.
    pub work: Work,
    /// The queue in front of the work, where a thread of its own does it.
    pub queue: Option<QueueSize>,
    /// What verifying a frame costs here, in nanoseconds.
    pub verify_ns: f64,
    /// The trials. It ends when there will be no more.
    pub orders: Receiver<Order>,
    /// Whether there can be more than one.
    pub is_held: bool,
    /// Where it says how each came out.
    pub done: &'a SyncSender<Outcome>,
    /// The user wants to stop.
    pub stop: &'a AtomicBool,
    /// Reads the kernel's account.
    pub probe: KernelWorkProbe,
    /// How long nothing may come before a trial that still misses frames is over.
    pub quiet: Duration,
    /// Whether and how the latency of frames is recorded.
    pub latency: Option<Recording>,
}

impl Visitor for Application<'_> {
    type Output = Result<()>;

    fn visit<C: Capture>(self, mut capture: C) -> Result<()> {
        if self.is_held && capture.tally()?.is_some() {
            return Err(MeasureError::Unsupported {
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
            };
            let verifier = Verifier::recording(recogniser, self.flows, capture.running().vlan_metadata);
            let received = self.received(&mut capture, reception, verifier)?;
            // Whoever asked may have given up.
            let iteration_ns = self.work.iteration_ns();
            let _ = self.done.send(Outcome { received, verify_ns: self.verify_ns, iteration_ns });
        }
        Ok(())
    }
}

impl Application<'_> {
    /// One trial, in whatever hands its work and its latency need.
    fn received<C: Capture>(
        &self,
        capture: &mut C,
        reception: Reception<'_>,
        verifier: Verifier,
    ) -> Result<Received> {
        let (work, queue) = (self.work.clone(), self.queue);
        let Some(recording) = self.latency else {
            return match queue {
                None => reception.run(capture, Direct { verifier, work, timekeeper: () }),
                Some(size) => reception.run(capture, Queue::start(size, verifier, work)?),
            };
        };
        let source = capture.running().time_source;
        let mut recorder = LatencyRecorder::new(recording, &reception.progress.start, source);
        let received = match queue {
            None => reception.run(capture, Direct { verifier, work, timekeeper: &mut recorder })?,
            Some(size) => reception.run(capture, Queue::start(size, verifier, work)?)?,
        };
        let latency = match (&received.unverified_because, queue) {
            (Some(reason), _) => Latency::unknown(recording, reason),
            (None, Some(_)) => Latency::unknown(
                recording,
                "frames go through a work queue, and when its other end gets them is not recorded",
            ),
            (None, None) => recorder.latency(),
        };
        Ok(Received { latency: Some(latency), ..received })
    }
}

/// What an application has to do with beside frames.
struct Reception<'a> {
    progress: &'a Progress,
    stop: &'a AtomicBool,
    ready: SyncSender<()>,
    probe: &'a KernelWorkProbe,
    quiet: Duration,
}

impl Reception<'_> {
    /// Takes frames until the trial is over.
    fn run<C: Capture, H: FrameSink>(self, capture: &mut C, mut hands: H) -> Result<Received> {
        let mut end = End::new(self.quiet);
        let mut batches = 0;
        let mut next_read = NextRead::after(0, Instant::now());
        // What it counted in earlier trials is not of this one.
        let (counted, waited) = (capture.counters()?, capture.waits());
        let switches = ThreadTimes::read(thread::current_thread());
        let cpu_start = clock::thread_cpu_ns();
        // A receiver that is gone has been given up by the trial; the loop below then ends at once by `stop`.
        let _ = self.ready.send(());
        let cut_short = loop {
            let came = capture.take_with(TICK, &mut hands)?;
            hands.end_batch();
            batches += u64::from(came);
            if next_read.is_due(hands.taken(), Instant::now) || hands.wants_counters() {
                // The kernel counts in 32 bits until it is asked, and marks what comes after a loss until then.
                hands.note_counters(&capture.counters()?.since(&counted));
                next_read = NextRead::after(hands.taken(), Instant::now());
            }
            // Methods that count in the kernel hand nothing over; whether something came shows in their tally.
            let came = came || capture.tally()?.is_some_and(|tally| hands.adopt(tally));
            let is_stopped = self.stop.load(Ordering::Relaxed);
            if is_stopped || end.is_reached(self.progress, hands.accounted(), came) {
                break is_stopped || end.is_cut_short;
            }
        };
        let Done { verifier, queue, cpu_ns, switches: others } = hands.finish(self.stop)?;
        let cpu_ns = clock::thread_cpu_ns() - cpu_start + cpu_ns;
        // Now rather than by whoever waits for this thread: freeing the ring takes time on this CPU, too.
        let kernel = self.probe.snapshot()?;
        let switches = ThreadTimes::read(thread::current_thread())
            .zip(switches)
            .map(|(after, before)| after.since(&before))
            .map(|own| others.map_or(own, |others| own.plus(&others)));
        let counters = capture.counters()?.since(&counted);
        let tallied = capture.tally()?.is_some();
        // Now rather than at the start: some things show only when frames have come.
        let running = capture.running().clone();
        Ok(Received {
            arrivals: verifier.arrivals(),
            queue,
            record: verifier.into_record().filter(|_| !tallied),
            counters,
            batches,
            waits: capture.waits().since(waited),
            cpu_ns,
            kernel,
            switches,
            drain: end.drained(),
            emptying: Some(Emptying {
                after_s: end.emptied().as_secs_f64(),
                holds_s: running.holds.as_secs_f64(),
            }),
            cut_short,
            running: format!("{}; time: {}", running.geometry, running.time_source),
            engine: running.engine,
            unverified_because: tallied
                .then(|| "its frames were counted in the kernel, their contents not verified".into()),
            latency: None,
            report: None,
            filtered: running.filtered,
            notes: running.shortfall.into_iter().collect(),
        })
    }
}

/// Where the frames of a trial go from the thread that takes them.
trait FrameSink: Taker {
    /// The batch is over; the next one may take its time to come.
    fn end_batch(&mut self) {}

    /// Frames taken so far.
    fn taken(&self) -> u64;

    /// Whether the method's counters are to be read now.
    fn wants_counters(&self) -> bool;

    /// Notes what the method's counters say.
    fn note_counters(&mut self, counters: &Counters);

    /// Takes over what a method counted in the kernel; whether that is more than before.
    fn adopt(&mut self, tally: Tally) -> bool;

    /// Frames of the trial that are known to have come, whatever their state.
    fn accounted(&self) -> u64;

    /// No more frames will come. Ends all work on those that did; `stop` ends it early.
    fn finish(self, stop: &AtomicBool) -> Result<Done>;
}

/// What was done with the frames of a trial.
struct Done {
    verifier: Verifier,
    queue: Option<QueueAccount>,
    /// CPU time of other threads than the one that takes the frames.
    cpu_ns: u64,
    /// What those threads did.
    switches: Option<ThreadTimes>,
}

/// The thread that takes the frames does the work, too. Compiled once with, and once without a timekeeper, so that times
/// cost nothing in a trial that does not ask for them.
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
    /// Methods without batches never say that one begins.
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

/// Decides when a trial is over: at once when every frame is accounted for, else when nothing came for a while.
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
        let is_complete = accounted >= progress.sent.load(Ordering::Relaxed);
        if is_complete {
            // Behind a queue the last frames are done with when none has come for a while.
            self.last = now;
        }
        let is_over = is_complete || now - self.last >= self.quiet;
        self.is_cut_short = !is_over && now - finished >= LONGEST_DRAIN;
        is_over || self.is_cut_short
    }

    fn drained(&self) -> Duration {
        self.finished.map_or(Duration::ZERO, |finished| finished.elapsed())
    }

    /// Until the last frame came.
    fn emptied(&self) -> Duration {
        self.finished.map_or(Duration::ZERO, |finished| self.last.saturating_duration_since(finished))
    }
}

#[cfg(test)]
mod tests {
    use super::{Instant, NextRead};
    use std::time::Duration;

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
