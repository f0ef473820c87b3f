//! Workers, queues, blocks and orders as they come.

use std::collections::VecDeque;
use std::sync::{Arc, mpsc};

use capbench_capture::capture::OwnedBatch;
use proptest::prelude::*;

use super::super::*;
use super::{block_of, number_of, ring};

/// What a worker is to do with a batch.
#[derive(Clone, Copy, Debug)]
struct Orders {
    port: usize,
    /// How many batches it holds afterwards at most.
    hold: usize,
    panics: bool,
}

fn orders() -> impl Strategy<Value = Orders> {
    (0usize..5, 0usize..4, prop::bool::weighted(0.02)).prop_map(|(port, hold, panics)| Orders {
        port,
        hold,
        panics,
    })
}

/// Holds blocks for a while, and checks each again before it lets go of it.
struct Holder {
    orders: Arc<[Orders]>,
    held: VecDeque<(u32, OwnedBatch)>,
}

impl Holder {
    fn let_go(&mut self) {
        if let Some((number, batch)) = self.held.pop_front() {
            assert_eq!(number_of(&batch), number, "the kernel wrote a block that was held");
        }
    }
}

impl Worker<OwnedBatch> for Holder {
    type Output = u32;
    type Summary = ();

    fn work(&mut self, job: Job<OwnedBatch>) -> u32 {
        let number = number_of(&job.batch);
        let orders = self.orders[number as usize];
        assert!(!orders.panics, "as told");
        self.held.push_back((number, job.batch));
        while self.held.len() > orders.hold {
            self.let_go();
        }
        number
    }

    fn finish(mut self) {
        while !self.held.is_empty() {
            self.let_go();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Workers, queues, blocks and orders as they come: each block is worked on once or stands in the account as lost,
    /// results are in order when asked for, and the kernel has all its blocks in the end.
    #[test]
    fn every_batch_is_accounted_for(
        workers in 1usize..4,
        queue in 1usize..4,
        blocks in 12u32..20,
        by_port in any::<bool>(),
        drops in any::<bool>(),
        ordered in any::<bool>(),
        orders in prop::collection::vec(orders(), 1..150),
    ) {
        let plan = Plan {
            workers,
            queue,
            distribution: if by_port { Distribution::ByPort } else { Distribution::NextFree },
            when_full: if drops { WhenFull::Drop } else { WhenFull::Wait },
            ordered,
        };
        let (results, done) = mpsc::channel();
        let (mut kernel, mut ring) = ring(blocks);
        let orders: Arc<[Orders]> = orders.into();
        let known = Arc::clone(&orders);
        let make = move |_| Holder { orders: Arc::clone(&known), held: Default::default() };
        let sink = move |sequence, number| results.send((sequence, number)).unwrap();
        let hand_off = HandOff::start(plan, make, sink).unwrap();
        let (mut given, mut lost) = (0, 0);
        for (number, order) in (0u32..).zip(orders.iter()) {
            // Workers that hold blocks may keep the ring full until more come: such a frame is lost in the ring.
            let Some(batch) = block_of(&mut kernel, &mut ring, number, 2) else { continue };
            given += 1;
            match hand_off.give(order.port, batch) {
                Ok(Given::Queued(worker)) => prop_assert!(!by_port || worker == order.port % workers),
                Ok(Given::Lost) => lost += 1,
                Err(error) => {
                    lost += 1;
                    prop_assert!(error.to_string().contains("no worker is left"));
                }
            }
        }
        let report = hand_off.finish();
        let numbers: Vec<_> = done.iter().collect();
        prop_assert_eq!(report.given(), Tally { batches: given, frames: 2 * given });
        prop_assert_eq!(report.worked().batches + report.lost().batches, given);
        prop_assert_eq!(report.worked().batches, numbers.len() as u64);
        prop_assert!(report.lost().batches >= lost && report.undelivered == 0);
        if ordered {
            prop_assert!(numbers.is_sorted_by(|one, next| one.0 < next.0));
        }
        let mut once: Vec<_> = numbers.iter().map(|(_, number)| *number).collect();
        once.sort_unstable();
        prop_assert!(once.windows(2).all(|pair| pair[0] != pair[1]));
        for number in 0..2 * blocks {
            prop_assert!(block_of(&mut kernel, &mut ring, number, 1).is_some(), "every block is back");
        }
    }
}
