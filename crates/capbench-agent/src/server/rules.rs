//! What an agent allows its controller: by its command line, and so that no number makes it wait for ever or fill the memory.

use std::num::NonZeroU32;
use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_frames::stamp::{Stamp, StreamId};
use capbench_lab::live::messages::{Arm, FinishReceiving, PrepareReceiving};
use capbench_lab::programs;
use capbench_model::environment::interface::Role;
use capbench_model::laboratory::Setup;
use capbench_model::members::Members;
use capbench_model::thresholds::START_SPREAD;
use capbench_model::trial::Load;
use capbench_model::units::ByteCount;

use super::Called;
use super::allowed::Allowed;
use crate::error::RefusedCall;
use crate::message::{Kind, Refusal};

/// The longest waits for frames that a set-up may ask for. RFC 2544 waits 2 s.
const LONGEST_QUIET: Duration = Duration::from_secs(600);
const LONGEST_BATCH: Duration = Duration::from_secs(60);

/// The longest wait before the first frame that a controller may ask for.
pub(super) const HEAD_START: Duration = Duration::from_secs(1);

/// The longest wait for generators that began later.
const LONGEST_SPREAD: Duration = Duration::from_secs(1);

/// A generator without a plan ends up to this late: its CPU may be taken away.
const LATENESS: Duration = Duration::from_secs(60);

/// Octets around a frame of the largest MTU in a work queue.
const AROUND: u64 = 128;

/// What an agent allows.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Interfaces and programs.
    pub allowed: Vec<Allowed>,
    /// Interfaces whose link carries no other traffic (RFC 6815), as their owner asserts.
    pub isolated: Vec<String>,
    /// Highest rate in frames per second; `None`: any.
    pub max_rate: Option<Pps>,
    /// Longest trial; `None`: any.
    pub max_duration: Option<Duration>,
    /// Memory for the buffers of a capture.
    pub max_memory: ByteCount,
}

impl Default for Rules {
    /// Nothing is allowed.
    fn default() -> Self {
        Self {
            allowed: Vec::new(),
            isolated: Vec::new(),
            max_rate: None,
            max_duration: None,
            max_memory: Self::MEMORY,
        }
    }
}

impl Rules {
    /// Memory for the buffers of a capture where the command line states none.
    pub const MEMORY: ByteCount = ByteCount(1 << 30);

    /// Whether a capture may be prepared.
    pub(super) fn check_receiving(&self, asked: &PrepareReceiving) -> Called<()> {
        self.check_method(asked)?;
        check_waits(asked)?;
        self.check_memory(asked)
    }

    /// Whether the buffers of the capture fit into the memory for them: each member has its own.
    pub(super) fn check_memory(&self, asked: &PrepareReceiving) -> Called<()> {
        let Setup { method, capture, work, .. } = &asked.setup;
        let ring = capture.ring.0.max(capture.block.0);
        let queue =
            work.queue.map_or(0, |length| u64::from(length.frames()) * (u64::from(asked.mtu.0) + AROUND));
        let of_member = ring.saturating_add(queue);
        let needed = of_member.saturating_mul(Members::count_of(method).into());
        if needed <= self.max_memory.0 {
            return Ok(());
        }
        Err(forbidden(format!(
            "the agent allows {} for the buffers of a capture, not {} (--max-memory)",
            self.max_memory,
            ByteCount(needed)
        )))
    }

    /// The allowed interfaces.
    pub(super) fn ports(&self) -> impl Iterator<Item = (Role, &str)> {
        self.allowed.iter().filter_map(|allowed| match allowed {
            Allowed::Port(role, interface) => Some((*role, interface.as_str())),
            Allowed::Program(_) => None,
        })
    }

    /// Names of the allowed programs.
    pub(super) fn programs(&self) -> impl Iterator<Item = &str> {
        self.allowed.iter().filter_map(|allowed| match allowed {
            Allowed::Program(name) => Some(name.as_str()),
            Allowed::Port(..) => None,
        })
    }

    pub(super) fn is_isolated(&self, interface: &str) -> bool {
        self.isolated.iter().any(|name| name == interface)
    }

    /// Whether an interface may be used.
    pub(super) fn check_port(&self, role: Role, interface: &str) -> Called<()> {
        self.check(&Allowed::Port(role, interface.into()))
    }

    fn check(&self, wanted: &Allowed) -> Called<()> {
        if self.allowed.contains(wanted) {
            return Ok(());
        }
        let allowed: Vec<_> = self.allowed.iter().map(ToString::to_string).collect();
        let allowed = if allowed.is_empty() { "nothing".into() } else { allowed.join(", ") };
        Err(forbidden(format!("the agent does not allow {wanted}; it allows {allowed} (--allow)")))
    }

    /// Whether the method may run: no path, no device and no arguments for foreign code come from the controller.
    pub(super) fn check_method(&self, asked: &PrepareReceiving) -> Called<()> {
        let method = &asked.setup.method;
        if method.name() == programs::METHOD {
            return self.check(&Allowed::Program(method.argument().unwrap_or_default().into()));
        }
        if method.names_code() || !asked.setup.capture.eal_arguments.is_empty() {
            return Err(forbidden(format!(
                "the agent does not allow {method}: a controller cannot name a library, a device or arguments for \
                 them; run capbench on that host"
            )));
        }
        Ok(())
    }

    /// How long this many frames take at the highest rate: the next trial begins no earlier.
    pub(super) fn time_of(&self, frames: u64) -> Duration {
        self.max_rate.map_or(Duration::ZERO, |limit| Duration::from_secs_f64(frames as f64 / limit.get()))
    }

    /// Whether the load is within the limits.
    pub(super) fn check_load(&self, arm: &Arm) -> Called<()> {
        let planned = planned(arm);
        // The stamp of a frame has to express the plan.
        let longest = Duration::from_nanos(Stamp::LAST_PLANNED_NS);
        check(planned <= longest, RefusedCall::TooLong { longest })?;
        if let Some(limit) = self.max_duration.filter(|limit| planned > *limit) {
            return Err(forbidden(format!(
                "the agent allows trials of up to {limit:?}, not {planned:?} (--max-duration)"
            )));
        }
        let Some(limit) = self.max_rate.map(Pps::get) else { return Ok(()) };
        let highest = match arm.load {
            Load::Maximum => {
                return Err(forbidden(format!(
                    "the agent allows up to {limit} frames/s, and maximum load has no limit (--max-rate); name a rate"
                )));
            }
            Load::Rate(rate) | Load::Burst { rate, .. } => rate.get(),
            Load::Step(step) => step.before.get().max(step.after.get()),
        };
        if highest > limit {
            return Err(forbidden(format!(
                "the agent allows up to {limit} frames/s, not {highest} (--max-rate)"
            )));
        }
        match arm.burst.map(NonZeroU32::get) {
            Some(frames) if f64::from(frames) > limit => Err(forbidden(format!(
                "the agent allows up to {limit} frames/s, not {frames} frames at once (--max-rate)"
            ))),
            _ => Ok(()),
        }
    }
}

fn forbidden(message: String) -> Refusal {
    Refusal::new(Kind::Privilege, message)
}

/// How long an armed trial sends by its plan: a burst, as long as its frames take.
pub(super) fn planned(arm: &Arm) -> Duration {
    let burst_ns = match arm.load {
        Load::Burst { frames, .. } => arm.schedule().planned_ns(frames.get()),
        Load::Rate(_) | Load::Maximum | Load::Step(_) => None,
    };
    arm.duration.max(Duration::from_nanos(burst_ns.unwrap_or(0)))
}

/// How much later another generator of the trial may begin without spoiling it.
pub(super) fn spread(arm: &Arm) -> Duration {
    planned(arm).mul_f64(START_SPREAD).min(LONGEST_SPREAD)
}

/// Whether the receive side ends within a known time, and has a stream for each generator.
fn check_waits(asked: &PrepareReceiving) -> Called<()> {
    let (streams, setup) = (asked.streams, &asked.setup);
    let is_possible = (1..=StreamId::COUNT).contains(&streams);
    check(is_possible, RefusedCall::Streams { streams, most: StreamId::COUNT })?;
    let quiet = setup.quiet;
    check(quiet <= LONGEST_QUIET, RefusedCall::Quiet { quiet, longest: LONGEST_QUIET })?;
    let batch = setup.capture.retire_timeout.max(setup.capture.spin);
    check(batch <= LONGEST_BATCH, RefusedCall::Batch { batch, longest: LONGEST_BATCH })
}

/// Whether the armed trial can have sent this.
pub(super) fn check_sent(finish: &FinishReceiving, arm: &Arm, streams: u16) -> Called<()> {
    let all = &finish.sent;
    check(all.len() <= usize::from(streams), RefusedCall::MoreStreams { sent: all.len(), streams })?;
    // Each generator rounds its part of the load.
    let intended =
        arm.load.intended(arm.duration).map_or(u64::MAX, |frames| frames.saturating_add(streams.into()));
    let latest = planned(arm).saturating_add(LATENESS);
    for sent in all {
        let stream = sent.stream.0;
        let frames = sent.frames;
        let end_ns = sent.end_ns;
        check(u16::from(stream) < streams, RefusedCall::NoStream { stream, streams })?;
        let most = intended.min(Stamp::LAST_SEQUENCE + 1);
        check(frames <= most, RefusedCall::MoreFrames { stream, frames })?;
        check(u128::from(end_ns) <= latest.as_nanos(), RefusedCall::Late { stream, end_ns })?;
    }
    Ok(())
}

fn check(is_right: bool, refused: RefusedCall<'_>) -> Called<()> {
    if is_right { Ok(()) } else { Err(Refusal::new(Kind::Usage, refused)) }
}
