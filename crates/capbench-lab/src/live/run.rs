//! One trial: drives its two ends in step, and joins their halves of the account.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use super::ends::{ReceiveEnd, TransmitEnd};
use super::halves::{ReceiveHalf, TransmitHalf};
use super::join::{LinkFacts, SeparateClocks, join};
use super::messages::{Arm, FinishReceiving, FinishSending, Go};
use super::numbering::Numbering;
use crate::Result;
use crate::receiver::SharedStart;
use capbench_frames::rates::Pps;
use capbench_frames::stamp::TrialId;
use capbench_host::tracer::Tracer;
use capbench_model::trial::{Generator, Load, Phase, Profile, Trial, TrialResult};

/// Duration of the load that measures the tracer's cost, and its smallest number of frames unless that takes too long.
const TRACER_LOAD: Duration = Duration::from_millis(50);
const TRACER_FRAMES: f64 = 250.0;
const LONGEST_TRACER_LOAD: Duration = Duration::from_secs(1);

/// One set-up on the path.
#[allow(missing_debug_implementations)]
pub struct LiveTrial<'l> {
    /// Numbers its trials.
    pub numbering: &'l mut Numbering,
    /// Trial id of the run's first trial.
    pub base: TrialId,
    /// What is constant in its trials.
    pub profile: Profile,
    /// Whether the ends are those of a veth pair.
    pub is_virtual: bool,
    /// Highest frame rate of the link; `None` if it has no speed.
    pub line_rate: Option<Pps>,
    /// Frames that the generator sends at once if the load is a constant rate.
    pub burst: Option<NonZeroU32>,
    /// The end that sends.
    pub transmit: Box<dyn TransmitEnd + 'l>,
    /// The end that receives.
    pub receive: Box<dyn ReceiveEnd + 'l>,
    /// The clocks of its ends; `None`: both ends are in this process and share its clock.
    pub clocks: Option<SeparateClocks>,
    /// The location of a generator in another process, which is saved with its account. `None`: both ends are in this process and
    /// share its clock.
    pub generator: Option<String>,
    /// The tracer of this process, whose cost is measured before the first trial.
    pub tracer: Option<Arc<Tracer>>,
}

impl Trial for LiveTrial<'_> {
    fn run(&mut self, load: Load, duration: Duration) -> capbench_model::Result<TrialResult> {
        Ok(self.measure(load, duration, false)?)
    }

    fn line_rate(&self) -> Option<Pps> {
        self.line_rate
    }

    fn keep_open(&mut self) -> capbench_model::Result<Box<dyn Trial + '_>> {
        self.receive.can_stay_open()?;
        Ok(Box::new(KeptOpen(self)))
    }
}

/// A trial whose sides stay open until this is dropped.
struct KeptOpen<'t, 'l>(&'t mut LiveTrial<'l>);

impl Trial for KeptOpen<'_, '_> {
    fn run(&mut self, load: Load, duration: Duration) -> capbench_model::Result<TrialResult> {
        Ok(self.0.measure(load, duration, true)?)
    }

    fn line_rate(&self) -> Option<Pps> {
        self.0.line_rate
    }
}

impl Drop for KeptOpen<'_, '_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl LiveTrial<'_> {
    fn measure(&mut self, load: Load, duration: Duration, stays_open: bool) -> Result<TrialResult> {
        self.measure_tracer(load)?;
        let is_first = self.numbering.advance();
        let arm = Arm { trial: self.id(), load, burst: self.burst, duration, is_first, stays_open };
        let (transmit, receive) = self.halves(arm).inspect_err(|_| self.release())?;
        let link = LinkFacts {
            is_virtual: self.is_virtual,
            line_rate_pps: self.line_rate.map(Pps::get),
            clocks: self.clocks,
        };
        let measured = join(link, &transmit, &receive);
        let profile = self.profile_after(&transmit);
        let result = measured.result(self.numbering.last, Phase::FixedLoad, &profile, load, duration);
        Ok(TrialResult { generators: self.generators(&transmit), ..result })
    }

    /// The account of a generator in another process.
    fn generators(&self, transmit: &TransmitHalf) -> Vec<Generator> {
        let TransmitHalf { stream, frames, lateness, cpu, .. } = transmit;
        let of = |location: &String| Generator {
            stream: stream.0,
            location: location.clone(),
            intended: frames.intended,
            sent: frames.sent,
            unsent: frames.unsent,
            cpu: cpu.cpu.number(),
            cpu_ns: cpu.own_ns,
            lateness: *lateness,
        };
        self.generator.iter().map(of).collect()
    }

    /// Runs one trial up to the halves of its account, in the order of RFC 2544 section 23: snapshot, open, barrier, send on
    /// schedule, drain, read every counter once. After an error, the next trial still has to arm both ends.
    ///
    /// # Errors
    /// When an end cannot send or receive.
    pub fn halves(&mut self, arm: Arm) -> Result<(TransmitHalf, ReceiveHalf)> {
        let trial = arm.trial;
        let start = self.generator.is_none().then(SharedStart::default);
        // The receiver last: its windows begin when it is ready.
        self.transmit.arm(arm, start.clone())?;
        self.receive.arm(arm, start)?;
        let sent = self.transmit.go(Go { trial })?;
        let receive = self.receive.finish(FinishReceiving { trial, sent })?;
        let delivered = receive.received.arrivals.delivered;
        let transmit = self.transmit.finish(FinishSending { trial, delivered })?;
        Ok((transmit, receive))
    }

    fn release(&mut self) {
        self.receive.release();
        self.transmit.release();
    }

    /// Before the first trial: measures the tracer's cost under the trial's load, without a capture. No later trial uses the id
    /// of these frames.
    fn measure_tracer(&mut self, load: Load) -> Result<()> {
        let Some(tracer) = self.tracer.clone() else { return Ok(()) };
        let enough = load.pps().map_or(TRACER_LOAD, |pps| Duration::from_secs_f64(TRACER_FRAMES / pps));
        let load = match load {
            Load::Burst { rate, .. } => Load::Rate(rate),
            load => load,
        };
        let duration = enough.clamp(TRACER_LOAD, LONGEST_TRACER_LOAD);
        let trial = self.id();
        let arm = Arm { trial, load, burst: self.burst, duration, is_first: false, stays_open: false };
        tracer.measure_cost(|| {
            let sent = self.transmit.arm(arm, None).and_then(|()| self.transmit.go(Go { trial }));
            self.transmit.release();
            sent.map(drop)
        })
    }

    /// The id in this trial's frames. It differs from those of all nearby trials, also of other runs.
    fn id(&self) -> TrialId {
        TrialId(self.base.0.wrapping_add(self.numbering.last as u16))
    }

    /// The profile, with the properties of the generator found during the trial.
    fn profile_after(&self, transmit: &TransmitHalf) -> Profile {
        let mut profile = self.profile.clone();
        if self.is_virtual && profile.load_independent && !transmit.outruns {
            profile.load_independent = false;
            profile.load_depends_because = Some(
                "the generator's send buffer and ring hold fewer frames than the receiver's backlog, or its size \
                 (net.core.netdev_max_backlog) is unknown, so a slow receiver may slow it; a larger net.core.wmem_max \
                 or root may help"
                    .into(),
            );
        }
        profile
    }
}
