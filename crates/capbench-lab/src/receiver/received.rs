//! What the application of a trial received.

use std::time::Duration;

use capbench_host::accounts::kernel_work::KernelWorkSnapshot;
use capbench_host::accounts::threads::ThreadTimes;
use capbench_model::arrivals::{Arrivals, StreamArrivals};
use capbench_model::counters::{Counters, WaitCounts};
use capbench_model::evidence::{QueueAccount, UnreadFrames};
use capbench_model::latency::Latency;
use capbench_model::loss_pattern::LossRecord;
use capbench_model::members::{FlowSharing, Member};
use capbench_model::noise::Noise;
use capbench_model::running::CaptureFacts;
use capbench_model::trial::{Emptying, ProgramReport};
use capbench_sys::host::CpuId;
use serde::{Deserialize, Serialize};

use crate::latency::Times;

/// The results of a trial's application.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Received {
    /// The received frames.
    pub arrivals: Arrivals,
    /// The part of each member; empty if there was one thread.
    #[serde(default)]
    pub members: Vec<Member>,
    /// Whether the members got whole flows; absent if frames were not examined one by one.
    #[serde(default)]
    pub flow_sharing: Option<FlowSharing>,
    /// Those of each stream; empty if frames were not examined one by one.
    pub streams: Vec<StreamArrivals>,
    /// The account of the application's queue; absent if it has none.
    pub queue: Option<QueueAccount>,
    /// Counters of the method, read once, after the last frame.
    pub counters: Counters,
    /// Batches that the method delivered.
    pub batches: u64,
    /// Number of waits.
    pub waits: WaitCounts,
    /// CPU time that the scheduler charged to the application's threads.
    pub cpu_ns: u64,
    /// Context switches of the application's threads.
    pub switches: Option<ThreadTimes>,
    /// From the end of sending to the last poll for frames.
    pub drain: Duration,
    /// How long frames went on arriving after sending ended; absent if nobody sees when the last one is read.
    pub emptying: Option<Emptying>,
    /// Whether the trial ended while frames may still have waited: the user stopped it, or the longest drain was over.
    pub cut_short: bool,
    /// What is known of frames that a program had not read when it ended; absent for methods of capbench.
    #[serde(default)]
    pub unread: Option<UnreadFrames>,
    /// What captured the frames.
    pub capture: CaptureFacts,
    /// Why capbench did not verify the frames one by one; absent if it did.
    pub unverified_because: Option<String>,
    /// The delay of the frames; absent if it was not recorded.
    pub latency: Option<Latency>,
    /// The counts that the program under test reported; absent for methods of capbench.
    pub report: Option<ProgramReport>,
    /// Whether a socket filter could drop frames.
    pub filtered: bool,
    /// Notes on the trial's numbers, for example a size smaller than requested.
    pub notes: Vec<Noise>,
    /// Cost of verifying a frame in nanoseconds; 0 if none was verified during the trial.
    pub verify_ns: f64,
    /// Least time of a system call in nanoseconds, if each batch is one.
    #[serde(default)]
    pub call_ns: Option<f64>,
    /// Time of one iteration of the wait loop on the application's CPU in nanoseconds; absent for other work.
    pub iteration_ns: Option<f64>,
}

/// The application's results, and what others evaluate after it.
#[derive(Debug)]
pub struct Outcome {
    /// The application's results.
    pub received: Received,
    /// The kernel's account when the last frame had been read.
    pub kernel: KernelWorkSnapshot,
    /// Which frames arrived, and what the method reported of the others; absent if frames were not examined.
    pub record: Option<LossRecord>,
    /// The times of the frames; absent if they were not recorded.
    pub times: Option<Times>,
}

impl Received {
    /// CPU time of the application's threads on a CPU; `alone` is where it runs with one thread. `None`: none runs there.
    pub fn cpu_ns_on(&self, cpu: CpuId, alone: CpuId) -> Option<u64> {
        if self.members.is_empty() {
            return (cpu == alone).then_some(self.cpu_ns);
        }
        let here = self.members.iter().filter(|member| member.cpu == cpu.number());
        here.map(|member| member.cpu_ns).reduce(|one, other| one + other)
    }

    /// Whether all of the application's threads run on this CPU; `alone` as above.
    pub fn is_only_on(&self, cpu: CpuId, alone: CpuId) -> bool {
        self.cpu_ns_on(cpu, alone).is_some() && self.members.iter().all(|member| member.cpu == cpu.number())
    }
}
