//! A path without a network: what a method would do is computed, exactly and at once. Benches, searches and sweeps are
//! tested on it.

use std::time::Duration;

use capbench_capture::{CaptureOptions, Counters, Loss, LossPlace, MethodSpec};
use capbench_traffic::layout::FrameLayout;
use capbench_traffic::sizes::Sizes;
use capbench_traffic::units::FrameSize;

use crate::error::{MeasureError, Result};
use crate::evidence::Evidence;
use crate::laboratory::{Laboratory, Setup};
use crate::placement::PlacementChoice;
use crate::trial::{
    Arrivals, CpuAccount, Cpus, Load, Measured, Phase, Profile, SizeLabel, Trial, TrialResult,
};
use crate::work::WorkModel;

/// A capture method with a known capacity.
#[derive(Clone, Debug)]
pub struct SimulatedMethod {
    name: String,
    capacity: f64,
    livelock: f64,
    bursts_above: f64,
    application_ns: u64,
    kernel_ns: u64,
}

impl SimulatedMethod {
    /// A method that delivers up to `capacity` frames per second and drops the rest in its ring.
    pub fn new(name: &str, capacity: f64) -> Self {
        Self {
            name: name.into(),
            capacity,
            livelock: 0.0,
            bursts_above: f64::INFINITY,
            application_ns: 100,
            kernel_ns: 500,
        }
    }

    /// Every frame above the capacity costs so many frames of it: receive livelock.
    #[must_use]
    pub fn livelock(self, cost: f64) -> Self {
        Self { livelock: cost, ..self }
    }

    /// Loses one frame in a thousand above this rate, though its capacity is higher.
    #[must_use]
    pub fn bursts_lost_above(self, rate: f64) -> Self {
        Self { bursts_above: rate, ..self }
    }

    /// CPU time per frame of application and kernel, in nanoseconds.
    #[must_use]
    pub fn cost(self, application_ns: u64, kernel_ns: u64) -> Self {
        Self { application_ns, kernel_ns, ..self }
    }

    fn delivered(&self, sent: u64, offered: f64, duration: Duration) -> u64 {
        let excess = (offered - self.capacity).max(0.0);
        let rate = (self.capacity - self.livelock * excess).max(0.0).min(offered);
        let delivered = if excess > 0.0 { (rate * duration.as_secs_f64()).round() as u64 } else { sent };
        let burst = if offered > self.bursts_above { sent / 1000 } else { 0 };
        delivered.min(sent) - burst.min(delivered)
    }
}

/// A path whose generator reaches a known rate.
#[derive(Clone, Debug)]
pub struct SimulatedLaboratory {
    generator: f64,
    methods: Vec<SimulatedMethod>,
    trials: u32,
}

impl SimulatedLaboratory {
    /// A path with these methods.
    pub fn new(generator: f64, methods: Vec<SimulatedMethod>) -> Self {
        Self { generator, methods, trials: 0 }
    }
}

impl Laboratory for SimulatedLaboratory {
    fn prepare(&mut self, setup: &Setup) -> Result<Box<dyn Trial + '_>> {
        let method =
            self.methods.iter().find(|method| method.name == setup.method.to_string()).cloned().ok_or_else(
                || MeasureError::Unsupported {
                    what: setup.method.to_string(),
                    reason: "it is not on the simulated path".into(),
                },
            )?;
        let profile = Profile {
            method: setup.method.to_string(),
            frame_size: setup.label.clone(),
            mean_frame_size: 64.0,
            traffic: setup.layout.to_string(),
            transmit: setup.transmit.clone(),
            placement: setup.placement.to_string(),
            cpus: Cpus { generator: 0, kernel: Some(1), application: 1 },
            load_independent: true,
            load_depends_because: None,
            work: setup.work.to_string(),
        };
        Ok(Box::new(SimulatedTrial { laboratory: self, method, profile }))
    }

    fn statements(&self) -> Vec<String> {
        vec!["a simulated path: no network was used".into()]
    }
}

struct SimulatedTrial<'l> {
    laboratory: &'l mut SimulatedLaboratory,
    method: SimulatedMethod,
    profile: Profile,
}

impl Trial for SimulatedTrial<'_> {
    fn run(&mut self, load: Load, duration: Duration) -> Result<TrialResult> {
        self.laboratory.trials += 1;
        let offered = load.pps().unwrap_or(f64::INFINITY).min(self.laboratory.generator);
        let sent = (offered * duration.as_secs_f64()).round() as u64;
        let intended = load.pps().map_or(sent, |pps| (pps * duration.as_secs_f64()).round() as u64);
        let delivered = self.method.delivered(sent, offered, duration);
        let measured = Measured {
            intended,
            evidence: Evidence {
                sent,
                unsent: intended - sent,
                transmit_drops: Some(0),
                link_drops: Some(0),
                backlog_drops: Some(0),
                virtual_pair: true,
                xdp_attached: Some(false),
                method: Counters {
                    accepted: Some(sent),
                    losses: vec![Loss {
                        place: LossPlace::Ring,
                        count: Some(sent - delivered),
                        source: "simulated".into(),
                    }],
                    raw: Vec::new(),
                },
                read: delivered,
                delivered,
                ..Evidence::default()
            },
            arrivals: Arrivals { read: delivered, delivered, ..Arrivals::default() },
            sending: duration,
            cpu: CpuAccount {
                app_ns: Some(delivered * self.method.application_ns),
                app_charged_ns: Some(delivered * self.method.application_ns),
                kernel_ns: Some(sent * self.method.kernel_ns),
                total_ns: Some(delivered * self.method.application_ns + sent * self.method.kernel_ns),
                ..CpuAccount::default()
            },
            ..Measured::default()
        };
        Ok(measured.result(self.laboratory.trials, Phase::BestEffort, &self.profile, load, duration))
    }

    fn hold(&mut self) -> Result<Box<dyn Trial + '_>> {
        Ok(Box::new(self))
    }
}

/// A set-up with fixed frame size and defaults for the rest.
///
/// # Panics
/// When the size is no legal frame size.
pub fn setup(octets: u16) -> Setup {
    Setup {
        method: MethodSpec::plain("packet-v3"),
        label: SizeLabel::Octets(octets),
        sizes: Sizes::Fixed(FrameSize::new(octets.into()).expect("a legal frame size")),
        layout: FrameLayout::default(),
        placement: PlacementChoice::Same,
        work: WorkModel::None.into(),
        capture: CaptureOptions::default(),
        transmit: "simulated".into(),
        quiet: Duration::ZERO,
    }
}
