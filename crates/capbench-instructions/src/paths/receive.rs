//! A received packet of a trial: out of the ring, classified, verified, recorded.

use std::hint::black_box;

use anyhow::Result;
use capbench_frames::checksum::{fold, sum_native};
use capbench_frames::classify::{Classifier, TagMetadata};
use capbench_frames::plan::FlowOrder;
use capbench_lab::receiver::{Streams, Verifier};
use capbench_model::latency::DelayRecorder;
use capbench_model::loss_pattern::SequenceTracker;
use capbench_sys::packet::stand_in::FrameKernel;
use capbench_sys::packet::{FrameGeometry, FrameRing, FrameVersion};

use crate::counter::Counter;
use crate::inputs::{Input, PACKETS, TRIAL};

/// Slots that one look at a V2 ring reads, as the method does.
const BATCH: u32 = 64;

pub fn run(counter: &mut Counter, input: &Input) -> Result<()> {
    decode_blocks(counter, input)?;
    decode_slots(counter, input)?;
    classify(counter, input)?;
    verify(counter, input)?;
    checksum(counter, input)
}

fn decode_blocks(counter: &mut Counter, input: &Input) -> Result<()> {
    let mut ring = input.ring()?;
    counter.count("decode, blocks of V3", input.sizes, || {
        while let Some(block) = ring.take() {
            for frame in block.frames() {
                black_box(&frame);
            }
        }
    })
}

fn decode_slots(counter: &mut Counter, input: &Input) -> Result<()> {
    let mut ring = slots(input)?;
    counter.count("decode, slots of V2", input.sizes, || {
        while let Some(batch) = ring.take(BATCH) {
            for frame in batch.frames() {
                black_box(&frame);
            }
        }
    })
}

/// A V2 ring with every packet.
fn slots(input: &Input) -> Result<FrameRing> {
    let geometry = FrameGeometry::new(2048, PACKETS as u32, 1 << 16)?;
    let (mut kernel, ring) = FrameKernel::with_ring(geometry, FrameVersion::V2)?;
    for frame in input.frames() {
        assert!(kernel.deliver(frame.data, frame.wire_length, None), "the ring has room for all packets");
    }
    Ok(ring)
}

fn classify(counter: &mut Counter, input: &Input) -> Result<()> {
    let classifier = classifier(input)?;
    let frames = input.frames();
    counter.count("classify", input.sizes, || {
        for frame in &frames {
            let frame = black_box(frame);
            black_box(classifier.look(frame.data, frame.wire_length, TagMetadata::Absent));
        }
    })
}

fn verify(counter: &mut Counter, input: &Input) -> Result<()> {
    let streams = Streams::one(input.plan.flow_order());
    let mut verifier = Verifier::recording(classifier(input)?, streams, true);
    let frames = input.frames();
    counter.count("verify", input.sizes, || {
        for frame in &frames {
            verifier.note(black_box(frame));
        }
    })?;
    assert_eq!(verifier.arrivals().delivered, PACKETS as u64, "every packet is of the trial");
    Ok(())
}

fn classifier(input: &Input) -> Result<Classifier> {
    Ok(Classifier::new(TRIAL, input.plan.layout(), None)?)
}

fn checksum(counter: &mut Counter, input: &Input) -> Result<()> {
    let frames = input.frames();
    counter.count("checksum", input.sizes, || {
        for frame in &frames {
            black_box(fold(sum_native(black_box(frame.data))));
        }
    })
}

/// What is recorded of a verified packet. It does not depend on its size.
pub fn book(counter: &mut Counter) -> Result<()> {
    book_arrivals(counter, "book arrivals in order", u64::MAX)?;
    book_arrivals(counter, "book arrivals, every 10th lost", 10)?;
    book_delays(counter)
}

fn book_arrivals(counter: &mut Counter, path: &str, lost: u64) -> Result<()> {
    let mut tracker = SequenceTracker::recording(FlowOrder::default());
    // As many packets arrive as in every other path.
    let numbers = (0..).filter(|number| number % lost != lost - 1).take(PACKETS);
    let numbers: Vec<u64> = numbers.collect();
    counter.count(path, "any", || {
        for &number in &numbers {
            black_box(tracker.note(black_box(number), || number * 1_000));
        }
    })
}

fn book_delays(counter: &mut Counter) -> Result<()> {
    let mut recorder = DelayRecorder::default();
    // 1 to 50 microseconds.
    let delays_ns: Vec<u64> = (0..PACKETS as u64).map(|number| 1_000 + number % 50 * 1_000).collect();
    counter.count("book delays", "any", || {
        for &delay_ns in &delays_ns {
            recorder.record(1_000_000, black_box(1_000_000 + delay_ns));
        }
    })
}
