//! The prepared side of an agent, and the calls that drive it.

use std::io;
use std::time::{Duration, Instant};

use capbench_frames::stamp::{StreamId, TrialId};
use capbench_host::bed::{PortLock, Side};
use capbench_lab::LabError;
use capbench_lab::live::ends::{ReceiveEnd, TransmitEnd};
use capbench_lab::live::halves::Interruption;
use capbench_lab::live::messages::{Arm, FinishReceiving, FinishSending, Go, Sent};
use capbench_lab::live::{End, Host, ReceiveSide, TransmitSide};
use capbench_lab::programs::Programs;
use capbench_lab::subject;
use capbench_model::environment::interface::Role;

use super::{Rules, rules};
use crate::error::RefusedCall;
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

pub(super) type Result<T> = std::result::Result<T, Refused>;

/// An interface that this agent holds, with the side on it.
pub(super) struct OpenPort {
    side: OpenSide,
    stage: Stage,
    /// How long it waits for missing frames.
    quiet: Duration,
    /// How many streams it receives.
    streams: u16,
    /// When the last `go` may be answered, by the others that send and the highest rate; `None`: none was.
    rests_until: Option<Instant>,
    _lock: Option<PortLock>,
}

/// How far the last trial is.
enum Stage {
    /// None is armed.
    Idle,
    /// It is armed, and perhaps its frames are sent.
    Armed(Arm),
    /// The transmit side has sent its frames.
    Sent(Arm, Vec<Sent>),
    /// The side has its half of the account.
    Done(Box<Reported>),
}

/// The side that was prepared.
pub(super) enum OpenSide {
    Transmit(Box<dyn TransmitEnd>),
    Receive(Box<dyn ReceiveEnd>),
}

impl OpenPort {
    /// Takes the interface and prepares the side.
    pub(super) fn open(prepare: Prepare, rules: &Rules, host: &mut Host) -> Result<(Self, Prepared)> {
        let end = Self::check(&prepare, rules)?;
        let Prepare { interface, side: asked, .. } = &prepare;
        let on = Side::for_trials(interface, rules.is_isolated(interface)).map_err(LabError::from)?;
        let lock = PortLock::take(&on).map_err(LabError::from)?;
        host.watch(&[(end, &on)])?;
        let mut prepared = Prepared::default();
        let side = match asked.clone() {
            PrepareSide::Transmit(asked) => {
                OpenSide::Transmit(Box::new(TransmitSide::prepare(asked, &on, host)?))
            }
            PrepareSide::Receive(asked) => {
                let named = subject::find(&asked.setup.method, &Programs::default())?;
                let side = ReceiveSide::prepare(*asked, named.subject, &on, host)?;
                prepared.closes_because = side.can_stay_open().err().map(|error| error.to_string());
                prepared.notes.extend(host.statement());
                OpenSide::Receive(Box::new(side))
            }
        };
        Ok((Self::of(side, asked, Some(lock)), prepared))
    }

    /// Whether the agent allows it.
    pub(super) fn check(prepare: &Prepare, rules: &Rules) -> Result<End> {
        let (role, end) = match &prepare.side {
            PrepareSide::Transmit(_) => (Role::Transmit, End::Transmit),
            PrepareSide::Receive(asked) => {
                rules.check_receiving(asked)?;
                (Role::Receive, End::Receive)
            }
        };
        rules.check_port(role, &prepare.interface)?;
        Ok(end)
    }

    /// A port with this side.
    pub(super) fn of(side: OpenSide, asked: &PrepareSide, lock: Option<PortLock>) -> Self {
        let (quiet, streams) = match asked {
            PrepareSide::Transmit(_) => (Duration::ZERO, 0),
            PrepareSide::Receive(asked) => (asked.setup.quiet, asked.streams),
        };
        Self { side, stage: Stage::Idle, quiet, streams, rests_until: None, _lock: lock }
    }

    /// How long the armed trial sends, during which its controller is silent.
    pub(super) fn armed_for(&self) -> Duration {
        match &self.stage {
            Stage::Armed(arm) | Stage::Sent(arm, _) => rules::planned(arm),
            Stage::Idle | Stage::Done(_) => Duration::ZERO,
        }
    }

    /// How long a call of the armed trial may take because of what its controller asked for.
    pub(super) fn works_for(&self) -> Duration {
        self.armed_for().saturating_add(self.quiet)
    }

    /// Gets ready for a trial. The same call again: nothing more to do. A trial that was not finished is given up.
    pub(super) fn arm(&mut self, arm: Arm) -> Result<()> {
        match &self.stage {
            Stage::Armed(armed) | Stage::Sent(armed, _) if *armed == arm => return Ok(()),
            Stage::Armed(_) | Stage::Sent(..) => self.abandon(),
            Stage::Idle | Stage::Done(_) => {}
        }
        self.stage = Stage::Idle;
        match &mut self.side {
            OpenSide::Transmit(side) => side.arm(arm, None)?,
            OpenSide::Receive(side) => side.arm(arm, None)?,
        }
        self.stage = Stage::Armed(arm);
        Ok(())
    }

    /// Sends the trial's frames, once. The same id again: the same answer.
    pub(super) fn go(&mut self, go: Go, rules: &Rules) -> Result<Vec<Sent>> {
        let OpenSide::Transmit(side) = &mut self.side else {
            return Err(Refusal::new(Kind::Usage, "go: this side receives").into());
        };
        let arm = match &self.stage {
            Stage::Sent(arm, sent) if arm.trial == go.trial => return Ok(sent.clone()),
            Stage::Armed(arm) if arm.trial == go.trial => *arm,
            // It may be finished.
            _ => {
                let sent = self.reported(go.trial).and_then(|done| done.sent);
                return sent.ok_or_else(|| not_armed("go", go.trial).into());
            }
        };
        std::thread::sleep(go.head_start.min(rules::HEAD_START));
        let begun = Instant::now();
        match side.go(go).and_then(|()| side.sent()) {
            Ok(sent) => {
                let end_ns = sent.iter().map(|sent| sent.end_ns).max().unwrap_or_default();
                let frames = sent.iter().map(|sent| sent.frames).sum();
                let last_of_others = Duration::from_nanos(end_ns) + rules::spread(&arm);
                let others = if go.with_others { last_of_others } else { Duration::ZERO };
                self.rests_until = begun.checked_add(rules.time_of(frames).max(others));
                self.stage = Stage::Sent(arm, sent.clone());
                Ok(sent)
            }
            Err(error) => {
                self.abandon();
                Err(error.into())
            }
        }
    }

    /// Waits until `go` may be answered: no message reaches a host while another generator sends, and frames that were sent at once
    /// take the time that they need at the highest rate. The interface is held meanwhile, so no other agent sends either.
    pub(super) fn rest(&self) {
        let left = self.rests_until.map(|until| until.saturating_duration_since(Instant::now()));
        std::thread::sleep(left.unwrap_or_default());
    }

    /// Gives up the armed trial, and closes what it opened.
    pub(super) fn abandon(&mut self) {
        self.stage = Stage::Idle;
        match &mut self.side {
            OpenSide::Transmit(side) => side.release(),
            OpenSide::Receive(side) => side.release(),
        }
    }

    /// Ends the trial; the half of its account. The same id again: the same answer.
    pub(super) fn finish(&mut self, finish: Finish) -> Result<Half> {
        let trial = match &finish {
            Finish::Transmit(finish) => finish.trial,
            Finish::Receive(finish) => finish.trial,
        };
        let (arm, sent) = match &self.stage {
            Stage::Done(done) if done.trial == trial => return Ok(done.half.clone()),
            Stage::Sent(arm, sent) if arm.trial == trial => (*arm, Some(sent.clone())),
            Stage::Armed(arm) if arm.trial == trial && !self.sends() => (*arm, None),
            _ => return Err(not_armed("finish", trial).into()),
        };
        if let Finish::Receive(finish) = &finish {
            rules::check_sent(finish, &arm, self.streams)?;
        }
        let half = match (&mut self.side, finish) {
            (OpenSide::Transmit(side), Finish::Transmit(finish)) => {
                side.finish(finish).map(|half| Half::Transmit(Box::new(half)))
            }
            (OpenSide::Receive(side), Finish::Receive(finish)) => {
                side.finish(finish).map(|half| Half::Receive(Box::new(half)))
            }
            _ => return Err(Refusal::new(Kind::Usage, "finish: of the other side").into()),
        };
        match half {
            Ok(half) => {
                self.stage = Stage::Done(Box::new(Reported { trial, sent, half: half.clone() }));
                Ok(half)
            }
            Err(error) => {
                self.abandon();
                Err(error.into())
            }
        }
    }

    fn sends(&self) -> bool {
        matches!(self.side, OpenSide::Transmit(_))
    }

    /// The report of the last trial, if it is this one.
    pub(super) fn reported(&self, trial: TrialId) -> Option<Reported> {
        match &self.stage {
            Stage::Done(reported) if reported.trial == trial => Some((**reported).clone()),
            _ => None,
        }
    }

    /// Passes on what this side can still say of its last trial when the connection is lost, and frees the interface.
    pub(super) fn last_words(
        mut self,
        was_cut: bool,
        leave: impl FnOnce(&Reported) -> io::Result<()>,
    ) -> io::Result<()> {
        match self.stage {
            Stage::Sent(arm, _) => self.finish_sending(arm, was_cut),
            Stage::Armed(arm) if !self.sends() => self.finish_receiving(arm),
            Stage::Idle | Stage::Armed(_) | Stage::Done(_) => {}
        }
        match &self.stage {
            Stage::Done(reported) => leave(reported),
            Stage::Idle | Stage::Armed(_) | Stage::Sent(..) => Ok(()),
        }
    }

    fn finish_sending(&mut self, arm: Arm, was_cut: bool) {
        // How many arrived is unknown: the counters get the time that they may need.
        let finish = FinishSending { trial: arm.trial, delivered: 0 };
        // Without the counters there is no report.
        let _ = self.finish(Finish::Transmit(finish));
        if let Stage::Done(reported) = &mut self.stage
            && let Half::Transmit(half) = &mut reported.half
        {
            let interruption = if was_cut { Interruption::WhileSending } else { Interruption::AfterSending };
            half.interruption = Some(interruption);
        }
    }

    /// What was sent is unknown, but no more than the plan: the side has an account if all of that arrives. The plan of one of
    /// several streams is not known here.
    fn finish_receiving(&mut self, arm: Arm) {
        let Some(frames) = arm.load.intended(arm.duration).filter(|_| self.streams == 1) else { return };
        let end_ns = arm.schedule().planned_ns(frames).unwrap_or_default();
        let sent = Sent { stream: StreamId(0), frames, end_ns, began: None, dropped: None };
        let _ = self.finish(Finish::Receive(FinishReceiving { trial: arm.trial, sent: vec![sent] }));
        let has_all = match &self.stage {
            Stage::Done(done) => match &done.half {
                Half::Receive(half) => half.received.arrivals.delivered == frames,
                Half::Transmit(_) => false,
            },
            _ => false,
        };
        if !has_all {
            self.stage = Stage::Idle;
        }
    }
}

fn not_armed(call: &str, trial: TrialId) -> Refusal {
    Refusal::new(Kind::Usage, RefusedCall::NotArmed { call, trial: trial.0 })
}
