//! An agent whose sides use no network: every call gets as far as on an interface that exists. Tests and fuzz targets use it.

use capbench_lab::live::Host;
use capbench_lab::live::ends::{ReceiveEnd, TransmitEnd};
use capbench_lab::live::halves::{ReceiveHalf, TransmitHalf};
use capbench_lab::live::messages::{Arm, FinishReceiving, FinishSending, Go, Sent};
use capbench_lab::receiver::SharedStart;
use capbench_lab::{LabError, Result};

use super::side::{self, OpenPort, OpenSide};
use super::{Agent, Rules};
use crate::for_tests::reported;
use crate::message::{Half, Prepare, PrepareSide, Prepared};

/// The stand-in of either side.
#[derive(Default)]
struct StandIn {
    armed: Option<Arm>,
    /// Trials that were sent.
    sent: usize,
}

/// Makes an agent use stand-ins. The process ends if a lease does.
pub(crate) fn on_stand_ins(agent: Agent) -> Agent {
    Agent { open, ..agent }
}

fn open(prepare: Prepare, rules: &Rules, _: &mut Host) -> side::Result<(OpenPort, Prepared)> {
    OpenPort::check(&prepare, rules)?;
    let side = match &prepare.side {
        PrepareSide::Transmit(_) => OpenSide::Transmit(Box::new(StandIn::default())),
        PrepareSide::Receive(_) => OpenSide::Receive(Box::new(StandIn::default())),
    };
    Ok((OpenPort::of(side, &prepare.side, None), Prepared::default()))
}

impl StandIn {
    fn arm(&mut self, arm: Arm) {
        assert!(self.armed.is_none(), "the trial before was neither finished nor given up");
        (self.armed, self.sent) = (Some(arm), 0);
    }
}

impl TransmitEnd for StandIn {
    fn arm(&mut self, arm: Arm, _: Option<SharedStart>) -> Result<()> {
        self.arm(arm);
        Ok(())
    }

    fn go(&mut self, go: Go) -> Result<()> {
        assert_eq!(self.armed.map(|arm| arm.trial), Some(go.trial));
        self.sent += 1;
        assert_eq!(self.sent, 1, "a trial is sent once");
        Ok(())
    }

    fn sent(&mut self) -> Result<Vec<Sent>> {
        Ok(reported(0).sent.expect("a sender's"))
    }

    fn finish(&mut self, finish: FinishSending) -> Result<TransmitHalf> {
        let armed = self.armed.take().map(|arm| arm.trial);
        assert_eq!((armed, self.sent), (Some(finish.trial), 1), "what was not sent cannot be finished");
        match reported(0).half {
            Half::Transmit(half) => Ok(*half),
            Half::Receive(_) => unreachable!(),
        }
    }

    fn release(&mut self) {
        self.armed = None;
    }
}

impl ReceiveEnd for StandIn {
    fn can_stay_open(&self) -> Result<()> {
        Ok(())
    }

    fn arm(&mut self, arm: Arm, _: Option<SharedStart>) -> Result<()> {
        self.arm(arm);
        Ok(())
    }

    fn finish(&mut self, finish: FinishReceiving) -> Result<ReceiveHalf> {
        let arm = self.armed.take().expect("an armed trial");
        assert_eq!(arm.trial, finish.trial);
        let frames = finish.frames();
        Err(LabError::Unsupported {
            what: format!("{frames} frames"),
            reason: "no frame arrives here".into(),
        })
    }

    fn release(&mut self) {
        self.armed = None;
    }
}
