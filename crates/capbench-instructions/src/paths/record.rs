//! A recorded packet: merged with those of other captures, and encoded.

use std::hint::black_box;
use std::time::Duration;

use anyhow::Result;
use capbench_capture::capture::OwnedBatch;
use capbench_model::units::SnapLength;
use capbench_record::file::{
    ETHERNET, Encoder, HashAlgorithm, InterfaceDescription, PacketFacts, SectionDescription,
};
use capbench_record::merge::{Merge, Moment, Origin, PortPlan};
use capbench_sys::packet::{Block, Frame};

use crate::counter::Counter;
use crate::inputs::{Input, PACKETS};

/// Octets of a buffer for records: it is used again when it is full.
const BUFFER_OCTETS: usize = 1 << 20;

/// Blocks in the ring of each merged capture: more than the merge keeps.
const RING_BLOCKS: u32 = 64;

pub fn run(counter: &mut Counter, input: &Input) -> Result<()> {
    let (section, interfaces) = (SectionDescription::default(), [InterfaceDescription::default()]);
    let whole = SnapLength::EVERYTHING;
    let pcapng = Encoder::pcapng(&section, &interfaces, whole, HashAlgorithm::default())?;
    encode(counter, "encode pcapng", &pcapng, input)?;
    encode(counter, "encode pcap", &Encoder::pcap(ETHERNET, whole), input)?;
    merge(counter, "merge, one capture", vec![input.blocks(0, 1)?], input)?;
    merge(counter, "merge, two captures", vec![input.blocks(0, 2)?, input.blocks(1, 2)?], input)
}

fn encode(counter: &mut Counter, path: &str, encoder: &Encoder, input: &Input) -> Result<()> {
    let frames = input.frames();
    let facts = PacketFacts { interface: 0, queue: None, dropped: None };
    let mut buffer = vec![0; BUFFER_OCTETS];
    let largest = encoder.largest_record();
    counter.count(path, input.sizes, || {
        let mut used = 0;
        for frame in &frames {
            if used + largest > BUFFER_OCTETS {
                used = 0;
            }
            let record = encoder.encode(black_box(frame), black_box(&facts), &mut buffer[used..]);
            used += record.expect("there is room for any record");
        }
    })
}

/// Merges captures whose blocks come in turn.
fn merge(counter: &mut Counter, path: &str, captures: Vec<Vec<Block>>, input: &Input) -> Result<()> {
    let plans = vec![PortPlan::new(Duration::from_millis(10), RING_BLOCKS); captures.len()];
    let window = PortPlan::window(&plans);
    let mut merge = Merge::new(plans, window);
    let mut captures: Vec<_> = captures.into_iter().map(Vec::into_iter).collect();
    let mut merged = 0;
    counter.count(path, input.sizes, || {
        loop {
            let mut is_over = true;
            for (port, blocks) in captures.iter_mut().enumerate() {
                if let Some(block) = blocks.next() {
                    merge.push(port, OwnedBatch::Block(block));
                    is_over = false;
                }
            }
            if is_over {
                break;
            }
            merged += merge.drain_ready(NOW, deliver);
        }
        for port in 0..captures.len() {
            merge.ended(port);
        }
        merged += merge.drain_ready(NOW, deliver);
    })?;
    assert_eq!(merged, PACKETS as u64, "the merge delivers every packet");
    Ok(())
}

/// No time passes: what is certain is delivered.
const NOW: Moment = Moment { real_ns: crate::inputs::FIRST_NS, monotonic_ns: 1 };

fn deliver(_: Origin<'_, OwnedBatch>, frame: &Frame<'_>) {
    black_box(frame);
}
