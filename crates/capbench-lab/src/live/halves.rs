//! The account of a trial in two halves: what each side measured where it is, as plain values.
//!
//! A half has counts and durations. It has no moment of a clock, so that the sides need no common one. What is known of a host's
//! clock, the controller adds.

use std::collections::BTreeMap;
use std::time::Duration;

use capbench_frames::stamp::StreamId;
use capbench_frames::{LatenessSummary, SentFrames};
use capbench_host::accounts::cpu::{CpuTimes, CpuWindow};
use capbench_host::accounts::kernel_work::KernelReceive;
use capbench_host::accounts::softnet::SoftnetDelta;
use capbench_host::tracer::cost::TracerCost;
use capbench_model::clocks::HostClock;
use capbench_model::disturbance::{ClockDrift, CoreSpeed, Stall};
use capbench_model::disturbers::Disturbers;
use capbench_model::generator::GeneratorFacts;
use capbench_model::latency::OneWay;
use capbench_model::loss_pattern::LossPattern;
use capbench_model::noise::Noise;
use capbench_model::trial::Departed;
use capbench_sys::host::CpuId;
use serde::{Deserialize, Serialize};

pub use super::interface_counts::InterfaceCounts;
use super::messages::HostCpus;
use super::nic::NicAccount;
use crate::receiver::Received;

/// The transmit side's half.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TransmitHalf {
    /// The stream in the stamps of its first thread's frames.
    pub stream: StreamId,
    /// The frames of all its threads.
    pub frames: SentFrames,
    /// Why capbench did not verify their counts; absent if capbench counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unverified_because: Option<String>,
    /// From the start until the last frame was sent.
    pub elapsed: Duration,
    /// Length of the sending phase: at least the planned one, unless the user stopped it.
    pub sending: Duration,
    /// Lateness of the frames; absent if nothing was planned.
    pub lateness: Option<LatenessSummary>,
    /// When the frames had left for the link.
    pub departed: Option<Departed>,
    /// The generator as it ran.
    pub generator: Vec<GeneratorFacts>,
    /// Whether the generator was independent of a slow receiver.
    pub outruns: bool,
    /// Whether its frames reach a veth through the queue of the NAPI context.
    pub needs_far_napi: bool,
    /// The CPUs of the generator's threads.
    pub cpus: Vec<GeneratorCpu>,
    /// Counts of its interface.
    pub interface: InterfaceCounts,
    /// Whether its driver is known to count each sent frame once.
    pub counts_each_frame: bool,
    /// Counters of its driver that changed and are known.
    pub driver_counters: BTreeMap<String, u64>,
    /// What these counters mean for the trial, and what the generator reports.
    pub notes: Vec<Noise>,
    /// When the connection to this side was lost, if it was lost after the begin of sending.
    #[serde(default)]
    pub interruption: Option<Interruption>,
    /// The processes that used its CPUs besides it; absent if it is in the receiver's process, which reads them, and from agents
    /// that do not read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbers: Option<Disturbers>,
    /// What the controller knows of the host's clock; absent if it did not compare it.
    #[serde(skip)]
    pub clock: Option<HostClock>,
}

/// When the connection to a side was lost that could still report its half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interruption {
    /// While frames were sent, which ended sending.
    WhileSending,
    /// When sending was over: the counts are whole. The receiver waited longer than the trial took.
    AfterSending,
}

/// A CPU of a generator while it sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GeneratorCpu {
    /// The CPU.
    pub cpu: CpuId,
    /// CPU time of the generator's threads there, in nanoseconds.
    pub own_ns: u64,
    /// Length of the window of `times`, in nanoseconds.
    pub window_ns: u64,
    /// What the CPU did; `None` if unknown.
    pub times: Option<CpuTimes>,
    /// Its stalls, since the start of sending; `None` if not monitored.
    pub stalls: Option<Vec<Stall>>,
}

/// The receive side's half.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReceiveHalf {
    /// The application's results.
    pub received: Received,
    /// When and how frames of each stream were lost; empty if frames were not examined.
    pub loss_patterns: Vec<LossPattern>,
    /// Counts of its interface.
    pub interface: InterfaceCounts,
    /// The account of its driver.
    pub nic: NicAccount,
    /// The host's receive path, by CPU.
    pub softnet: Vec<SoftnetDelta>,
    /// Length limit of a CPU's backlog in packets; `None` if unknown.
    pub longest_backlog: Option<u64>,
    /// Whether frames reach the method without passing a backlog.
    pub past_backlog: bool,
    /// Receive queues of the interface; absent if unknown.
    #[serde(default)]
    pub queues: Option<u32>,
    /// Whether the method attaches its own XDP program while it is open.
    pub own_xdp: bool,
    /// Whether a socket filter can drop frames of the trial.
    pub filters: bool,
    /// The CPUs of its host.
    pub cpus: ReceiverCpus,
    /// Changes of its host's clocks during the trial.
    pub clocks: ClockDrift,
    /// The measured cost of the tracer; `None` if unknown.
    pub tracer_cost: Option<TracerCost>,
    /// Why there is no tracer, if there is none.
    pub untraced: Option<String>,
    /// One-way delays by two clocks; absent if they were not recorded, or if the sender shares this process's clock.
    #[serde(default)]
    pub one_way: Option<OneWay>,
    /// What the controller knows of the host's clock; absent if it did not compare it.
    #[serde(skip)]
    pub clock: Option<HostClock>,
}

/// The CPUs of the receive side's host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReceiverCpus {
    /// The CPUs of the trial.
    pub placement: HostCpus,
    /// From the moment that both sides were ready until sending was over.
    pub sending: CpuWindow,
    /// From the same moment until the last frame was read.
    pub receiving: CpuWindow,
    /// Its length in nanoseconds.
    pub receiving_ns: u64,
    /// The kernel's receive work while receiving; `None` if unknown.
    pub kernel: Option<KernelReceive>,
    /// Time in which the kernel's CPU was busy while receiving, in nanoseconds; `None` if unknown.
    pub kernel_busy_ns: Option<u64>,
    /// Whether the scheduler excludes interrupts from the times of threads; `None` if unknown.
    pub interrupts_excluded: Option<bool>,
    /// Unit of the kernel's CPU times, in nanoseconds.
    pub tick_ns: u64,
    /// Stalls of monitored CPUs, since the start of sending.
    pub stalls: Vec<(CpuId, Vec<Stall>)>,
    /// Speed before and after the trial, of each CPU of the trial on this host; empty if not measured.
    pub paces: Vec<(CpuId, CoreSpeed)>,
    /// The processes that used the CPUs besides the trial; absent from agents that do not read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbers: Option<Disturbers>,
}
