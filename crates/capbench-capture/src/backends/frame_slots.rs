//! `packet-v1` and `packet-v2`: TPACKET_V1, the first mmap ring (Linux 2.4), and TPACKET_V2: rings of equal slots, one frame
//! each. V1 is kept for comparison with published measurements.

use std::iter;
use std::time::Duration;

use capbench_sys::packet::{
    Frame, FrameBatch, FrameGeometry, FrameRing, FrameVersion, PacketSocket, Version,
};

use super::socket_setup::{Polling, SOCKET, bind, probe, unbound};
use crate::{
    Accumulator, Batch, Capture, CaptureError, Context, Interface, Method, Occupancy, Packing, Result,
    StatsSocket, VlanTags, Waiter, ring_memory,
};
use capbench_model::counters::{Counters, LossMark, WaitCounts};
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::running::{Engine, RingGeometry, Running, TimeSource};
use capbench_model::units::ByteCount;

/// The row of `packet-v1`.
pub static PACKET_V1: Method = Method {
    name: "packet-v1",
    summary: "TPACKET_V1: ring of slots, microsecond stamps, no VLAN tag",
    vlan_tags: VlanTags::Removed,
    supported: |_| probe(Some(Version::V1)),
    ..SLOTS
};

/// The row of `packet-v2`.
pub static PACKET_V2: Method = Method {
    name: "packet-v2",
    summary: "TPACKET_V2: ring of slots, nanosecond stamps, VLAN tag as metadata",
    supported: |_| probe(Some(Version::V2)),
    ..SLOTS
};

const SLOTS: Method = Method {
    options: &["--ring", "--block", "--frame", "--snaplen", "--no-promiscuous", "--spin", "--direction"],
    check: |spec, interface, options| {
        Polling::parse(spec, options)?;
        geometry(interface, options).map(drop)
    },
    ..SOCKET
};

/// Slots of a batch. They are returned together, so a batch must be small relative to the ring.
const BATCH: u32 = 64;

/// A receive ring of slots.
#[derive(Debug)]
pub struct FrameSlots {
    socket: PacketSocket,
    ring: FrameRing,
    batch: u32,
    statistics: Accumulator,
    waiter: Waiter,
    polling: Polling,
    packing: Packing,
    context: Context,
    running: Running,
}

impl FrameSlots {
    /// Opens it in the calling thread's namespace.
    ///
    /// # Errors
    /// Missing privilege, no such interface, or an invalid option.
    pub fn open(spec: &MethodSpec, interface: &Interface, options: &CaptureOptions) -> Result<Self> {
        let (method, version) = match spec.name() == PACKET_V1.name {
            true => (PACKET_V1.name, FrameVersion::V1),
            false => (PACKET_V2.name, FrameVersion::V2),
        };
        let context = Context::new(method, interface);
        let fail = |source| context.fail(source);
        let geometry = geometry(interface, options)?;
        let (socket, filtered) = unbound(&context, interface, options)?;
        let polling = Polling::set(&context, spec, options, &socket)?;
        let ring = socket.receive_frames(geometry, version).map_err(fail)?;
        let group = bind(&context, &socket, interface, options)?;
        let batch = BATCH.min(geometry.frames().div_ceil(4));
        let (slots, slot) = (geometry.frames(), u64::from(geometry.frame_size()));
        let (room, longest) = (slot.saturating_sub(SLOT_HEAD), interface.longest_kept(options));
        let remedy = format!("--frame {} holds them", ByteCount(slot_for(longest)));
        let cuts = ring_memory::too_small(room, longest, "slots", &remedy);
        let few = ring_memory::too_few(slots.into(), slot, "slots");
        Ok(Self {
            socket,
            ring,
            batch,
            packing: Packing::new(options, batch as usize, geometry.frame_size() as usize),
            statistics: Accumulator::default(),
            waiter: Waiter::new(polling.spin),
            polling,
            running: Running {
                vlan_metadata: version == FrameVersion::V2,
                filtered,
                shortfalls: cuts.into_iter().chain(few).collect(),
                ..Running::new(
                    method,
                    Engine::new("AF_PACKET ring", iter::once(format!("TPACKET_{version:?}")).chain(group)),
                    RingGeometry::Slots {
                        slots: geometry.frames(),
                        slot_bytes: geometry.frame_size().into(),
                        bytes: geometry.bytes(),
                    },
                    TimeSource::kernel(match version {
                        FrameVersion::V1 => "software, microseconds",
                        FrameVersion::V2 => "software",
                    }),
                )
            },
            context,
        })
    }
}

impl Capture for FrameSlots {
    type Batch<'a> = Slots<'a>;

    #[inline]
    fn next_batch(&mut self, timeout: Duration) -> Result<Option<Slots<'_>>> {
        let Self { socket, ring, waiter, context, .. } = self;
        if !ring.is_ready()
            && !waiter.wait(socket, timeout, || ring.is_ready()).map_err(|e| context.fail(e))?
        {
            return Ok(None);
        }
        Ok(self.ring.take(self.batch).map(Slots))
    }

    fn packing(&mut self) -> Option<&mut Packing> {
        Some(&mut self.packing)
    }

    fn counters(&mut self) -> Result<Counters> {
        self.polling.verify(&self.socket, &mut self.running);
        self.statistics.read(&self.socket).map_err(|error| self.context.fail(error))
    }

    fn stats_socket(&self) -> Result<Option<StatsSocket>> {
        StatsSocket::of(&self.socket, &self.statistics, &self.context).map(Some)
    }

    fn fill(&mut self) -> Option<Occupancy> {
        Occupancy::new(self.ring.waiting(), self.ring.geometry().frames())
    }

    fn waits(&self) -> WaitCounts {
        self.waiter.counts
    }

    fn running(&self) -> &Running {
        &self.running
    }
}

/// Frames in the ring.
#[derive(Debug)]
pub struct Slots<'a>(FrameBatch<'a>);

impl Batch for Slots<'_> {
    #[inline]
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.0.frames()
    }

    #[inline]
    fn loss_mark(&self) -> LossMark {
        LossMark::Frames
    }
}

/// Octets of a slot in front of an Ethernet frame: its header, its address and their alignment, which put the network layer at 80
/// (tpacket_rcv).
pub(super) const SLOT_HEAD: u64 = 80 - 14;

/// The slot for frames of up to so many octets. A multiple of 1 KiB is customary.
pub fn slot_for(longest: u64) -> u64 {
    (SLOT_HEAD + longest).next_multiple_of(1024)
}

/// The ring's sizes: as many slots as fit into the requested memory. Slots hold the interface's largest frame, or as much of it as
/// the snap length keeps, unless the user sets their size.
pub(super) fn geometry(interface: &Interface, options: &CaptureOptions) -> Result<FrameGeometry> {
    let refuse = |option, reason: String| Err(CaptureError::Option { option, reason });
    let ring = ring_memory::checked_ring(options)?.0;
    let frame = options.frame.map_or_else(|| slot_for(interface.longest_kept(options)), |frame| frame.0);
    let block = options.block.0.min(ring).max(frame.next_power_of_two().max(4096));
    let (Ok(frame), Ok(block)) = (u32::try_from(frame), u32::try_from(block)) else {
        return refuse("--frame", "slots and blocks are below 4 GiB".into());
    };
    // Slots do not cross blocks, so whole blocks have to fit.
    let per_block = u64::from(block / frame.max(1));
    let slots = (ring / u64::from(block)).max(1) * per_block.min((ring / u64::from(frame.max(1))).max(1));
    let Ok(slots) = u32::try_from(slots) else {
        return refuse("--ring", "more than 4294967295 slots".into());
    };
    if ring < u64::from(frame) {
        return refuse(
            "--ring",
            format!(
                "{} hold no slot of {frame} bytes; smaller slots (--frame, --snaplen) cut frames of up to {} octets",
                options.ring, interface.largest_frame
            ),
        );
    }
    match FrameGeometry::new(frame, slots, block) {
        Ok(geometry) => Ok(geometry),
        Err(error) => refuse("--ring, --block or --frame", error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use capbench_sys::host::interface::InterfaceIndex;

    use super::geometry;
    use crate::Interface;
    use capbench_model::options::CaptureOptions;
    use capbench_model::units::{ByteCount, SnapLength};

    fn interface(mtu: u32) -> Interface {
        Interface::new("test", InterfaceIndex::new(1).unwrap(), mtu)
    }

    #[test]
    fn slots_hold_the_largest_frame() {
        let options = CaptureOptions::default();
        assert_eq!(geometry(&interface(1500), &options).unwrap().frame_size(), 2048);
        assert_eq!(geometry(&interface(1500), &options).unwrap().frames(), 32768);
        assert_eq!(geometry(&interface(9000), &options).unwrap().frame_size(), 9216);
        let slot = |octets, snap| {
            let options = CaptureOptions { snap_length: SnapLength::new(snap), ..CaptureOptions::default() };
            geometry(&interface(1500).with_largest_frame(octets), &options).unwrap().frame_size()
        };
        // Joined segments, also longer than 64 KiB; what a snap length leaves of them; what no file can have.
        assert_eq!((slot(65_558, 0), slot(130_022, 0)), (66_560, 131_072));
        assert_eq!((slot(65_558, 96), slot(65_558, 2000)), (1024, 3072));
        assert_eq!(slot(524_302, 0), 263_168);
    }

    #[test]
    fn rings_of_a_few_slots_are_possible() {
        let options = CaptureOptions { ring: ByteCount(8 * 2048), ..CaptureOptions::default() };
        assert_eq!(geometry(&interface(1500), &options).unwrap().frames(), 8);
    }

    #[test]
    fn a_ring_is_no_larger_than_asked() {
        let odd =
            CaptureOptions { frame: Some(ByteCount(2064)), block: ByteCount(4096), ..Default::default() };
        let ring = geometry(&interface(1500), &odd).unwrap();
        assert_eq!((ring.bytes(), ring.frames()), (64 << 20, 16384));
    }

    #[test]
    fn impossible_rings_name_the_option() {
        let small = CaptureOptions { ring: ByteCount(100), ..CaptureOptions::default() };
        assert!(
            geometry(&interface(1500), &small)
                .unwrap_err()
                .to_string()
                .starts_with("--ring: 100B hold no slot")
        );
        let odd = CaptureOptions { frame: Some(ByteCount(1000)), ..CaptureOptions::default() };
        assert!(geometry(&interface(1500), &odd).unwrap_err().to_string().contains("multiple of 16"));
    }
}
