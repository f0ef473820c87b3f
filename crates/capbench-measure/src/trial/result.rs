//! One trial as it is stored, and what it cost.

use std::collections::BTreeMap;

use capbench_frames::LatenessSummary;
use serde::{Deserialize, Serialize};

use super::{Emptying, LoadShape, Phase, Profile, Verdict, tolerated_frames};
use super::{Guarding, Livelock};
use crate::latency::Latency;
use crate::loss_shape::LossShape;
use capbench_model::disturbance::Disturbance;
use capbench_model::ledger::{Entry, Ledger, Place};

/// What a program under test said about its trial, and the file that it is set against. Absent is what it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ProgramReport {
    /// Frames that it says it captured.
    pub captured: Option<u64>,
    /// Frames that it says reached it, dropped ones included.
    pub received: Option<u64>,
    /// Frames that it says it had no room for.
    pub dropped: Option<u64>,
    /// Frames of any kind in its capture file; absent where it writes none.
    pub in_file: Option<u64>,
}

/// When the frames of a trial had left for the link. That is after the last one was handed over, by what was on its way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Departed {
    /// Seconds from the start of sending until all had but `under_way`.
    pub after_s: f64,
    /// Frames that may have been in queues still.
    pub under_way: u64,
}

/// CPU time of a trial. Absent where the platform cannot tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CpuAccount {
    /// Application time per frame read, verification included; at least this where `split_is_sampled`.
    pub app_ns_per_packet: Option<f64>,
    /// Application time per frame read at most: it differs where `split_is_sampled`.
    pub app_ns_per_packet_at_most: Option<f64>,
    /// The kernel's receive work per frame that reached the capture point.
    pub kernel_ns_per_packet: Option<f64>,
    /// Application and kernel together per frame that reached the capture point: where the two share a CPU, that CPU's
    /// busy time; else the sum of the two. Absent where other work ran on the CPU.
    pub total_ns_per_packet: Option<f64>,
    /// Whether the application's time is known as a range only: it shares a CPU with the kernel's receive work, and that kernel
    /// only samples, at the timer tick, which of the two runs (their sum is certain then), or other work ran there, which
    /// the kernel's may have interrupted instead.
    pub split_is_sampled: bool,
    /// What the tracer's own programs took per frame that reached the capture point; part of the kernel's time, or of the
    /// generator's where that does the kernel's work. Absent without a tracer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracer_ns_per_packet: Option<f64>,
    /// CPUs busy on the whole host while frames were sent, the generator's included.
    pub busy_cores: Option<f64>,
    /// The application thread's run time, softirq work that interrupted it taken out.
    pub app_ns: Option<u64>,
    /// The run time that the scheduler charged to it.
    pub app_charged_ns: Option<u64>,
    /// Application and kernel together.
    pub total_ns: Option<u64>,
    /// Softirq, interrupt and NAPI-thread time on the CPU that does the kernel's receive work.
    pub kernel_ns: Option<u64>,
    /// Where `kernel_ns` comes from: the receive softirq timed at its beginning and end, or ticks of /proc/stat.
    #[serde(default)]
    pub kernel_source: String,
    /// What the tracer's own programs took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracer_ns: Option<u64>,
    /// Steps in which `kernel_ns` grows.
    pub kernel_resolution_ns: Option<u64>,
    /// What verifying a frame costs on this CPU, measured before the run; part of `app_ns_per_packet`.
    pub verify_ns_per_packet: f64,
    /// What an iteration of the wait loop takes on the application's CPU when nothing else runs there, measured before the
    /// run; absent where the work is no such loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ns_per_iteration: Option<f64>,
    /// Context switches of the application thread because it waited.
    pub voluntary_switches: Option<u64>,
    /// Context switches of the application thread because others ran.
    pub involuntary_switches: Option<u64>,
    /// System calls that could sleep until frames came.
    pub waits: u64,
    /// Those of them that ended without a frame.
    pub empty_waits: u64,
    /// Batches that the method gave.
    pub batches: u64,
    /// Frames per batch, mean.
    pub frames_per_batch: Option<f64>,
    /// Frames per voluntary context switch, mean: the batch per wake-up. Absent when it never slept.
    pub frames_per_wakeup: Option<f64>,
    /// Share of the host's CPU time that the hypervisor took away while frames were sent.
    pub steal_ratio: Option<f64>,
}

/// One trial as it is stored: counts first, ratios computed from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TrialResult {
    /// Running number within its run, from 1.
    pub number: u32,
    /// What the trial was part of.
    pub phase: Phase,
    /// The set-up.
    #[serde(flatten)]
    pub profile: Profile,
    /// What did the work, found out: a library with its version, the mode of XDP, a program with its version.
    #[serde(default)]
    pub engine: String,
    /// Sizes as they were granted, and where times come from.
    pub running: String,
    /// Why the trial's frames were not verified one by one; absent where they were.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "taken_on_trust")]
    pub unverified_because: Option<String>,
    /// What the program under test said that it counted; absent for methods of capbench.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ProgramReport>,
    /// What the generator turned out to be.
    pub generator: String,
    /// Intended load in frames per second; absent where it is no constant rate.
    pub intended_pps: Option<f64>,
    /// What the load was where it is neither a constant rate nor maximum load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadShape>,
    /// Intended length of the sending phase in seconds.
    pub duration_s: f64,
    /// Length of the sending phase as it was.
    pub sending_s: f64,
    /// Seconds from the end of sending until the application had read everything or nothing came any more.
    pub drain_s: f64,
    /// How long the application went on taking frames when sending had ended; absent where nobody saw when it took the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emptying: Option<Emptying>,
    /// Frames meant to be sent.
    pub intended: u64,
    /// Frames handed to the kernel.
    pub sent: u64,
    /// Frames that reached the application intact, counted once each.
    pub delivered: u64,
    /// Repetitions.
    pub duplicates: u64,
    /// Frames that came after a later one.
    pub reordered: u64,
    /// Frames that are not of this trial.
    pub foreign: u64,
    /// Frames cut short.
    pub truncated: u64,
    /// Frames damaged.
    pub corrupt: u64,
    /// Offered load: sent frames by the length of the sending phase.
    pub offered_pps: f64,
    /// Offered load times the share delivered.
    pub delivered_pps: f64,
    /// 1 - delivered / intended: what was not sent counts as lost.
    pub loss_ratio: f64,
    /// Where frames were lost.
    pub ledger: Vec<Entry>,
    /// Sent frames that no place explains.
    pub unexplained: i64,
    /// When frames were lost and how many at a time; absent where they were not looked at one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_shape: Option<LossShape>,
    /// How long frames took; absent where it was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// How it ended.
    pub verdict: Verdict,
    /// Why it shows nothing; absent where it shows something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid_because: Option<String>,
    /// CPU time.
    pub cpu: CpuAccount,
    /// Lateness of the generator; absent at maximum load, which has no plan.
    pub lateness: Option<LatenessSummary>,
    /// Share of the kernel's receive work that was found on the CPU chosen for it.
    pub kernel_work_share: Option<f64>,
    /// Why the trial's numbers are to be taken with care; empty when nothing was noticed.
    pub noise: Vec<String>,
    /// What the host did meanwhile that the trial did not ask for.
    #[serde(default)]
    pub disturbance: Disturbance,
    /// Most frames per second of this size on the link; absent where it has no speed, as virtual ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_rate_pps: Option<f64>,
    /// When its frames had left for the link; absent where that is not known, or the link has no speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub departed: Option<Departed>,
    /// What guards did before it stood as it is; absent where nothing was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guarding: Option<Box<Guarding>>,
    /// A trial of the same set-up that delivered more of less; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub livelock: Option<Livelock>,
    /// Which of several searches of its set-up it was run for, from 1; absent where there was one, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<u32>,
    /// The counters' differences over the trial, by name.
    pub counters: BTreeMap<String, u64>,
}

impl TrialResult {
    /// Probes and attempts that are kept with it.
    fn kept_with_it(&self) -> impl Iterator<Item = &Self> {
        self.guarding.iter().flat_map(|guarding| {
            let probes = guarding.recovery.iter().flat_map(|recovery| &recovery.probes);
            guarding.set_aside.iter().map(|attempt| &attempt.trial).chain(probes)
        })
    }

    /// A sum over it and the probes and attempts that are kept with it.
    fn with_all_of_it(&self, of: fn(&Self) -> f64) -> f64 {
        of(self) + self.kept_with_it().map(|trial| trial.with_all_of_it(of)).sum::<f64>()
    }

    /// Seconds of traffic that it took, probes and attempts that do not stand among them.
    pub fn traffic_s(&self) -> f64 {
        self.with_all_of_it(|trial| trial.sending_s)
    }

    /// Seconds that it took with drains, likewise.
    pub fn spent_s(&self) -> f64 {
        self.with_all_of_it(|trial| trial.sending_s.max(trial.duration_s) + trial.drain_s)
    }

    /// The highest number of it, its probes and its attempts.
    pub fn last_number(&self) -> u32 {
        self.kept_with_it().map(Self::last_number).fold(self.number, u32::max)
    }

    /// Makes it one that shows nothing.
    pub(crate) fn invalidate(&mut self, because: String) {
        self.verdict = Verdict::Invalid;
        self.invalid_because.get_or_insert(because);
    }

    /// Places that lost sent frames, most first.
    pub fn losses(&self) -> Vec<(Place, u64)> {
        Ledger { entries: self.ledger.clone(), unexplained: self.unexplained }.losses()
    }

    /// Whether its ledger leaves over what it says is unexplained: a file in which that is not so was changed.
    pub fn ledger_sums_up(&self) -> bool {
        let balanced = Ledger::balance(self.sent, self.delivered, self.ledger.clone());
        balanced.unexplained == self.unexplained
    }

    /// Whether the method got the intended load, to a twentieth, and delivered all of it: a cost per packet is not told by
    /// less.
    pub fn held_load(&self) -> bool {
        let unsent = self.intended.saturating_sub(self.sent);
        match self.verdict {
            Verdict::Lossless => true,
            Verdict::GeneratorLimited => unsent * 20 <= self.intended,
            Verdict::Lossy | Verdict::Invalid => false,
        }
    }

    /// How far the CPU time per packet can be off because its clocks tick, in nanoseconds.
    pub fn cpu_uncertainty_ns(&self) -> f64 {
        let ticks = 2.0 * self.cpu.kernel_resolution_ns.unwrap_or(0) as f64;
        ticks / self.delivered.max(1) as f64
    }

    /// Frames that the generator did not send, unless they are so few that the clock's rounding accounts for them.
    pub fn shortfall(&self) -> u64 {
        let unsent = self.intended.saturating_sub(self.sent);
        if unsent > tolerated_frames(self.intended_pps) { unsent } else { 0 }
    }

    /// Why it shows nothing, where it does not.
    pub fn why_invalid(&self) -> String {
        // Results of early versions do not say.
        self.invalid_because.clone().unwrap_or_else(|| "its account contradicts itself".into())
    }

    /// Frames sent and not delivered.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.delivered)
    }

    /// Share of the sent frames that was lost: what reports print beside the offered load.
    pub fn sent_loss_ratio(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.lost() as f64 / self.sent as f64 }
    }
}
