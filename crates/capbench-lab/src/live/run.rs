//! One trial: drives its ends in step, and joins their halves of the account.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use super::ends::ReceiveEnd;
use super::generators::generators;
use super::halves::{Interruption, ReceiveHalf, TransmitHalf};
use super::join::{LinkFacts, SeparateClocks, Sides, join};
use super::messages::{Arm, FinishReceiving};
use super::numbering::Numbering;
use super::senders::{Sender, Senders};
use crate::receiver::SharedStart;
use crate::{LabError, Result};
use capbench_frames::rates::Pps;
use capbench_frames::stamp::{StreamId, TrialId};
use capbench_host::bed::Sink;
use capbench_host::tracer::Tracer;
use capbench_model::noise::Noise;
use capbench_model::placement::LoadDepends;
use capbench_model::reasons::Invalid;
use capbench_model::trial::{Load, Measured, Phase, Profile, Trial, TrialResult};

/// Duration of the load that measures the tracer's cost, and its smallest number of frames unless that takes too long.
const TRACER_LOAD: Duration = Duration::from_millis(50);
const TRACER_FRAMES: f64 = 250.0;
const LONGEST_TRACER_LOAD: Duration = Duration::from_millis(500);

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
    /// The generators.
    pub senders: Senders<'l>,
    /// The end that receives.
    pub receive: Box<dyn ReceiveEnd + 'l>,
    /// The clocks of its ends; `None`: all ends are in this process and share its clock.
    pub clocks: Option<SeparateClocks>,
    /// The tracer of this process, whose cost is measured before the first trial.
    pub tracer: Option<Arc<Tracer>>,
    /// Whether the tracer may cost what it costs.
    pub traces_always: bool,
    /// Whether methods take turns in short trials.
    pub in_turns: bool,
    /// What ends the method's frames behind its capture point. Without it they end as drops, which the tracer counts.
    pub sink: Option<Arc<Sink>>,
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
        let in_turns = self.in_turns;
        let arm = Arm { trial: self.id(), load, burst: self.burst, duration, is_first, stays_open, in_turns };
        let (transmit, receive) = match self.arm(arm).map(|()| self.account(arm.trial)) {
            Ok(Ok(halves)) => halves,
            Ok(Err(error)) if self.is_lost() && !stays_open => {
                self.release();
                return Ok(self.without_account(&error, load, duration));
            }
            Ok(Err(error)) | Err(error) => {
                self.release();
                return Err(error);
            }
        };
        let of_senders = |is_it: fn(&Sender<'_>) -> bool| -> Vec<&Sender<'_>> {
            self.senders.each().iter().filter(|sender| is_it(sender)).collect()
        };
        let here = of_senders(|sender| sender.is_on_its_host());
        let unreported = of_senders(|sender| sender.part().is_some() && sender.failure().is_some());
        let unreported: Vec<StreamId> = unreported.into_iter().flat_map(Sender::streams).collect();
        let sides = Sides {
            link: LinkFacts {
                is_virtual: self.is_virtual,
                line_rate_pps: self.line_rate.map(Pps::get),
                clocks: self.clocks,
            },
            is_in_step: load.is_in_step_with_a_tick(duration),
            transmit: &transmit,
            on_its_host: &here.into_iter().map(Sender::stream).collect::<Vec<_>>(),
            unreported: &unreported,
            receive: &receive,
        };
        let measured = join(&sides);
        let profile = self.profile_after(transmit.iter().all(|half| half.outruns));
        let result = measured.result(self.numbering.last, Phase::FixedLoad, &profile, load, duration);
        let mut result =
            TrialResult { generators: generators(self.senders.each(), &transmit, &receive), ..result };
        result.noise.reasons.extend(self.senders.absence());
        for half in &transmit {
            self.judge_interruption(&mut result, half);
        }
        let ended = result.generators.iter().find_map(|generator| generator.failure.clone());
        if let Some(failure) = ended {
            result.invalidate(&Invalid::GeneratorEnded(failure));
            self.release();
        }
        Ok(result)
    }

    /// What it means for a trial that the connection to a generator was lost which could still report.
    fn judge_interruption(&self, result: &mut TrialResult, half: &TransmitHalf) {
        let of_half = |sender: &&Sender<'_>| sender.stream() == half.stream;
        let location =
            self.senders.each().iter().find(of_half).and_then(Sender::location).unwrap_or_default();
        match half.interruption {
            Some(Interruption::WhileSending) => {
                result.invalidate(&Invalid::ConnectionLost(location.into()));
            }
            Some(Interruption::AfterSending) => {
                result.noise.reasons.push(Noise::ConnectionLost { location: location.into() });
            }
            None => {}
        }
    }

    /// Runs one trial up to the halves of its account, in the order of RFC 2544 section 23: snapshot, open, barrier, send on
    /// schedule, drain, read every counter once. After an error, the next trial still has to arm all ends. There is a half of
    /// each generator that did not end.
    ///
    /// # Errors
    /// When an end cannot send or receive.
    pub fn halves(&mut self, arm: Arm) -> Result<(Vec<TransmitHalf>, ReceiveHalf)> {
        self.arm(arm)?;
        self.account(arm.trial)
    }

    fn arm(&mut self, arm: Arm) -> Result<()> {
        let start = self.senders.are_here().then(SharedStart::default);
        // The receiver last: its windows begin when it is ready.
        self.senders.arm(arm, start.as_ref())?;
        self.receive.arm(arm, start)
    }

    /// Sends the frames of the armed trial, and collects the halves.
    fn account(&mut self, trial: TrialId) -> Result<(Vec<TransmitHalf>, ReceiveHalf)> {
        let sent = self.senders.send(trial)?;
        let receive = self.receive.finish(FinishReceiving { trial, sent })?;
        let transmit = self.senders.finish(trial, &receive)?;
        Ok((transmit, receive))
    }

    fn release(&mut self) {
        self.receive.release();
        self.senders.release();
    }

    /// Whether the process of an end has ended.
    fn is_lost(&self) -> bool {
        self.receive.is_lost() || self.senders.are_lost()
    }

    /// A trial whose frames were sent, at least in part, and whose account was lost with an end. It counts nothing.
    fn without_account(&self, error: &LabError, load: Load, duration: Duration) -> TrialResult {
        let number = self.numbering.last;
        let nothing = Measured::default();
        let mut result = nothing.result(number, Phase::FixedLoad, &self.profile, load, duration);
        result.invalid_because = None;
        result.invalidate(&Invalid::AccountLost(error.to_string()));
        result
    }

    /// Before the first trial: measures the tracer's cost under the trial's load, without a capture. No later trial uses the id
    /// of these frames. Every trial then has the tracer that it can afford.
    fn measure_tracer(&mut self, load: Load) -> Result<()> {
        let Some(tracer) = self.tracer.clone() else { return Ok(()) };
        let enough = load.pps().map_or(TRACER_LOAD, |pps| Duration::from_secs_f64(TRACER_FRAMES / pps));
        let load = match load {
            Load::Burst { rate, .. } => Load::Rate(rate),
            load => load,
        };
        let duration = enough.clamp(TRACER_LOAD, LONGEST_TRACER_LOAD);
        let trial = self.id();
        let arm = Arm {
            trial,
            load,
            burst: self.burst,
            duration,
            is_first: false,
            stays_open: false,
            in_turns: false,
        };
        tracer.measure_cost(|| {
            let sent = self.senders.arm(arm, None).and_then(|()| self.senders.send(trial));
            self.senders.release();
            sent.map(drop)
        })?;
        match self.traces_always {
            true => tracer.trace_drops()?,
            false => tracer.limit_cost(self.sink.is_none())?,
        }
        if let Some(sink) = &self.sink {
            sink.set_active(true)?;
        }
        Ok(())
    }

    /// The id in this trial's frames. It differs from those of all nearby trials, also of other runs.
    fn id(&self) -> TrialId {
        TrialId(self.base.0.wrapping_add(self.numbering.last as u16))
    }

    /// The profile, with the properties of the generators found during the trial: whether a slow receiver could not slow them.
    fn profile_after(&self, they_outrun: bool) -> Profile {
        let mut profile = self.profile.clone();
        if self.is_virtual && profile.load_independent && !they_outrun {
            profile.load_independent = false;
            profile.load_depends = Some(LoadDepends::SmallBuffers);
        }
        profile
    }
}
