//! The prepared side of an agent, and the calls that drive it.

use std::time::Duration;

use capbench_host::bed::Side;
use capbench_lab::LabError;
use capbench_lab::live::ends::{ReceiveEnd, TransmitEnd};
use capbench_lab::live::messages::{Arm, Go, Sent};
use capbench_lab::live::{End, Host, ReceiveSide, TransmitSide};
use capbench_lab::programs::Programs;
use capbench_lab::subject;
use capbench_model::environment::interface::Role;
use serde_json::Value;

use super::lock::PortLock;
use super::{Rules, answer};
use crate::message::{Finish, Kind, Prepare, PrepareSide, Prepared, Refusal};

/// Why a call was refused.
pub(super) enum Refused {
    /// By a rule of the agent, or because the call does not fit.
    Rule(Refusal),
    /// By the trial's side.
    Lab(LabError),
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self::Rule(refusal)
    }
}

impl From<LabError> for Refused {
    fn from(error: LabError) -> Self {
        Self::Lab(error)
    }
}

type Result<T> = std::result::Result<T, Refused>;

/// An interface that this agent holds, with the side on it.
pub(super) struct OpenPort {
    side: OpenSide,
    /// How long the armed trial sends.
    armed_for: Duration,
    _lock: PortLock,
}

/// The side that was prepared.
enum OpenSide {
    Transmit(Box<TransmitSide>),
    Receive(Box<ReceiveSide>),
}

impl OpenPort {
    /// Takes the interface and prepares the side.
    pub(super) fn open(prepare: Prepare, rules: &Rules, host: &mut Host) -> Result<(Self, Prepared)> {
        let Prepare { interface, side: asked } = prepare;
        let (role, end) = match &asked {
            PrepareSide::Transmit(_) => (Role::Transmit, End::Transmit),
            PrepareSide::Receive(asked) => {
                rules.check_method(asked)?;
                (Role::Receive, End::Receive)
            }
        };
        rules.check_port(role, &interface)?;
        let on = Side::for_trials(&interface, rules.is_isolated(&interface)).map_err(LabError::from)?;
        let lock = PortLock::take(&on)?;
        host.watch(&[(end, &on)])?;
        let mut prepared = Prepared { tracing: host.statement(), ..Prepared::default() };
        let side = match asked {
            PrepareSide::Transmit(asked) => {
                OpenSide::Transmit(Box::new(TransmitSide::prepare(asked, &on, host)?))
            }
            PrepareSide::Receive(asked) => {
                let named = subject::find(&asked.setup.method, &Programs::default())?;
                let side = ReceiveSide::prepare(*asked, named.subject, &on, host)?;
                prepared.closes_because = side.can_stay_open().err().map(|error| error.to_string());
                OpenSide::Receive(Box::new(side))
            }
        };
        Ok((Self { side, armed_for: Duration::ZERO, _lock: lock }, prepared))
    }

    /// How long the armed trial sends, during which its controller is silent.
    pub(super) fn armed_for(&self) -> Duration {
        self.armed_for
    }

    /// Gets ready for a trial.
    pub(super) fn arm(&mut self, arm: Arm) -> Result<()> {
        self.armed_for = arm.duration;
        match &mut self.side {
            OpenSide::Transmit(side) => side.arm(arm, None)?,
            OpenSide::Receive(side) => side.arm(arm, None)?,
        }
        Ok(())
    }

    /// Sends the trial's frames.
    pub(super) fn go(&mut self, go: Go) -> Result<Sent> {
        match &mut self.side {
            OpenSide::Transmit(side) => {
                side.go(go)?;
                Ok(side.sent()?)
            }
            OpenSide::Receive(_) => Err(Refusal::new(Kind::Usage, "go: this side receives").into()),
        }
    }

    /// Gives up the armed trial, and closes what it opened.
    pub(super) fn abandon(&mut self) {
        self.armed_for = Duration::ZERO;
        match &mut self.side {
            OpenSide::Transmit(side) => side.release(),
            OpenSide::Receive(side) => side.release(),
        }
    }

    /// Ends the trial; the half of its account.
    pub(super) fn finish(&mut self, finish: Finish) -> Result<Value> {
        self.armed_for = Duration::ZERO;
        Ok(match (&mut self.side, finish) {
            (OpenSide::Transmit(side), Finish::Transmit(finish)) => answer(side.finish(finish)?)?,
            (OpenSide::Receive(side), Finish::Receive(finish)) => answer(side.finish(finish)?)?,
            _ => return Err(Refusal::new(Kind::Usage, "finish: of the other side").into()),
        })
    }
}
