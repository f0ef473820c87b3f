//! Batches, ports and workers as they come.

use std::sync::{Arc, Mutex, mpsc};

use proptest::prelude::*;

use super::super::*;
use super::{Gated, Rig, START, US, hand_off, number_of, octets, odd};
use crate::hand_off::WhenFull;

/// A batch of the property tests: the port, the frames lost before it, and of each frame by how much its time is later than
/// that of the one before, less some disorder, and how many octets it has.
type Made = (usize, u64, Vec<(u64, u64, usize)>);

fn made(ports: usize) -> impl Strategy<Value = Vec<Made>> {
    let frame = (0u64..3000, 0u64..4000, 21usize..150);
    let lost = prop_oneof![3 => Just(0), 1 => 1u64..100];
    let batch = (0..ports, lost, prop::collection::vec(frame, 1..25));
    prop::collection::vec(batch, 1..80)
}

/// The batches, in the order in which they are given.
fn batches(rig: &mut Rig, made: &[Made]) -> Vec<(usize, BatchWithLosses)> {
    let (mut now, mut number) = (START, vec![0; rig.boards.len()]);
    let mut batch = |(port, lost, frames): &Made| {
        let frame = |&(later, back, length): &(u64, u64, usize)| {
            now += later * US;
            number[*port] += 1;
            (now - back * US, octets(number[*port] - 1, length))
        };
        let frames: Vec<_> = frames.iter().map(frame).collect();
        (*port, rig.batch(*port, *lost, &frames))
    };
    made.iter().map(&mut batch).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whatever comes, and however many workers there are: the file is the one that there is without them.
    #[test]
    fn a_file_is_the_same_with_workers_and_without(
        made in made(3),
        workers in 1usize..4,
        queue in 1usize..4,
        filters in any::<bool>(),
    ) {
        let mut rig = Rig::new(3, filters.then(odd));
        let given = batches(&mut rig, &made);
        let without = rig.record(|_, merge| {
            given.into_iter().for_each(|(port, marked)| merge.send(MergeEvent::Batch(port, marked)).unwrap());
            None
        });
        prop_assert_eq!(without.late, 0);
        let mut rig = Rig::new(3, filters.then(odd));
        let given = batches(&mut rig, &made);
        let with = rig.record(|recorder, merge| {
            let setup = rig.setup(hand_off(workers, queue, WhenFull::Wait), recorder);
            let workers = Workers::start(setup, merge).unwrap();
            for (port, marked) in given {
                workers.give(port, marked, &rig.boards[port]).unwrap();
            }
            (0..3).for_each(|port| workers.wait_through(port));
            Some(workers)
        });
        prop_assert_eq!(with, without);
    }

    /// Workers that go on only when they are let, and queues that overflow meanwhile: what is missing stands in front of
    /// the right packet, and in the account.
    #[test]
    fn what_queues_lose_is_told_where_it_is_missing(
        made in made(2),
        workers in 1usize..4,
        queue in 1usize..3,
        lets in prop::collection::vec(0u64..3, 80),
    ) {
        let made: Vec<_> = made.into_iter().map(|(port, _, frames)| {
            // In order, so that a number that is missing is one that was lost.
            (port, 0, frames.into_iter().map(|(later, _, length)| (later + 1, 0, length)).collect())
        }).collect();
        let mut rig = Rig::new(2, None);
        let frames_of = |port| -> u64 {
            made.iter().filter(|(of, _, _): &&Made| *of == port).map(|(_, _, frames)| frames.len() as u64).sum()
        };
        let given = batches(&mut rig, &made);
        let mut lost = Vec::new();
        let outcome = rig.record(|recorder, merge| {
            let (open, gate) = mpsc::channel::<()>();
            let gate = Arc::new(Mutex::new(gate));
            let setup = rig.setup(hand_off(workers, queue, WhenFull::Drop), recorder);
            let gated = move |_, inner| Gated { inner, gate: Arc::clone(&gate), started: None };
            let workers = Workers::start_as(setup, merge, gated).unwrap();
            let mut allowed = 0;
            for ((port, marked), lets) in given.into_iter().zip(lets) {
                workers.give(port, marked, &rig.boards[port]).unwrap();
                let counts = workers.0.counts();
                let queued: u64 = counts.iter().map(|worker| worker.given.batches - worker.lost().batches).sum();
                for _ in 0..lets.min(queued - allowed) {
                    open.send(()).unwrap();
                    allowed += 1;
                }
                let worked = || workers.0.counts().iter().map(|worker| worker.worked.batches).sum::<u64>();
                while worked() < allowed {
                    std::thread::yield_now();
                }
            }
            drop(open);
            (0..2).for_each(|port| workers.wait_through(port));
            for port in 0..2 {
                let counts = workers.losses_of(&[port]);
                lost.push(counts.iter().filter_map(|loss| loss.count).sum::<u64>());
            }
            Some(workers)
        });
        for (port, lost) in lost.into_iter().enumerate() {
            let mut next = 0;
            for kept in outcome.packets.iter().filter(|kept| kept.interface == port as u32) {
                prop_assert_eq!(next + kept.dropped.unwrap_or(0), number_of(kept));
                next = number_of(kept) + 1;
            }
            let [told, behind, _] = outcome.told[port];
            prop_assert_eq!((told + behind, behind), (lost, frames_of(port) - next));
            prop_assert_eq!(rig.boards[port].gaps.frames(), lost);
            let comment = format!("application queue (ours) {}, writer (ours) 0", lost);
            prop_assert!(outcome.lost[port].ends_with(&comment), "{}", outcome.lost[port]);
        }
    }
}
