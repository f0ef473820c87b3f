//! Sends a few frames before the first trial: each must arrive once and intact at the right interface. They also show which CPU
//! of the receiving host does the kernel's receive work.

use std::num::NonZeroU64;
use std::sync::atomic::Ordering;
use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_frames::sizes::Sizes;
use capbench_frames::units::FrameSize;
use capbench_lab::LabError;
use capbench_lab::live::halves::{ReceiveHalf, TransmitHalf};
use capbench_lab::live::messages::Arm;
use capbench_lab::programs::Programs;
use capbench_lab::subject;
use capbench_model::laboratory::Setup;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::trial::{Load, SizeLabel};
use capbench_model::work::WorkModel;
use capbench_sys::host::CpuId;

use super::{AgentLaboratory, placement};
use crate::{AgentError, Result};

/// Frames of the check: enough to exceed the other traffic of a quiet host.
const FRAMES: NonZeroU64 = NonZeroU64::new(2000).unwrap();
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
    /// Frames that did not arrive, or not once and intact.
    pub(super) fn check(&mut self, setup: &Setup) -> Result<Checked> {
        if let Some(checked) = self.checked {
            return Ok(checked);
        }
        let size = setup.layout.minimum_size().max(FrameSize::LEAST);
        let setup = Setup {
            method: MethodSpec::plain("packet-v3"),
            label: SizeLabel::Octets(size.octets()),
            sizes: Sizes::Fixed(size),
            work: WorkModel::None.into(),
            capture: CaptureOptions::default(),
            moderation: None,
            transmit: "sendmmsg".into(),
            burst: None,
            latency: None,
            ..setup.clone()
        };
        let subject = subject::find(&setup.method, &Programs::default())?.subject;
        let (sending, receiving) = (&self.transmit.hello().cpus, &self.receive.hello().cpus);
        let placement = placement::of_check(sending, receiving);
        let is_first = self.numbering.last == 0;
        let most = self.transmit.hello().max_rate.map_or(RATE, |most| RATE.min(most.get()));
        let rate = Pps::new(most).map_err(LabError::from)?;
        let mut trial = self.prepared(&setup, &subject, &placement)?;
        let arm = Arm {
            trial: trial.base,
            load: Load::Burst { frames: FRAMES, rate },
            burst: None,
            duration: Duration::from_secs_f64(FRAMES.get() as f64 / rate.get()),
            is_first,
            stays_open: false,
        };
        let (halves, receive) = trial.halves(arm)?;
        drop(trial);
        let [transmit] = &halves[..] else { unreachable!("one generator") };
        if self.stop.load(Ordering::Relaxed) {
            // The user cut it short: it shows nothing, and no trial follows.
            return Ok(Checked { generator: placement.generator, kernel: placement.kernel });
        }
        if let Some(reason) = objection(transmit, &receive) {
            let (transmit, receive) = (self.route.transmit.to_string(), self.route.receive.to_string());
            return Err(AgentError::Link { transmit, receive, reason });
        }
        let arrivals = receive.received.arrivals;
        let foreign = match arrivals.foreign {
            0 => "no foreign frame".into(),
            some => format!("{some} foreign frames"),
        };
        self.statements.push(format!(
            "cable check: {} frames were sent, each arrived once and intact, with {foreign}",
            transmit.frames.sent
        ));
        let busiest = receive.softnet.iter().max_by_key(|cpu| cpu.processed);
        let kernel = busiest.map_or(placement.kernel, |cpu| cpu.cpu);
        let checked = Checked { generator: placement.generator, kernel };
        self.checked = Some(checked);
        Ok(checked)
    }
}

/// Why the link cannot be measured on.
fn objection(transmit: &TransmitHalf, receive: &ReceiveHalf) -> Option<String> {
    let (sent, arrivals) = (transmit.frames.sent, receive.received.arrivals);
    if arrivals.delivered == sent && arrivals.duplicates == 0 && sent > 0 {
        return None;
    }
    Some(match (arrivals.delivered, arrivals.duplicates) {
        (0, 0) if arrivals.corrupt + arrivals.truncated == 0 => {
            format!("of {sent} frames that were sent none arrived; are the two connected?")
        }
        (delivered, duplicates) => format!(
            "of {sent} frames that were sent {delivered} arrived intact, {duplicates} of them repeatedly, and {} \
             damaged; look for a bad cable, a loop or a switch that alters frames",
            arrivals.corrupt + arrivals.truncated
        ),
    })
}
