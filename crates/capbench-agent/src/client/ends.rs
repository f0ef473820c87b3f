//! The end of a trial that an agent is: the trial's messages are calls.

use std::time::Duration;

use capbench_lab::LabError;
use capbench_lab::live::ends::{ReceiveEnd, TransmitEnd};
use capbench_lab::live::halves::{ReceiveHalf, TransmitHalf};
use capbench_lab::live::messages::{
    Arm, FinishReceiving, FinishSending, Go, PrepareReceiving, PrepareSending, Sent,
};
use capbench_lab::receiver::SharedStart;
use capbench_model::clocks::{ClockReading, HostClock};
use serde_json::Value;

use super::clock::{self, Comparison};
use super::connection::{Begun, Connection, PATIENCE};
use crate::Result;
use crate::message::{Finish, Prepare, PrepareSide, Prepared};

/// How long a receiver may drain, besides the time for which it waits for missing frames.
const DRAIN: Duration = Duration::from_secs(90);

/// An agent with a prepared side. Dropping it releases the side.
#[derive(Debug)]
struct Held<'c> {
    agent: &'c mut Connection,
    prepared: Prepared,
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
    /// The call whose answer says that the last frame was sent.
    going: Option<Begun>,
}

/// An agent that receives.
#[derive(Debug)]
pub struct RemoteReceiver<'c> {
    held: Held<'c>,
    /// How long it waits for missing frames.
    quiet: Duration,
}

impl<'c> Held<'c> {
    fn prepare(agent: &'c mut Connection, side: PrepareSide) -> Result<Self> {
        let interface = agent.location().interface().into();
        let prepared = agent.call("prepare", &Prepare { interface, side }, PATIENCE)?;
        Ok(Self { agent, prepared, comparison: None, before: None })
    }

    fn arm(&mut self, arm: Arm) -> Result<()> {
        self.agent.call::<Value>("arm", &arm, PATIENCE).map(drop)
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
        if !self.agent.is_lost() {
            let _ = self.agent.call::<Value>(call, &(), PATIENCE);
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.tell("release");
    }
}

impl<'c> RemoteSender<'c> {
    /// Prepares the agent's side.
    ///
    /// # Errors
    /// What the agent refuses, or cannot do.
    pub fn prepare(agent: &'c mut Connection, asked: PrepareSending) -> Result<Self> {
        let held = Held::prepare(agent, PrepareSide::Transmit(asked))?;
        Ok(Self { held, duration: Duration::ZERO, going: None })
    }

    /// Compares the clocks around each trial.
    pub fn comparing(mut self, comparison: Option<Comparison>) -> Self {
        self.held.comparison = comparison;
        self
    }

    /// What the agent said of the prepared side.
    pub fn prepared(&self) -> &Prepared {
        &self.held.prepared
    }
}

impl<'c> RemoteReceiver<'c> {
    /// Prepares the agent's side.
    ///
    /// # Errors
    /// What the agent refuses, or cannot do.
    pub fn prepare(agent: &'c mut Connection, asked: PrepareReceiving) -> Result<Self> {
        let quiet = asked.setup.quiet;
        let held = Held::prepare(agent, PrepareSide::Receive(Box::new(asked)))?;
        Ok(Self { held, quiet })
    }

    /// Compares the clocks around each trial.
    pub fn comparing(mut self, comparison: Option<Comparison>) -> Self {
        self.held.comparison = comparison;
        self
    }

    /// What the agent said of the prepared side.
    pub fn prepared(&self) -> &Prepared {
        &self.held.prepared
    }
}

// The clocks of all agents are compared right after one another: senders when they are armed, before the receiver is, and the
// receiver when it has finished, before the senders do.
impl TransmitEnd for RemoteSender<'_> {
    fn arm(&mut self, arm: Arm, _: Option<SharedStart>) -> capbench_lab::Result<()> {
        self.duration = arm.duration;
        (self.held.before, ()) = self.held.clock(true, |held| held.arm(arm))?;
        Ok(())
    }

    fn go(&mut self, go: Go) -> capbench_lab::Result<()> {
        self.going = Some(self.held.agent.begin("go", &go)?);
        Ok(())
    }

    fn sent(&mut self) -> capbench_lab::Result<Sent> {
        let going = self.going.take().unwrap_or_default();
        Ok(self.held.agent.answer(going, self.duration + PATIENCE)?)
    }

    fn finish(&mut self, finish: FinishSending) -> capbench_lab::Result<TransmitHalf> {
        let call = |held: &mut Held<'_>| held.agent.call("finish", &Finish::Transmit(finish), PATIENCE);
        let (after, half): (_, TransmitHalf) = self.held.clock(false, call)?;
        Ok(TransmitHalf { clock: self.held.host_clock(after), ..half })
    }

    fn release(&mut self) {
        self.held.tell("abandon");
    }

    fn is_lost(&self) -> bool {
        self.held.agent.is_lost()
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
        (self.held.before, ()) = self.held.clock(false, |_| Ok(()))?;
        self.held.arm(arm)?;
        // The next message is that a generator shall send: to another agent.
        self.held.agent.settle();
        Ok(())
    }

    fn finish(&mut self, finish: FinishReceiving) -> capbench_lab::Result<ReceiveHalf> {
        let patience = self.quiet + DRAIN;
        let half: ReceiveHalf = self.held.agent.call("finish", &Finish::Receive(finish), patience)?;
        let (after, ()) = self.held.clock(true, |_| Ok(()))?;
        Ok(ReceiveHalf { clock: self.held.host_clock(after), ..half })
    }

    fn release(&mut self) {
        self.held.tell("abandon");
    }
}
