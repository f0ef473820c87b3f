//! The cost of merging three ports per frame, compared with walking their blocks one after the other.
//!
//! `cargo run --release -p capbench-record --example merge_cost [ROUNDS]`. Needs no privilege: the program fills the blocks
//! itself, in the kernel's layout, which is not timed. Each frame is copied into a buffer, as writing it to a file
//! would do. Printed are medians over rounds, each of which walks the same frames and merges them, in turn.

use std::hint::black_box;
use std::time::{Duration, Instant};

use capbench_capture::Frame;
use capbench_record::merge::{Merge, Moment, PortPlan};
use capbench_sys::packet::stand_in::BlockKernel;
use capbench_sys::packet::{Block, BlockGeometry, BlockRing};

const PORTS: usize = 3;
/// Octets of a block.
const BLOCK: u32 = 1 << 20;
/// A frame of 64 octets, without its FCS.
const FRAME: [u8; 60] = [0x5a; 60];
/// Frames of that size that fill a block.
const FRAMES: u64 = 7281;
const START: u64 = 1_700_000_000_000_000_000;
/// Time between two frames of all ports together, ns.
const GAP: u64 = 100;

/// How the frames of ports lie in time: the time of a port's frame in a round.
struct Case {
    name: &'static str,
    ports: usize,
    time: fn(round: u64, port: u64, frame: u64) -> u64,
}

const CASES: [Case; 5] = [
    Case {
        name: "frame by frame in turn",
        ports: PORTS,
        time: |round, port, frame| ((round * FRAMES + frame) * 3 + port) * GAP,
    },
    Case {
        name: "32 frames in turn",
        ports: PORTS,
        time: |round, port, frame| {
            ((round * FRAMES + frame) / 32 * 96 + port * 32 + (round * FRAMES + frame) % 32) * GAP
        },
    },
    Case {
        name: "block by block in turn",
        ports: PORTS,
        time: |round, port, frame| ((round * 3 + port) * FRAMES + frame) * GAP,
    },
    Case { name: "one port only", ports: 1, time: |round, _, frame| (round * FRAMES + frame) * GAP },
    Case {
        name: "in turn, each 100th frame 50 us early",
        ports: PORTS,
        time: |round, port, frame| {
            ((round * FRAMES + frame) * 3 + port) * GAP + 50_000 - u64::from(frame % 100 == 99) * 50_000
        },
    },
];

struct Port {
    kernel: BlockKernel,
    ring: BlockRing,
}

impl Port {
    fn block(&mut self, times: impl ExactSizeIterator<Item = u64>) -> Block {
        let filled = self.kernel.fill_timed(times.map(|time| (START + time, &FRAME[..])));
        assert_eq!(filled, Some(FRAMES as usize), "a block is free and has room for all");
        self.ring.take().expect("it was filled")
    }
}

/// Takes frames as a writer does.
struct Sink(Vec<u8>);

impl Sink {
    fn put(&mut self, port: usize, frame: &Frame<'_>) {
        if self.0.len() + 128 > self.0.capacity() {
            black_box(&self.0);
            self.0.clear();
        }
        self.0.extend_from_slice(&frame.time_ns.to_le_bytes());
        self.0.extend_from_slice(&[port as u8, frame.wire_length as u8]);
        self.0.extend_from_slice(frame.data);
    }
}

/// Nanoseconds per frame of walking and of merging, in one round each.
fn round(
    case: &Case,
    number: u64,
    ports: &mut [Port],
    merge: &mut Merge<Block>,
    sink: &mut Sink,
) -> [f64; 2] {
    let mut blocks = |round: u64| -> Vec<Block> {
        let of_port = |(port, it): (usize, &mut Port)| {
            it.block((0..FRAMES as u32).map(|frame| (case.time)(round, port as u64, u64::from(frame))))
        };
        ports.iter_mut().enumerate().take(case.ports).map(of_port).collect()
    };
    let per_frame = |time: Duration| time.as_nanos() as f64 / (FRAMES * case.ports as u64) as f64;

    let filled = blocks(number);
    let start = Instant::now();
    for (port, block) in filled.into_iter().enumerate() {
        block.frames().for_each(|frame| sink.put(port, &frame));
    }
    let walked = per_frame(start.elapsed());

    let filled = blocks(number);
    let elapsed = (number + 1) * FRAMES * GAP * case.ports as u64;
    let now = Moment { real_ns: START + elapsed, monotonic_ns: elapsed };
    let start = Instant::now();
    for (port, block) in filled.into_iter().enumerate() {
        merge.push(port, block);
    }
    for port in case.ports..PORTS {
        merge.idle(port, now.real_ns);
    }
    merge.drain_ready(now, |from, frame| sink.put(from.port, frame));
    [walked, per_frame(start.elapsed())]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds = std::env::args().nth(1).map_or(Ok(1000), |text| text.parse::<u64>())?;
    let geometry = BlockGeometry::new(BLOCK, 8, 10)?;
    println!("{PORTS} ports, {FRAMES} frames of 64 octets a block, {rounds} rounds; ns per frame");
    println!("{:<40} {:>6} {:>6} {:>6}  {:>6} {:>4}", "case", "walked", "merged", "more", "late", "held");
    for case in &CASES {
        let ring = |_| BlockKernel::with_ring(geometry).map(|(kernel, ring)| Port { kernel, ring });
        let mut ports = (0..PORTS).map(ring).collect::<Result<Vec<_>, _>>()?;
        // A hold of nothing: the idle ports of one case would else hold blocks back that the small rings here need.
        let plan = PortPlan { hold: Duration::ZERO, disorder: Duration::from_micros(60), batches: 4 };
        let mut merge = Merge::new(vec![plan; PORTS], Duration::from_millis(60));
        let mut sink = Sink(Vec::with_capacity(BLOCK as usize));
        let mut times: [Vec<f64>; 2] = [vec![], vec![]];
        for number in 0..rounds {
            let pair = round(case, number, &mut ports, &mut merge, &mut sink);
            times.iter_mut().zip(pair).for_each(|(times, time)| times.push(time));
        }
        let [walked, merged] = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        let tally = merge.finish(|from, frame| sink.put(from.port, frame));
        let late: u64 = tally.ports.iter().map(|port| port.late).sum();
        let more = merged - walked;
        println!(
            "{:<40} {walked:>6.1} {merged:>6.1} {more:>6.1}  {late:>6} {:>4}",
            case.name, tally.most_held_batches
        );
    }
    Ok(())
}
