//! Workers that stand still, and workers that panic.

use std::sync::{Arc, Mutex, mpsc};

use super::super::*;
use super::{Gated, Rig, START, US, hand_off, number_of, octets};
use crate::hand_off::WhenFull;

/// Blocks of two frames each.
fn pair(rig: &mut Rig, port: usize, number: u64) -> BatchWithLosses {
    let frame = |at| (START + at * US, octets(at, 60));
    rig.batch(port, 0, &[frame(2 * number), frame(2 * number + 1)])
}

#[test]
fn a_worker_that_stands_still_loses_at_its_queue_and_the_file_says_where() {
    let mut rig = Rig::new(2, None);
    // The second port gives the sixth batch, which is lost, and the eleventh.
    let port_of = |number: u64| usize::from(number == 5 || number == 10);
    let given: Vec<_> =
        (0..12).map(|number| (port_of(number), pair(&mut rig, port_of(number), number))).collect();
    let outcome = rig.record(|recorder, merge| {
        let (started, starts) = mpsc::channel();
        let (open, gate) = mpsc::channel::<()>();
        let (always_open, (closed, gate)) = (mpsc::channel().1, (open, gate));
        let gates = [Arc::new(Mutex::new(gate)), Arc::new(Mutex::new(always_open))];
        let setup = rig.setup(hand_off(2, 1, WhenFull::Drop), recorder);
        let gated = move |worker: usize, inner| Gated {
            inner,
            gate: Arc::clone(&gates[worker]),
            started: (worker == 0).then(|| started.clone()),
        };
        let workers = Workers::start_as(setup, merge, gated).unwrap();
        for (number, (port, marked)) in (0u64..).zip(given) {
            if number == 8 {
                closed.send(()).unwrap();
                (0..2).for_each(|port| workers.wait_through(port));
                // From here on it goes as fast as the other one.
                (0..9).for_each(|_| closed.send(()).unwrap());
            }
            workers.give(port, marked, &rig.boards[port]).unwrap();
            if number == 0 {
                starts.recv().unwrap();
            }
            // The other one has its hands free again.
            while number < 4 && workers.0.counts()[1].worked.batches < number {
                std::thread::yield_now();
            }
            if number >= 8 {
                workers.wait_through(port);
            }
        }
        let lost =
            |ports: &[usize]| workers.losses_of(ports).iter().map(|loss| loss.count).collect::<Vec<_>>();
        assert_eq!((lost(&[0]), lost(&[1])), (vec![Some(6), Some(0)], vec![Some(2), Some(0)]));
        Some(workers)
    });
    let told: Vec<_> = outcome.packets.iter().map(|kept| (number_of(kept), kept.dropped)).collect();
    let dropped =
        |number| [(16, 6), (20, 2)].iter().find(|(at, _)| *at == number).map(|(_, dropped)| *dropped);
    let expected: Vec<_> = (0..8).chain(16..24).map(|number| (number, dropped(number))).collect();
    assert_eq!(told, expected);
    assert_eq!(
        outcome.lost,
        [
            "lost: link unknown, application queue (ours) 6, writer (ours) 0",
            "lost: link unknown, application queue (ours) 2, writer (ours) 0"
        ]
    );
    for (kernel, ring) in &mut rig.rings {
        for _ in 0..256 {
            assert!(kernel.fill(&[&[0; 60]]).is_some() && ring.take().is_some(), "every block is back");
        }
    }
}

/// Panics at one frame.
struct Delicate(EncodingWorker, u64);

impl Worker<Entrusted> for Delicate {
    type Output = (usize, Encoded);
    type Summary = ();

    fn work(&mut self, job: Job<Entrusted>) -> Self::Output {
        let is_it = |frame: Frame<'_>| frame.data[..8] == self.1.to_be_bytes();
        assert!(!job.batch.frames().any(is_it), "frame {} is not to my taste", self.1);
        self.0.work(job)
    }

    fn finish(self) {}
}

#[test]
fn what_a_worker_had_when_it_panicked_is_lost_and_the_others_go_on() {
    let mut rig = Rig::new(1, None);
    let given: Vec<_> = (0..40).map(|number| pair(&mut rig, 0, number)).collect();
    let outcome = rig.record(|recorder, merge| {
        let setup = rig.setup(hand_off(2, 1, WhenFull::Wait), recorder);
        let workers = Workers::start_as(setup, merge, |_, inner| Delicate(inner, 9)).unwrap();
        for marked in given {
            workers.give(0, marked, &rig.boards[0]).unwrap();
            // One at a time: it has nothing else in its queue.
            workers.wait_through(0);
        }
        let failures = workers.take_failures();
        assert!(failures.len() == 1 && failures[0].to_string().contains("frame 9"), "{failures:?}");
        Some(workers)
    });
    let told: Vec<_> = outcome.packets.iter().map(|kept| (number_of(kept), kept.dropped)).collect();
    let expected: Vec<_> = (0..8).chain(10..80).map(|number| (number, (number == 10).then_some(2))).collect();
    assert_eq!(told, expected);
}
