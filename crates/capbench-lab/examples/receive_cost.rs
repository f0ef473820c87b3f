//! What taking and verifying a frame costs in user space: a `packet-v3` ring on heap memory, blocks filled by a stand-in
//! for the kernel outside the measured time, work `none`.
//!
//! `cargo run --release -p capbench-lab --example receive_cost`

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use capbench_capture::Batch;
use capbench_frames::{Classifier, FrameLayout, FramePlan, Mtu, Sizes, Stamp, StreamId, TrialId};
use capbench_lab::latency::{LatencyRecorder, Timekeeper};
use capbench_lab::receiver::{Streams, Verifier};
use capbench_model::latency::Recording;
use capbench_model::running::TimeSource;
use capbench_sys::packet::BlockGeometry;
use capbench_sys::packet::stand_in::BlockKernel;

const BLOCK: u32 = 1 << 20;
const ROUNDS: usize = 200;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "size  frames/block  take ns  take+verify ns  with latency ns   (minimum and median of {ROUNDS} blocks)"
    );
    for size in ["64", "512", "1518"] {
        let plan = FramePlan::new(FrameLayout::default(), size.parse::<Sizes>()?, Mtu(1500))?;
        let (frames, costs) = measure(&plan)?;
        let costs = costs.map(|(least, median)| format!("{least:.1} {median:.1}")).join("  ");
        println!("{size:>4}  {frames:>12}  {costs}");
    }
    Ok(())
}

/// Nanoseconds per frame, minimum and median over blocks.
type Cost = (f64, f64);

/// Frames in a block, and the cost of taking alone, of taking with verification, and of recording latency, too.
fn measure(plan: &FramePlan) -> Result<(usize, [Cost; 3]), Box<dyn std::error::Error>> {
    let (mut kernel, mut ring) = BlockKernel::with_ring(BlockGeometry::new(BLOCK, 4, 10)?)?;
    let mut verifier = Verifier::recording(
        Classifier::new(TrialId(1), plan.layout(), None)?,
        Streams::one(plan.flow_order()),
        true,
    );
    let start = OnceLock::from(Instant::now());
    let source = TimeSource::kernel("of the stand-in");
    let mut recorder = LatencyRecorder::new(Recording::default(), Some(&start), source);
    let mut sequence = 0;
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    let mut frames = 0;
    for round in 0..3 * ROUNDS {
        let batch = make(plan, &mut sequence);
        let slices: Vec<&[u8]> = batch.iter().map(Vec::as_slice).collect();
        frames = kernel.fill(&slices).ok_or("the stand-in found no free block")?;
        sequence -= (slices.len() - frames) as u64;
        let start = Instant::now();
        let block = ring.take().ok_or("the block was not handed over")?;
        if round % 3 == 0 {
            let octets: usize = Batch::frames(&block).map(|frame| frame.data.len()).sum();
            std::hint::black_box(octets);
        } else {
            verifier.begin(block.loss_mark(), block.queue());
            if round % 3 == 1 {
                note(&block, &mut verifier, &mut ());
            } else {
                note(&block, &mut verifier, &mut recorder);
            }
        }
        drop(block);
        times[round % 3].push(start.elapsed());
        if round % 3 == 0 {
            sequence -= frames as u64;
        }
    }
    let arrivals = verifier.arrivals();
    assert_eq!(arrivals.delivered, arrivals.read, "every frame verified");
    Ok((frames, times.map(|times| summary(times, frames))))
}

/// What the application of a trial does with the frames of a batch.
fn note(batch: &impl Batch, verifier: &mut Verifier, timekeeper: &mut impl Timekeeper) {
    timekeeper.begin_batch();
    for frame in batch.frames() {
        verifier.note_timed(&frame, timekeeper);
    }
}

fn make(plan: &FramePlan, sequence: &mut u64) -> Vec<Vec<u8>> {
    let mut planned = plan.frames();
    let (size, flow) = planned.next_frame();
    (0..BLOCK as usize / size.captured().max(64))
        .map(|_| {
            let stamp = Stamp {
                trial: TrialId(1),
                stream: StreamId(0),
                sequence: *sequence,
                planned_ns: *sequence * 1000,
            };
            *sequence += 1;
            let mut slot = vec![0; size.captured().max(128)];
            let octets = plan.writer().write(&mut slot, size, flow, stamp);
            slot.truncate(octets);
            slot
        })
        .collect()
}

fn summary(mut times: Vec<Duration>, frames: usize) -> Cost {
    times.sort_unstable();
    let per_frame = |time: Duration| time.as_nanos() as f64 / frames as f64;
    (per_frame(times[0]), per_frame(times[times.len() / 2]))
}
