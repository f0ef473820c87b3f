//! A queue between the thread that reads frames and the thread that works on them, as in applications that decode or analyse in
//! separate threads.
//!
//! The reading thread copies each frame into a buffer that was allocated before the trial, and passes the buffer on. The other
//! thread verifies the frame, does the work and returns the buffer. Both directions are lock-free queues of one producer and one
//! consumer. If no buffer is free, the queue is full: the frame is refused and counted.
//!
//! Frames are verified behind the queue, each once: a refused frame was not delivered to the application, and damage or loss in
//! the queue itself shows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use capbench_capture::{Frame, PacketType, Taker, VlanTag};
use capbench_model::counters::Counters;
use capbench_model::mark::Tally;
use capbench_sys::host::{clock, thread as host_thread};
use rtrb::{Consumer, Producer, RingBuffer};

use super::ending::LONGEST_DRAIN;
use super::{Done, FrameSink, Verifier};
use crate::work::Work;
use crate::{LabError, Result};
use capbench_host::accounts::threads::ThreadTimes;
use capbench_model::evidence::QueueAccount;
use capbench_model::work::QueueLength;

/// Longest sleep of the worker before it looks at the queue again.
const NAP: Duration = Duration::from_millis(10);

/// The memory of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSize {
    length: QueueLength,
    frame_octets: usize,
}

impl QueueSize {
    /// Room for `length` frames of up to `frame_octets` octets; longer frames would be truncated.
    ///
    /// # Errors
    /// When the host has too little memory.
    pub fn new(length: QueueLength, frame_octets: usize) -> Result<Self> {
        let needed = u64::from(length.frames()) * frame_octets as u64;
        if let Ok(available) = capbench_sys::host::memory::available()
            && needed > available.bytes / 10 * 9
        {
            return Err(LabError::Unsupported {
                what: format!("a work queue of {length} frames"),
                reason: format!(
                    "with {frame_octets} octets for each it takes {needed} octets, and available are {available}; a \
                     shorter queue (--work ...+queue=N) or a smaller --snaplen takes less"
                ),
            });
        }
        Ok(Self { length, frame_octets })
    }
}

/// A frame in the queue: its octets and its properties.
#[derive(Debug)]
struct Slot {
    octets: Box<[u8]>,
    captured: usize,
    wire_length: u32,
    time_ns: u64,
    vlan: Option<VlanTag>,
    packet_type: PacketType,
    hash: Option<u32>,
    status: u32,
}

impl Slot {
    /// Written once, so that the kernel maps its pages before the trial.
    fn new(octets: usize) -> Self {
        Self {
            octets: vec![0xff; octets].into(),
            captured: 0,
            wire_length: 0,
            time_ns: 0,
            vlan: None,
            packet_type: PacketType::Unknown,
            hash: None,
            status: 0,
        }
    }

    #[inline]
    fn fill(&mut self, frame: &Frame<'_>) {
        let Frame { data, wire_length, time_ns, vlan, packet_type, hash, status } = *frame;
        let captured = data.len().min(self.octets.len());
        self.octets[..captured].copy_from_slice(&data[..captured]);
        self.captured = captured;
        (self.wire_length, self.time_ns, self.vlan) = (wire_length, time_ns, vlan);
        (self.packet_type, self.hash, self.status) = (packet_type, hash, status);
    }

    #[inline]
    fn frame(&self) -> Frame<'_> {
        Frame {
            data: &self.octets[..self.captured],
            wire_length: self.wire_length,
            time_ns: self.time_ns,
            vlan: self.vlan,
            packet_type: self.packet_type,
            hash: self.hash,
            status: self.status,
        }
    }
}

/// State shared by both threads.
#[derive(Debug, Default)]
struct Shared {
    /// Whether the worker found the queue empty and sleeps, or is about to sleep.
    sleeps: AtomicBool,
    /// Frames of the trial that the worker had verified when it last found the queue empty.
    accounted: AtomicU64,
    /// No more frames will arrive.
    closed: AtomicBool,
    /// The worker must leave the remaining frames in the queue.
    stopped: AtomicBool,
}

/// The receiving thread's end.
#[derive(Debug)]
pub(super) struct Queue {
    size: QueueSize,
    free: Consumer<Slot>,
    filled: Producer<Slot>,
    shared: Arc<Shared>,
    worker: JoinHandle<Worked>,
    handed: u64,
    refused: u64,
    tally: Tally,
}

/// Result of the worker's thread.
#[derive(Debug)]
struct Worked {
    verifier: Verifier,
    left: u64,
    cpu_ns: u64,
    switches: Option<ThreadTimes>,
}

impl Queue {
    /// Starts the worker, on the CPU of the calling thread: threads inherit their affinity.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(super) fn start(size: QueueSize, verifier: Verifier, work: Work) -> Result<Self> {
        let length = size.length.frames() as usize;
        let (mut give, free) = RingBuffer::new(length);
        for _ in 0..length {
            give.push(Slot::new(size.frame_octets)).expect("it holds all slots");
        }
        let (filled, take) = RingBuffer::new(length);
        let shared = Arc::new(Shared::default());
        let worker = Worker { verifier, work, take, give, shared: Arc::clone(&shared) };
        let started = thread::Builder::new().name("capbench-work".into()).spawn(move || worker.run());
        let worker = started.map_err(|error| LabError::Unsupported {
            what: "a work queue".into(),
            reason: format!("the system starts no thread for it: {error}"),
        })?;
        let tally = Tally::default();
        Ok(Self { size, free, filled, shared, worker, handed: 0, refused: 0, tally })
    }

    fn wake(&self) {
        if self.shared.sleeps.swap(false, Ordering::Relaxed) {
            self.thread().unpark();
        }
    }

    fn thread(&self) -> &Thread {
        self.worker.thread()
    }
}

impl Taker for Queue {
    #[inline]
    fn take(&mut self, frame: &Frame<'_>) {
        match self.free.pop() {
            Ok(mut slot) => {
                slot.fill(frame);
                // There are as many places as slots.
                let _ = self.filled.push(slot);
                self.handed += 1;
                // Without a fence, and so now and then too early to be seen: the end of the batch looks again.
                if self.shared.sleeps.load(Ordering::Relaxed) {
                    self.wake();
                }
            }
            Err(_) => self.refused += 1,
        }
    }
}

impl FrameSink for Queue {
    fn end_batch(&mut self) {
        // Pairs with the fence of the worker: either it sees the frames, or this sees that it sleeps.
        fence(Ordering::SeqCst);
        let is_empty = self.filled.slots() == self.size.length.frames() as usize;
        if self.shared.sleeps.load(Ordering::Relaxed) && !is_empty {
            self.wake();
        }
    }

    #[inline]
    fn taken(&self) -> u64 {
        self.handed + self.refused
    }

    /// Loss marks do not pass the queue, so no counter read is needed for them.
    fn wants_counters(&self) -> bool {
        false
    }

    fn note_counters(&mut self, _: &Counters) {}

    fn adopt(&mut self, tally: Tally) -> bool {
        let frames = |tally: &Tally| tally.marked + tally.duplicates.unwrap_or(0) + tally.other;
        let is_more = frames(&tally) > frames(&self.tally);
        self.tally = tally;
        is_more
    }

    /// Refused frames may belong to any trial. If there are some, the trial ends by its quiet time, as with any loss.
    fn accounted(&self) -> u64 {
        self.shared.accounted.load(Ordering::Relaxed) + self.tally.marked
    }

    fn finish(self, stop: &AtomicBool) -> Result<Done> {
        let Self { size, free, filled, shared, worker, handed: _, refused, tally } = self;
        // Release: pairs with the worker's Acquire; every frame was handed over before.
        shared.closed.store(true, Ordering::Release);
        let begun = Instant::now();
        while !worker.is_finished() {
            if stop.load(Ordering::Relaxed) || begun.elapsed() >= LONGEST_DRAIN {
                shared.stopped.store(true, Ordering::Relaxed);
            }
            worker.thread().unpark();
            thread::park_timeout(NAP);
        }
        drop((free, filled));
        let Worked { mut verifier, left, cpu_ns, switches } =
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        if tally != Tally::default() {
            verifier.adopt(tally);
        }
        verifier.note_unverified(refused + left);
        Ok(Done {
            verifier,
            queue: Some(QueueAccount { length: size.length, refused, left }),
            cpu_ns,
            switches,
        })
    }
}

/// The thread behind the queue.
#[derive(Debug)]
struct Worker {
    verifier: Verifier,
    work: Work,
    take: Consumer<Slot>,
    give: Producer<Slot>,
    shared: Arc<Shared>,
}

impl Worker {
    fn run(mut self) -> Worked {
        let switches = ThreadTimes::read(host_thread::current_thread());
        let cpu_start = clock::thread_cpu_ns();
        while !self.shared.stopped.load(Ordering::Relaxed) {
            // Acquire: pairs with the Release store of `finish`. Read before the queue: what was handed over is then seen.
            let closed = self.shared.closed.load(Ordering::Acquire);
            match self.take.pop() {
                Ok(slot) => {
                    let frame = slot.frame();
                    self.verifier.note(&frame);
                    self.work.apply(frame.data);
                    // There are as many places as slots.
                    let _ = self.give.push(slot);
                }
                Err(_) if closed => break,
                Err(_) => self.sleep(),
            }
        }
        Worked {
            left: self.take.slots() as u64,
            verifier: self.verifier,
            cpu_ns: clock::thread_cpu_ns() - cpu_start,
            switches: ThreadTimes::read(host_thread::current_thread())
                .zip(switches)
                .map(|(after, before)| after.since(&before)),
        }
    }

    /// Publishes the progress, and sleeps unless there are frames again.
    fn sleep(&self) {
        let Shared { sleeps, accounted, .. } = &*self.shared;
        accounted.store(self.verifier.accounted(), Ordering::Relaxed);
        sleeps.store(true, Ordering::Relaxed);
        // Pairs with the fence of `end_batch`.
        fence(Ordering::SeqCst);
        if self.take.is_empty() {
            thread::park_timeout(NAP);
        }
        sleeps.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use capbench_frames::classify::Classifier;
    use capbench_frames::layout::FrameLayout;
    use capbench_frames::plan::FlowOrder;
    use capbench_frames::stamp::TrialId;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::receiver::Streams;
    use crate::work::LoopSpeed;
    use capbench_model::work::WorkModel;

    fn queue(length: &str, model: WorkModel) -> Queue {
        let recogniser = Classifier::new(TrialId(1), &FrameLayout::default(), None).unwrap();
        let verifier = Verifier::recording(recogniser, Streams::one(FlowOrder::default()), true);
        let size = QueueSize::new(length.parse().unwrap(), 64).unwrap();
        Queue::start(size, verifier, Work::new(model, LoopSpeed { iterations_per_ns: 1.0 })).unwrap()
    }

    fn offer(queue: &mut Queue, frames: usize) {
        let data = [7; 100];
        let frame = Frame {
            data: &data,
            wire_length: 100,
            time_ns: 0,
            vlan: None,
            packet_type: PacketType::Unknown,
            hash: None,
            status: 0,
        };
        (0..frames).for_each(|_| queue.take(&frame));
        queue.end_batch();
    }

    #[test]
    fn every_frame_is_worked_on_or_refused() {
        let mut queue = queue("4", WorkModel::Nanoseconds(50_000));
        for _ in 0..100 {
            offer(&mut queue, 10);
        }
        assert_eq!(queue.taken(), 1000);
        let done = queue.finish(&AtomicBool::new(false)).unwrap();
        let account = done.queue.unwrap();
        assert!(account.refused > 0 && account.left == 0, "{account:?}");
        // Frames of nobody, but each of them read.
        let arrivals = done.verifier.arrivals();
        assert_eq!((arrivals.read, arrivals.foreign), (1000, 1000 - account.refused));
        assert!(done.cpu_ns >= (1000 - account.refused) * 1000);
    }

    #[test]
    fn a_queue_that_is_drained_in_time_refuses_nothing() {
        let mut queue = queue("1000", WorkModel::Touch);
        offer(&mut queue, 1000);
        let done = queue.finish(&AtomicBool::new(false)).unwrap();
        assert_eq!((done.queue.unwrap().refused, done.verifier.arrivals().foreign), (0, 1000));
    }

    #[test]
    fn a_trial_that_is_stopped_leaves_what_is_in_the_queue_and_says_so() {
        let mut queue = queue("1000", WorkModel::Nanoseconds(20_000_000));
        offer(&mut queue, 1000);
        let begun = Instant::now();
        let done = queue.finish(&AtomicBool::new(true)).unwrap();
        let account = done.queue.unwrap();
        assert!(account.left > 0 && begun.elapsed() < Duration::from_secs(15), "{account:?}");
        let arrivals = done.verifier.arrivals();
        assert_eq!((arrivals.read, arrivals.foreign + account.left), (1000, 1000));
    }

    #[test]
    fn a_queue_larger_than_memory_is_refused() {
        let most = QueueLength::MOST.to_string().parse().unwrap();
        let text = QueueSize::new(most, 1 << 40).unwrap_err().to_string();
        assert!(text.contains("1048576 frames") && text.contains("--snaplen"), "{text}");
    }
}
