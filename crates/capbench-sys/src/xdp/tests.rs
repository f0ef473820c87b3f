//! The rings with the test as the kernel.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::stand_in::{QueueSizes, ReceiveKernel, TransmitKernel};
use super::{FrameQueue, OwnedFrame};

const SIZES: QueueSizes = QueueSizes { received: 8, fill: 16, chunks: 10, batch: 4 };

fn text(number: u32) -> Vec<u8> {
    (0..60 + number % 1700).map(|octet| (octet + number) as u8).collect()
}

fn drain(queue: &mut FrameQueue) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while let Some(batch) = queue.take() {
        frames.extend(batch.frames().map(<[u8]>::to_vec));
    }
    frames
}

#[test]
fn indices_go_round_past_32_bits() {
    // Indices just below the end, as after 2^32 frames; a multiple of the rings' sizes, so that entries stay in place.
    let (mut kernel, mut queue) = ReceiveKernel::with_queue(SIZES).unwrap();
    kernel.start_at(0u32.wrapping_sub(32), &mut queue);
    for number in 0..100 {
        assert!(kernel.deliver(&text(number)));
        assert_eq!(drain(&mut queue), [text(number)]);
    }
    assert_eq!((queue.impossible(), queue.idle()), (0, (10, 0)));
}

#[test]
fn a_reader_that_sleeps_loses_in_the_ring_exactly() {
    let (mut kernel, mut queue) = ReceiveKernel::with_queue(SIZES).unwrap();
    let delivered = (0..100).filter(|&number| kernel.deliver(&text(number))).count();
    let statistics = kernel.statistics();
    assert_eq!((delivered, statistics.rx_ring_full, statistics.rx_dropped), (8, Some(92), 0));
    assert_eq!(queue.waiting(), (8, 8));
    drop(queue.take());
    assert_eq!(queue.waiting(), (4, 8));
    assert_eq!(drain(&mut queue).len(), 4);
    assert_eq!(queue.waiting(), (0, 8));
}

#[test]
fn a_small_fill_ring_starves_exactly_and_recovers() {
    let sizes = QueueSizes { fill: 4, ..SIZES };
    let (mut kernel, mut queue) = ReceiveKernel::with_queue(sizes).unwrap();
    assert_eq!(queue.idle(), (4, 6));
    for round in 1..=50 {
        let delivered = (0..10).filter(|&number| kernel.deliver(&text(number))).count();
        assert_eq!(delivered, 4, "{round}");
        assert_eq!(drain(&mut queue).len(), 4);
        let statistics = kernel.statistics();
        assert_eq!(
            (statistics.rx_dropped, statistics.rx_fill_ring_empty_descs),
            (6 * round, Some(6 * round))
        );
    }
    assert_eq!(queue.idle(), (4, 6));
}

#[test]
fn a_kept_frame_outlives_its_queue() {
    let (mut kernel, mut queue) = ReceiveKernel::with_queue(SIZES).unwrap();
    assert!(kernel.deliver(&text(7)));
    let kept = queue.take().unwrap().keep(0).unwrap();
    drop((kernel, queue));
    assert_eq!(kept.data(), text(7));
}

#[test]
fn the_next_look_returns_a_forgotten_batch() {
    let (mut kernel, mut queue) = ReceiveKernel::with_queue(SIZES).unwrap();
    for number in 0..40 {
        assert!(kernel.deliver(&text(number)));
        std::mem::forget(queue.take().unwrap());
    }
    assert!(queue.take().is_none());
    assert_eq!(queue.idle(), (10, 0));
}

#[test]
fn a_chunk_that_was_not_lent_is_never_delivered() {
    let (mut kernel, mut queue) = ReceiveKernel::with_queue(SIZES).unwrap();
    assert!(kernel.deliver(&text(1)));
    let kept = queue.take().unwrap().keep(0).unwrap();
    // Outside, across two chunks, in use: the kernel must not say any of these.
    for (address, length) in [(10 * 2048, 60), (u64::MAX, 1), (2040, 60), (256, 60)] {
        kernel.deliver_descriptor(address, length);
    }
    let batch = queue.take().unwrap();
    assert!(batch.is_empty());
    drop(batch);
    assert_eq!(queue.impossible(), 4);
    assert_eq!(kept.data(), text(1));
    // The same chunk twice in one batch is delivered once.
    kernel.deliver_descriptor(5 * 2048, 60);
    kernel.deliver_descriptor(5 * 2048 + 64, 60);
    assert_eq!(queue.take().unwrap().len(), 1);
    assert_eq!(queue.impossible(), 5);
}

#[test]
#[should_panic(expected = "no 5 entries to publish")]
fn more_than_a_ring_holds_is_not_published() {
    let (_kernel, mut queue) = ReceiveKernel::with_queue(QueueSizes { fill: 4, ..SIZES }).unwrap();
    // SAFETY: it panics before it publishes anything.
    unsafe { queue.rings().0.publish(5) };
}

#[test]
#[should_panic(expected = "no 1 entries to release")]
fn more_than_came_is_not_released() {
    let (_kernel, mut queue) = ReceiveKernel::with_queue(SIZES).unwrap();
    queue.rings().1.release(1);
}

proptest! {
    /// A kernel that names any chunk at any time, lent or not: none is ever in two lists, also while frames are kept.
    /// (It writes into no chunk. A faulty kernel could write a chunk that it was lent twice, and nothing can prevent that.)
    #[test]
    fn a_kernel_at_fault_cannot_double_a_chunk(steps in prop::collection::vec((0u8..4, 0usize..12), 1..300), fill in 2u32..5) {
        let sizes = QueueSizes { fill: 1 << fill, ..SIZES };
        let (mut kernel, mut queue) = ReceiveKernel::with_queue(sizes).unwrap();
        let mut kept: Vec<OwnedFrame> = Vec::new();
        let mut named = 0;
        for (action, number) in steps {
            match action {
                0 | 1 => if named - queue.frames_read() < u64::from(SIZES.received) {
                    kernel.deliver_descriptor(number as u64 * 2048, 60);
                    named += 1;
                },
                2 => if let Some(batch) = queue.take() {
                    kept.extend(number.checked_rem(batch.len()).and_then(|index| batch.keep(index)));
                },
                _ => if !kept.is_empty() {
                    kept.swap_remove(number % kept.len());
                },
            }
            // What is kept is one use each; what is spare is nobody's.
            let mut places: Vec<_> = kept.iter().map(|frame| frame.data().as_ptr() as usize).collect();
            let first = queue.origin();
            places.extend(queue.spare().iter().map(|&chunk| first + chunk as usize * 2048));
            let count = places.len();
            places.sort_unstable();
            places.dedup();
            prop_assert_eq!(places.len(), count);
        }
        kept.clear();
        while queue.take().is_some() {}
        prop_assert!(queue.spare().len() <= 10);
        prop_assert!(queue.frames_read() == named && queue.impossible() <= named);
    }

    /// For any order of deliveries, batches, keeping and dropping. Every chunk is in one place, no kept frame changes, and every
    /// frame comes once and in order.
    #[test]
    fn chunks_are_neither_lost_nor_doubled(
        steps in prop::collection::vec((0u8..5, 0usize..8), 1..if cfg!(miri) { 12 } else { 300 }),
        fill in 2u32..5,
    ) {
        let sizes = QueueSizes { fill: 1 << fill, ..SIZES };
        let (mut kernel, mut queue) = ReceiveKernel::with_queue(sizes).unwrap();
        let mut kept: Vec<(OwnedFrame, u32)> = Vec::new();
        let (mut offered, mut expected) = (0u32, std::collections::VecDeque::new());
        for (action, number) in steps {
            match action {
                0 | 1 => for _ in 0..=number {
                    if kernel.deliver(&text(offered)) {
                        expected.push_back(offered);
                    }
                    offered += 1;
                },
                2 => if let Some(batch) = queue.take() {
                    for (index, frame) in batch.frames().enumerate() {
                        let number = expected.pop_front().unwrap();
                        prop_assert_eq!(frame, text(number));
                        if index == 0 {
                            kept.push((batch.keep(0).unwrap(), number));
                        }
                    }
                },
                3 => if !kept.is_empty() {
                    kept.swap_remove(number % kept.len());
                },
                _ => if let Some((frame, number)) = kept.get(number) {
                    let clone = (frame.clone(), *number);
                    kept.push(clone);
                },
            }
            for (frame, number) in &kept {
                prop_assert_eq!(frame.data(), text(*number));
            }
        }
        prop_assert_eq!(queue.impossible(), 0);
        let statistics = kernel.statistics();
        let lost = statistics.rx_dropped + statistics.rx_ring_full.unwrap();
        prop_assert_eq!(u64::from(offered), queue.frames_read() + expected.len() as u64 + lost);
        kept.clear();
        prop_assert_eq!(drain(&mut queue).len(), expected.len());
        let _ = queue.take();
        let (lent, spare) = queue.idle();
        prop_assert_eq!(lent as usize + spare + kernel.unused(), 10);
    }
}

fn write(queue: &mut super::TransmitQueue, contents: &[u8]) {
    assert_eq!(queue.room(contents.len() as u32), contents.len() as u32);
    for (index, &value) in (0..).zip(contents) {
        queue.slot(index)[..60].fill(value);
    }
    queue.request(&vec![60; contents.len()]).unwrap();
}

#[test]
fn requests_are_sent_once_and_in_order() {
    let (mut kernel, mut queue) = TransmitKernel::with_queue(8).unwrap();
    let (mut sent, mut seen) = (0u64, 0u64);
    for round in 0..500u32 {
        let count = queue.room(1 + round % 8);
        write(&mut queue, &(0..count).map(|n| (sent + u64::from(n)) as u8).collect::<Vec<_>>());
        sent += u64::from(count);
        for frame in kernel.take(1 + (round % 3) as usize) {
            assert_eq!(frame, [seen as u8; 60]);
            seen += 1;
        }
        queue.take_count();
        assert_eq!(u64::from(queue.pending()), sent - seen);
        kernel.complete((round % 5) as usize);
    }
    while queue.pending() > 0 {
        seen += kernel.take(8).len() as u64;
        kernel.complete(8);
        queue.take_count();
    }
    kernel.complete(8);
    assert_eq!((sent, queue.in_flight(), queue.impossible()), (seen, 0, 0));
    assert!(sent > 500);
}

#[test]
fn a_chunk_is_written_again_only_when_it_was_completed() {
    let (mut kernel, mut queue) = TransmitKernel::with_queue(8).unwrap();
    write(&mut queue, &[1; 8]);
    assert_eq!(queue.room(8), 0);
    assert_eq!(kernel.take(8).len(), 8);
    assert_eq!((queue.take_count(), queue.room(8), queue.in_flight()), (8, 0, 8));
    kernel.complete(3);
    assert_eq!((queue.room(8), queue.in_flight()), (3, 5));
    assert!(queue.request(&[60; 4]).is_err());
    assert!(queue.request(&[2049]).is_err());
}

#[test]
fn a_completion_of_an_unsent_chunk_frees_nothing() {
    let (mut kernel, mut queue) = TransmitKernel::with_queue(8).unwrap();
    write(&mut queue, &[1; 4]);
    assert_eq!(kernel.take(4).len(), 4);
    kernel.complete(4);
    kernel.complete_address(0);
    kernel.complete_address(1 << 40);
    kernel.complete_address(7 * 2048);
    assert_eq!((queue.take_count(), queue.room(8), queue.in_flight()), (4, 8, 0));
    assert_eq!(queue.impossible(), 3);
    // Each chunk is free once.
    write(&mut queue, &[1, 2, 3, 4, 5, 6, 7, 8]);
    let contents: BTreeMap<u8, usize> = kernel.take(8).iter().fold(BTreeMap::new(), |mut seen, frame| {
        *seen.entry(frame[0]).or_default() += 1;
        seen
    });
    assert_eq!(contents.len(), 8);
}

#[test]
fn withdrawn_frames_are_never_sent() {
    let (mut kernel, mut queue) = TransmitKernel::with_queue(8).unwrap();
    for flushed in [true, false, true] {
        write(&mut queue, &[1, 2, 3, 4, 5]);
        assert_eq!(kernel.take(2).len(), 2);
        kernel.complete(2);
        queue.take_count();
        // SAFETY: this thread plays the kernel, and it does not look at the ring now.
        let chunks = unsafe { queue.void_pending() };
        assert_eq!(chunks.len(), 3);
        if flushed {
            assert!(kernel.take(8).is_empty());
        }
        queue.withdrawn(&chunks, 3, flushed);
        assert_eq!((queue.pending(), queue.in_flight()), (0, 0));
        let room = queue.room(8);
        assert_eq!(room, if flushed { 8 } else { 5 });
        write(&mut queue, &[9, 10]);
        assert_eq!(kernel.take(8), [[9; 60], [10; 60]]);
        kernel.complete(2);
        assert_eq!((queue.take_count(), queue.pending(), queue.in_flight()), (2, 0, 0));
    }
    assert_eq!((kernel.invalid(), queue.impossible()), (9, 0));
}

#[test]
fn a_dropped_frame_is_sent_again_before_those_behind_it() {
    for reported_late in [false, true] {
        let (mut kernel, mut queue) = TransmitKernel::with_queue(8).unwrap();
        let mut seen = Vec::new();
        for round in 0..50u8 {
            write(&mut queue, &[1, 2, 3, 4, 5].map(|n| n + round));
            for sent_before in [2, 0, 1] {
                seen.extend(kernel.take(sent_before));
                kernel.complete(usize::from(round % 3));
                kernel.drop_next();
                if !reported_late {
                    queue.take_count();
                }
                // SAFETY: this thread plays the kernel, which does not look at the ring now and has just dropped a frame.
                assert!(unsafe { queue.repeat_dropped() });
            }
            seen.extend(kernel.take(8));
            kernel.complete(8);
            queue.take_count();
            assert_eq!((queue.pending(), queue.in_flight(), queue.room(8)), (0, 0, 8), "{round}");
            assert_eq!(std::mem::take(&mut seen), [1, 2, 3, 4, 5].map(|n| [n + round; 60]), "{round}");
        }
        assert_eq!((queue.impossible(), kernel.invalid()), (0, 0));
    }
}
