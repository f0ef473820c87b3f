//! Workers behind a ring of the kernel's: a slow one loses at its own queue, the ring goes on, and everything is accounted for.

#[path = "../../capbench-capture/tests/wire/mod.rs"]
mod wire;

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use capbench_capture::{
    Batch, ByteCount, Capture, CaptureOptions, Interface, MethodSpec, OwnedBatch, Place, Visitor, open_with,
};
use capbench_record::hand_off::{Distribution, Given, HandOff, Job, Plan, Tally, WhenFull};
use capbench_testing::network::{Namespaces, PATIENCE, RIGHT_MAC, privileges};
use wire::{Wire, frame};

/// The test's part, with an open capture and what sends to it.
struct With<'w, F>(F, &'w Wire);

impl<T, F: FnOnce(&mut dyn FnMut(u8) -> OwnedBatch) -> T> Visitor for With<'_, F> {
    type Output = (T, Option<u64>, Option<u64>);

    fn visit<C: Capture>(self, mut capture: C) -> Self::Output {
        let wire = self.1;
        let mut batch_of = |number: u8| {
            wire.send(&frame(RIGHT_MAC, number, 100));
            let start = Instant::now();
            loop {
                if let Some(batch) = capture.next_owned(Duration::from_millis(50)).unwrap() {
                    assert_eq!(batch.frame_count(), 1);
                    return batch;
                }
                assert!(start.elapsed() < PATIENCE, "frame {number} comes");
            }
        };
        let outcome = (self.0)(&mut batch_of);
        let counters = capture.counters().unwrap();
        (outcome, counters.accepted, counters.dropped())
    }
}

fn receive<T>(channel: &Receiver<T>) -> T {
    channel
        .recv_timeout(PATIENCE)
        .unwrap_or_else(|error: RecvTimeoutError| panic!("it comes at once: {error}"))
}

#[test]
fn root_alone_blocks_held_by_a_slow_worker_cost_its_queue_and_no_other() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::new();
    let wire = Wire::new(&spaces.left);
    // 32 blocks: the slow worker has three of them, and the ring does not come round to those.
    let options = CaptureOptions {
        ring: ByteCount(2 << 20),
        block: ByteCount(64 << 10),
        retire_timeout: Duration::from_millis(2),
        ..CaptureOptions::default()
    };
    let plan =
        Plan { queue: 2, distribution: Distribution::ByPort, when_full: WhenFull::Drop, ..Plan::new(2) };
    let (started, starts) = channel();
    let (open, gate) = channel::<()>();
    let (results, done) = channel();
    let gate = Arc::new(Mutex::new(gate));
    let make = move |worker| {
        let (started, gate) = (started.clone(), Arc::clone(&gate));
        move |job: Job<OwnedBatch>| {
            started.send(worker).unwrap();
            if worker == 0 {
                let _ = gate.lock().unwrap().recv();
            }
            // Read after it was held: the kernel has not written it.
            let numbers: Vec<u8> = job.batch.frames().map(|frame| frame.data[50]).collect();
            (worker, numbers)
        }
    };
    let hand_off = HandOff::start(plan, make, move |_, result| results.send(result).unwrap()).unwrap();
    let work = move |batch_of: &mut dyn FnMut(u8) -> OwnedBatch| {
        assert_eq!(hand_off.give(0, batch_of(0)).unwrap(), Given::Queued(0));
        assert_eq!(receive(&starts), 0, "it has its first block in its hands");
        for number in 1..3 {
            assert_eq!(hand_off.give(0, batch_of(number)).unwrap(), Given::Queued(0));
        }
        for number in 3..8 {
            assert_eq!(hand_off.give(0, batch_of(number)).unwrap(), Given::Lost);
        }
        for number in 8..28 {
            assert_eq!(hand_off.give(1, batch_of(number)).unwrap(), Given::Queued(1));
            assert_eq!((receive(&starts), receive(&done)), (1, (1, vec![number])));
        }
        let losses = hand_off.losses();
        assert!(losses.iter().all(|loss| loss.place == Place::ApplicationQueue));
        assert_eq!(losses.iter().map(|loss| loss.count).collect::<Vec<_>>(), [Some(5), Some(0)]);
        drop(open);
        hand_off.wait_through(0);
        let late: Vec<_> = done.try_iter().collect();
        assert_eq!(late, [(0, vec![0]), (0, vec![1]), (0, vec![2])]);
        // Twice round the ring: every block is back.
        for number in 100..170 {
            hand_off.give(1, batch_of(number)).unwrap();
            assert_eq!(receive(&done), (1, vec![number]));
        }
        let report = hand_off.finish();
        assert_eq!(report.workers[0].counts.refused, Tally { batches: 5, frames: 5 });
        assert_eq!(report.workers[1].counts.lost(), Tally::default());
        report.given()
    };
    let place = &spaces.right;
    let (given, accepted, dropped) = place.inside(|| {
        let interface = Interface::of_name(place.interface, 1500).unwrap();
        open_with(&MethodSpec::plain("packet-v3"), &interface, &options, With(work, &wire)).unwrap()
    });
    assert_eq!((given.frames, accepted, dropped), (98, Some(98), Some(0)), "the ring lost nothing");
}
