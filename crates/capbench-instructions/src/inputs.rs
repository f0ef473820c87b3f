//! The packets of every path: the same in each run, on each host.

use anyhow::Result;
use capbench_frames::{FrameLayout, FramePlan, Mtu, Sizes, Stamp, StreamId, TrialId};
use capbench_sys::packet::stand_in::BlockKernel;
use capbench_sys::packet::{Block, BlockGeometry, BlockRing, Frame};

/// Packets of each path: whole rounds of the twelve frames of `imix`.
pub const PACKETS: usize = 10_080;

/// The trial that the stamps name.
pub const TRIAL: TrialId = TrialId(5);

/// Time of the first packet, in ns since the epoch, and between two.
pub const FIRST_NS: u64 = 1_700_000_000_000_000_000;
const BETWEEN_NS: u64 = 1_000;

const BLOCK_OCTETS: u32 = 1 << 20;
/// Blocks that hold the packets with their headers, at the largest size.
const BLOCKS: u32 = 24;

/// Packets of a trial with frames of these sizes.
pub struct Input {
    /// The sizes as the table names them.
    pub sizes: &'static str,
    pub plan: FramePlan,
    octets: Vec<Vec<u8>>,
}

impl Input {
    pub fn new(sizes: &'static str) -> Result<Self> {
        let plan = FramePlan::new(FrameLayout::default(), sizes.parse::<Sizes>()?, Mtu(1500))?;
        let octets = (0..PACKETS as u64).map(|number| octets_of(&plan, number)).collect();
        Ok(Self { sizes, plan, octets })
    }

    /// The packets as a capture method delivers them.
    pub fn frames(&self) -> Vec<Frame<'_>> {
        let timed = self.octets.iter().enumerate();
        timed.map(|(number, octets)| Frame::new(octets, octets.len() as u32, time_ns(number))).collect()
    }

    /// A ring whose blocks have every packet.
    pub fn ring(&self) -> Result<BlockRing> {
        self.ring_of(0, 1)
    }

    /// The blocks of a capture that gets the packets `first`, `first + step` and so on.
    pub fn blocks(&self, first: usize, step: usize) -> Result<Vec<Block>> {
        let mut ring = self.ring_of(first, step)?;
        Ok(std::iter::from_fn(|| ring.take()).collect())
    }

    /// A ring with these packets.
    fn ring_of(&self, first: usize, step: usize) -> Result<BlockRing> {
        let (mut kernel, ring) = BlockKernel::with_ring(BlockGeometry::new(BLOCK_OCTETS, BLOCKS, 10)?)?;
        let numbers = (first..PACKETS).step_by(step);
        let packets: Vec<_> = numbers.map(|number| (time_ns(number), &self.octets[number][..])).collect();
        let mut left = &packets[..];
        while !left.is_empty() {
            let filled = kernel.fill_timed(left.iter().copied()).expect("a ring with room for all packets");
            left = &left[filled..];
        }
        Ok(ring)
    }
}

/// When a packet was captured.
fn time_ns(number: usize) -> u64 {
    FIRST_NS + BETWEEN_NS * number as u64
}

fn octets_of(plan: &FramePlan, number: u64) -> Vec<u8> {
    let (size, flow) = plan.frame(number);
    let stamp =
        Stamp { trial: TRIAL, stream: StreamId(0), sequence: number, planned_ns: number * BETWEEN_NS };
    let mut octets = vec![0; size.captured()];
    plan.writer().write(&mut octets, size, flow, stamp);
    octets
}
