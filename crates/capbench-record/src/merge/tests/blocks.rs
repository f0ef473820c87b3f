//! The merge over blocks of rings, with the test as the kernel.

use std::time::Duration;

use capbench_capture::capture::{Batch, Place, SeekableBatch};
use capbench_model::counters::LossMark;
use capbench_sys::packet::stand_in::BlockKernel;
use capbench_sys::packet::{Block, BlockGeometry, BlockRing};

use super::super::{Merge, Moment, PortPlan};
use super::{MS, START};

fn ring() -> (BlockKernel, BlockRing) {
    BlockKernel::with_ring(BlockGeometry::new(4096, 2, 10).unwrap()).unwrap()
}

fn fill(kernel: &mut BlockKernel, times_ms: &[u64]) -> bool {
    let bytes: Vec<_> = times_ms.iter().map(|ms| [*ms as u8; 60]).collect();
    let frames = times_ms.iter().zip(&bytes).map(|(ms, bytes)| (START + ms * MS, &bytes[..]));
    kernel.fill_timed(frames).is_some()
}

/// Milliseconds and the octets in the frames that are ready.
fn drain(merge: &mut Merge<Block>) -> Vec<u64> {
    let mut out = vec![];
    let now = Moment { real_ns: START + 50 * MS, monotonic_ns: 0 };
    merge.drain_ready(now, |_, frame| {
        let ms = (frame.time_ns - START) / MS;
        assert!(frame.data.len() == 60 && frame.data.iter().all(|&octet| u64::from(octet) == ms));
        out.push(ms);
    });
    out
}

#[test]
fn blocks_go_back_to_the_kernel_with_their_last_frame() {
    let ((mut kernel, mut ring), (mut other_kernel, mut other)) = (ring(), ring());
    let plan =
        PortPlan { hold: Duration::ZERO, disorder: Duration::ZERO, ..PortPlan::new(Duration::ZERO, 64) };
    let mut merge = Merge::new(vec![plan; 2], Duration::from_secs(1));
    assert!(fill(&mut kernel, &[1, 3, 5, 4, 7]) && fill(&mut kernel, &[8, 9, 10]));
    assert!(!fill(&mut kernel, &[11]), "full");
    merge.push(0, ring.take().unwrap());
    merge.push(0, ring.take().unwrap());
    assert!(fill(&mut other_kernel, &[2, 6]));
    merge.push(1, other.take().unwrap());
    assert_eq!(drain(&mut merge), [1, 2, 3, 4, 5]);
    assert!(!fill(&mut kernel, &[11]), "the last frame of the first block is not out");
    assert!(fill(&mut other_kernel, &[8]));
    merge.push(1, other.take().unwrap());
    assert_eq!(drain(&mut merge), [6, 7]);
    assert!(fill(&mut kernel, &[11]), "the first block is the kernel's again");
    merge.push(0, ring.take().unwrap());
    let mut left = vec![];
    merge.finish(|from, frame| left.push((from.port, (frame.time_ns - START) / MS)));
    assert_eq!(left, [(0, 8), (1, 8), (0, 9), (0, 10), (0, 11)]);
}

#[test]
fn losses_of_a_block_are_reported_by_its_first_recorded_frame() {
    let (mut kernel, mut ring) = ring();
    assert!(fill(&mut kernel, &[1, 2]) && fill(&mut kernel, &[3]));
    let mut merge = Merge::new(vec![PortPlan::new(Duration::ZERO, 64)], Duration::from_secs(1));
    merge.push(0, ring.take().unwrap());
    merge.push(0, ring.take().unwrap());
    let mut out = vec![];
    let mut see = |merge: &mut Merge<Block>, ms: u64| {
        let now = Moment { real_ns: START + ms * MS, monotonic_ns: ms * MS };
        merge.drain_ready(now, |from, frame| {
            let marked = from.first && from.batch.loss_mark() == LossMark::Batch(true);
            out.push(((frame.time_ns - START) / MS, from.first, marked));
        });
    };
    see(&mut merge, 0);
    merge.idle(0, START + 500 * MS);
    see(&mut merge, 500);
    assert!(fill(&mut kernel, &[601, 602, 600]) && fill(&mut kernel, &[603]) && !fill(&mut kernel, &[604]));
    merge.push(0, ring.take().unwrap());
    merge.push(0, ring.take().unwrap());
    merge.idle(0, START + 900 * MS);
    see(&mut merge, 900);
    assert!(fill(&mut kernel, &[902, 901]), "marked as losing");
    merge.push(0, ring.take().unwrap());
    merge.idle(0, START + 1000 * MS);
    see(&mut merge, 1000);
    assert_eq!(
        out,
        [
            (1, true, false),
            (2, false, false),
            (3, true, false),
            (600, true, false),
            (601, false, false),
            (602, false, false),
            (603, true, false),
            (901, true, true),
            (902, false, false)
        ]
    );
}

#[test]
fn a_block_is_read_on_from_where_a_reading_stopped() {
    let (mut kernel, mut ring) = ring();
    assert!(fill(&mut kernel, &[1, 2, 3]));
    let block = ring.take().unwrap();
    let mut place = block.start();
    for left in (0..3).rev() {
        let frame = block.frame_at(&mut place).unwrap();
        assert_eq!((u64::from(frame.data[0]), frame.time_ns), (3 - left, START + (3 - left) * MS));
        assert_eq!(u64::from(place.left), left);
    }
    assert!(block.frame_at(&mut place).is_none());
    for offset in [1, 4090, 4096, u32::MAX] {
        assert!(block.frame_at(&mut Place { offset, left: 3 }).is_none(), "{offset}");
    }
}
