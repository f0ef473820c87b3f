//! A trial: one load for one duration. Searches and sweeps know only this of the network.

mod load;
mod result;

use std::fmt;
use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_frames::sizes::Sizes;
use serde::{Deserialize, Serialize};

use crate::arrivals::Arrivals;
use crate::error::{Result, TrialError};
use crate::evidence::Evidence;
use crate::ledger::Ledger;
use crate::placement::LoadDepends;
use crate::reasons::Invalid;
use crate::saved::{SavedMethod, SavedPlacement, SavedTraffic, SavedTransmit, SavedWork};
use crate::thresholds::UNSENT_ROUNDING;
pub use load::{Load, LoadShape, Share};
pub use result::{CpuAccount, Departed, Generator, ProgramReport, TrialResult};
pub use result::{Emptying, Guarding, KernelClock, KernelTimeSource, Livelock, Recovery, Retried, TICK};

/// Runs trials of one set-up.
pub trait Trial {
    /// Runs one trial.
    ///
    /// # Errors
    /// When the trial could not run at all. Loss is not an error.
    fn run(&mut self, load: Load, duration: Duration) -> Result<TrialResult>;

    /// Highest frame rate in frames per second that the link carries of this set-up's sizes. `None` if the link has no speed (as
    /// virtual links) or does not report it. There is no default: a wrapper must pass on the value of the trial that it wraps.
    fn line_rate(&self) -> Option<Pps>;

    /// Opens capture and generator once for several consecutive trials: the segments of a soak.
    ///
    /// # Errors
    /// When the path or the method must open them anew for every trial.
    fn keep_open(&mut self) -> Result<Box<dyn Trial + '_>> {
        Err(TrialError::Unsupported {
            what: "a soak".into(),
            reason: "this path opens its capture anew for every trial".into(),
        })
    }
}

impl<T: Trial + ?Sized> Trial for &mut T {
    fn run(&mut self, load: Load, duration: Duration) -> Result<TrialResult> {
        (**self).run(load, duration)
    }

    fn line_rate(&self) -> Option<Pps> {
        (**self).line_rate()
    }
}

/// The purpose of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Maximum load.
    BestEffort,
    /// All methods at one load that the slowest sustains.
    CommonLoad,
    /// The method that a bench is about to name, once more at the load that it sustained, and longer.
    Confirmation,
    /// Methods in turns at one load, in short trials: shows which method is best.
    Turns,
    /// A load that the user named.
    #[default]
    FixedLoad,
    /// A search for the highest sustained load.
    Search,
    /// Finding out what the generator can do, before a search.
    SelfTest,
    /// A segment of a soak.
    Soak,
    /// A low load after an overload: shows whether the path has recovered. Not a result.
    Probe,
    /// An attempt at a trial that something disturbed, so that the trial was repeated. It is not counted as a result.
    #[serde(rename = "set-aside")]
    Retried,
    /// A point of a sweep.
    Sweep,
    /// A test of latency (RFC 2544 26.2).
    Latency,
    /// A test of frame loss rate (RFC 2544 26.3).
    FrameLoss,
    /// A test with back-to-back frames (RFC 2544 26.4, RFC 9004).
    BackToBack,
    /// A test of system recovery (RFC 2544 26.5).
    Recovery,
}

impl Phase {
    /// Whether the phase raises loads until frames are lost.
    pub fn looks_for_loss(self) -> bool {
        matches!(self, Self::Search | Self::SelfTest | Self::Sweep | Self::BackToBack)
    }
}

/// A frame size, or the name of a mix of sizes.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(untagged)]
pub enum SizeLabel {
    /// Octets with FCS.
    Octets(u16),
    /// A list, range or mix, by the user's name for it.
    Named(String),
}

/// An unknown size: empty text.
impl Default for SizeLabel {
    fn default() -> Self {
        Self::Named(String::new())
    }
}

impl From<&Sizes> for SizeLabel {
    fn from(sizes: &Sizes) -> Self {
        match sizes {
            Sizes::Fixed(size) => Self::Octets(size.octets()),
            mixed => Self::Named(mixed.to_string()),
        }
    }
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cpus {
    /// Where the generator ran.
    pub generator: u32,
    /// Where the kernel was to do its receive work.
    pub kernel: Option<u32>,
    /// Where the application ran.
    pub application: u32,
}

/// What is constant in all trials of a set-up: the traffic profile of RFC 9971, and the method under test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Profile {
    /// The capture method.
    pub method: SavedMethod,
    /// The frame size with FCS, or the name of a mix.
    pub frame_size: SizeLabel,
    /// Mean frame size in octets, FCS included.
    pub mean_frame_size: f64,
    /// Headers, flows and the sequence of sizes, as text.
    pub traffic: SavedTraffic,
    /// The transmit method.
    pub transmit: SavedTransmit,
    /// Name of the placement.
    pub placement: SavedPlacement,
    /// Its CPUs.
    pub cpus: Cpus,
    /// Whether the offered load is independent of the receiver.
    pub load_independent: bool,
    /// Why the offered load depends on the receiver; absent if it does not, and in files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_depends: Option<LoadDepends>,
    /// The same in words.
    pub load_depends_because: Option<String>,
    /// Work per packet.
    pub work: SavedWork,
}

impl Profile {
    /// Why the offered load depends on the receiver; `None` if it does not.
    pub fn load_depends(&self) -> Option<LoadDepends> {
        if self.load_depends.is_some() {
            return self.load_depends.clone();
        }
        Some(LoadDepends::Earlier { text: self.load_depends_because.clone()? })
    }
}

/// How a trial ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The application received every intended frame once and intact.
    Lossless,
    /// The application did not receive every sent frame.
    Lossy,
    /// No sent frame was lost, but the generator did not reach the intended load: no statement about the method.
    GeneratorLimited,
    /// The trial is no evidence: its account contradicts itself, or its path was not ready.
    #[default]
    Invalid,
}

/// The raw measurements of one trial, before anything is computed from them.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Counters around the trial.
    pub evidence: Evidence,
    /// What the application received.
    pub arrivals: Arrivals,
    /// Length of the sending phase.
    pub sending: Duration,
    /// Frames per second while several generators sent together; `None`: those of the whole sending phase.
    pub offered_pps: Option<f64>,
    /// Length of the drain.
    pub drain: Duration,
    /// The trial with all that is stored as it was measured: intended frames, CPU times, delays, counters, notes.
    /// [`Measured::result`] sets the other members.
    pub trial: TrialResult,
}

/// Unsent frames of a load that count as rounding of the clock. 0 at maximum load, where the generator leaves nothing unsent.
pub fn tolerated_frames(intended_pps: Option<f64>) -> u64 {
    intended_pps.map_or(0, |pps| (pps * UNSENT_ROUNDING.as_secs_f64()).ceil() as u64)
}

/// Frames of a load that were not sent; 0 if they are few enough to be rounding of the clock.
pub fn shortfall(intended: u64, sent: u64, intended_pps: Option<f64>) -> u64 {
    let unsent = intended.saturating_sub(sent);
    if unsent > tolerated_frames(intended_pps) { unsent } else { 0 }
}

impl Measured {
    /// Books the ledger, computes ratios and judges. `number` and `phase` identify the trial.
    pub fn result(
        self,
        number: u32,
        phase: Phase,
        profile: &Profile,
        load: Load,
        duration: Duration,
    ) -> TrialResult {
        let Self { evidence, arrivals, trial, .. } = self;
        let intended = trial.intended;
        let ledger = evidence.book();
        let sending_s = self.sending.as_secs_f64();
        let offered_pps = self.offered_pps.unwrap_or(evidence.sent as f64 / sending_s.max(1e-9));
        let invalid_because = contradiction(&evidence, &ledger).map(|because| because.to_string());
        let verdict = match invalid_because {
            Some(_) => Verdict::Invalid,
            None => judge(intended, &evidence, load),
        };
        let mut noise = trial.noise;
        noise.reasons.extend(trial.disturbance.reasons());
        TrialResult {
            number,
            phase,
            profile: profile.clone(),
            intended_pps: load.pps(),
            load: load.shape(),
            duration_s: duration.as_secs_f64(),
            sending_s,
            drain_s: self.drain.as_secs_f64(),
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
            verdict,
            invalid_because,
            cpu: cpu_per_packet(trial.cpu, &evidence, &arrivals),
            noise,
            ..trial
        }
    }
}

/// A part of a whole; 0 of nothing.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The CPU account with its figures for each packet.
fn cpu_per_packet(times: CpuAccount, evidence: &Evidence, arrivals: &Arrivals) -> CpuAccount {
    let read = arrivals.read;
    let reached = evidence.method.accepted.unwrap_or(evidence.sent);
    // Every wake-up is a context switch that the thread made because it waited.
    let wakeups = times.voluntary_switches.unwrap_or(0);
    CpuAccount {
        app_ns_per_packet: ns_per_packet(times.app_ns, read),
        app_ns_per_packet_at_most: ns_per_packet(times.app_charged_ns, read),
        kernel_ns_per_packet: ns_per_packet(times.kernel_ns, reached),
        total_ns_per_packet: ns_per_packet(times.total_ns, reached),
        tracer_ns_per_packet: ns_per_packet(times.tracer_ns, reached),
        frames_per_batch: (times.batches > 0).then(|| share(read, times.batches)),
        frames_per_wakeup: (wakeups > 0).then(|| share(read, wakeups)),
        ..times
    }
}

/// Time for each packet; `None` without packets, or if the time is unknown.
fn ns_per_packet(ns: Option<u64>, packets: u64) -> Option<f64> {
    match ns {
        Some(ns) if packets > 0 => Some(ns as f64 / packets as f64),
        _ => None,
    }
}

/// Negative loss means that a frame was counted twice or came from elsewhere; such a trial is invalid.
fn contradiction(evidence: &Evidence, ledger: &Ledger) -> Option<Invalid> {
    let Evidence { sent, delivered, .. } = evidence;
    if *sent == 0 {
        Some(Invalid::NothingSent)
    } else if delivered > sent {
        Some(Invalid::MoreDelivered { delivered: *delivered, sent: *sent })
    } else if ledger.unexplained < 0 {
        Some(Invalid::MoreBooked { excess: ledger.unexplained.unsigned_abs(), sent: *sent })
    } else {
        None
    }
}

/// The verdict of a trial without a contradiction.
fn judge(intended: u64, evidence: &Evidence, load: Load) -> Verdict {
    let tolerated = tolerated_frames(load.highest());
    if evidence.delivered < evidence.sent {
        Verdict::Lossy
    } else if intended - evidence.delivered.min(intended) > tolerated {
        Verdict::GeneratorLimited
    } else {
        Verdict::Lossless
    }
}

#[cfg(test)]
mod tests {
    use capbench_frames::rates::Pps;

    use super::*;
    use crate::for_tests::{measured, profile};

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
