//! `szedata2`: CESNET's COMBO cards through libsze2, one packet at a time, in the card's ring.

use std::time::Duration;

use capbench_sys::packet::Frame;
use capbench_sys::szedata2::{Card, Sze2};

use super::vendor::{self, CARD, LIBRARY, Reader};
use crate::{Argument, Batch, Capture, Interface, Method, Packing, Result};
use capbench_model::counters::{Counters, WaitCounts};
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::running::{Engine, Running, TimeSource};
use capbench_model::units::SnapLength;

/// The row of the table.
pub static METHOD: Method = Method {
    name: "szedata2",
    summary: "COMBO cards through CESNET's libsze2: read in the card's DMA ring, packet by packet",
    argument: Some(Argument { placeholder: "DEVICE", summary: "the card's device node [/dev/szedataII0]" }),
    settings: &[LIBRARY],
    untested: Some(
        "untested on hardware: no COMBO card was available; tested against a stand-in for libsze2",
    ),
    check: |_, _, options| vendor::only_received("szedata2", options),
    supported: |spec| vendor::supported(spec, &LIBRARIES, Sze2::load),
    ..CARD
};

const LIBRARIES: [&str; 1] = ["libsze2.so"];
/// The device of the first card.
const DEVICE: &str = "/dev/szedataII0";

/// A COMBO card. It captures from its ports, not from a kernel interface.
#[derive(Debug)]
pub struct Szedata2 {
    reader: Reader<Card>,
    snap: SnapLength,
    packets: u64,
    packing: Packing,
    running: Running,
}

impl Szedata2 {
    /// Opens it, for use on the calling thread only.
    ///
    /// # Errors
    /// The library or the device is missing, or refuses a step.
    pub fn open(spec: &MethodSpec, _: &Interface, options: &CaptureOptions) -> Result<Self> {
        vendor::only_received(METHOD.name, options)?;
        let device = spec.argument().unwrap_or(DEVICE);
        let card = vendor::load(spec, &LIBRARIES, Sze2::load)?.open(device).map_err(|source| {
            vendor::not_opened(
                spec,
                device,
                &source,
                "is the driver loaded, and may this user open the device?",
            )
        })?;
        let channels = card.channels();
        Ok(Self {
            reader: Reader::new(card, METHOD.name, device, options),
            snap: options.snap_length,
            packets: 0,
            packing: Packing::new(options, 1, usize::from(u16::MAX)),
            running: Running::described(
                METHOD.name,
                Engine::new(format!("libsze2 on {device}"), []),
                format!("receive channels {channels:#x}, a packet per call"),
                TimeSource::None,
            ),
        })
    }
}

impl Capture for Szedata2 {
    type Batch<'a> = Received<'a>;

    #[inline]
    fn next_batch(&mut self, timeout: Duration) -> Result<Option<Received<'_>>> {
        if !self.reader.next(timeout)? {
            return Ok(None);
        }
        self.packets += 1;
        Ok(Some(Received { card: &self.reader.source, snap: self.snap }))
    }

    fn packing(&mut self) -> Option<&mut Packing> {
        Some(&mut self.packing)
    }

    fn counters(&mut self) -> Result<Counters> {
        let source = "libsze2 reports no counter; the card's tools do (ibufctl, rxdmactl)";
        Ok(Counters::of_ring(None, None, source, vec![("packets read".into(), self.packets)]))
    }

    fn waits(&self) -> WaitCounts {
        self.reader.waits()
    }

    fn running(&self) -> &Running {
        &self.running
    }
}

/// The current packet, in the card's ring.
#[derive(Debug)]
pub struct Received<'a> {
    card: &'a Card,
    snap: SnapLength,
}

impl Batch for Received<'_> {
    #[inline]
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.card.frame().map(|frame| vendor::cut(frame, self.snap)).into_iter()
    }
}
