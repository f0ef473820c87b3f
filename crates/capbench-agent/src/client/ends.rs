//! The end of a trial that an agent is: the trial's messages are calls.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use capbench_frames::stamp::TrialId;
use capbench_lab::LabError;
use capbench_lab::live::ends::{ReceiveEnd, TransmitEnd};
use capbench_lab::live::halves::{ReceiveHalf, TransmitHalf};
use capbench_lab::live::messages::{
    Arm, FinishReceiving, FinishSending, Go, PrepareReceiving, PrepareSending, Sent,
};
use capbench_lab::receiver::SharedStart;
use capbench_model::clocks::{ClockReading, HostClock};
use capbench_model::statement::Statement;
use capbench_sys::host::CpuId;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::clock::{self, Comparison};
use super::connection::{Begun, Connection};
use crate::message::{Finish, Half, Prepare, PrepareSide, Prepared, Reported};
use crate::{AgentError, Result};

/// When the clocks are compared: right before a call, or right after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compared {
    BeforeIt,
    AfterIt,
}

/// An agent with a prepared side. Dropping it releases the side.
#[derive(Debug)]
struct Held<'c> {
    agent: &'c mut Connection,
    /// What prepares it, also after a reconnect.
    prepare: Prepare,
    prepared: Prepared,
    /// Whether the agent that runs now has prepared the side.
    is_prepared: bool,
    /// What an agent that was lost said of the current trial.
    reported: Option<Reported>,
    /// Compares the clocks; `None`: the trials record no one-way times.
    comparison: Option<Comparison>,
    /// The agent's clock before the trial.
    before: Option<ClockReading>,
}

/// An agent that sends.
#[derive(Debug)]
pub struct RemoteSender<'c> {
    held: Held<'c>,
    /// Length of the armed trial.
    duration: Duration,
    /// The trial that sends.
    trial: TrialId,
    /// The call whose answer says that the last frame was sent, and when it began.
    going: Option<(Begun, Instant)>,
    /// How long it waits before the first frame.
    head_start: Duration,
}

/// An agent that receives.
#[derive(Debug)]
pub struct RemoteReceiver<'c> {
    held: Held<'c>,
    /// How long it waits for missing frames.
    quiet: Duration,
}

impl<'c> Held<'c> {
    fn prepare(agent: &'c mut Connection, side: PrepareSide, measured_cpus: BTreeSet<CpuId>) -> Result<Self> {
        let prepare = Prepare { interface: agent.location().interface().into(), side, measured_cpus };
        let prepared = Prepared::default();
        let mut held = Self {
            agent,
            prepare,
            prepared,
            is_prepared: false,
            reported: None,
            comparison: None,
            before: None,
        };
        held.ready()?;
        Ok(held)
    }

    /// Makes an agent run that has prepared the side.
    fn ready(&mut self) -> Result<()> {
        if self.agent.is_lost() {
            self.renew(None)?;
        }
        if !self.is_prepared {
            let patience = self.agent.waits().answer;
            self.prepared = match self.agent.call("prepare", &self.prepare, patience) {
                Err(_) if self.agent.is_lost() => {
                    self.renew(None)?;
                    self.agent.call("prepare", &self.prepare, patience)?
                }
                prepared => prepared?,
            };
            self.is_prepared = true;
        }
        Ok(())
    }

    fn renew(&mut self, trial: Option<TrialId>) -> Result<Option<Reported>> {
        self.is_prepared = false;
        self.agent.renew(trial)
    }

    /// Arms the side and compares the clocks; once more if the connection is lost, because no frame was sent yet.
    fn arm(&mut self, arm: Arm, compared: Compared) -> Result<()> {
        self.reported = None;
        self.ready()?;
        let armed = self.arm_once(arm, compared);
        if !self.agent.is_lost() {
            return armed;
        }
        self.ready()?;
        self.arm_once(arm, compared)
    }

    fn arm_once(&mut self, arm: Arm, compared: Compared) -> Result<()> {
        (self.before, ()) = match compared {
            Compared::AfterIt => self.clock(true, |held| held.call("arm", &arm, Duration::ZERO))?,
            Compared::BeforeIt => {
                let before = self.clock(false, |_| Ok(()))?;
                self.call::<()>("arm", &arm, Duration::ZERO)?;
                before
            }
        };
        Ok(())
    }

    /// Calls the agent; `besides` is how much longer than usual the answer may take.
    fn call<A: DeserializeOwned>(
        &mut self,
        call: &'static str,
        params: &impl Serialize,
        besides: Duration,
    ) -> Result<A> {
        let patience = self.agent.waits().answer + besides;
        self.agent.call(call, params, patience)
    }

    /// After a call that failed: what the agent reports of the trial, if the connection was lost and it can.
    fn report(&mut self, trial: TrialId, failure: AgentError) -> Result<Reported> {
        // Who cannot be reached again does not say why the connection was lost.
        self.reported_by_lost(trial).ok_or(failure)
    }

    fn reported_by_lost(&mut self, trial: TrialId) -> Option<Reported> {
        self.agent.is_lost().then(|| self.renew(Some(trial)).ok().flatten()).flatten()
    }

    /// Ends the trial: its half of the account, also if the connection is lost meanwhile. Without a comparison of the clocks
    /// after it, nothing is known of them.
    fn finish(
        &mut self,
        trial: TrialId,
        finish: &Finish,
        besides: Duration,
        compared: Compared,
    ) -> Result<(Half, Option<HostClock>)> {
        if let Some(reported) = self.reported.take() {
            return Ok((reported.half, None));
        }
        let call = |held: &mut Self| held.call::<Half>("finish", finish, besides);
        let finished = match compared {
            Compared::BeforeIt => self.clock(false, call),
            Compared::AfterIt => call(self).and_then(|half| Ok((self.clock(true, |_| Ok(()))?.0, half))),
        };
        match finished {
            Ok((after, half)) => Ok((half, self.host_clock(after))),
            Err(failure) => Ok((self.report(trial, failure)?.half, None)),
        }
    }

    fn statements(&self) -> Vec<Statement> {
        let mut statements = Vec::new();
        for statement in &self.prepared.notes {
            statements.push(Statement::OfAgent {
                location: self.agent.location().to_string(),
                statement: Box::new(statement.clone()),
            });
        }
        statements
    }

    fn is_lost(&self) -> bool {
        // An agent that took its place knows nothing of the trial.
        self.agent.is_lost() || !self.is_prepared
    }

    fn of_other_side(&self) -> AgentError {
        AgentError::Protocol {
            location: self.agent.location().to_string(),
            call: "finish",
            reason: "it is of the other side".into(),
        }
    }

    /// Reads the agent's clock: what it says, and a comparison, which is last or first. `meanwhile` happens between the two.
    fn clock<T>(
        &mut self,
        is_compared_last: bool,
        meanwhile: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<(Option<ClockReading>, T)> {
        let Some(comparison) = self.comparison else { return Ok((None, meanwhile(self)?)) };
        Ok(if is_compared_last {
            let state = comparison.state(self.agent)?;
            let done = meanwhile(self)?;
            (Some(clock::reading(state, comparison.exchange(self.agent)?)), done)
        } else {
            let exchanged = comparison.exchange(self.agent)?;
            let done = meanwhile(self)?;
            (Some(clock::reading(comparison.state(self.agent)?, exchanged)), done)
        })
    }

    /// The agent's clock around the trial.
    fn host_clock(&mut self, after: Option<ClockReading>) -> Option<HostClock> {
        self.before.take().zip(after).map(|(before, after)| HostClock { before, after })
    }

    /// Calls without a result. A lost agent has nothing any more; what fails otherwise, the next call says, or the end of the
    /// connection does it.
    fn tell(&mut self, call: &'static str) {
        if self.is_prepared && !self.agent.is_lost() {
            let _ = self.call::<serde::de::IgnoredAny>(call, &(), Duration::ZERO);
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.tell("release");
    }
}

impl<'c> RemoteSender<'c> {
    /// Prepares the agent's side. Its own threads keep off the CPUs that are `measured`.
    ///
    /// # Errors
    /// What the agent refuses, or cannot do.
    pub fn prepare(
        agent: &'c mut Connection,
        asked: PrepareSending,
        measured: BTreeSet<CpuId>,
    ) -> Result<Self> {
        let held = Held::prepare(agent, PrepareSide::Transmit(asked), measured)?;
        let [duration, head_start] = [Duration::ZERO; 2];
        Ok(Self { held, duration, trial: TrialId(0), going: None, head_start })
    }

    /// Waits so long before the first frame: the acknowledgement of the call that begins the trial must not come while frames are
    /// sent.
    pub fn after(self, head_start: Duration) -> Self {
        Self { head_start, ..self }
    }

    /// Compares the clocks around each trial.
    pub fn comparing(mut self, comparison: Option<Comparison>) -> Self {
        self.held.comparison = comparison;
        self
    }

    /// What the agent said of its host when it prepared the side, for the results.
    pub fn statements(&self) -> Vec<Statement> {
        self.held.statements()
    }
}

impl<'c> RemoteReceiver<'c> {
    /// Prepares the agent's side. Its own threads keep off the CPUs that are `measured`.
    ///
    /// # Errors
    /// What the agent refuses, or cannot do.
    pub fn prepare(
        agent: &'c mut Connection,
        asked: PrepareReceiving,
        measured: BTreeSet<CpuId>,
    ) -> Result<Self> {
        let quiet = asked.setup.quiet;
        let held = Held::prepare(agent, PrepareSide::Receive(Box::new(asked)), measured)?;
        Ok(Self { held, quiet })
    }

    /// Compares the clocks around each trial.
    pub fn comparing(mut self, comparison: Option<Comparison>) -> Self {
        self.held.comparison = comparison;
        self
    }

    /// What the agent said of its host when it prepared the side, for the results.
    pub fn statements(&self) -> Vec<Statement> {
        self.held.statements()
    }
}

// The clocks of all agents are compared right after one another: senders when they are armed, before the receiver is, and the
// receiver when it has finished, before the senders do.
impl TransmitEnd for RemoteSender<'_> {
    fn arm(&mut self, arm: Arm, _: Option<SharedStart>) -> capbench_lab::Result<()> {
        self.duration = arm.duration;
        Ok(self.held.arm(arm, Compared::AfterIt)?)
    }

    fn go(&mut self, go: Go) -> capbench_lab::Result<()> {
        self.trial = go.trial;
        let go = Go { head_start: self.head_start, ..go };
        self.going = Some((self.held.agent.begin("go", &go)?, Instant::now()));
        Ok(())
    }

    fn sent(&mut self) -> capbench_lab::Result<Vec<Sent>> {
        let Some((going, begun)) = self.going.take() else { return Err(self.held.of_other_side().into()) };
        // From when it began: others were waited for before.
        let patience = self.head_start + self.duration + self.held.agent.waits().answer;
        Ok(self.held.agent.answer(going, patience.saturating_sub(begun.elapsed()))?)
    }

    fn reported(&mut self) -> Option<Vec<Sent>> {
        let reported = self.held.reported_by_lost(self.trial)?;
        let sent = reported.sent.clone()?;
        self.held.reported = Some(reported);
        Some(sent)
    }

    fn finish(&mut self, finish: FinishSending) -> capbench_lab::Result<TransmitHalf> {
        let finish_call = Finish::Transmit(finish);
        match self.held.finish(finish.trial, &finish_call, Duration::ZERO, Compared::BeforeIt)? {
            (Half::Transmit(half), clock) => Ok(TransmitHalf { clock, ..*half }),
            (Half::Receive(_), _) => Err(self.held.of_other_side().into()),
        }
    }

    fn release(&mut self) {
        self.held.tell("abandon");
    }

    fn is_lost(&self) -> bool {
        self.held.is_lost()
    }
}

impl ReceiveEnd for RemoteReceiver<'_> {
    fn can_stay_open(&self) -> capbench_lab::Result<()> {
        match &self.held.prepared.closes_because {
            None => Ok(()),
            Some(reason) => Err(LabError::Unsupported { what: "a soak".into(), reason: reason.clone() }),
        }
    }

    fn arm(&mut self, arm: Arm, _: Option<SharedStart>) -> capbench_lab::Result<()> {
        self.held.arm(arm, Compared::BeforeIt)?;
        // The next message is that a generator shall send: to another agent.
        self.held.agent.settle();
        Ok(())
    }

    fn finish(&mut self, finish: FinishReceiving) -> capbench_lab::Result<ReceiveHalf> {
        let besides = self.quiet + self.held.agent.waits().drain;
        let trial = finish.trial;
        match self.held.finish(trial, &Finish::Receive(finish), besides, Compared::AfterIt)? {
            (Half::Receive(half), clock) => Ok(ReceiveHalf { clock, ..*half }),
            (Half::Transmit(_), _) => Err(self.held.of_other_side().into()),
        }
    }

    fn release(&mut self) {
        self.held.tell("abandon");
    }

    fn is_lost(&self) -> bool {
        self.held.is_lost()
    }
}
