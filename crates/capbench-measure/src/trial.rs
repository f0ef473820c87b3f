//! A trial: one load for one duration. This is all that a search or a sweep knows of the network.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use capbench_traffic::rates::Pps;
use capbench_traffic::report::LatenessSummary;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::evidence::Evidence;
use crate::ledger::{Entry, Ledger, Place};
use crate::loss_shape::LossShape;

/// The intended load of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Frames at a constant rate.
    Rate(Pps),
    /// As many frames as the generator can send; best effort, FRMOL of RFC 2285.
    Maximum,
}

impl Load {
    /// The rate, where there is one.
    pub fn pps(self) -> Option<f64> {
        match self {
            Self::Rate(rate) => Some(rate.get()),
            Self::Maximum => None,
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => write!(f, "{:.0} packets/s", rate.get()),
            Self::Maximum => f.write_str("maximum load"),
        }
    }
}

/// Runs trials of one set-up.
pub trait Trial {
    /// One trial.
    ///
    /// # Errors
    /// When it could not be run at all. Loss is no error.
    fn run(&mut self, load: Load, duration: Duration) -> Result<TrialResult>;
}

/// What a trial was part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Maximum load.
    BestEffort,
    /// All methods at one load that the slowest can hold.
    CommonLoad,
    /// A load that the user named.
    FixedLoad,
}

/// A frame size, or the name of a mix of sizes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SizeLabel {
    /// Octets with FCS.
    Octets(u16),
    /// A list, range or mix, as the user named it.
    Named(String),
}

impl fmt::Display for SizeLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Octets(octets) => f.pad(&octets.to_string()),
            Self::Named(name) => f.pad(name),
        }
    }
}

/// The CPUs of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpus {
    /// Where the generator ran.
    pub generator: u32,
    /// Where the kernel was to do its receive work.
    pub kernel: Option<u32>,
    /// Where the application ran.
    pub application: u32,
}

/// What is constant in the trials of a set-up (the traffic profile of RFC 9971, and the method under test).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The capture method.
    pub method: String,
    /// The frame size with FCS, or the name of a mix.
    pub frame_size: SizeLabel,
    /// Mean frame size in octets, FCS included.
    pub mean_frame_size: f64,
    /// Headers, flows and the sequence of sizes in words.
    pub traffic: String,
    /// The transmit method.
    pub transmit: String,
    /// Name of the placement.
    pub placement: String,
    /// Its CPUs.
    pub cpus: Cpus,
    /// Whether the offered load is independent of the receiver.
    pub load_independent: bool,
    /// Why it is not; absent where it is.
    pub load_depends_because: Option<String>,
    /// Work per packet.
    pub work: String,
}

/// How a trial ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every intended frame was delivered once and intact.
    Lossless,
    /// Frames that were sent were not delivered.
    Lossy,
    /// Nothing sent was lost, but the generator did not reach the intended load: no statement about the method.
    GeneratorLimited,
    /// The account contradicts itself, so the trial shows nothing.
    Invalid,
}

/// What the application saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Frames of any kind taken from the method.
    pub read: u64,
    /// Frames of the trial, intact, counted once each.
    pub delivered: u64,
    /// Repetitions of those.
    pub duplicates: u64,
    /// Those that came after a later frame of their stream (RFC 4737).
    pub reordered: u64,
    /// Frames that are not of this trial.
    pub foreign: u64,
    /// Frames of the trial cut short against the snap length.
    pub truncated: u64,
    /// Damaged frames addressed like those of the trial.
    pub corrupt: u64,
}

/// What a program under test said about its trial, and the file that it is set against. Absent is what it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

/// CPU time of a trial. Absent where the platform cannot tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Whether application and kernel share a CPU whose kernel only samples, at the timer tick, which of the two runs:
    /// their sum is certain then, and how it divides is not.
    pub split_is_sampled: bool,
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
    /// Steps in which `kernel_ns` grows.
    pub kernel_resolution_ns: Option<u64>,
    /// What verifying a frame costs on this CPU, measured before the run; part of `app_ns_per_packet`.
    pub verify_ns_per_packet: f64,
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_on_trust: Option<String>,
    /// What the program under test said that it counted; absent for methods of capbench.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ProgramReport>,
    /// What the generator turned out to be.
    pub generator: String,
    /// Intended load in frames per second; absent at maximum load.
    pub intended_pps: Option<f64>,
    /// Intended length of the sending phase in seconds.
    pub duration_s: f64,
    /// Length of the sending phase as it was.
    pub sending_s: f64,
    /// Seconds from the end of sending until the application had read everything or nothing came any more.
    pub drain_s: f64,
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
    /// How it ended.
    pub verdict: Verdict,
    /// CPU time.
    pub cpu: CpuAccount,
    /// Lateness of the generator; absent at maximum load, which has no plan.
    pub lateness: Option<LatenessSummary>,
    /// Share of the kernel's receive work that was found on the CPU chosen for it.
    pub kernel_work_share: Option<f64>,
    /// Why the trial's numbers are to be taken with care; empty when nothing was noticed.
    pub noise: Vec<String>,
    /// The counters' differences over the trial, by name.
    pub counters: BTreeMap<String, u64>,
}

/// What one trial measured, before anything is computed from it.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Frames meant to be sent.
    pub intended: u64,
    /// Counters around the trial.
    pub evidence: Evidence,
    /// What the application saw.
    pub arrivals: Arrivals,
    /// Length of the sending phase.
    pub sending: Duration,
    /// Length of the drain.
    pub drain: Duration,
    /// CPU account; per-packet figures are computed by [`Measured::result`].
    pub cpu: CpuAccount,
    /// The generator's lateness.
    pub lateness: Option<LatenessSummary>,
    /// What did the work.
    pub engine: String,
    /// Sizes as they were granted, and where times come from.
    pub running: String,
    /// Why the frames were not verified one by one; absent where they were.
    pub taken_on_trust: Option<String>,
    /// What the program under test said that it counted.
    pub report: Option<ProgramReport>,
    /// What the generator turned out to be.
    pub generator: String,
    /// Share of the kernel's receive work on its CPU.
    pub kernel_work_share: Option<f64>,
    /// When frames were lost and how many at a time.
    pub loss_shape: Option<LossShape>,
    /// Reasons for care.
    pub noise: Vec<String>,
    /// Raw counter differences.
    pub counters: BTreeMap<String, u64>,
}

/// Unsent frames worth at most this much time are a rounding of the clock, not a weak generator (CSIT).
const TOLERATED: Duration = Duration::from_micros(10);

impl Measured {
    /// Books the ledger, computes ratios and judges. `number` and `phase` say which trial it was.
    pub fn result(
        self,
        number: u32,
        phase: Phase,
        profile: &Profile,
        load: Load,
        duration: Duration,
    ) -> TrialResult {
        let Self { intended, evidence, arrivals, .. } = self;
        let ledger = evidence.book();
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let offered_pps = evidence.sent as f64 / self.sending.as_secs_f64().max(1e-9);
        let verdict = judge(intended, &evidence, &ledger, load);
        let mut cpu = self.cpu;
        let per = |ns: Option<u64>, frames: u64| {
            (frames > 0).then(|| ns.map(|ns| ns as f64 / frames as f64)).flatten()
        };
        cpu.app_ns_per_packet = per(cpu.app_ns, arrivals.read);
        let reached = evidence.method.accepted.unwrap_or(evidence.sent);
        cpu.app_ns_per_packet_at_most = per(cpu.app_charged_ns, arrivals.read);
        cpu.kernel_ns_per_packet = per(cpu.kernel_ns, reached);
        cpu.total_ns_per_packet = per(cpu.total_ns, reached);
        cpu.frames_per_batch = (cpu.batches > 0).then(|| share(arrivals.read, cpu.batches));
        // Every wake-up is a context switch that the thread made because it waited.
        let woken = cpu.voluntary_switches.unwrap_or(0);
        cpu.frames_per_wakeup = (woken > 0).then(|| share(arrivals.read, woken));
        TrialResult {
            number,
            phase,
            profile: profile.clone(),
            engine: self.engine,
            running: self.running,
            taken_on_trust: self.taken_on_trust,
            report: self.report,
            generator: self.generator,
            intended_pps: load.pps(),
            duration_s: duration.as_secs_f64(),
            sending_s: self.sending.as_secs_f64(),
            drain_s: self.drain.as_secs_f64(),
            intended,
            sent: evidence.sent,
            delivered: arrivals.delivered,
            duplicates: arrivals.duplicates,
            reordered: arrivals.reordered,
            foreign: arrivals.foreign,
            truncated: arrivals.truncated,
            corrupt: arrivals.corrupt,
            offered_pps,
            delivered_pps: offered_pps * share(arrivals.delivered, evidence.sent),
            loss_ratio: if intended == 0 { 0.0 } else { 1.0 - share(arrivals.delivered, intended) },
            unexplained: ledger.unexplained,
            ledger: ledger.entries,
            loss_shape: self.loss_shape,
            verdict,
            cpu,
            lateness: self.lateness,
            kernel_work_share: self.kernel_work_share,
            noise: self.noise,
            counters: self.counters,
        }
    }
}

/// Negative loss means that something was counted twice or came from elsewhere; such a trial shows nothing.
fn judge(intended: u64, evidence: &Evidence, ledger: &Ledger, load: Load) -> Verdict {
    let tolerated = load.pps().map_or(0, |pps| (pps * TOLERATED.as_secs_f64()).ceil() as u64);
    if ledger.unexplained < 0 || evidence.delivered > evidence.sent || evidence.sent == 0 {
        Verdict::Invalid
    } else if evidence.delivered < evidence.sent {
        Verdict::Lossy
    } else if intended - evidence.delivered.min(intended) > tolerated {
        Verdict::GeneratorLimited
    } else {
        Verdict::Lossless
    }
}

impl TrialResult {
    /// Places that lost sent frames, most first.
    pub fn losses(&self) -> Vec<(Place, u64)> {
        Ledger { entries: self.ledger.clone(), unexplained: self.unexplained }.losses()
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

    /// Frames sent and not delivered.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.delivered)
    }

    /// Share of the sent frames that was lost: what reports print beside the offered load.
    pub fn sent_loss_ratio(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.lost() as f64 / self.sent as f64 }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use capbench_capture::{Counters, Loss, LossPlace};

    use super::*;

    pub(crate) fn profile(method: &str) -> Profile {
        Profile {
            method: method.into(),
            frame_size: SizeLabel::Octets(64),
            mean_frame_size: 64.0,
            traffic: "IPv4/UDP, 1 flow".into(),
            transmit: "packet-tx".into(),
            placement: "same".into(),
            cpus: Cpus { generator: 0, kernel: Some(1), application: 1 },
            load_independent: true,
            load_depends_because: None,
            work: "none".into(),
        }
    }

    pub(crate) fn measured(intended: u64, sent: u64, delivered: u64, ring_drops: u64) -> Measured {
        Measured {
            intended,
            evidence: Evidence {
                sent,
                unsent: intended - sent,
                delivered,
                read: delivered,
                transmit_drops: Some(0),
                link_drops: Some(0),
                backlog_drops: Some(0),
                virtual_pair: true,
                method: Counters {
                    accepted: Some(delivered + ring_drops),
                    losses: vec![Loss {
                        place: LossPlace::Ring,
                        count: Some(ring_drops),
                        source: "tp_drops".into(),
                    }],
                    raw: Vec::new(),
                },
                ..Evidence::default()
            },
            arrivals: Arrivals { read: delivered, delivered, ..Arrivals::default() },
            sending: Duration::from_secs(1),
            ..Measured::default()
        }
    }

    fn verdict(intended: u64, sent: u64, delivered: u64, drops: u64, load: Load) -> Verdict {
        measured(intended, sent, delivered, drops)
            .result(1, Phase::BestEffort, &profile("recv"), load, Duration::from_secs(1))
            .verdict
    }

    #[test]
    fn verdicts() {
        let rate = Load::Rate(Pps::new(100_000.0).unwrap());
        assert_eq!(verdict(100_000, 100_000, 100_000, 0, rate), Verdict::Lossless);
        assert_eq!(verdict(100_000, 99_999, 99_999, 0, rate), Verdict::Lossless, "10 us worth of frames");
        assert_eq!(verdict(100_000, 99_000, 99_000, 0, rate), Verdict::GeneratorLimited);
        assert_eq!(verdict(100_000, 99_000, 98_000, 1000, rate), Verdict::Lossy, "loss weighs more");
        assert_eq!(verdict(100_000, 100_000, 99_000, 0, Load::Maximum), Verdict::Lossy);
        assert_eq!(verdict(100, 100, 100, 5, rate), Verdict::Invalid, "negative loss");
        assert_eq!(verdict(0, 0, 0, 0, Load::Maximum), Verdict::Invalid, "nothing was sent");
    }

    #[test]
    fn unsent_frames_count_as_lost() {
        let rate = Load::Rate(Pps::new(1000.0).unwrap());
        let result = measured(1000, 900, 900, 0).result(
            1,
            Phase::BestEffort,
            &profile("recv"),
            rate,
            Duration::from_secs(1),
        );
        assert!((result.loss_ratio - 0.1).abs() < 1e-12);
        assert_eq!((result.lost(), result.delivered_pps), (0, 900.0));
    }
}
