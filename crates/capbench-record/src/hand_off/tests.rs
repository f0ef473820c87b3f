//! Hand-off on rings that the test plays the kernel for: nothing is read that the kernel owns, and every frame is accounted
//! for.

mod random;

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use capbench_capture::capture::OwnedBatch;
use capbench_capture::counters::Place;
use capbench_sys::packet::stand_in::BlockKernel;
use capbench_sys::packet::{Block, BlockGeometry, BlockRing};

use super::*;

/// How long anything may take that happens at once on an idle host.
const PATIENCE: Duration = Duration::from_secs(30);

fn ring(blocks: u32) -> (BlockKernel, BlockRing) {
    BlockKernel::with_ring(BlockGeometry::new(4096, blocks, 10).unwrap()).unwrap()
}

/// The next block, with so many frames of this number.
fn block_of(
    kernel: &mut BlockKernel,
    ring: &mut BlockRing,
    number: u32,
    frames: usize,
) -> Option<OwnedBatch> {
    let octets = number.to_be_bytes().repeat(16);
    kernel.fill(&vec![&octets[..]; frames])?;
    Some(OwnedBatch::Block(ring.take().expect("it was filled")))
}

/// The number of a batch, all of whose frames have it.
fn number_of(batch: &impl Batch) -> u32 {
    let mut numbers = batch.frames().map(|frame| {
        let (numbers, rest) = frame.data.as_chunks::<4>();
        assert!(rest.is_empty() && numbers.len() == 16 && numbers.iter().all(|number| *number == numbers[0]));
        u32::from_be_bytes(numbers[0])
    });
    let first = numbers.next().unwrap();
    assert!(numbers.all(|number| number == first));
    first
}

fn receive<T>(channel: &mpsc::Receiver<T>) -> T {
    channel.recv_timeout(PATIENCE).expect("it comes at once")
}

#[test]
fn a_slow_worker_loses_at_its_own_queue_and_nowhere_else() {
    let plan =
        Plan { queue: 2, distribution: Distribution::ByPort, when_full: WhenFull::Drop, ..Plan::new(2) };
    let (started, starts) = mpsc::channel();
    let (open, gate) = mpsc::channel::<()>();
    let (results, done) = mpsc::channel();
    let gate = Arc::new(Mutex::new(gate));
    let make = move |worker| {
        let (started, gate) = (started.clone(), Arc::clone(&gate));
        move |job: Job<OwnedBatch>| {
            assert_eq!(job.port % 2, worker);
            started.send(worker).unwrap();
            if worker == 0 {
                gate.lock().unwrap().recv().unwrap();
            }
            number_of(&job.batch)
        }
    };
    let hand_off = HandOff::start(plan, make, move |_, number| results.send(number).unwrap()).unwrap();
    // The ring does not come round to the blocks that the first worker holds.
    let (mut kernel, mut ring) = ring(64);
    let mut give = |port: usize, number| {
        hand_off.give(port, block_of(&mut kernel, &mut ring, number, 3).unwrap()).unwrap()
    };
    assert_eq!(give(0, 0), Given::Queued(0));
    assert_eq!(receive(&starts), 0, "it has its first batch in its hands");
    assert_eq!([give(2, 1), give(0, 2)], [Given::Queued(0); 2]);
    for number in 3..8 {
        assert_eq!(give(0, number), Given::Lost);
    }
    for number in 100..140 {
        assert_eq!(give(1, number), Given::Queued(1));
        assert_eq!((receive(&starts), receive(&done)), (1, number));
    }
    let losses = hand_off.losses();
    assert!(losses.iter().all(|loss| loss.place == Place::ApplicationQueue));
    assert_eq!(losses.iter().map(|loss| loss.count).collect::<Vec<_>>(), [Some(15), Some(0)]);
    assert!(losses[0].source.starts_with("worker 0: its queue of 2 batches"), "{losses:?}");
    drop(open);
    let report = hand_off.finish();
    assert_eq!(report.workers[0].counts.given, Tally { batches: 8, frames: 24 });
    assert_eq!(report.workers[0].counts.refused, Tally { batches: 5, frames: 15 });
    assert_eq!(report.workers[1].counts.worked, Tally { batches: 40, frames: 120 });
    assert_eq!(report.workers[1].counts.lost(), Tally::default());
}

#[test]
fn what_waits_for_the_oldest_batch_is_lost_for_the_sake_of_its_worker() {
    let plan = Plan { queue: 1, when_full: WhenFull::Drop, ordered: true, ..Plan::new(2) };
    let (started, starts) = mpsc::channel();
    let (open, gate) = mpsc::channel::<()>();
    let gate = Arc::new(Mutex::new(gate));
    let make = move |worker| {
        let (started, gate) = (started.clone(), Arc::clone(&gate));
        move |job: Job<OwnedBatch>| {
            started.send(worker).unwrap();
            if worker == 0 {
                gate.lock().unwrap().recv().unwrap();
            }
            number_of(&job.batch)
        }
    };
    let (results, done) = mpsc::channel();
    let hand_off = HandOff::start(plan, make, move |_, number| results.send(number).unwrap()).unwrap();
    let (mut kernel, mut ring) = ring(64);
    let mut give = |port: usize, number| {
        hand_off.give(port, block_of(&mut kernel, &mut ring, number, 3).unwrap()).unwrap()
    };
    assert_eq!(give(0, 0), Given::Queued(0));
    assert_eq!(receive(&starts), 0);
    for number in 1..4 {
        assert_eq!((give(1, number), receive(&starts)), (Given::Queued(1), 1));
        while hand_off.counts()[1].worked.batches < u64::from(number) {
            thread::yield_now();
        }
    }
    assert_eq!([4, 5, 6].map(|number| give(usize::from(number != 5), number)), [Given::Lost; 3]);
    assert!(!hand_off.is_through(0) && !hand_off.is_through(1) && hand_off.is_through(2));
    let lost = |ports: &[usize]| hand_off.losses_of(ports).iter().map(|loss| loss.count).collect::<Vec<_>>();
    assert_eq!(
        [lost(&[0]), lost(&[1]), lost(&[0, 1]), lost(&[7])],
        [[Some(3), Some(0)], [Some(6), Some(0)], [Some(9), Some(0)], [Some(0), Some(0)]]
    );
    let source = &hand_off.losses()[0].source;
    assert!(source.contains("9 of them because all results waited for its oldest batch"), "{source}");
    open.send(()).unwrap();
    hand_off.wait_through(0);
    hand_off.wait_through(1);
    assert_eq!(done.try_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(hand_off.finish().worked(), Tally { batches: 4, frames: 12 });
}

#[test]
fn a_full_queue_makes_the_giver_wait_and_loses_nothing() {
    let plan = Plan { queue: 1, ..Plan::new(2) };
    let (results, done) = mpsc::channel();
    let make = |_| |job: Job<OwnedBatch>| number_of(&job.batch);
    let hand_off = HandOff::start(plan, make, move |_, number| results.send(number).unwrap()).unwrap();
    let (mut kernel, mut ring) = ring(plan.most_held() as u32 + 1);
    for number in 0..500 {
        // Blocks come round in order: one worker may be slower than the other by as much as the ring holds.
        let batch = loop {
            match block_of(&mut kernel, &mut ring, number, 2) {
                Some(batch) => break batch,
                None => thread::yield_now(),
            }
        };
        assert!(matches!(hand_off.give(0, batch).unwrap(), Given::Queued(_)));
    }
    let report = hand_off.finish();
    assert_eq!((report.worked().batches, report.lost(), report.undelivered), (500, Tally::default(), 0));
    let mut numbers: Vec<_> = done.iter().collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..500).collect::<Vec<_>>());
}

#[test]
fn results_come_in_the_order_of_their_batches() {
    let plan = Plan { queue: 2, ordered: true, ..Plan::new(3) };
    let (results, done) = mpsc::channel();
    let (open, gate) = mpsc::channel::<()>();
    let gate = Arc::new(Mutex::new(gate));
    // The first batch is done last.
    let make = move |_| {
        let gate = Arc::clone(&gate);
        move |job: Job<OwnedBatch>| {
            let number = number_of(&job.batch);
            if number == 0 {
                gate.lock().unwrap().recv().unwrap();
            }
            number
        }
    };
    let hand_off = HandOff::start(plan, make, move |sequence, number| {
        results.send((sequence, number)).unwrap();
    })
    .unwrap();
    let (mut kernel, mut ring) = ring(32);
    for number in 0..plan.most_held() as u32 {
        hand_off.give(0, block_of(&mut kernel, &mut ring, number, 1).unwrap()).unwrap();
    }
    assert!(done.recv_timeout(Duration::from_millis(10)).is_err(), "all wait for the first");
    open.send(()).unwrap();
    for number in 0..plan.most_held() as u32 {
        assert_eq!(receive(&done), (u64::from(number), number));
    }
    drop(hand_off);
}

#[test]
fn a_worker_that_panics_gives_its_batches_back_and_the_others_go_on() {
    let plan = Plan { queue: 4, distribution: Distribution::ByPort, ordered: true, ..Plan::new(2) };
    let (results, done) = mpsc::channel();
    let (open, gate) = mpsc::channel::<()>();
    let gate = Arc::new(Mutex::new(gate));
    let make = move |_| {
        let gate = Arc::clone(&gate);
        move |job: Job<OwnedBatch>| {
            if job.port == 1 {
                let _ = gate.lock().unwrap().recv();
                panic!("batch {} is not to my taste", number_of(&job.batch));
            }
            number_of(&job.batch)
        }
    };
    let hand_off = HandOff::start(plan, make, move |_, number| results.send(number).unwrap()).unwrap();
    let (mut kernel, mut ring) = ring(7);
    let mut give = |port, number| {
        hand_off.give(port, block_of(&mut kernel, &mut ring, number, 2).expect("a free block")).unwrap()
    };
    for number in 0..3 {
        assert_eq!(give(1, number), Given::Queued(1));
    }
    assert_eq!(give(0, 3), Given::Queued(0));
    assert!(done.try_recv().is_err(), "it waits for older ones");
    drop(open);
    assert_eq!(receive(&done), 3, "nothing is to be had of the older ones");
    let failures = hand_off.take_failures();
    let text = failures[0].to_string();
    assert!(text.contains("worker 1") && text.contains("batch 0 is not to my taste"), "{text}");
    assert!(failures.len() == 1 && hand_off.take_failures().is_empty());
    // More than the ring has: its blocks are back.
    for number in 4..24 {
        assert_eq!(give(0, number), Given::Queued(0));
        assert_eq!(receive(&done), number);
        assert_eq!(give(1, number), Given::Lost);
    }
    let report = hand_off.finish();
    assert_eq!(report.workers[1].counts.given_back, Tally { batches: 23, frames: 46 });
    assert_eq!(report.workers[0].counts.worked, Tally { batches: 21, frames: 42 });
    assert!(report.workers[0].summary.is_ok());
    assert!(report.workers[1].summary.as_ref().unwrap_err().to_string().contains("not to my taste"));
    let source = report.losses()[1].source.clone();
    assert!(source.contains("46 of them given back"), "{source}");
}

#[test]
fn when_all_have_panicked_it_says_so_and_gives_batches_back() {
    let make = |_| |_: Job<OwnedBatch>| panic!("no");
    let hand_off = HandOff::start(Plan { queue: 1, ..Plan::new(2) }, make, |_, ()| ()).unwrap();
    let (mut kernel, mut ring) = ring(8);
    let mut given = 0;
    let refused = loop {
        given += 1;
        let Some(batch) = block_of(&mut kernel, &mut ring, given, 1) else { continue };
        if let Err(error) = hand_off.give(0, batch) {
            break error.to_string();
        }
    };
    assert!(refused.contains("no worker is left"), "{refused}");
    let report = hand_off.finish();
    assert_eq!((report.worked(), report.given()), (Tally::default(), report.lost()));
    for number in 0..16 {
        assert!(block_of(&mut kernel, &mut ring, number, 1).is_some(), "every block is back");
    }
}

#[test]
fn a_sink_that_panics_gets_nothing_more_and_the_workers_end() {
    let make = |_| |job: Job<OwnedBatch>| number_of(&job.batch);
    for ordered in [false, true] {
        let plan = Plan { ordered, ..Plan::new(3) };
        let hand_off = HandOff::start(plan, make, |_, number| assert_ne!(number, 5, "five")).unwrap();
        let (mut kernel, mut ring) = ring(64);
        let mut give = |number| {
            hand_off.give(0, block_of(&mut kernel, &mut ring, number, 1).unwrap()).unwrap();
        };
        (0..20).for_each(&mut give);
        while hand_off.take_failures().is_empty() {
            thread::yield_now();
        }
        (20..25).for_each(&mut give);
        let report = hand_off.finish();
        let failed = report.workers.iter().filter(|worker| worker.summary.is_err()).count();
        assert_eq!(failed, 1);
        assert_eq!(report.given().batches, 25);
        assert_eq!(report.worked().batches + report.lost().batches, 25);
        assert!(report.undelivered >= 5);
    }
}

#[test]
fn one_batch_goes_to_several_workers_and_back_after_the_last() {
    let plan = Plan { distribution: Distribution::ByPort, ..Plan::new(3) };
    let (results, done) = mpsc::channel();
    let gates: Vec<_> = (0..3).map(|_| mpsc::channel::<()>()).collect();
    let (open, gates): (Vec<_>, Vec<_>) = gates.into_iter().unzip();
    let gates: Vec<_> = gates.into_iter().map(|gate| Arc::new(Mutex::new(gate))).collect();
    let make = move |worker: usize| {
        let gate = Arc::clone(&gates[worker]);
        move |job: Job<Arc<OwnedBatch>>| {
            gate.lock().unwrap().recv().unwrap();
            let number = number_of(&job.batch);
            drop(job);
            number
        }
    };
    let hand_off = HandOff::start(plan, make, move |_, number| results.send(number).unwrap()).unwrap();
    let (mut kernel, mut ring) = ring(1);
    let batch = Arc::new(block_of(&mut kernel, &mut ring, 7, 3).unwrap());
    for port in 0..3 {
        hand_off.give(port, Arc::clone(&batch)).unwrap();
    }
    drop(batch);
    for gate in open {
        assert!(block_of(&mut kernel, &mut ring, 8, 1).is_none(), "somebody still has it");
        gate.send(()).unwrap();
        assert_eq!(receive(&done), 7);
    }
    assert!(block_of(&mut kernel, &mut ring, 8, 1).is_some());
    assert_eq!(hand_off.finish().worked(), Tally { batches: 3, frames: 9 });
}

#[test]
fn plans_that_cannot_be_are_refused() {
    let refused = |plan| {
        let outcome = HandOff::start(plan, |_| |_: Job<OwnedBatch>| (), |_, ()| ());
        outcome.map(drop).unwrap_err().to_string()
    };
    assert!(refused(Plan::new(0)).contains("at least one worker"));
    assert!(refused(Plan::new(5000)).contains("4096"));
    assert!(refused(Plan { queue: 0, ..Plan::new(1) }).contains("at least one batch"));
    assert!(refused(Plan { queue: 1 << 40, ..Plan::new(1) }).contains("65536"));
}

#[test]
fn blocks_are_batches_that_threads_may_have() {
    fn is_owned<B: Batch + Send + 'static>() {}
    is_owned::<Block>();
    is_owned::<OwnedBatch>();
    is_owned::<Arc<OwnedBatch>>();
}
