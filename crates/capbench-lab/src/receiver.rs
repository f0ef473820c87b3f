//! The application of a trial: reads every frame, verifies it, and does the work per frame.
//!
//! | file | what |
//! |---|---|
//! | `ending` | when the trial ends |
//! | `next_read` | when the method's counters are read |
//! | `queue` | the work in a second thread |
//! | `members` | several threads that share the frames |
//! | `verifier` | verifies each frame |
//! | `system_call` | the least time of a system call |
//! | `received` | the results |

mod ending;
#[cfg(test)]
mod mark_tests;
mod members;
mod next_read;
mod queue;
mod received;
#[cfg(test)]
mod stream_tests;
mod system_call;
mod verifier;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use capbench_capture::{Capture, Frame, Taker, Visitor};
use capbench_frames::classify::Classifier;
use capbench_host::accounts::kernel_work::KernelWorkProbe;
use capbench_host::accounts::softnet::SoftnetSnapshot;
use capbench_host::accounts::threads::ThreadTimes;
use capbench_model::counters::{Counters, LossMark};
use capbench_model::evidence::QueueAccount;
use capbench_model::latency::{Latency, Recording};
use capbench_model::mark::Tally;
use capbench_model::noise::Noise;
use capbench_model::reasons::{NoDelays, Unverified};
use capbench_model::trial::{Emptying, TICK};
use capbench_sys::host::{clock, thread};

use crate::latency::{LatencyRecorder, Timekeeper};
use crate::work::Work;
use crate::{LabError, Result};
use ending::{CountedLosses, End};
pub use ending::{Progress, SharedStart};
pub use members::{Accounted, together};
use next_read::NextRead;
use queue::Queue;
pub use queue::QueueSize;
pub use received::{Outcome, Received};
pub use system_call::least_call_ns;
pub use verifier::{StreamSet, Streams, Verifier, verification_cost};

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
    /// Least time of a system call on this CPU in nanoseconds, if the method makes one for each batch.
    pub call_ns: Option<f64>,
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
    /// Whether a trial ends as soon as counters say where all missing frames were lost. The counters of one of several members do not.
    pub ends_when_counted: bool,
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
                ends_when_counted: self.ends_when_counted && self.member.is_none(),
            };
            let has_tags = capture.running().vlan_metadata;
            let verifier = match self.member {
                None => Verifier::recording(recogniser, self.streams, has_tags),
                Some(member) => Verifier::of_member(recogniser, self.streams, has_tags, member.frames),
            };
            let mut outcome = self.outcome(&mut capture, reception, verifier)?;
            outcome.received.verify_ns = self.verify_ns;
            outcome.received.call_ns = self.call_ns;
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
    /// Whether the trial ends as soon as counters say where all missing frames were lost.
    ends_when_counted: bool,
}

impl Reception<'_> {
    /// Reads frames until the trial is over.
    fn run<C: Capture, H: FrameSink>(self, capture: &mut C, mut hands: H) -> Result<Outcome> {
        let mut end = End::new(self.quiet);
        let mut batches = 0;
        let mut next_read = NextRead::after(0, Instant::now());
        // Counts of earlier trials do not belong to this one.
        let (counted, waited) = (capture.counters()?, capture.waits());
        let backlog = if self.ends_when_counted { Some(SoftnetSnapshot::read()?) } else { None };
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
            if let Some(backlog) = &backlog
                && let Some(missing) = end.missing(self.progress, accounted, came)
                && self.losses(capture, &counted, backlog)?.is_some_and(|losses| losses.are_all_of(missing))
            {
                break false;
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
            call_ns: None,
            iteration_ns: None,
        };
        let record = verifier.into_record().filter(|_| !tallied);
        Ok(Outcome { received, kernel, record, times: None })
    }
}

impl Reception<'_> {
    /// The losses since the trial began, by these counts of the method and of the backlog. `None` if the method does not know its own.
    fn losses<C: Capture>(
        &self,
        capture: &mut C,
        counted: &Counters,
        backlog: &SoftnetSnapshot,
    ) -> Result<Option<CountedLosses>> {
        let Some(by_method) = capture.counters()?.since(counted).dropped() else { return Ok(None) };
        let now = SoftnetSnapshot::read()?;
        let in_backlog = now.since(backlog).iter().map(|cpu| cpu.dropped).sum();
        Ok(Some(CountedLosses { by_method, in_backlog, when_sent: self.progress.dropped() }))
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
