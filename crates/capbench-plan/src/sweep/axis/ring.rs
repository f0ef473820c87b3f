//! Memory for the ring, and its block size.

use capbench_judge::sweep::PointUnit;
use capbench_model::laboratory::Setup;
use capbench_model::trial::Load;
use capbench_model::units::ByteCount;

use super::{Axis, Point, Request, Setting, contradiction};
use crate::Result;

/// Ring and blocks of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSize {
    /// Memory for the ring, or the socket's receive buffer for methods without a ring.
    pub ring: ByteCount,
    /// Block size of rings.
    pub block: ByteCount,
}

/// The minimum block: a page, of the size that x86-64 and most arm64 kernels have.
const PAGE: u64 = 4096;
/// Maximum block size of rings given in frames.
const BLOCK: u64 = 1 << 20;
/// The size of a slot for a frame of MTU 1500 with its header.
const SLOT: ByteCount = ByteCount(2048);

impl RingSize {
    /// A ring for this number of frames in slots of this size: one block, or blocks of 1 MiB. Fails for zero frames.
    pub fn of_frames(frames: u32, slot: ByteCount) -> Result<Self> {
        let whole = u64::from(frames).saturating_mul(slot.0).min(u64::MAX / 2).next_multiple_of(PAGE);
        let ring = if whole > BLOCK { whole.next_multiple_of(BLOCK) } else { whole };
        Self::new(ByteCount(ring), ByteCount(ring.min(BLOCK)))
    }

    /// A ring in blocks. Fails for an empty ring, or less than a block.
    fn new(ring: ByteCount, block: ByteCount) -> Result<Self> {
        if block.0 == 0 || block > ring {
            return Err(contradiction(format!(
                "a ring of {ring} in blocks of {block} holds nothing; give a ring of at least one block"
            )));
        }
        Ok(Self { ring, block })
    }

    /// Reads a number of frames, or RING or RING/BLOCK sizes.
    fn read(text: &str, slot: ByteCount) -> std::result::Result<Self, String> {
        let ring = match (text.parse(), text.split_once('/')) {
            (Ok(frames), _) => Self::of_frames(frames, slot),
            (_, Some((ring, block))) => Self::new(octets(ring)?, octets(block)?),
            _ => {
                let ring = octets(text)?;
                Self::new(ring, ByteCount(ring.0.min(BLOCK)))
            }
        };
        ring.map_err(|error| error.to_string())
    }
}

fn octets(text: &str) -> std::result::Result<ByteCount, String> {
    text.parse::<ByteCount>().map_err(|error| error.to_string())
}

fn frames(text: &str) -> Result<u32> {
    text.parse().map_err(|_| contradiction(format!("\"{text}\" is no number of frames")))
}

impl Axis {
    /// Rings for `from` to `to` frames in slots of this size, doubling. Fails for zero frames, or ends out of order.
    pub fn rings(from: u32, to: u32, slot: ByteCount) -> Result<Self> {
        Self::new(range(from, to, slot)?.into_iter().map(Point::Ring).collect())
    }
}

/// Rings for `from` to `to` frames, doubling.
fn range(from: u32, to: u32, slot: ByteCount) -> Result<Vec<RingSize>> {
    if from == 0 || from > to {
        return Err(contradiction(format!("rings for {from} to {to} frames are none; 8 to 32768 are some")));
    }
    let mut rings = Vec::new();
    let mut next = Some(from);
    while let Some(frames) = next.filter(|frames| *frames <= to) {
        rings.push(RingSize::of_frames(frames, slot)?);
        next = frames.checked_mul(2);
    }
    rings.dedup();
    Ok(rings)
}

impl Setting for RingSize {
    fn label(&self) -> String {
        let Self { ring, block } = self;
        if ring == block {
            format!("ring {ring}, one block")
        } else {
            format!("ring {ring} in blocks of {block}")
        }
    }

    /// A range is of frames, doubled.
    fn requested(request: &Request<'_>) -> Result<Vec<Self>> {
        let slot = request.base.capture.frame.unwrap_or(SLOT);
        if request.ends.is_none() && !request.points.is_empty() {
            return request.listed(|text| Self::read(text, slot));
        }
        let (from, to) = match request.ends {
            Some((from, to)) => (frames(from)?, frames(to)?),
            None => (8, 32_768),
        };
        range(from, to, slot)
    }

    fn apply(&self, setup: &mut Setup, _: &mut Load) {
        (setup.capture.ring, setup.capture.block) = (self.ring, self.block);
    }

    fn coordinate(&self) -> Option<(f64, PointUnit)> {
        Some((self.ring.0 as f64, PointUnit::Bytes))
    }

    /// In whole blocks, of the smaller size of both points.
    fn nearest(&self, other: &Self, octets: f64) -> Option<Self> {
        let block = self.block.min(other.block);
        let blocks = (octets / block.0 as f64).round().max(1.0) as u64;
        Some(Self { ring: ByteCount(blocks * block.0), block })
    }
}
