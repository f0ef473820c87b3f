//! A recorded packet: merged with those of other captures, and encoded.

use std::hint::black_box;
use std::time::Duration;

use anyhow::{Result, ensure};
use capbench_capture::capture::OwnedBatch;
use capbench_model::units::{ByteCount, SnapLength};
use capbench_record::file::{
    ETHERNET, Encoder, HashAlgorithm, InterfaceDescription, PacketFacts, SectionDescription,
};
use capbench_record::merge::{self, Merge, Moment, PortPlan};
use capbench_record::recording::FrameToEncode;
use capbench_record::writing::{FileEnds, Origin, Output, WriteOptions};
use capbench_sys::packet::{Block, Frame};

use crate::counter::Counter;
use crate::inputs::{FIRST_NS, Input, PACKETS};

/// A buffer for the records of all packets.
const BUFFER: ByteCount = ByteCount(32 << 20);
/// As few buffers as the writer works with.
const POOL: ByteCount = ByteCount(4 * BUFFER.0);

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

/// Encodes into a buffer of the thread that writes, as `record` does. One buffer holds all packets, so that the two threads do not
/// exchange any while instructions are counted: how often one waits for the other depends on the host.
fn encode(counter: &mut Counter, path: &str, encoder: &Encoder, input: &Input) -> Result<()> {
    let frames = input.frames();
    let folder = tempfile::tempdir()?;
    let file = WriteOptions::new(folder.path().join("recorded"));
    let options = WriteOptions { buffer: BUFFER, pool: POOL, syncs: false, ..file };
    let mut ends = Header(encoder.header());
    let output = Output::open(&options, encoder.extent(), FIRST_NS, &mut ends)?;
    let mut recorder = Recorder { encoder, output, ends };
    // The first packet gets the buffer from the writer.
    recorder.record(&frames[..1]);
    let mut recorded = 0;
    counter.count(path, input.sizes, || recorded = recorder.record(&frames))?;
    ensure!(recorded == PACKETS, "the writer had a buffer for {recorded} packets of {PACKETS}");
    recorder.output.finish(&mut recorder.ends);
    Ok(())
}

struct Recorder<'a> {
    encoder: &'a Encoder,
    output: Output,
    ends: Header,
}

impl Recorder<'_> {
    /// Records frames, and returns how many there was room for. Not inlined: it is compiled once, as in `record`.
    #[inline(never)]
    fn record(&mut self, frames: &[Frame<'_>]) -> usize {
        let facts = PacketFacts { interface: 0, queue: None, dropped: None };
        let mut recorded = 0;
        for frame in frames {
            let record = FrameToEncode { encoder: self.encoder, frame, facts: black_box(facts) };
            let origin = Origin { interface: record.facts.interface, time_ns: frame.time_ns };
            recorded += usize::from(self.output.packet(origin, &mut self.ends, record).is_ok());
        }
        recorded
    }
}

/// The header of a file, which has no trailer.
struct Header(Vec<u8>);

impl FileEnds for Header {
    fn header(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn trailer(&mut self, _: &mut Vec<u8>) {}
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
const NOW: Moment = Moment { real_ns: FIRST_NS, monotonic_ns: 1 };

fn deliver(_: merge::Origin<'_, OwnedBatch>, frame: &Frame<'_>) {
    black_box(frame);
}
