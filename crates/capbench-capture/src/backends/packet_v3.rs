//! `packet-v3`: TPACKET_V3, frames of any size packed into blocks. Kernel and application exchange whole blocks.

use std::time::{Duration, Instant};
use std::{iter, thread};

use capbench_sys::packet::{Block, BlockGeometry, BlockRing, FlowHashes, Frame, PacketSocket, Version};

use super::socket_setup::{Polling, SOCKET, bind, probe, unbound};
use crate::{
    Accumulator, Batch, Capture, CaptureError, Context, Interface, Method, Occupancy, OwnedBatch, Result,
    StatsSocket, Waiter, ring_memory,
};
use capbench_model::counters::{Counters, LossMark, WaitCounts};
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::running::{Engine, RingGeometry, Running, TimeSource};
use capbench_model::units::ByteCount;

/// The row of the table.
pub static METHOD: Method = Method {
    name: "packet-v3",
    summary: "TPACKET_V3: ring of blocks packed with frames, one wake-up per block",
    options: &[
        "--ring",
        "--block",
        "--retire-timeout",
        "--snaplen",
        "--no-promiscuous",
        "--spin",
        "--direction",
    ],
    variants: &["packet-v3+spin"],
    check: |spec, interface, options| {
        Polling::parse(spec, options).and_then(|_| geometry(interface, options)).map(drop)
    },
    supported: |_| probe(Some(Version::V3)),
    ..SOCKET
};

/// A TPACKET_V3 receive ring.
#[derive(Debug)]
pub struct PacketV3 {
    socket: PacketSocket,
    ring: BlockRing,
    statistics: Accumulator,
    waiter: Waiter,
    polling: Polling,
    /// Pause between two looks at the ring while poll(2) does not sleep.
    look: Duration,
    context: Context,
    running: Running,
}

impl PacketV3 {
    /// Opens it in the calling thread's namespace.
    ///
    /// # Errors
    /// Missing privilege, no such interface, or an invalid option.
    pub fn open(spec: &MethodSpec, interface: &Interface, options: &CaptureOptions) -> Result<Self> {
        let context = Context::new(METHOD.name, interface);
        let fail = |source| context.fail(source);
        let geometry = geometry(interface, options)?;
        let block = u64::from(geometry.block_size());
        let (room, longest) = (block.saturating_sub(BLOCK_HEAD), interface.longest_kept(options));
        let remedy = format!("--block {} holds them", ByteCount(block_for(longest)));
        let cuts = ring_memory::too_small(room, longest, "blocks", &remedy);
        let few = ring_memory::too_few(geometry.blocks().into(), block, "blocks");
        let (socket, filtered) = unbound(&context, interface, options)?;
        let polling = Polling::set(&context, spec, options, &socket)?;
        let hashes = if options.flow_hashes { FlowHashes::Filled } else { FlowHashes::None };
        let ring = socket.receive_blocks(geometry, hashes).map_err(fail)?;
        let group = bind(&context, &socket, interface, options)?;
        Ok(Self {
            socket,
            ring,
            statistics: Accumulator::default(),
            waiter: Waiter::new(polling.spin),
            polling,
            look: look(ByteCount(geometry.bytes())),
            running: Running {
                holds: options.retire_timeout,
                vlan_metadata: true,
                filtered,
                shortfalls: cuts.into_iter().chain(few).collect(),
                ..Running::new(
                    METHOD.name,
                    Engine::new("AF_PACKET ring", iter::once("TPACKET_V3".into()).chain(group)),
                    RingGeometry::Blocks {
                        blocks: geometry.blocks(),
                        block_bytes: geometry.block_size().into(),
                        bytes: geometry.bytes(),
                        retire_ms: geometry.retire_timeout_ms(),
                    },
                    TimeSource::kernel("software"),
                )
            },
            context,
        })
    }

    /// The next block as an owned token. It can move to another thread, and returns its memory when dropped.
    ///
    /// # Errors
    /// As for [`Capture::next_batch`].
    #[inline]
    pub fn next_block(&mut self, timeout: Duration) -> Result<Option<Block>> {
        let Self { socket, ring, waiter, context, .. } = self;
        if let Some(block) = ring.take() {
            return Ok(Some(block));
        }
        let mut found = None;
        waiter
            .wait(socket, timeout, || {
                found = ring.take();
                found.is_some()
            })
            .map_err(|error| context.fail(error))?;
        if found.is_none() && ring.is_last_held() {
            return self.next_block_while_held(timeout);
        }
        Ok(found)
    }

    /// Waits while another thread has the last block. poll(2) does not sleep then, so this checks the ring periodically.
    #[cold]
    fn next_block_while_held(&mut self, timeout: Duration) -> Result<Option<Block>> {
        let start = Instant::now();
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            if !self.ring.is_last_held() {
                let Self { socket, ring, waiter, context, .. } = self;
                let mut found = None;
                let sleep = || {
                    socket.wait_readable(left)?;
                    found = ring.take();
                    Ok(found.is_some())
                };
                waiter.sleep(sleep).map_err(|error| context.fail(error))?;
                return Ok(found);
            }
            thread::sleep(self.look.min(left));
            if let Some(block) = self.ring.take() {
                return Ok(Some(block));
            }
        }
    }
}

/// Pause between two looks at a ring whose last block another thread has: a quarter of the time in which 40 Gbit/s fill it.
fn look(ring: ByteCount) -> Duration {
    const OCTETS_PER_S: f64 = 5e9;
    let fills = Duration::from_secs_f64(ring.0 as f64 / OCTETS_PER_S);
    (fills / 4).clamp(Duration::from_micros(250), Duration::from_millis(10))
}

impl Capture for PacketV3 {
    type Batch<'a> = Block;

    #[inline]
    fn next_batch(&mut self, timeout: Duration) -> Result<Option<Block>> {
        self.next_block(timeout)
    }

    #[inline]
    fn next_owned(&mut self, timeout: Duration) -> Result<Option<OwnedBatch>> {
        Ok(self.next_block(timeout)?.map(OwnedBatch::Block))
    }

    fn counters(&mut self) -> Result<Counters> {
        self.polling.verify(&self.socket, &mut self.running);
        self.statistics.read(&self.socket).map_err(|error| self.context.fail(error))
    }

    fn stats_socket(&self) -> Result<Option<StatsSocket>> {
        StatsSocket::of(&self.socket, &self.statistics, &self.context).map(Some)
    }

    fn fill(&mut self) -> Option<Occupancy> {
        Occupancy::new(self.ring.withheld(), self.ring.geometry().blocks())
    }

    fn complete_batches(&mut self) -> Option<u32> {
        Some(self.ring.ready())
    }

    fn waits(&self) -> WaitCounts {
        self.waiter.counts
    }

    fn running(&self) -> &Running {
        &self.running
    }
}

impl Batch for Block {
    #[inline]
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        Self::frames(self)
    }

    #[inline]
    fn loss_mark(&self) -> LossMark {
        LossMark::Batch(self.is_losing())
    }

    fn frame_count(&self) -> usize {
        self.len()
    }

    fn block_sequence(&self) -> Option<u64> {
        Some(self.sequence())
    }
}

/// Octets of a block in front of a lone frame, and behind it: the block's header, those of the frame, alignment (tpacket_rcv, and
/// `BLK_PLUS_PRIV` of af_packet.c).
const BLOCK_HEAD: u64 = 144;
/// The kernel allocates blocks in pages.
const PAGE: u64 = 4096;

/// The smallest block for frames of up to so many octets. The kernel's memory for a block is a power of two.
fn block_for(longest: u64) -> u64 {
    (BLOCK_HEAD + longest).next_power_of_two().max(PAGE)
}

/// As many blocks as fit into the requested memory. Blocks get smaller where the ring would have fewer than eight, down to what the
/// interface's largest frame needs. A ring smaller than a block becomes one block.
fn geometry(interface: &Interface, options: &CaptureOptions) -> Result<BlockGeometry> {
    let refuse = |option, reason: String| Err(CaptureError::Option { option, reason });
    let ring = ring_memory::checked_ring(options)?.0;
    let part = ring / ring_memory::LEAST_PARTS;
    let part = if part < PAGE { PAGE } else { 1 << part.ilog2() };
    let block = options.block.0.min(part.max(block_for(interface.longest_kept(options)))).min(ring);
    let (Ok(block), Ok(blocks)) = (u32::try_from(block), u32::try_from(ring / block)) else {
        return refuse("--ring or --block", "blocks are below 4 GiB, and there are up to 65535".into());
    };
    match BlockGeometry::new(block, blocks, ring_memory::retire_milliseconds(options)?) {
        Ok(geometry) => Ok(geometry),
        Err(error) => refuse("--ring or --block", error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_sys::host::interface::InterfaceIndex;

    use super::geometry;
    use crate::Interface;
    use capbench_model::options::CaptureOptions;
    use capbench_model::units::ByteCount;

    #[test]
    fn blocks_fill_the_ring() {
        let interface = Interface::new("test", InterfaceIndex::new(1).unwrap(), 1500);
        let ring = geometry(&interface, &CaptureOptions::default()).unwrap();
        assert_eq!((ring.blocks(), ring.block_size(), ring.retire_timeout_ms()), (64, 1 << 20, 10));
        let small = CaptureOptions { ring: ByteCount(8192), ..CaptureOptions::default() };
        assert_eq!(geometry(&interface, &small).unwrap().blocks(), 2);
    }

    #[test]
    fn a_ring_has_eight_blocks_unless_the_largest_frame_needs_more_room() {
        let sizes = |ring: u64, largest: u32, block: u64| {
            let interface = Interface::new("test", InterfaceIndex::new(1).unwrap(), 1500);
            let options = CaptureOptions {
                ring: ByteCount(ring),
                block: ByteCount(block),
                ..CaptureOptions::default()
            };
            let ring = geometry(&interface.with_largest_frame(largest), &options).unwrap();
            (ring.blocks(), ring.block_size())
        };
        let (mib, joined) = (1 << 20, 65_558);
        assert_eq!(sizes(64 * mib, joined, mib), (64, 1 << 20));
        assert_eq!(sizes(mib, joined, mib), (8, 128 << 10));
        assert_eq!(sizes(mib, 1522, mib), (8, 128 << 10));
        assert_eq!(sizes(3 * mib, 1522, mib), (12, 256 << 10));
        assert_eq!(sizes(mib, 140_022, mib), (4, 256 << 10));
        assert_eq!(sizes(256 << 10, joined, mib), (2, 128 << 10));
        assert_eq!(sizes(256 << 10, 1522, mib), (8, 32 << 10));
        assert_eq!(sizes(64 << 10, joined, mib), (1, 64 << 10), "the capture says that frames are cut");
        assert_eq!(sizes(mib, joined, 4096), (256, 4096), "as the user asked");
    }

    #[test]
    fn impossible_options_are_named() {
        let interface = Interface::new("test", InterfaceIndex::new(1).unwrap(), 1500);
        let text = |options: CaptureOptions| geometry(&interface, &options).unwrap_err().to_string();
        let base = CaptureOptions::default;
        assert!(text(CaptureOptions { block: ByteCount(1000), ..base() }).contains("multiple of the page"));
        assert!(
            text(CaptureOptions { block: ByteCount(4096), ring: ByteCount(1 << 30), ..base() })
                .contains("65535")
        );
        let odd = CaptureOptions { retire_timeout: Duration::from_micros(1500), ..base() };
        assert!(text(odd).starts_with("--retire-timeout"));
    }
}
