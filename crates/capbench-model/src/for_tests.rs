//! Values that tests begin with, for this crate and those above it.

use std::time::Duration;

use capbench_frames::layout::FrameLayout;
use capbench_frames::sizes::Sizes;
use capbench_frames::units::FrameSize;

use crate::arrivals::Arrivals;
use crate::counters::{Counters, Loss};
use crate::evidence::Evidence;
use crate::laboratory::Setup;
use crate::method_spec::MethodSpec;
use crate::options::CaptureOptions;
use crate::placement::PlacementChoice;
use crate::places::Place;
use crate::trial::{Cpus, Measured, Profile, SizeLabel};
use crate::work::WorkModel;

/// A set-up with fixed frame size and defaults for the rest.
///
/// # Panics
/// When the size is no legal frame size.
pub fn setup(octets: u16) -> Setup {
    Setup {
        method: MethodSpec::plain("packet-v3"),
        sizes: Sizes::Fixed(FrameSize::new(octets.into()).expect("a legal frame size")),
        layout: FrameLayout::default(),
        placement: PlacementChoice::Same,
        work: WorkModel::None.into(),
        capture: CaptureOptions::default(),
        moderation: None,
        transmit: "simulated".into(),
        burst: None,
        quiet: Duration::ZERO,
        latency: None,
    }
}

/// A method on the same CPU: 64-byte frames, no work.
pub fn profile(method: &str) -> Profile {
    Profile {
        method: method.into(),
        frame_size: SizeLabel::Octets(64),
        mean_frame_size: 64.0,
        traffic: "IPv4/UDP, 1 flow".into(),
        transmit: "packet-tx".into(),
        placement: "same".into(),
        cpus: Cpus { generator: 0, kernel: Some(1), application: 1 },
        load_independent: true,
        load_depends_because: None,
        work: "none".into(),
    }
}

/// A trial of a second over a virtual link: what was not sent, and what was not delivered although `ring_drops` explains it.
pub fn measured(intended: u64, sent: u64, delivered: u64, ring_drops: u64) -> Measured {
    Measured {
        intended,
        evidence: Evidence {
            sent,
            unsent: intended - sent,
            delivered,
            read: delivered,
            transmit_drops: Some(0),
            link_drops: Some(0),
            backlog_drops: Some(0),
            virtual_pair: true,
            method: Counters {
                accepted: Some(delivered + ring_drops),
                losses: vec![Loss { place: Place::Ring, count: Some(ring_drops), source: "tp_drops".into() }],
                without: vec![Place::FillRing, Place::MethodQueue],
                raw: Vec::new(),
            },
            ..Evidence::default()
        },
        arrivals: Arrivals { read: delivered, delivered, ..Arrivals::default() },
        sending: Duration::from_secs(1),
        ..Measured::default()
    }
}
