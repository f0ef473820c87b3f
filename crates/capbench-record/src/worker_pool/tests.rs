//! Rings for which the test plays the kernel: workers read nothing that the kernel owns, and every frame is accounted for.

use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use capbench_capture::capture::{Batch, OwnedBatch};
use capbench_sys::packet::stand_in::BlockKernel;
use capbench_sys::packet::{BlockGeometry, BlockRing};
use proptest::prelude::*;

use super::*;

/// Maximum time for something that happens at once on an idle host.
const PATIENCE: Duration = Duration::from_secs(30);

struct Ring(BlockKernel, BlockRing);

impl Ring {
    fn new(blocks: u32) -> Self {
        let (kernel, ring) = BlockKernel::with_ring(BlockGeometry::new(4096, blocks, 10).unwrap()).unwrap();
        Self(kernel, ring)
    }

    /// The next block, with `frames` frames that contain this number; `None` while the workers have it.
    fn block(&mut self, number: u32, frames: usize) -> Option<OwnedBatch> {
        let octets = number.to_be_bytes().repeat(16);
        self.0.fill(&vec![&octets[..]; frames])?;
        loop {
            // A worker that drops a block gives it to the kernel before the ring may take it again.
            let Some(block) = self.1.take() else {
                thread::yield_now();
                continue;
            };
            return Some(OwnedBatch::Block(block));
        }
    }

    /// Whether the workers have returned all blocks of the ring.
    fn is_empty(&mut self, blocks: u32) -> bool {
        (0..2 * blocks).all(|number| self.block(number, 1).is_some())
    }
}

/// The number that all frames of a batch contain.
fn number_of(batch: &OwnedBatch) -> u32 {
    let mut numbers = batch.frames().map(|frame| {
        let (numbers, rest) = frame.data.as_chunks::<4>();
        assert!(rest.is_empty() && numbers.len() == 16 && numbers.iter().all(|number| *number == numbers[0]));
        u32::from_be_bytes(numbers[0])
    });
    let first = numbers.next().unwrap();
    assert!(numbers.all(|number| number == first));
    first
}

/// A pool whose workers call `work` with their number and each job, and what its sink gets.
fn start(
    plan: Plan,
    work: impl Fn(usize, &Job<OwnedBatch>) + Send + Sync + 'static,
) -> (WorkerPool<OwnedBatch>, Receiver<u32>) {
    let (results, done) = mpsc::channel();
    let work = Arc::new(work);
    let make = move |worker| {
        let work = Arc::clone(&work);
        move |job: Job<OwnedBatch>| {
            work(worker, &job);
            number_of(&job.batch)
        }
    };
    let pool = WorkerPool::start(plan, make, move |number| results.send(number).unwrap()).unwrap();
    (pool, done)
}

/// As `start`, with workers that report when they begin with a batch, and then wait for the gate if `waits` is true of them.
fn gated(
    plan: Plan,
    waits: fn(usize) -> bool,
) -> (WorkerPool<OwnedBatch>, Receiver<u32>, Receiver<usize>, mpsc::Sender<()>) {
    let (started, starts) = mpsc::channel();
    let (open, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let (pool, done) = start(plan, move |worker, _| {
        started.send(worker).unwrap();
        if waits(worker) {
            let _ = gate.lock().unwrap().recv();
        }
    });
    (pool, done, starts, open)
}

fn counts(pool: &WorkerPool<OwnedBatch>, ports: &[usize], of: fn(&WorkerCounts) -> Tally) -> Vec<(u64, u64)> {
    let counts = pool.counts_of(ports);
    counts.iter().map(of).map(|tally| (tally.batches, tally.frames)).collect()
}

#[test]
fn a_batch_is_lost_at_a_full_queue_and_counts_there() {
    let (mut pool, done, starts, open) =
        gated(Plan { queue: 2, when_full: WhenFull::Drop, ..Plan::new(2) }, |_| true);
    let mut ring = Ring::new(64);
    let mut give = |number| pool.give(0, 3, ring.block(number, 3).unwrap()).unwrap();
    (0..2).for_each(&mut give);
    // Both have a batch in work.
    assert_eq!([(); 2].map(|()| starts.recv_timeout(PATIENCE).unwrap()).iter().sum::<usize>(), 1);
    (2..11).for_each(&mut give);
    let losses = pool.losses_of(&[0]);
    assert!(losses.iter().all(|loss| loss.place == own_places::WORKERS));
    assert_eq!(losses.iter().map(|loss| loss.count).sum::<Option<u64>>(), Some(15));
    assert_eq!(losses[1].source.counter(), "worker 1: its queue of 2 batches was full");
    drop(open);
    assert!(pool.finish().is_empty());
    assert_eq!(counts(&pool, &[0], |counts| counts.worked), [(3, 9); 2]);
    assert_eq!(counts(&pool, &[0], |counts| counts.refused).iter().map(|of| of.0).sum::<u64>(), 5);
    assert_eq!(done.try_iter().collect::<Vec<_>>(), (0..6).collect::<Vec<_>>());
}

#[test]
fn batches_beyond_the_window_are_lost_for_the_worker_of_the_oldest() {
    let (mut pool, done, starts, open) =
        gated(Plan { queue: 1, when_full: WhenFull::Drop, ..Plan::new(2) }, |worker| worker == 0);
    let mut ring = Ring::new(64);
    let mut give = |port, number| pool.give(port, 3, ring.block(number, 3).unwrap()).unwrap();
    give(0, 0);
    assert_eq!(starts.recv_timeout(PATIENCE), Ok(0));
    for number in 1..4 {
        give(1, number);
        assert_eq!(starts.recv_timeout(PATIENCE), Ok(1));
        while counts(&pool, &[1], |counts| counts.worked)[1].0 < u64::from(number) {
            thread::yield_now();
        }
    }
    (4..7).for_each(|number| give(usize::from(number != 5), number));
    assert!(!pool.is_through(0) && !pool.is_through(1) && pool.is_through(2));
    for (ports, frames) in [(&[0][..], 3), (&[1], 6), (&[0, 1], 9), (&[7], 0)] {
        let lost: Vec<_> = pool.losses_of(ports).iter().map(|loss| loss.count).collect();
        assert_eq!(lost, [Some(frames), Some(0)], "{ports:?}");
    }
    let source = pool.losses_of(&[0, 1])[0].source.counter().to_string();
    assert!(source.contains("9 of them because all results waited for its oldest batch"), "{source}");
    assert!(done.try_recv().is_err(), "all wait for the first");
    open.send(()).unwrap();
    pool.wait_through(0);
    pool.wait_through(1);
    assert_eq!(done.try_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
    pool.finish();
    assert_eq!(counts(&pool, &[0, 1], |counts| counts.worked), [(1, 3), (3, 9)]);
}

#[test]
fn a_worker_that_panics_gives_its_batches_back_and_the_others_go_on() {
    let (open, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let (mut pool, done) = start(Plan { queue: 4, ..Plan::new(2) }, move |worker, job| {
        if worker == 1 {
            let _ = gate.lock().unwrap().recv();
            panic!("batch {} is not to my taste", number_of(&job.batch));
        }
    });
    let mut ring = Ring::new(7);
    let mut give = |number| pool.give(0, 2, ring.block(number, 2).expect("a free block")).unwrap();
    (0..2).for_each(&mut give);
    assert_eq!(done.recv_timeout(PATIENCE), Ok(0));
    drop(open);
    pool.wait_through(0);
    let text = pool.take_failures().remove(0).to_string();
    assert!(text.contains("worker 1") && text.contains("batch 1 is not to my taste"), "{text}");
    assert!(pool.take_failures().is_empty());
    for number in 2..24 {
        give(number);
        assert_eq!(done.recv_timeout(PATIENCE), Ok(number));
    }
    let source = pool.losses_of(&[0])[1].source.counter().to_string();
    assert!(source.contains("2 of them because it panicked"), "{source}");
    assert_eq!(pool.finish().len(), 1, "a failure that was reported before is reported again");
    assert!(ring.is_empty(7));
}

#[test]
fn after_all_workers_panicked_every_batch_is_returned_with_an_error() {
    let (mut pool, _) = start(Plan { queue: 1, ..Plan::new(2) }, |_, _| panic!("no"));
    let mut ring = Ring::new(8);
    let mut blocks = 0;
    let refused = loop {
        blocks += 1;
        let Some(batch) = ring.block(blocks, 1) else { continue };
        if let Err(error) = pool.give(0, 1, batch) {
            break error.to_string();
        }
    };
    assert!(refused.contains("no worker is left"), "{refused}");
    assert_eq!(pool.finish().len(), 2);
    assert_eq!(counts(&pool, &[0], |counts| counts.assigned), counts(&pool, &[0], WorkerCounts::lost));
    assert!(ring.is_empty(8));
}

#[test]
fn plans_that_cannot_be_are_refused() {
    for (plan, named) in [
        (Plan::new(0), "at least one worker"),
        (Plan::new(5000), "4096"),
        (Plan { queue: 0, ..Plan::new(1) }, "at least one batch"),
        (Plan { queue: 1 << 40, ..Plan::new(1) }, "65536"),
    ] {
        let refused = WorkerPool::start(plan, |_| |_: Job<OwnedBatch>| (), |()| ()).map(drop).unwrap_err();
        assert!(refused.to_string().contains(named), "{refused}");
    }
}

/// What a worker does with a batch: how many batches it then keeps at most, and whether it panics.
fn orders() -> impl Strategy<Value = (usize, usize, bool)> {
    (0usize..5, 0usize..4, prop::bool::weighted(0.02))
}

/// Batches that a worker keeps.
struct Held(VecDeque<(u32, OwnedBatch)>);

impl Held {
    fn drop_first(&mut self) {
        if let Some((number, batch)) = self.0.pop_front() {
            assert_eq!(number_of(&batch), number, "the kernel wrote a block that was held");
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        while !self.0.is_empty() && !thread::panicking() {
            self.drop_first();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each block is worked on once or is counted as lost, results are in order, and the kernel has all its blocks in the end.
    #[test]
    fn every_batch_is_accounted_for(
        workers in 1usize..4,
        queue in 1usize..4,
        blocks in 12u32..20,
        drops in any::<bool>(),
        orders in prop::collection::vec(orders(), 1..150),
    ) {
        let plan = Plan { workers, queue, when_full: if drops { WhenFull::Drop } else { WhenFull::Wait } };
        let (results, done) = mpsc::channel();
        let mut ring = Ring::new(blocks);
        let orders: Arc<[_]> = orders.into();
        let known = Arc::clone(&orders);
        let make = move |_| {
            let (orders, mut held) = (Arc::clone(&known), Held(VecDeque::new()));
            move |job: Job<OwnedBatch>| {
                let number = number_of(&job.batch);
                let (_, hold, panics) = orders[number as usize];
                assert!(!panics, "as ordered");
                held.0.push_back((number, job.batch));
                while held.0.len() > hold {
                    held.drop_first();
                }
                number
            }
        };
        let mut pool = WorkerPool::start(plan, make, move |number| results.send(number).unwrap()).unwrap();
        let mut passed = 0;
        for (number, &(port, ..)) in (0u32..).zip(orders.iter()) {
            // Workers that hold blocks may keep the ring full until more come: such a frame is lost in the ring.
            let Some(batch) = ring.block(number, 2) else { continue };
            passed += 1;
            if let Err(error) = pool.give(port, 2, batch) {
                prop_assert!(error.to_string().contains("no worker is left"));
            }
        }
        let failures = pool.finish();
        let total = |of: fn(&WorkerCounts) -> Tally| {
            let of_workers = counts(&pool, &[0, 1, 2, 3, 4], of).into_iter();
            of_workers.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        };
        let numbers: Vec<_> = done.iter().collect();
        let (worked, lost) = (total(|counts| counts.worked).0, total(WorkerCounts::lost).0);
        prop_assert_eq!(total(|counts| counts.assigned), (passed, 2 * passed));
        prop_assert_eq!((worked + lost, worked), (passed, numbers.len() as u64));
        prop_assert!(drops || lost == 0 || !failures.is_empty(), "who waits loses nothing");
        prop_assert!(numbers.is_sorted_by(|one, next| one < next));
        prop_assert!(ring.is_empty(blocks));
    }
}
