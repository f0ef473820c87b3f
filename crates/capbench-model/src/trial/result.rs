//! One trial as stored, and its cost.

mod busy;
mod emptying;
mod guarding;
mod kernel_time;

use std::collections::BTreeMap;

use capbench_frames::LatenessSummary;
use serde::{Deserialize, Serialize};

use super::{LoadShape, Phase, Profile, Verdict, shortfall};
use crate::clocks::ClockClass;
use crate::disturbance::Disturbance;
use crate::disturbers::Disturbers;
use crate::generator::GeneratorFacts;
use crate::latency::Latency;
use crate::ledger::{Entry, Ledger};
use crate::loss_pattern::LossPattern;
use crate::members::{FlowSharing, Member};
use crate::noise::NoiseOfTrial;
use crate::places::Place;
use crate::reasons::Invalid;
use crate::running::CaptureFacts;
use crate::thresholds::CPU_PARTS_EXCESS;
pub use emptying::{Emptying, TICK};
pub use guarding::{Guarding, Livelock, Recovery, Retried};
pub use kernel_time::{KernelClock, KernelTimeSource};

/// Counts that a program under test reported for its trial, and the count of its capture file. Absent: not reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ProgramReport {
    /// Frames that it reports as captured.
    pub captured: Option<u64>,
    /// Frames that it reports as received, dropped ones included.
    pub received: Option<u64>,
    /// Frames that it reports as dropped because it had no room.
    pub dropped: Option<u64>,
    /// Frames of any kind in its capture file; absent if it writes none.
    pub in_file: Option<u64>,
}

/// When the frames of a trial had left for the link. The last frame leaves later than the generator passes it to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Departed {
    /// Seconds from the start of sending until all frames but `under_way` had left.
    pub after_s: f64,
    /// Frames that may still have been in queues.
    pub under_way: u64,
}

/// What one generator did whose interface was named by a location, and what came of it. Counts that nobody reported are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Generator {
    /// The stream in its frames' stamps.
    pub stream: u8,
    /// The location of its interface, as the user named it.
    pub location: String,
    /// Why it did not report, if it ended while it sent. The sums of the trial then count the frames that it sent at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Why capbench did not verify how many frames it sent; absent if capbench counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unverified_because: Option<String>,
    /// Frames that it should send.
    #[serde(default)]
    pub intended: Option<u64>,
    /// Frames that it passed to its kernel.
    #[serde(default)]
    pub sent: Option<u64>,
    /// Frames that it did not send before the phase ended.
    #[serde(default)]
    pub unsent: Option<u64>,
    /// Its frames that reached the application intact, counted once each.
    #[serde(default)]
    pub delivered: Option<u64>,
    /// Its sent frames that did not.
    #[serde(default)]
    pub lost: Option<u64>,
    /// Repetitions of its frames.
    #[serde(default)]
    pub duplicates: Option<u64>,
    /// Its frames that arrived after a later one of it.
    #[serde(default)]
    pub reordered: Option<u64>,
    /// When it began, in nanoseconds after the first of the generators, by the receiver's clock: its first frame that came, less
    /// that frame's planned time.
    #[serde(default)]
    pub start_ns: Option<u64>,
    /// When and how its frames were lost; absent if it was the only generator, as the trial has it then. `damaged` counts those
    /// of all generators: nobody knows whose a damaged frame was.
    #[serde(rename = "loss_shape", default, skip_serializing_if = "Option::is_none")]
    pub loss_pattern: Option<LossPattern>,
    /// Its CPU, on its host.
    #[serde(default)]
    pub cpu: Option<u32>,
    /// CPU time of its thread in nanoseconds.
    #[serde(default)]
    pub cpu_ns: Option<u64>,
    /// Lateness of its frames; absent if nothing was planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<LatenessSummary>,
    /// The processes that used its CPUs besides it, on its host. Absent if that is the receiver's host, and in files of versions
    /// that did not read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbers: Option<Disturbers>,
}

/// CPU time of a trial. Absent if the platform cannot measure it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CpuAccount {
    /// Application time per frame read, verification included; a lower bound if `split_is_sampled`.
    pub app_ns_per_packet: Option<f64>,
    /// Upper bound of the application time per frame read; differs only if `split_is_sampled`.
    pub app_ns_per_packet_at_most: Option<f64>,
    /// The kernel's receive work per frame that reached the capture point.
    pub kernel_ns_per_packet: Option<f64>,
    /// Application and kernel together per frame that reached the capture point: the busy time of their CPU if they share one and
    /// it is long enough for its ticks, else the sum of the two. Absent if other work ran on the CPU, and it is not known how much.
    pub total_ns_per_packet: Option<f64>,
    /// Whether only a range is known for the application's time. Either it shares a CPU with the kernel's receive work, and the
    /// kernel only samples at the timer tick which of the two runs: their sum is exact. Or other work ran there, which the
    /// kernel's work may have interrupted instead.
    pub split_is_sampled: bool,
    /// Time of the tracer's own programs per frame that reached the capture point. Part of the kernel's time, or of the
    /// generator's if the generator's CPU does the kernel's work. Absent without a tracer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracer_ns_per_packet: Option<f64>,
    /// Busy CPUs of the whole host while frames were sent, the generator's included.
    pub busy_cores: Option<f64>,
    /// Run time of the application thread, without the softirq work that interrupted it.
    pub app_ns: Option<u64>,
    /// Run time that the scheduler charged to the application thread.
    pub app_charged_ns: Option<u64>,
    /// Application and kernel time together.
    pub total_ns: Option<u64>,
    /// Softirq, interrupt and NAPI-thread time on the CPU that does the kernel's receive work.
    pub kernel_ns: Option<u64>,
    /// Source of `kernel_ns`: timing of the receive softirq at its beginning and end, or ticks of /proc/stat.
    #[serde(default)]
    pub kernel_source: String,
    /// The same as a fact. Absent if nothing is known of it, and in files of versions that did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_source_fact: Option<KernelTimeSource>,
    /// Whether the tracer timed every receive softirq during the trial. If not, it had no program at softirqs. Absent without a
    /// tracer, and in files of versions that did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub softirqs_timed: Option<bool>,
    /// Time of the tracer's own programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracer_ns: Option<u64>,
    /// Resolution of `kernel_ns`.
    pub kernel_resolution_ns: Option<u64>,
    /// Cost of verifying a frame on this CPU, measured before the run; part of `app_ns_per_packet`.
    pub verify_ns_per_packet: f64,
    /// Time of one iteration of the wait loop on the idle application CPU, measured before the run; absent if the work is not
    /// such a loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ns_per_iteration: Option<f64>,
    /// Context switches of the application thread because it waited.
    pub voluntary_switches: Option<u64>,
    /// Context switches of the application thread because others ran.
    pub involuntary_switches: Option<u64>,
    /// System calls that could sleep until frames arrived.
    pub waits: u64,
    /// Waits that ended without a frame.
    pub empty_waits: u64,
    /// Batches that the method delivered.
    pub batches: u64,
    /// Frames per batch, mean.
    pub frames_per_batch: Option<f64>,
    /// Frames per voluntary context switch, mean: the batch per wake-up. Absent if the application never slept.
    pub frames_per_wakeup: Option<f64>,
    /// Share of the host's CPU time that the hypervisor stole while frames were sent.
    pub steal_ratio: Option<f64>,
}

/// One trial as stored: counts first, then ratios computed from them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TrialResult {
    /// Running number within its run, from 1.
    pub number: u32,
    /// The purpose of the trial.
    pub phase: Phase,
    /// The set-up.
    #[serde(flatten)]
    pub profile: Profile,
    /// What captured the frames; absent on a simulated path.
    #[serde(flatten, with = "saved_capture")]
    #[schemars(with = "saved_capture::Written")]
    pub capture: Option<CaptureFacts>,
    /// Why capbench did not verify the trial's frames one by one; absent if it did.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "taken_on_trust")]
    pub unverified_because: Option<String>,
    /// The counts that the program under test reported; absent for methods of capbench.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ProgramReport>,
    /// The generator as it ran.
    pub generator: String,
    /// The same as facts, each way once. Absent in files of versions that did not write it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generator_facts: Vec<GeneratorFacts>,
    /// The account of each generator in another process or on another host; empty if the generator was in capbench's own process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generators: Vec<Generator>,
    /// The account of each member; empty if the method had one thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Member>,
    /// Whether the members got whole flows; absent if frames were not examined one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_sharing: Option<FlowSharing>,
    /// Intended load in frames per second; absent if it is not a constant rate.
    pub intended_pps: Option<f64>,
    /// Shape of a load that is neither a constant rate nor maximum load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadShape>,
    /// Intended length of the sending phase in seconds.
    pub duration_s: f64,
    /// Actual length of the sending phase in seconds.
    pub sending_s: f64,
    /// Seconds from the end of sending until the application had read everything or frames stopped arriving.
    pub drain_s: f64,
    /// How long the application went on reading frames after sending ended; absent if nobody saw when it read the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emptying: Option<Emptying>,
    /// Frames that the generator should send.
    pub intended: u64,
    /// Frames passed to the kernel.
    pub sent: u64,
    /// Frames that reached the application intact, counted once each.
    pub delivered: u64,
    /// Repeated frames.
    pub duplicates: u64,
    /// Frames that arrived after a later one.
    pub reordered: u64,
    /// Frames that do not belong to this trial.
    pub foreign: u64,
    /// Truncated frames.
    pub truncated: u64,
    /// Damaged frames.
    pub corrupt: u64,
    /// Offered load in frames per second: sent frames divided by the length of the sending phase.
    pub offered_pps: f64,
    /// Offered load times the share delivered.
    pub delivered_pps: f64,
    /// 1 - delivered / intended: unsent frames count as lost.
    pub loss_ratio: f64,
    /// Lost frames by place.
    pub ledger: Vec<Entry>,
    /// Sent frames that no place explains.
    pub unexplained: i64,
    /// When frames were lost and how many in a row; absent if frames were not examined one by one, and with several generators:
    /// `generators` has it for each.
    #[serde(rename = "loss_shape", default, skip_serializing_if = "Option::is_none")]
    pub loss_pattern: Option<LossPattern>,
    /// The delay of the frames; absent if it was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// What the clocks of two hosts allowed to be known of one-way times; absent if sender and receiver had one clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_class: Option<ClockClass>,
    /// The largest error of one-way times between two hosts, as these state it, in nanoseconds; absent if they state none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_ns: Option<u64>,
    /// The trial's verdict.
    pub verdict: Verdict,
    /// Why the trial is invalid; absent if it is valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid_because: Option<String>,
    /// CPU time.
    pub cpu: CpuAccount,
    /// Lateness of the generator, of several the largest of each figure; absent at maximum load, which has no plan.
    pub lateness: Option<LatenessSummary>,
    /// Share of the kernel's receive work that ran on the CPU chosen for it.
    pub kernel_work_share: Option<f64>,
    /// Reasons for care with the trial's numbers; empty if there are none.
    #[serde(flatten)]
    pub noise: NoiseOfTrial,
    /// Disturbances by the host that the trial did not cause.
    #[serde(default)]
    pub disturbance: Disturbance,
    /// Highest rate of frames of this size on the link, in frames per second; absent if it has no speed, as virtual links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_rate_pps: Option<f64>,
    /// When the trial's frames had left for the link; absent if unknown, or if the link has no speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub departed: Option<Departed>,
    /// Actions of guards before the trial was accepted; absent if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guarding: Option<Box<Guarding>>,
    /// A trial of the same set-up that delivered more at a lower load; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub livelock: Option<Livelock>,
    /// Number of the search of its set-up to which the trial belongs, from 1; absent if there was one or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<u32>,
    /// Counter differences over the trial, by name.
    pub counters: BTreeMap<String, u64>,
}

/// How files have what captured the frames: as facts, in files of older versions as texts.
mod saved_capture {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::running::CaptureFacts;

    /// As this version writes it.
    #[derive(Serialize, schemars::JsonSchema)]
    pub(super) struct Written {
        /// What captured the frames; absent on a simulated path.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        capture: Option<CaptureFacts>,
    }

    /// As any version wrote it.
    #[derive(Deserialize)]
    struct Read {
        #[serde(default)]
        capture: Option<CaptureFacts>,
        #[serde(default)]
        engine: String,
        #[serde(default)]
        running: String,
    }

    pub(super) fn serialize<S: Serializer>(
        capture: &Option<CaptureFacts>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        Written { capture: capture.clone() }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<CaptureFacts>, D::Error> {
        let Read { capture, engine, running } = Read::deserialize(deserializer)?;
        if capture.is_none() && !(engine.is_empty() && running.is_empty()) {
            return Ok(Some(CaptureFacts::from_texts(&engine, &running)));
        }
        Ok(capture)
    }
}

impl TrialResult {
    /// What received the frames, as detected: a library with its version, the mode of XDP, a program with its version. Empty if
    /// unknown.
    pub fn engine(&self) -> String {
        self.capture.as_ref().map_or(String::new(), |facts| facts.engine.to_string())
    }

    /// Probes and attempts that are stored with it.
    fn kept_with_it(&self) -> impl Iterator<Item = &Self> {
        self.guarding.iter().flat_map(|guarding| {
            let probes = guarding.recovery.iter().flat_map(|recovery| &recovery.probes);
            guarding.discarded.iter().map(|attempt| &attempt.trial).chain(probes)
        })
    }

    /// A sum over it and the probes and attempts that are stored with it.
    fn with_all_of_it(&self, of: fn(&Self) -> f64) -> f64 {
        of(self) + self.kept_with_it().map(|trial| trial.with_all_of_it(of)).sum::<f64>()
    }

    /// Seconds of traffic of the trial, including its probes and discarded attempts.
    pub fn traffic_s(&self) -> f64 {
        self.with_all_of_it(|trial| trial.sending_s)
    }

    /// Seconds of the trial with drains, including its probes and discarded attempts.
    pub fn spent_s(&self) -> f64 {
        self.with_all_of_it(|trial| trial.sending_s.max(trial.duration_s) + trial.drain_s)
    }

    /// The highest trial number among it, its probes and its attempts.
    pub fn last_number(&self) -> u32 {
        self.kept_with_it().map(Self::last_number).fold(self.number, u32::max)
    }

    /// Marks the trial as invalid.
    pub fn invalidate(&mut self, because: &Invalid) {
        self.verdict = Verdict::Invalid;
        self.invalid_because.get_or_insert(because.to_string());
    }

    /// Places that lost sent frames, sorted by number of frames, highest first.
    pub fn losses(&self) -> Vec<(Place, u64)> {
        Ledger { entries: self.ledger.clone(), unexplained: self.unexplained }.losses()
    }

    /// Whether the ledger's remainder equals its unexplained frames. If not, the file was changed.
    pub fn ledger_sums_up(&self) -> bool {
        let balanced = Ledger::balance(self.sent, self.delivered, self.ledger.clone());
        balanced.unexplained == self.unexplained
    }

    /// Uncertainty of the CPU time per packet because of clock ticks, in nanoseconds.
    pub fn cpu_uncertainty_ns(&self) -> f64 {
        let ticks = 2.0 * self.cpu.kernel_resolution_ns.unwrap_or(0) as f64;
        ticks / self.delivered.max(1) as f64
    }

    /// Application and kernel time together per frame that reached the capture point, in nanoseconds. It is at least the sum
    /// of its parts. It is unknown where the clocks contradict the parts, or where their error exceeds it.
    pub fn total_ns_per_packet(&self) -> Option<f64> {
        let per_packet = self.cpu.total_ns_per_packet?;
        let total = self.cpu.total_ns.map_or(f64::INFINITY, |ns| ns as f64);
        let kernel = self.cpu.kernel_ns.filter(|_| !self.cpu.split_is_sampled);
        let parts = (self.cpu.app_ns.unwrap_or(0) + kernel.unwrap_or(0)) as f64;
        let error = 2.0 * self.cpu.kernel_resolution_ns.unwrap_or(0) as f64;
        let is_known = per_packet > 0.0 && parts <= total * CPU_PARTS_EXCESS + error && total > error;
        is_known.then(|| per_packet * (parts / total).max(1.0))
    }

    /// Frames that the generator did not send; 0 if they are few enough to be rounding of the clock.
    pub fn shortfall(&self) -> u64 {
        shortfall(self.intended, self.sent, self.intended_pps)
    }

    /// Why the trial is invalid, if it is.
    pub fn why_invalid(&self) -> String {
        // Results of early versions have no reason.
        self.invalid_because.clone().unwrap_or_else(|| Invalid::Contradiction.to_string())
    }

    /// Frames sent and not delivered.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.delivered)
    }

    /// Share of the sent frames that was lost. Reports print it next to the offered load.
    pub fn sent_loss_ratio(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.lost() as f64 / self.sent as f64 }
    }
}
