//! The prepared side of an agent, and the calls that drive it.

use std::io;
use std::time::Duration;

use capbench_frames::stamp::TrialId;
use capbench_host::bed::{PortLock, Side};
use capbench_lab::LabError;
use capbench_lab::live::ends::{ReceiveEnd, TransmitEnd};
use capbench_lab::live::halves::Interruption;
use capbench_lab::live::messages::{Arm, FinishSending, Go, Sent};
use capbench_lab::live::{End, Host, ReceiveSide, TransmitSide};
use capbench_lab::programs::Programs;
use capbench_lab::subject;
use capbench_model::environment::interface::Role;

use super::Rules;
use crate::message::{Finish, Half, Kind, Prepare, PrepareSide, Prepared, Refusal, Reported};

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
    stage: Stage,
    _lock: PortLock,
}

/// How far the last trial is.
enum Stage {
    /// None is armed.
    Idle,
    /// It is armed, and perhaps its frames are sent.
    Armed(Arm),
    /// The transmit side has sent its frames.
    Sent(Arm, Sent),
    /// The side has its half of the account.
    Done(Box<Reported>),
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
        let lock = PortLock::take(&on).map_err(LabError::from)?;
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
        Ok((Self { side, stage: Stage::Idle, _lock: lock }, prepared))
    }

    /// How long the armed trial sends, during which its controller is silent.
    pub(super) fn armed_for(&self) -> Duration {
        match &self.stage {
            Stage::Armed(arm) | Stage::Sent(arm, _) => arm.duration,
            Stage::Idle | Stage::Done(_) => Duration::ZERO,
        }
    }

    /// Gets ready for a trial. The same id again: nothing more to do.
    pub(super) fn arm(&mut self, arm: Arm) -> Result<()> {
        if matches!(&self.stage, Stage::Armed(armed) if armed.trial == arm.trial) {
            return Ok(());
        }
        self.stage = Stage::Idle;
        match &mut self.side {
            OpenSide::Transmit(side) => side.arm(arm, None)?,
            OpenSide::Receive(side) => side.arm(arm, None)?,
        }
        self.stage = Stage::Armed(arm);
        Ok(())
    }

    /// Sends the trial's frames.
    pub(super) fn go(&mut self, go: Go) -> Result<Sent> {
        let OpenSide::Transmit(side) = &mut self.side else {
            return Err(Refusal::new(Kind::Usage, "go: this side receives").into());
        };
        std::thread::sleep(go.head_start);
        side.go(go)?;
        let sent = side.sent()?;
        if let Stage::Armed(arm) = self.stage {
            self.stage = Stage::Sent(arm, sent);
        }
        Ok(sent)
    }

    /// Gives up the armed trial, and closes what it opened.
    pub(super) fn abandon(&mut self) {
        self.stage = Stage::Idle;
        match &mut self.side {
            OpenSide::Transmit(side) => side.release(),
            OpenSide::Receive(side) => side.release(),
        }
    }

    /// Ends the trial; the half of its account.
    pub(super) fn finish(&mut self, finish: Finish) -> Result<Half> {
        let sent = match (&self.stage, &finish) {
            (Stage::Sent(_, sent), _) => Some(*sent),
            _ => None,
        };
        self.stage = Stage::Idle;
        let (trial, half) = match (&mut self.side, finish) {
            (OpenSide::Transmit(side), Finish::Transmit(finish)) => {
                (finish.trial, Half::Transmit(Box::new(side.finish(finish)?)))
            }
            (OpenSide::Receive(side), Finish::Receive(finish)) => {
                (finish.trial, Half::Receive(Box::new(side.finish(finish)?)))
            }
            _ => return Err(Refusal::new(Kind::Usage, "finish: of the other side").into()),
        };
        self.stage = Stage::Done(Box::new(Reported { trial, sent, half: half.clone() }));
        Ok(half)
    }

    /// The report of the last trial, if it is this one.
    pub(super) fn reported(&self, trial: TrialId) -> Option<Reported> {
        match &self.stage {
            Stage::Done(reported) if reported.trial == trial => Some((**reported).clone()),
            _ => None,
        }
    }

    /// Passes on what this side can still say of its last trial when the connection is lost, and frees the interface. A receiver
    /// that was not told what was sent has nothing to say.
    pub(super) fn last_words(
        mut self,
        was_cut: bool,
        leave: impl FnOnce(&Reported) -> io::Result<()>,
    ) -> io::Result<()> {
        if let Stage::Sent(arm, _) = self.stage {
            // How many arrived is unknown: the counters get the time that they may need.
            let finish = FinishSending { trial: arm.trial, delivered: 0 };
            // Without the counters there is no report.
            let _ = self.finish(Finish::Transmit(finish));
            if let Stage::Done(reported) = &mut self.stage
                && let Half::Transmit(half) = &mut reported.half
            {
                let interruption =
                    if was_cut { Interruption::WhileSending } else { Interruption::AfterSending };
                half.interruption = Some(interruption);
            }
        }
        match &self.stage {
            Stage::Done(reported) => leave(reported),
            Stage::Idle | Stage::Armed(_) | Stage::Sent(..) => Ok(()),
        }
    }
}
