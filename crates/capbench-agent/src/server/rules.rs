//! What the command line of an agent allows its controller.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_lab::live::messages::{Arm, PrepareReceiving};
use capbench_lab::programs;
use capbench_model::environment::interface::Role;
use capbench_model::laboratory::Setup;
use capbench_model::members::Members;
use capbench_model::trial::Load;
use capbench_model::units::ByteCount;

use super::{Called, limits};
use crate::message::{Kind, Refusal};

/// One thing that is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// `send:IF`, `receive:IF`: to send or receive on an interface.
    Port(Role, String),
    /// `program:NAME`: to start a program that capbench knows as `cmd:NAME`.
    Program(String),
}

impl FromStr for Allowed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some((_, "")) | None => None,
            Some(("send", interface)) => Some(Self::Port(Role::Transmit, interface.into())),
            Some(("receive", interface)) => Some(Self::Port(Role::Receive, interface.into())),
            Some(("program", name)) => Some(Self::Program(name.into())),
            Some(_) => None,
        }
        .ok_or_else(|| format!("\"{text}\" allows nothing; write send:IF, receive:IF or program:NAME"))
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(Role::Transmit, interface) => write!(f, "send:{interface}"),
            Self::Port(Role::Receive, interface) => write!(f, "receive:{interface}"),
            Self::Program(name) => write!(f, "program:{name}"),
        }
    }
}

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
        limits::check_plan(arm)?;
        let planned = limits::planned(arm);
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
