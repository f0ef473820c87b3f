//! `pf-ring`: ntop's PF_RING through libpfring: the kernel module's ring, or a module that drives the card itself.

use std::time::Duration;

use capbench_sys::packet::Frame;
use capbench_sys::pf_ring::{PfRing, Reading, Ring, RingOptions, Way, can_lend};

use super::vendor::{self, LIBRARY, Reader};
use crate::capture::{Batch, Capture, Running, TimeSource};
use crate::counters::{Counters, Loss, LossPlace, ONE_RING_WITHOUT};
use crate::error::{CaptureError, Result};
use crate::methods::{Argument, CapturePoint, Delivery, Method, SettingInfo};
use crate::options::{CaptureOptions, Direction, Interface, number_of};
use crate::owned::Packing;
use crate::spec::MethodSpec;
use crate::wait::WaitCounts;

/// The row of the table.
pub static METHOD: Method = Method {
    name: "pf-ring",
    summary: "ntop's PF_RING through libpfring: kernel ring (copied), or a module's own (+zero-copy)",
    privilege: "CAP_NET_ADMIN",
    options: &["--snaplen", "--no-promiscuous", "--spin", "--direction"],
    argument: Some(Argument {
        placeholder: "DEVICE",
        summary: "the device as PF_RING names it, eth1@2 or zc:eth1 [the interface captured on]",
        required: false,
    }),
    settings: &[
        SettingInfo {
            name: ZERO_COPY,
            value: None,
            optional: false,
            summary: "reads packets where they lie; for modules that keep them until the next call (zc:)",
        },
        SettingInfo {
            name: BURST,
            value: Some("N"),
            optional: true,
            summary: "the same, up to N packets per call by pfring_recv_burst [64]",
        },
        SettingInfo {
            name: WATERMARK,
            value: Some("N"),
            optional: false,
            summary: "packets that wake a waiting reader [the library's choice]",
        },
        LIBRARY,
    ],
    fanout: false,
    variants: &[],
    socket_filter: false,
    in_default: false,
    untested: Some(
        "untested on hardware: neither its kernel module nor a card for zc: was at hand; tested against a stand-in \
         for libpfring",
    ),
    capture_point: CapturePoint::stack,
    // What stands before a colon is a module that takes the card from the kernel.
    takes_frames: |spec| spec.argument().is_some_and(|device| device.contains(':')),
    has_queues: false,
    delivery: Delivery::Ring,
    check: |spec, interface, _| {
        reading(spec, spec.argument().unwrap_or(&interface.name))?;
        watermark(spec).map(drop)
    },
    supported: |spec| vendor::supported(spec, &LIBRARIES, PfRing::load),
};

const LIBRARIES: [&str; 1] = ["libpfring.so"];
const ZERO_COPY: &str = "zero-copy";
const BURST: &str = "burst";
const WATERMARK: &str = "watermark";
/// Packets per call where none are named.
const BURST_PACKETS: u8 = 64;
/// Octets of a frame beside its network-layer data: Ethernet's header and two VLAN tags.
const FRAME_HEADER: u32 = 14 + 2 * 4;

/// How packets are to be read.
fn reading(spec: &MethodSpec, device: &str) -> Result<Reading> {
    let refuse = |reason: String| Err(CaptureError::Spec { method: spec.to_string(), reason });
    let packets = number_of(spec, BURST, 1, 255)?.and_then(|packets| u8::try_from(packets).ok());
    let reading = match (spec.has(ZERO_COPY), spec.has(BURST)) {
        (false, false) => return Ok(Reading::Copied),
        (true, true) => return refuse(format!("+{BURST} is zero-copy already; leave +{ZERO_COPY} away")),
        (true, false) => Reading::InPlace,
        (false, true) => Reading::Bursts(packets.unwrap_or(BURST_PACKETS)),
    };
    if !can_lend(device) {
        return refuse(format!(
            "packets of {device} cannot be read in place: PF_RING gives their memory back before they are read; name a \
             device of a module that keeps them, as in pf-ring:zc:{device}+{ZERO_COPY}"
        ));
    }
    Ok(reading)
}

fn watermark(spec: &MethodSpec) -> Result<Option<u16>> {
    Ok(number_of(spec, WATERMARK, 1, u16::MAX.into())?.and_then(|packets| u16::try_from(packets).ok()))
}

/// A PF_RING socket.
#[derive(Debug)]
pub struct PfRingSocket {
    reader: Reader<Ring>,
    packing: Packing,
    running: Running,
}

impl PfRingSocket {
    /// Opens it in the calling thread's namespace. It is used on the calling thread only.
    ///
    /// # Errors
    /// The library, its kernel module or the device is not there, or refuses a step.
    pub fn open(spec: &MethodSpec, interface: &Interface, options: &CaptureOptions) -> Result<Self> {
        let device = spec.argument().unwrap_or(&interface.name);
        let reading = reading(spec, device)?;
        // The kernel module reserves as much for every packet, so no more than a frame of this interface takes.
        let captured = options.snap_length.octets().min(interface.mtu.saturating_add(FRAME_HEADER));
        let asked = RingOptions {
            device,
            captured,
            promiscuous: options.promiscuous,
            way: match options.direction {
                Direction::In => Way::In,
                Direction::Out => Way::Out,
                Direction::Both => Way::Both,
            },
            watermark: watermark(spec)?,
            reading,
        };
        let library = vendor::load(spec, &LIBRARIES, PfRing::load)?;
        let ring = library.open(&asked).map_err(|source| {
            vendor::not_opened(
                spec,
                device,
                &source,
                "is the kernel module pf_ring loaded (/proc/net/pf_ring)?",
            )
        })?;
        let at_once = match reading {
            Reading::Copied | Reading::InPlace => 1,
            Reading::Bursts(most) => usize::from(most),
        };
        let how = match reading {
            Reading::Copied => "pfring_recv, copied".into(),
            Reading::InPlace => "pfring_recv, zero-copy".into(),
            Reading::Bursts(most) => format!("pfring_recv_burst of up to {most}, zero-copy"),
        };
        let waking = asked.watermark.map_or("the library's".into(), |packets| packets.to_string());
        Ok(Self {
            running: Running {
                method: METHOD.name,
                engine: format!("libpfring {} on {device}, {how}", ring.version()),
                geometry: format!("{captured} octets captured, watermark {waking}"),
                time_source: TimeSource::Unknown("PF_RING (the adapter's where it has them)"),
                holds: Duration::ZERO,
                vlan_metadata: false,
                shortfall: None,
                filtered: false,
            },
            reader: Reader::new(ring, METHOD.name, device, options),
            packing: Packing::new(options, at_once, captured as usize),
        })
    }
}

impl Capture for PfRingSocket {
    type Batch<'a> = Received<'a>;

    #[inline]
    fn next_batch(&mut self, timeout: Duration) -> Result<Option<Received<'_>>> {
        Ok(self.reader.next(timeout)?.then_some(Received(&self.reader.source)))
    }

    fn packing(&mut self) -> Option<&mut Packing> {
        Some(&mut self.packing)
    }

    fn counters(&mut self) -> Result<Counters> {
        let counts = self.reader.source.statistics().map_err(|error| self.reader.fail(error))?;
        let mut raw = vec![
            ("recv".into(), counts.received),
            ("drop".into(), counts.dropped),
            ("shunt".into(), counts.shunted),
        ];
        raw.extend(counts.queued.map(|queued| ("queued".into(), queued.into())));
        Ok(Counters {
            // `recv` counts what was read out of the ring, so what waits there is beside it.
            accepted: Some(counts.received + u64::from(counts.queued.unwrap_or(0)) + counts.dropped),
            losses: vec![Loss {
                place: LossPlace::Ring,
                count: Some(counts.dropped),
                source: "pfring_stats: drop".into(),
            }],
            without: ONE_RING_WITHOUT.to_vec(),
            raw,
        })
    }

    fn waits(&self) -> WaitCounts {
        self.reader.waits()
    }

    fn running(&self) -> &Running {
        &self.running
    }
}

/// The packets at hand: copies, or in the ring.
#[derive(Debug)]
pub struct Received<'a>(&'a Ring);

impl Batch for Received<'_> {
    #[inline]
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.0.frames()
    }
}
