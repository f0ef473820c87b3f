//! `nfb`: CESNET's NFB cards through libnfb, in bursts, without a copy.

use std::time::Duration;

use capbench_sys::nfb::{BURST, Burst, Card, Nfb};
use capbench_sys::packet::Frame;

use super::vendor::{self, CARD, LIBRARY, Reader};
use crate::{Argument, Batch, Capture, Interface, Method, Packing, Result, SettingInfo, number_of};
use capbench_model::counters::{Counters, WaitCounts};
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::running::{Engine, Running, TimeSource};
use capbench_model::units::SnapLength;

/// The row of the table.
pub static METHOD: Method = Method {
    name: "nfb",
    summary: "NFB cards through CESNET's libnfb: bursts read where the card's DMA wrote them",
    argument: Some(Argument {
        placeholder: "DEVICE",
        summary: "the card's device node or number [/dev/nfb0]",
    }),
    settings: &[
        SettingInfo::valued("queue", "N", "one receive queue instead of all as one source"),
        SettingInfo::optional(
            HEADER_TIME,
            "OCTET",
            "times from the firmware's packet headers, at this octet of them [4]",
        ),
        LIBRARY,
    ],
    untested: Some("untested on hardware: no NFB card was available; tested against a stand-in for libnfb"),
    check: |spec, _, options| {
        vendor::only_received("nfb", options)?;
        header_time(spec)?;
        queue(spec).map(drop)
    },
    supported: |spec| vendor::supported(spec, &LIBRARIES, Nfb::load),
    ..CARD
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
        let source = match discarded {
            Some(_) => "the card's DMA controllers: discarded",
            None => "the firmware describes no counters for every queue",
        };
        Ok(Counters::of_ring(sum(|counts| counts.received + counts.discarded), discarded, source, raw))
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
