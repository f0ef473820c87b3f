//! Compares an agent's clock with this process's, before and after a trial. Nothing is asked while frames are sent.

use std::time::Instant;

use capbench_model::clocks::{Bounds, ClockReading, ClockState, FourStamps, TimeService};
use capbench_model::reasons::NoDelays;

use super::connection::Connection;
use crate::Result;
use crate::message::HostTimes;

/// Exchanges of one comparison. The fastest one decides.
const EXCHANGES: usize = 8;

/// How the clocks of a trial's agents are compared.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// Moments of this process count from here.
    pub epoch: Instant,
    /// Whether both agents read the clock of one kernel, which nothing needs to synchronise.
    pub is_one_clock: bool,
}

/// The result of exchanges with an agent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchanged {
    at_ns: u64,
    /// By how much the agent's clock is ahead; `None`: one exchange contradicts another.
    ahead: Option<Bounds>,
}

impl Comparison {
    /// What the agent says of its clock. It may start a program, which takes longer than an exchange.
    pub(super) fn state(self, agent: &mut Connection) -> Result<ClockState> {
        match self.is_one_clock {
            true => Ok(ClockState::Synchronised { by: TimeService::OneClock, error_ns: 0 }),
            false => agent.clock_state(),
        }
    }

    /// Compares the clocks now.
    pub(super) fn exchange(self, agent: &mut Connection) -> Result<Exchanged> {
        let patience = agent.waits().answer;
        let now = || self.epoch.elapsed().as_nanos() as i64;
        let exchanges: Vec<FourStamps> = (0..EXCHANGES)
            .map(|_| {
                let sent_ns = now();
                let times: HostTimes = agent.call("time", &(), patience)?;
                let [received_ns, answered_ns] = times.signed_ns();
                Ok(FourStamps { sent_ns, received_ns, answered_ns, returned_ns: now() })
            })
            .collect::<Result<_>>()?;
        Ok(Exchanged { at_ns: now() as u64, ahead: Bounds::of(&exchanges) })
    }
}

/// What is known of a clock.
pub(super) fn reading(state: ClockState, Exchanged { at_ns, ahead }: Exchanged) -> ClockReading {
    match ahead {
        Some(ahead) => ClockReading { at_ns, state, ahead },
        None => ClockReading {
            at_ns,
            state: ClockState::Unsynchronised { reason: NoDelays::SetWhileCompared.to_string() },
            ahead: Bounds { low_ns: i64::MIN, high_ns: i64::MAX },
        },
    }
}
