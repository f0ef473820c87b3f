//! The messages that drive the two sides of a trial. They are plain values: an argument of a call if the side is in this process,
//! a request if it is in another one.
//!
//! | message | to | does | answer |
//! |---|---|---|---|
//! | [`PrepareSending`] | each transmit side | checks what can run | |
//! | [`PrepareReceiving`] | receive side | the same; settings of the interface | |
//! | [`Arm`] | each transmit side, then receive side | reads counters, opens, is ready | |
//! | [`Go`] | each transmit side | sends the intended frames | a [`Sent`] of each stream when it is over |
//! | [`FinishReceiving`] | receive side | drains, closes, reads counters | [`ReceiveHalf`](super::halves::ReceiveHalf) |
//! | [`FinishSending`] | each transmit side | closes, reads counters | [`TransmitHalf`](super::halves::TransmitHalf) |
//!
//! Between `Go` and its answer there is no message. After an error all sides are released, which closes what they opened.
//!
//! Three things pass between a side and the rest of the process in another way. A side in another process has none of them:
//! - the moment when sending begins ([`SharedStart`](crate::receiver::SharedStart)): sides in one process share a clock, so that
//!   one-way latency is known. Otherwise [`Sent::began`] has it by CLOCK_REALTIME; no moment of CLOCK_MONOTONIC leaves a host;
//! - the flag that is set when the user wants to stop: each process has its own;
//! - what is measured once a run on each host ([`Host`](super::host::Host)).

use capbench_frames::TransmitSpec;
use std::num::{NonZeroU16, NonZeroU32};
use std::time::Duration;

use capbench_frames::layout::FrameLayout;
use capbench_frames::schedule::Schedule;
use capbench_frames::sizes::Sizes;
use capbench_frames::stamp::{StreamId, TrialId};
use capbench_frames::units::Mtu;
use capbench_host::bed::cpus_from;
use capbench_model::laboratory::Setup;
use capbench_model::latency::Began;
use capbench_model::loss_pattern::Clock;
use capbench_model::trial::Load;
use capbench_sys::host::CpuId;
use serde::{Deserialize, Serialize};

use crate::LabError;

/// Prepares the transmit side for the trials of a set-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PrepareSending {
    /// The stream in the stamps of its first thread's frames. Its other threads have the next ones.
    pub stream: StreamId,
    /// The transmit method.
    pub transmit: TransmitSpec,
    /// Headers and flows.
    pub layout: FrameLayout,
    /// Frame sizes.
    pub sizes: Sizes,
    /// The smaller MTU of the two interfaces.
    pub mtu: Mtu,
    /// The CPU of each of the generator's threads, one or more.
    pub cpus: Vec<CpuId>,
    /// Whether the interface is one end of a virtual pair made for the trials.
    pub is_virtual: bool,
}

/// Prepares the receive side for the trials of a set-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PrepareReceiving {
    /// The set-up.
    pub setup: Setup,
    /// How many streams there are, 1 to 256, numbered from 0.
    pub streams: u16,
    /// Those whose generators number their frames but write no time into them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untimed: Vec<StreamId>,
    /// The smaller MTU of the two interfaces.
    pub mtu: Mtu,
    /// The CPUs of the trial on this side's host.
    pub cpus: HostCpus,
    /// Whether the interface is one end of a virtual pair made for the trials.
    pub is_virtual: bool,
    /// Whether the kernel polls the interface in a NAPI thread.
    pub polls_by_thread: bool,
}

/// The CPUs of a trial on the receive side's host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostCpus {
    /// Where the threads of generators run that run on this host; empty if none does.
    pub generators: Vec<CpuId>,
    /// Where the kernel does its receive work: one CPU or more.
    pub kernels: Vec<CpuId>,
    /// Where the application runs.
    pub application: CpuId,
}

impl HostCpus {
    /// The CPUs of this many members, of those that this process may use: the application's first, those after it, those before it,
    /// and again. None is a generator's, unless there is no other.
    pub fn of_members(&self, count: NonZeroU16, allowed: &[CpuId]) -> Vec<CpuId> {
        let own = cpus_from(self.application, allowed, &self.generators);
        own.into_iter().cycle().take(count.get().into()).collect()
    }

    /// All of them.
    pub fn all(&self) -> Vec<CpuId> {
        self.generators.iter().chain(&self.kernels).chain([&self.application]).copied().collect()
    }
}

/// Makes a side ready for a trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Arm {
    /// The id in the trial's frames.
    pub trial: TrialId,
    /// The load: on a transmit side the part of its generator.
    pub load: Load,
    /// Frames that are sent at once if the load is a constant rate.
    pub burst: Option<NonZeroU32>,
    /// The duration of the load.
    pub duration: Duration,
    /// Whether it is the first trial of the run. Traffic from before the run must not be counted in it.
    pub is_first: bool,
    /// Whether capture and generator stay open for further trials.
    pub stays_open: bool,
    /// Whether methods take turns in short trials: the generator stays open, and the trial ends as soon as the counters account for
    /// every frame. Otherwise a trial that misses frames waits as long as its set-up says.
    #[serde(default)]
    pub in_turns: bool,
}

/// Starts the armed trial.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Go {
    /// The trial.
    pub trial: TrialId,
    /// How long the side waits before the first frame. A connection over TCP acknowledges this message meanwhile.
    #[serde(default)]
    pub head_start: Duration,
    /// Whether other generators send, too. They may begin later: the answer waits until they have ended.
    #[serde(default)]
    pub with_others: bool,
}

/// Sending is over, in one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Sent {
    /// The stream.
    pub stream: StreamId,
    /// Frames passed to the kernel.
    pub frames: u64,
    /// Planned time of the frame after the last one, in nanoseconds since the start. Without a plan: when the last was sent.
    pub end_ns: u64,
    /// When the sender began; absent if it shares the receiver's clock.
    #[serde(default)]
    pub began: Option<Began>,
    /// How many of the frames the sending interface has dropped so far, by its counter. Absent if it does not report that at once.
    #[serde(default)]
    pub dropped: Option<u64>,
}

/// Ends the trial on the receive side.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FinishReceiving {
    /// The trial.
    pub trial: TrialId,
    /// What was sent in each stream whose generator reported it.
    pub sent: Vec<Sent>,
}

/// Ends the trial on the transmit side.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FinishSending {
    /// The trial.
    pub trial: TrialId,
    /// Frames of the trial that reached the application.
    pub delivered: u64,
}

impl FinishReceiving {
    /// Frames sent in all streams.
    pub fn frames(&self) -> u64 {
        self.sent.iter().map(|sent| sent.frames).sum()
    }

    /// Frames that the sending interfaces have dropped; 0 if unknown.
    pub fn dropped(&self) -> u64 {
        self.sent.iter().filter_map(|sent| sent.dropped).fold(0, u64::saturating_add)
    }

    /// What was sent in a stream; `None` if its generator did not report it.
    pub fn of(&self, stream: usize) -> Option<Sent> {
        self.sent.iter().copied().find(|sent| usize::from(sent.stream.0) == stream)
    }
}

impl Arm {
    /// When the generator should send the frames.
    pub fn schedule(&self) -> Schedule {
        match (self.load, self.burst) {
            (Load::Rate(rate), Some(frames)) => Schedule::Bursts { frames, rate },
            _ => self.load.schedule(),
        }
    }

    /// The clock of the timestamps in the trial's frames, of a stream that has them.
    pub fn clock(&self) -> Clock {
        self.schedule().planned_ns(0).map_or(Clock::GeneratorTime, |_| Clock::PlannedSendTime)
    }
}

/// The error of a message for a trial that is not armed.
pub(super) fn not_armed(trial: TrialId) -> LabError {
    LabError::Unsupported { what: "the trial".into(), reason: format!("trial {} is not armed", trial.0) }
}
