//! Several flows from one sender, each with frames, times and a limit of its own.
//!
//! A [`FlowSet`] is what a sending phase has and other threads see: they pause and stop flows, and read exact counts. `merge`
//! has the one order in which a sender writes the frames.

mod merge;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

pub use merge::MergedFlows;
use serde::Serialize;

use crate::{FrameError, FrameSize, Pps, Result, Schedule, StackPlan};

/// A flow.
#[derive(Debug)]
pub struct StackFlow {
    /// Its name in messages and results.
    pub name: String,
    /// Its frames.
    pub plan: Arc<StackPlan>,
    /// When they are sent.
    pub schedule: Schedule,
    /// It ends after this many frames.
    pub frames: Option<u64>,
    /// It ends before the first frame that is planned this long after its beginning, or later. A sender that is too slow for its
    /// rate leaves the rest unsent then.
    pub duration: Option<Duration>,
    /// Time from the start of the phase to its beginning.
    pub delay: Duration,
}

/// What a flow is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum FlowCommand {
    /// Send.
    Run,
    /// Send nothing until it is to run again. The rest of its frames is then sent later, by as long as the pause was.
    Pause,
    /// End.
    Stop,
}

/// What became of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Frames passed to the kernel.
    pub sent: u64,
    /// Their octets, FCS included.
    pub octets: u64,
    /// Frames that were to be sent; known at the end of the phase.
    pub intended: Option<u64>,
    /// Frames that were unsent when its duration was over: the sender was too slow.
    pub late: u64,
    /// Whether no frame is left to send.
    pub is_over: bool,
}

/// What was sent of a flow, for a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct FlowSummary {
    /// Its name.
    pub name: String,
    /// Its headers, from the outermost on.
    pub headers: String,
    /// The stream in the trailers of its frames; null: they have none.
    pub stream: Option<u8>,
    /// Frames to send by its schedule until the end; null if the sending failed before.
    pub intended: Option<u64>,
    /// Frames sent.
    pub sent: u64,
    /// Octets of the frames sent, FCS included.
    pub octets: u64,
}

/// The flows of a sending phase.
#[derive(Debug)]
pub struct FlowSet {
    flows: Box<[StackFlow]>,
    shared: Box<[Shared]>,
    /// How many commands there were. A sender looks at them when this has changed.
    commands: AtomicU32,
}

/// What the sender of a flow and other threads share. Only the sender writes counts.
#[derive(Debug)]
struct Shared {
    command: AtomicU8,
    sent: AtomicU64,
    octets: AtomicU64,
    /// [`UNKNOWN`] during the phase.
    intended: AtomicU64,
    late: AtomicU64,
    is_over: AtomicBool,
}

/// No number of frames.
const UNKNOWN: u64 = u64::MAX;

impl Shared {
    fn begin(&self) {
        self.sent.store(0, Ordering::Relaxed);
        self.octets.store(0, Ordering::Relaxed);
        self.intended.store(UNKNOWN, Ordering::Relaxed);
        self.late.store(0, Ordering::Relaxed);
        self.is_over.store(false, Ordering::Relaxed);
    }
}

impl FlowSet {
    /// The largest number of flows.
    pub const MOST: usize = 1 << 16;

    /// A set of flows that are to run.
    ///
    /// # Errors
    /// No flow or too many; two flows with one stream; flows with and without planned times; a schedule of another kind; a
    /// duration without a rate.
    pub fn new(flows: Vec<StackFlow>) -> Result<Self> {
        let refuse = |flow: &StackFlow, reason| Err(FrameError::Flow { name: flow.name.clone(), reason });
        let Some(first) = flows.first().filter(|_| flows.len() <= Self::MOST) else {
            return Err(FrameError::Flows { asked: flows.len() as u32, most: Self::MOST as u32 });
        };
        for (index, flow) in flows.iter().enumerate() {
            flow.schedule.check(flow.duration.unwrap_or_default())?;
            let stream = flow.plan.stream();
            if stream.is_some() && flows[..index].iter().any(|other| other.plan.stream() == stream) {
                return refuse(flow, "its stream is that of another flow; give each its own");
            }
            match flow.schedule {
                Schedule::Constant(_)
                | Schedule::Bursts { .. }
                | Schedule::Poisson { .. }
                | Schedule::Recorded(_) => {}
                Schedule::Maximum if flow.duration.is_some() || flow.delay > Duration::ZERO => {
                    return refuse(flow, "a duration or a delay needs a rate; state one");
                }
                Schedule::Maximum => {}
                _ => return refuse(flow, "needs a mean rate, or to be sent as fast as possible"),
            }
            if (flow.schedule == Schedule::Maximum) != (first.schedule == Schedule::Maximum) {
                return refuse(flow, "state a rate for every flow of a sender, or for none");
            }
        }
        let shared = flows.iter().map(|_| Shared {
            command: AtomicU8::new(FlowCommand::Run as u8),
            sent: AtomicU64::new(0),
            octets: AtomicU64::new(0),
            intended: AtomicU64::new(UNKNOWN),
            late: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        });
        Ok(Self { shared: shared.collect(), flows: flows.into(), commands: AtomicU32::new(0) })
    }

    /// The flows.
    pub fn flows(&self) -> &[StackFlow] {
        &self.flows
    }

    /// Tells a flow what to do. Its sender does it before its next batch of frames; before the phase, from the start on.
    ///
    /// # Panics
    /// On a number that no flow has.
    pub fn command(&self, flow: usize, command: FlowCommand) {
        self.shared[flow].command.store(command as u8, Ordering::Relaxed);
        // The sender that sees the new number sees the command.
        self.commands.fetch_add(1, Ordering::Release);
    }

    /// What became of a flow so far.
    ///
    /// # Panics
    /// On a number that no flow has.
    pub fn counts(&self, flow: usize) -> FlowCounts {
        let shared = &self.shared[flow];
        FlowCounts {
            // With the flag that a flow is over, its last counts are seen, too.
            is_over: shared.is_over.load(Ordering::Acquire),
            sent: shared.sent.load(Ordering::Relaxed),
            octets: shared.octets.load(Ordering::Relaxed),
            late: shared.late.load(Ordering::Relaxed),
            intended: Some(shared.intended.load(Ordering::Relaxed)).filter(|intended| *intended != UNKNOWN),
        }
    }

    /// What was sent of each flow.
    pub fn summaries(&self) -> Vec<FlowSummary> {
        let summary = |(number, flow): (usize, &StackFlow)| {
            let counts = self.counts(number);
            FlowSummary {
                name: flow.name.clone(),
                headers: flow.plan.stack().to_string(),
                stream: flow.plan.stream().map(|stream| stream.0),
                intended: counts.intended,
                sent: counts.sent,
                octets: counts.octets,
            }
        };
        self.flows.iter().enumerate().map(summary).collect()
    }

    /// A flow that nothing but the end of the phase ends, if there is one.
    pub fn endless(&self) -> Option<&StackFlow> {
        self.flows.iter().find(|flow| flow.frames.is_none() && flow.duration.is_none())
    }

    /// Mean frames per second of all flows; `None` if one states none.
    pub fn rate(&self) -> Option<f64> {
        self.flows.iter().map(|flow| flow.schedule.rate().map(Pps::get)).sum()
    }

    /// Whether the frames have planned times.
    pub fn is_planned(&self) -> bool {
        self.flows[0].schedule != Schedule::Maximum
    }

    /// The longest frame.
    pub fn largest(&self) -> FrameSize {
        self.flows.iter().map(|flow| flow.plan.sizes().largest()).max().unwrap_or(FrameSize::LEAST)
    }

    /// Octets of the longest headers.
    pub fn head_octets(&self) -> usize {
        self.flows.iter().map(|flow| flow.plan.stack().octets()).max().unwrap_or(0)
    }

    /// Mean frame size in octets, FCS included: flows with a rate count as often as they send.
    pub fn mean_octets(&self) -> f64 {
        let rates = self.flows.iter().map(|flow| flow.schedule.rate().map_or(1.0, |rate| rate.get()));
        let weighted =
            rates.zip(&self.flows).map(|(rate, flow)| (rate, rate * flow.plan.sizes().mean_octets()));
        let (rate, octets) = weighted.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        octets / rate
    }
}

/// `flow web: 1000 packets, 0 unsent`.
impl fmt::Display for FlowSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "flow {}: {} packets", self.name, self.sent)?;
        self.intended.map_or(Ok(()), |intended| write!(f, ", {} unsent", intended - self.sent))
    }
}

impl FlowCommand {
    fn of(number: u8) -> Self {
        match number {
            0 => Self::Run,
            1 => Self::Pause,
            _ => Self::Stop,
        }
    }
}

#[cfg(test)]
mod tests;
