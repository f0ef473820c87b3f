//! The end of a trial that an agent is: the trial's messages are calls.

use std::time::Duration;

use capbench_lab::LabError;
use capbench_lab::live::ends::{ReceiveEnd, TransmitEnd};
use capbench_lab::live::halves::{ReceiveHalf, TransmitHalf};
use capbench_lab::live::messages::{
    Arm, FinishReceiving, FinishSending, Go, PrepareReceiving, PrepareSending, Sent,
};
use capbench_lab::receiver::SharedStart;
use serde_json::Value;

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
        Ok(Self { agent, prepared })
    }

    fn arm(&mut self, arm: Arm) -> Result<()> {
        self.agent.call::<Value>("arm", &arm, PATIENCE).map(drop)
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

    /// What the agent said of the prepared side.
    pub fn prepared(&self) -> &Prepared {
        &self.held.prepared
    }
}

impl TransmitEnd for RemoteSender<'_> {
    fn arm(&mut self, arm: Arm, _: Option<SharedStart>) -> capbench_lab::Result<()> {
        self.duration = arm.duration;
        Ok(self.held.arm(arm)?)
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
        Ok(self.held.agent.call("finish", &Finish::Transmit(finish), PATIENCE)?)
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
        Ok(self.held.arm(arm)?)
    }

    fn finish(&mut self, finish: FinishReceiving) -> capbench_lab::Result<ReceiveHalf> {
        Ok(self.held.agent.call("finish", &Finish::Receive(finish), self.quiet + DRAIN)?)
    }

    fn release(&mut self) {
        self.held.tell("abandon");
    }
}
