//! Sends a few frames before the first trial: each must arrive once and intact at the right interface. They also show which CPU
//! of the receiving host does the kernel's receive work.

use capbench_frames::TransmitSpec;
use std::num::NonZeroU64;
use std::sync::atomic::Ordering;
use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_frames::sizes::Sizes;
use capbench_frames::units::FrameSize;
use capbench_lab::LabError;
use capbench_lab::live::InterfaceCounts;
use capbench_lab::live::halves::{ReceiveHalf, TransmitHalf};
use capbench_lab::live::messages::Arm;
use capbench_lab::programs::Programs;
use capbench_lab::subject;
use capbench_model::arrivals::{Arrivals, StreamArrivals};
use capbench_model::laboratory::Setup;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::statement::{CableCheck, Statement};
use capbench_model::trial::Load;
use capbench_model::work::WorkModel;
use capbench_sys::host::CpuId;

use super::AgentLaboratory;
use super::generator::Generator;
use crate::error::LinkFault;
use crate::{AgentError, Result};

/// Frames of the check: enough to exceed the other traffic of a quiet host, and of one generator among many.
const FRAMES: u64 = 2000;
const FRAMES_OF_ONE: u64 = 100;
/// Their rate in frames per second, unless the agent allows less: low enough for every path.
const RATE: f64 = 20_000.0;

/// What the check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Checked {
    /// The CPU that sent.
    pub(super) generator: CpuId,
    /// The CPU that did most of the kernel's receive work.
    pub(super) kernel: CpuId,
}

impl AgentLaboratory {
    /// Checks the link once a run.
    ///
    /// # Errors
    /// Frames that did not arrive, or not once and intact. Those that the receiving interface itself lost are no fault of the
    /// link. Or a generator was lost meanwhile, so that its link is not checked.
    pub(super) fn check(&mut self, setup: &Setup) -> Result<Checked> {
        if let Some(checked) = self.checked {
            return Ok(checked);
        }
        let size = setup.layout.minimum_size().max(FrameSize::LEAST);
        let setup = Setup {
            method: MethodSpec::plain("packet-v3"),
            sizes: Sizes::Fixed(size),
            work: WorkModel::None.into(),
            capture: CaptureOptions::default(),
            moderation: None,
            transmit: TransmitSpec::plain("sendmmsg"),
            burst: None,
            latency: None,
            ..setup.clone()
        };
        let subject = subject::find(&setup.method, &Programs::default())?.subject;
        let placement = self.placement_of_check();
        let is_first = self.numbering.last == 0;
        let rate = self.rate_of_check()?;
        let lightest = self.generators.iter().map(|generator| self.parts_of(generator)).fold(1.0, f64::max);
        let frames = FRAMES.max((lightest * FRAMES_OF_ONE as f64).ceil() as u64);
        let frames = NonZeroU64::new(frames).unwrap_or(NonZeroU64::MIN);
        let mut trial = self.prepared(&setup, &subject, &placement)?;
        let arm = Arm {
            trial: trial.base,
            load: Load::Burst { frames, rate },
            burst: None,
            duration: Duration::from_secs_f64(frames.get() as f64 / rate.get()),
            is_first,
            stays_open: false,
            in_turns: false,
        };
        let (transmit, receive) = trial.halves(arm)?;
        drop(trial);
        if self.stop.load(Ordering::Relaxed) {
            // The user cut it short: it shows nothing, and no trial follows.
            return Ok(Checked { generator: placement.generator, kernel: placement.kernel });
        }
        let has_half = |generator: &&Generator| transmit.iter().any(|half| half.stream == generator.stream);
        let mut unchecked = self.generators.iter().filter(|generator| !has_half(generator));
        if let Some(lost) = unchecked.find(|generator| generator.failure.is_none()) {
            return Err(AgentError::Lost {
                location: lost.host.facts().location.to_string(),
                reason: "the agent was lost during the cable check".into(),
                exit_code: None,
            });
        }
        let missing = transmit.iter().map(|half| Outcome::of(half, &receive).missing()).sum();
        for half in &transmit {
            let Some(fault) = Outcome::of(half, &receive).objection(missing) else { continue };
            let sender = self.generators.iter().find(|generator| generator.stream == half.stream);
            let transmit = sender.map_or(String::new(), |sender| sender.host.facts().location.to_string());
            let receive = self.route.receive.to_string();
            return Err(AgentError::Link { transmit, receive, reason: fault.to_string() });
        }
        let interfaces = transmit.iter().map(|half| &half.interface).chain([&receive.interface]);
        let pauses = interfaces.filter_map(InterfaceCounts::pause_frames).sum();
        let sent = transmit.iter().map(|half| half.frames.sent).sum();
        let arrivals = &receive.received.arrivals;
        self.statements.push(Statement::CableCheck(CableCheck {
            generators: transmit.len() as u32,
            sent,
            lost: u64::saturating_sub(sent, arrivals.delivered),
            foreign: arrivals.foreign,
            pauses,
        }));
        let busiest = receive.softnet.iter().max_by_key(|cpu| cpu.processed);
        let kernel = busiest.map_or(placement.kernel, |cpu| cpu.cpu);
        let checked = Checked { generator: placement.generator, kernel };
        self.checked = Some(checked);
        Ok(checked)
    }

    /// The rate of the check, which every agent allows.
    fn rate_of_check(&self) -> Result<Pps> {
        let most = |generator: &Generator| {
            Some(generator.host.facts().hello.max_rate?.get() * self.parts_of(generator))
        };
        let rate = self.generators.iter().filter_map(most).fold(RATE, f64::min);
        Ok(Pps::new(rate).map_err(LabError::from)?)
    }
}

/// The frames of the check from one generator.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    sent: u64,
    delivered: u64,
    duplicates: u64,
    /// Frames of any generator that arrived damaged.
    damaged: u64,
    /// Frames of all generators that the receiving interface lost in itself: the cable did carry them. Foreign frames may be among
    /// those that it counted as lost, so as many as arrived are not in here.
    lost_in_nic: u64,
}

impl Outcome {
    fn of(transmit: &TransmitHalf, receive: &ReceiveHalf) -> Self {
        let Arrivals { corrupt, truncated, foreign, .. } = receive.received.arrivals;
        let stream = receive.received.streams.get(usize::from(transmit.stream.0)).copied();
        let StreamArrivals { delivered, duplicates, .. } = stream.unwrap_or_default();
        let (sent, damaged) = (transmit.frames.sent, corrupt + truncated);
        let lost_in_nic = receive.nic.known_losses().saturating_sub(foreign);
        Self { sent, delivered, duplicates, damaged, lost_in_nic }
    }

    fn missing(self) -> u64 {
        self.sent.saturating_sub(self.delivered)
    }

    /// Why the link from the generator cannot be measured on. `all_missing` are the missing frames of all generators: they share
    /// the receiving interface and its losses.
    fn objection(self, all_missing: u64) -> Option<LinkFault> {
        let Self { sent, delivered, duplicates, damaged, lost_in_nic } = self;
        let is_known = self.missing() == 0 || (damaged == 0 && all_missing <= lost_in_nic);
        if delivered > 0 && duplicates == 0 && is_known {
            return None;
        }
        if (delivered, duplicates, damaged) == (0, 0, 0) {
            return Some(LinkFault::NothingArrived { sent });
        }
        Some(LinkFault::Bad { sent, delivered, duplicates, damaged })
    }
}

#[cfg(test)]
mod tests {
    use super::Outcome;

    const FINE: Outcome = Outcome { sent: 2000, delivered: 2000, duplicates: 0, damaged: 0, lost_in_nic: 0 };

    impl Outcome {
        /// As the only generator.
        fn judged(self) -> Option<String> {
            self.objection(self.missing()).map(|fault| fault.to_string())
        }
    }

    #[test]
    fn the_interfaces_losses_explain_no_more_frames_than_it_lost() {
        let each = Outcome { sent: 100, delivered: 60, lost_in_nic: 50, ..FINE };
        assert_eq!(each.judged(), None);
        assert!(each.objection(2 * each.missing()).is_some(), "80 frames of two are missing");
    }

    #[test]
    fn a_link_that_carries_each_frame_once_is_good() {
        assert_eq!(FINE.judged(), None);
        let repeated = Outcome { duplicates: 1, ..FINE }.judged();
        assert!(repeated.is_some_and(|reason| reason.contains("1 of them repeatedly")));
        let missing = Outcome { delivered: 1999, ..FINE }.judged();
        assert!(missing.is_some_and(|reason| reason.contains("bad cable")));
        let nothing = Outcome { delivered: 0, ..FINE }.judged();
        assert!(nothing.is_some_and(|reason| reason.contains("connected?")));
    }

    #[test]
    fn frames_that_the_receiving_interface_lost_are_not_the_cables_fault() {
        let lossy = Outcome { delivered: 1458, lost_in_nic: 542, ..FINE };
        assert_eq!(lossy.judged(), None);
        for other in [
            Outcome { lost_in_nic: 541, ..lossy },
            Outcome { damaged: 1, ..lossy },
            Outcome { delivered: 0, lost_in_nic: 2000, ..lossy },
        ] {
            assert!(other.judged().is_some(), "{other:?}");
        }
    }
}
