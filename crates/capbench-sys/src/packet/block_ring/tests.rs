//! Blocks in every order of filling, holding and dropping, with a kernel that the test plays.

use std::collections::VecDeque;
use std::sync::mpsc;
use std::thread;

use proptest::prelude::*;

use super::super::geometry::BlockGeometry;
use super::super::stand_in::BlockKernel;
use super::{Block, BlockRing};

fn ring(blocks: u32) -> (BlockKernel, BlockRing) {
    BlockKernel::with_ring(BlockGeometry::new(4096, blocks, 10).unwrap()).unwrap()
}

#[test]
fn blocks_are_withheld_while_they_wait_and_while_they_are_out() {
    let (mut kernel, mut ring) = ring(5);
    let mut out = VecDeque::new();
    for round in 0..30u32 {
        let mut waiting = 0;
        while waiting < round % 4 && kernel.fill(&[&[1; 60]]).is_some() {
            waiting += 1;
        }
        assert_eq!(ring.withheld(), waiting + out.len() as u32, "round {round}");
        while let Some(block) = ring.take() {
            out.push_back(block);
        }
        assert_eq!(ring.withheld(), out.len() as u32, "round {round}");
        // The one behind the first comes back before it.
        drop(if round % 3 == 0 { out.remove(1) } else { None });
        while out.len() as u32 > round % 5 {
            out.pop_front();
        }
        assert_eq!(ring.withheld(), out.len() as u32, "round {round}");
    }
}

/// What Miri shows to be a race where `withheld` looks at a status word before it has seen the block come back.
#[test]
fn a_block_that_another_thread_writes_and_returns_is_withheld_until_then() {
    let (mut kernel, mut ring) = ring(2);
    for round in 0..4 {
        kernel.fill(&[&[round; 60]]);
        let mut block = ring.take().unwrap();
        let other = thread::spawn(move || {
            // Everything, status word included, with what is there.
            let octets = block.octets_mut();
            let copy = octets.to_vec();
            octets.copy_from_slice(&copy);
        });
        while ring.withheld() > 0 {
            thread::yield_now();
        }
        assert_eq!(ring.withheld(), 0);
        other.join().unwrap();
    }
}

#[test]
fn blocks_closed_after_a_loss_are_marked_until_the_counters_are_read() {
    let (mut kernel, mut ring) = ring(2);
    kernel.fill(&[&[0; 60]]);
    kernel.fill(&[&[1; 60]]);
    assert_eq!(kernel.fill(&[&[2; 60], &[3; 60]]), None);
    let losing = |ring: &mut BlockRing| ring.take().map(|block| block.is_losing());
    assert_eq!((losing(&mut ring), losing(&mut ring)), (Some(false), Some(false)), "closed before it");
    kernel.fill(&[&[4; 60]]);
    kernel.fill(&[&[5; 60]]);
    assert_eq!((losing(&mut ring), losing(&mut ring)), (Some(true), Some(true)), "not read in between");
    assert_eq!(kernel.take_drops(), 2);
    kernel.fill(&[&[6; 60]]);
    assert_eq!((losing(&mut ring), kernel.take_drops()), (Some(false), 0));
}

#[test]
fn a_block_outlives_the_ring_and_moves_between_threads() {
    let (mut kernel, mut ring) = ring(2);
    kernel.fill(&[&[7; 60]]);
    let block = ring.take().unwrap();
    drop(ring);
    drop(kernel);
    let sum = std::thread::spawn(move || block.frames().map(|f| f.data.len()).sum::<usize>()).join().unwrap();
    assert_eq!(sum, 60);
}

#[test]
fn headers_that_point_outside_end_the_iteration() {
    for (first, captured, next) in
        [(u32::MAX, 60, 0), (4090, 60, 0), (48, 5000, 0), (49, 60, 0), (48, 60, u32::MAX)]
    {
        let (mut kernel, mut ring) = ring(2);
        kernel.fill_raw(2, first, captured, next);
        let block = ring.take().unwrap();
        assert!(block.frames().count() <= 1, "{first} {captured} {next}");
    }
}

proptest! {
    /// For any blocks held and any order of drops, each frame is seen once, in order, unharmed.
    #[test]
    fn no_order_of_holding_loses_or_repeats(steps in prop::collection::vec(0u8..4, 1..200)) {
        let (mut kernel, mut ring) = ring(5);
        let mut held: VecDeque<Block> = VecDeque::new();
        let (mut filled, mut read) = (0u32, 0u32);
        for step in steps {
            match step {
                0 | 1 => {
                    if kernel.fill(&[&filled.to_be_bytes()]).is_some() { filled += 1; }
                }
                2 => {
                    if let Some(block) = ring.take() {
                        let bytes = block.frames().next().unwrap().data.to_vec();
                        prop_assert_eq!(bytes, read.to_be_bytes());
                        read += 1;
                        held.push_back(block);
                    }
                }
                _ => {
                    let middle = held.len() / 2;
                    held.remove(middle);
                }
            }
            prop_assert!(filled - read <= 5);
        }
        held.clear();
        while ring.take().is_some() { read += 1; }
        prop_assert_eq!(filled, read);
    }

    /// Threads hold blocks for any time and drop them in any order while the ring goes on. Their content stays unchanged
    /// until the drop, and every block is seen once.
    #[test]
    fn no_order_of_holding_across_threads_reads_what_the_kernel_owns(
        blocks in 1u32..6,
        // Miri needs a thousand times as long.
        plans in prop::collection::vec((0usize..3, 0usize..4), 1..if cfg!(miri) { 12 } else { 120 }),
    ) {
        let (mut kernel, mut ring) = ring(blocks);
        let seen = thread::scope(|scope| {
            let (give, holders): (Vec<_>, Vec<_>) = (0..3)
                .map(|_| {
                    let (give, take) = mpsc::channel();
                    (give, scope.spawn(move || hold_and_drop(&take)))
                })
                .unzip();
            let mut filled = 0;
            for &(holder, hold) in &plans {
                let block = loop {
                    // A block that is not free now is free when a holder has dropped it.
                    let number = (filled as u32).to_be_bytes().repeat(30);
                    filled += usize::from(filled < plans.len() && kernel.fill(&[&number, &number]).is_some());
                    match ring.take() {
                        Some(block) => break block,
                        None => give.iter().for_each(|give: &mpsc::Sender<Order>| give.send(Order::Drop).unwrap()),
                    }
                    thread::yield_now();
                };
                give[holder].send(Order::Hold(block, hold)).unwrap();
            }
            drop(give);
            holders.into_iter().flat_map(|holder| holder.join().unwrap()).collect::<Vec<_>>()
        });
        let mut numbers = seen;
        numbers.sort_unstable();
        prop_assert_eq!(numbers, (0..plans.len() as u32).collect::<Vec<_>>());
    }
}

/// What a holder is to do.
enum Order {
    /// Hold a block, and drop one of those held when there are more than this.
    Hold(Block, usize),
    /// Drop one, so that the ring can go on.
    Drop,
}

/// Holds blocks and drops them, checking each when it comes and again when it goes; the numbers of all.
fn hold_and_drop(orders: &mpsc::Receiver<Order>) -> Vec<u32> {
    let number = |block: &Block| {
        let frames: Vec<_> = block.frames().map(|frame| frame.data.to_vec()).collect();
        assert_eq!((frames.len(), &frames[0]), (2, &frames[1]));
        let (numbers, rest) = frames[0].as_chunks::<4>();
        assert!(rest.is_empty() && numbers.iter().all(|number| *number == numbers[0]), "{frames:?}");
        u32::from_be_bytes(numbers[0])
    };
    let (mut held, mut seen) = (VecDeque::new(), Vec::new());
    let mut release = |held: &mut VecDeque<(u32, Block)>, index: usize| {
        if let Some((was, block)) = held.remove(index) {
            assert_eq!(number(&block), was, "the kernel wrote a block that was held");
            seen.push(was);
        }
    };
    for order in orders {
        match order {
            Order::Hold(block, most) => {
                held.push_back((number(&block), block));
                while held.len() > most {
                    let middle = held.len() / 2;
                    release(&mut held, middle);
                }
            }
            Order::Drop => release(&mut held, 0),
        }
    }
    while !held.is_empty() {
        release(&mut held, 0);
    }
    seen
}
