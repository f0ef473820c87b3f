//! Faults for tests: each harms a trial's frames at one place of their way, in a number that is known without the
//! counter that the ledger takes it from. Some stand in the way of the frames, on the bed's interfaces; others are a
//! set-up that cannot keep up. The program under test knows nothing of them.

#![allow(dead_code, reason = "each test uses a part of it")]

pub mod filter;
pub mod host;
pub mod tc;
pub mod watched;
pub mod xdp;

use std::fmt;

use capbench_host::bed::Bed;
use capbench_model::laboratory::Setup;
use capbench_model::ledger::Entry;
use capbench_model::places::Place;
use capbench_model::sources::Source;
use capbench_model::traced_losses::{Doubts, TracedXdp};
use capbench_model::trial::TrialResult;
use capbench_sys::bpf::XdpMode;

/// Something on the bed's interfaces that harms frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing does.
    None,
    /// tc drops every so many frames on their way out of the sending interface.
    DropAtEgress(Every),
    /// tc drops every so many at ingress of the receiving interface: behind packet sockets, so none is lost to them.
    DropAtIngress(Every),
    /// tc flips a bit of every so many on their way out.
    Corrupt(Every),
    /// tc sends every so many twice.
    Duplicate(Every),
    /// An XDP program drops every so many.
    DropInXdp(Every, XdpMode),
    /// A socket filter drops every so many.
    SocketFilter(Every),
    /// An XDP program in the stack takes so many nanoseconds over each frame.
    SlowSoftirq(u32),
}

/// Every so many frames by their sequence numbers, the first among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Every(pub u32);

impl Every {
    /// What the fault's programs are made for.
    pub const ALL: [Self; 3] = [Self(100), Self(10), Self(2)];

    /// How many of the frames with the numbers from 0 on, so many, are hit.
    pub fn of(self, frames: u64) -> u64 {
        frames.div_ceil(self.0.into())
    }
}

impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1 of {}", self.0)
    }
}

/// A fault that is in force until this is dropped.
#[derive(Debug)]
pub enum Injected<'b> {
    Nothing,
    Tc(tc::Attached<'b>),
    Xdp(xdp::Attached),
}

impl Fault {
    /// Changes a set-up so that its frames come by the fault.
    pub fn shape(self, setup: &mut Setup) {
        if self.is_at_egress() {
            setup.transmit.through_qdisc = true;
        }
        if let Self::SocketFilter(every) = self {
            setup.capture.filter = Some(filter::drop_every(every));
        }
    }

    /// Puts it on the bed's interfaces.
    pub fn inject(self, bed: &Bed) -> Injected<'_> {
        let (sender, receiver) = (bed.transmit_side(), bed.receive_side());
        match self {
            Self::None | Self::SocketFilter(_) => Injected::Nothing,
            Self::DropAtEgress(every) => Injected::Tc(tc::attach(sender, tc::Hook::Egress, "drop", every)),
            Self::DropAtIngress(every) => {
                Injected::Tc(tc::attach(receiver, tc::Hook::Ingress, "drop", every))
            }
            Self::Corrupt(every) => Injected::Tc(tc::attach(sender, tc::Hook::Egress, "corrupt", every)),
            Self::Duplicate(every) => Injected::Tc(tc::attach(sender, tc::Hook::Egress, "duplicate", every)),
            Self::DropInXdp(every, mode) => Injected::Xdp(xdp::attach(receiver, mode, every.0, 0)),
            Self::SlowSoftirq(take_ns) => Injected::Xdp(xdp::attach(receiver, XdpMode::Generic, 0, take_ns)),
        }
    }

    /// Whether it stands where only frames come by that go through the queueing discipline.
    fn is_at_egress(self) -> bool {
        matches!(self, Self::DropAtEgress(_) | Self::Corrupt(_) | Self::Duplicate(_))
    }

    /// Whether an XDP program is part of it, beside which no other can be attached.
    pub fn is_xdp(self) -> bool {
        matches!(self, Self::DropInXdp(..) | Self::SlowSoftirq(_))
    }
}

/// A place's entry.
pub fn entry(trial: &TrialResult, place: Place) -> &Entry {
    trial.ledger.iter().find(|entry| entry.place == place).unwrap()
}

/// What makes the count of an entry doubtful whose frames the tracer saw; `None` for other entries.
pub fn doubts(entry: &Entry) -> Option<&Doubts> {
    match &entry.source_fact {
        Some(Source::Stack(seen) | Source::Xdp(TracedXdp::Generic { seen, .. })) => Some(&seen.doubts),
        _ => None,
    }
}

/// Whether an entry has no number, or there may be more.
pub fn is_in_doubt(entry: &Entry) -> bool {
    entry.count.is_none() || doubts(entry).is_some_and(|doubts| !doubts.is_empty())
}

/// A sum that the ledger does not keep: what was intended, by the place, recomputed from a stored result.
pub fn balance(trial: &TrialResult) -> (u64, i128) {
    let unsent = entry(trial, Place::Unsent).count;
    let booked: u64 = trial.losses().iter().map(|(_, count)| count).sum();
    let left = i128::from(trial.sent) - i128::from(booked) - i128::from(trial.delivered);
    (trial.sent + unsent.unwrap_or(0), left)
}
