//! `nfb`: CESNET's NFB cards through libnfb, in bursts, without a copy.

use std::time::Duration;

use capbench_sys::nfb::{BURST, Burst, Card, Nfb};
use capbench_sys::packet::Frame;

use super::vendor::{self, LIBRARY, Reader};
use crate::capture::Packing;
use crate::capture::{Batch, Capture};
use crate::error::Result;
use crate::interface::Interface;
use crate::method::number_of;
use crate::method::{Argument, CapturePoint, Method, SettingInfo, VlanTags};
use capbench_model::counters::WaitCounts;
use capbench_model::counters::{Counters, Loss, ONE_RING_WITHOUT};
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::places::Place;
use capbench_model::running::{Engine, Running, TimeSource};
use capbench_model::units::SnapLength;

/// The row of the table.
pub static METHOD: Method = Method {
    name: "nfb",
    summary: "NFB cards through CESNET's libnfb: bursts read where the card's DMA wrote them",
    privilege: "the device node",
    options: &["--snaplen", "--spin", "--direction"],
    argument: Some(Argument {
        placeholder: "DEVICE",
        summary: "the card's device node or number [/dev/nfb0]",
        required: false,
    }),
    settings: &[
        SettingInfo {
            name: "queue",
            value: Some("N"),
            optional: false,
            summary: "one receive queue instead of all as one source",
        },
        SettingInfo {
            name: HEADER_TIME,
            value: Some("OCTET"),
            optional: true,
            summary: "times from the firmware's packet headers, at this octet of them [4]",
        },
        LIBRARY,
    ],
    fanout: false,
    variants: &[],
    socket_filter: false,
    in_default: false,
    untested: Some("untested on hardware: no NFB card was at hand; tested against a stand-in for libnfb"),
    capture_point: CapturePoint::stack,
    takes_frames: |_| true,
    has_queues: true,
    vlan_tags: VlanTags::InFrames,
    check: |spec, _, options| {
        vendor::only_received("nfb", options)?;
        header_time(spec)?;
        queue(spec).map(drop)
    },
    supported: |spec| vendor::supported(spec, &LIBRARIES, Nfb::load),
};

/// The runtime library, and the one of the development package.
const LIBRARIES: [&str; 2] = ["libnfb.so.6", "libnfb.so"];
/// The device of the first card.
const DEVICE: &str = "/dev/nfb0";
const HEADER_TIME: &str = "header-time";

fn queue(spec: &MethodSpec) -> Result<Option<u32>> {
    number_of(spec, "queue", 0, 65_535)
}

/// The offset of the time in the firmware's headers, if requested.
fn header_time(spec: &MethodSpec) -> Result<Option<u16>> {
    let octet = number_of(spec, HEADER_TIME, 0, 248)?.and_then(|octet| u16::try_from(octet).ok());
    Ok(spec.has(HEADER_TIME).then(|| octet.unwrap_or(4)))
}

/// An NFB card. It captures from its ports, not from a kernel interface.
#[derive(Debug)]
pub struct NfbCard {
    reader: Reader<Card>,
    snap: SnapLength,
    packing: Packing,
    running: Running,
}

impl NfbCard {
    /// Opens it, for use on the calling thread only.
    ///
    /// # Errors
    /// The library or the device is missing, or refuses a step.
    pub fn open(spec: &MethodSpec, _: &Interface, options: &CaptureOptions) -> Result<Self> {
        vendor::only_received(METHOD.name, options)?;
        let device = spec.argument().unwrap_or(DEVICE);
        let header_time = header_time(spec)?;
        let library = vendor::load(spec, &LIBRARIES, Nfb::load)?;
        let card = library.open(device, queue(spec)?, header_time).map_err(|source| {
            vendor::not_opened(
                spec,
                device,
                &source,
                "is the driver loaded, and may this user open the device?",
            )
        })?;
        let queues: Vec<_> = card.queues().map(|number| number.to_string()).collect();
        let waiting =
            if card.can_poll() { "waits by ndp_rx_poll" } else { "looks every 100 us: no ndp_rx_poll" };
        let sizes = format!("receive queues {}, bursts of up to {BURST}, {waiting}", queues.join(", "));
        let times = match header_time {
            Some(_) => TimeSource::unknown("the card's firmware (packet header)"),
            None => TimeSource::None,
        };
        Ok(Self {
            reader: Reader::new(card, METHOD.name, device, options),
            snap: options.snap_length,
            packing: Packing::new(options, BURST, usize::from(u16::MAX)),
            running: Running::described(
                METHOD.name,
                Engine::new(format!("libnfb on {device}"), []),
                sizes,
                times,
            ),
        })
    }
}

impl Capture for NfbCard {
    type Batch<'a> = Received<'a>;

    #[inline]
    fn next_batch(&mut self, timeout: Duration) -> Result<Option<Received<'_>>> {
        let snap = self.snap;
        let found = self.reader.next(timeout)?;
        Ok(found.then(|| Received { burst: self.reader.source.burst(), snap }))
    }

    fn packing(&mut self) -> Option<&mut Packing> {
        Some(&mut self.packing)
    }

    fn counters(&mut self) -> Result<Counters> {
        let counts = self.reader.source.counts().map_err(|error| self.reader.fail(error))?;
        let mut raw = Vec::new();
        for (number, counts) in &counts {
            let Some(counts) = counts else { continue };
            raw.push((format!("queue {number} received"), counts.received));
            raw.push((format!("queue {number} discarded"), counts.discarded));
        }
        let sum = |of: fn(capbench_sys::nfb::QueueCounts) -> u64| -> Option<u64> {
            counts.iter().map(|(_, counts)| counts.map(of)).sum()
        };
        let discarded = sum(|counts| counts.discarded);
        Ok(Counters {
            accepted: sum(|counts| counts.received + counts.discarded),
            losses: vec![Loss {
                place: Place::Ring,
                count: discarded,
                source: match discarded {
                    Some(_) => "the card's DMA controllers: discarded".into(),
                    None => "the firmware describes no counters for every queue".into(),
                },
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

/// A burst in the card's memory. Dropping it returns it to the card.
#[derive(Debug)]
pub struct Received<'a> {
    burst: Burst<'a>,
    snap: SnapLength,
}

impl Batch for Received<'_> {
    #[inline]
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.burst.frames().map(|frame| vendor::cut(frame, self.snap))
    }
}
