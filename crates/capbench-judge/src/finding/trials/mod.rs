//! Facts about trials of any run.
//!
//! | file | about |
//! |---|---|
//! | `account` | whether every packet is accounted for, and what was not verified |
//! | `reports` | what programs report of themselves |
//! | `generators` | trials of several generators |
//! | `members` | trials of several members |
//! | `loads` | receive livelock, and loads that depend on the receiver |
//! | `disturbances` | stalls, noise, repeated attempts, and the cost of the tracer |

mod account;
mod disturbances;
pub mod generators;
mod loads;
pub mod members;
mod reports;

use capbench_model::ledger::LostAt;
use capbench_model::members::FlowSharing;
use capbench_model::noise::Noise;
use capbench_model::placement::LoadDepends;
use capbench_model::saved::{SavedMethod, SavedPlacement, SavedWork};
use capbench_model::trial::{Livelock, SizeLabel, TrialResult};
use capbench_statistics::by_key;
use serde::Serialize;

use self::generators::{LossesOfGenerators, StartSpread};
use self::members::SharesOfMembers;
use super::{Finding, Found, OddFrames, loss_pattern};

/// What trials show.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum TrialFinding {
    /// Trials are invalid for this reason.
    Invalid {
        /// The reason.
        reason: String,
        /// How many are invalid.
        invalid_trials: u32,
        /// Trials of the run.
        all_trials: u32,
        /// Methods of the invalid ones.
        methods: Vec<SavedMethod>,
    },
    /// Only the generator knows how many frames it sent.
    SentUnverified {
        /// Why capbench did not verify it.
        reason: String,
    },
    /// Every packet is accounted for.
    AccountedFor(Account),
    /// No counter explains where packets of a trial are.
    Unexplained {
        /// The trial.
        trial: u32,
        /// Its method.
        method: SavedMethod,
        /// Packets that no counter explains; negative if counters explain too many.
        packets: i64,
    },
    /// Several generators sent together.
    GeneratorsTogether {
        /// The largest number of generators.
        generators: u32,
        /// How far apart they began, in the worst trial; absent if unknown.
        #[serde(skip_serializing_if = "Option::is_none")]
        start_spread: Option<StartSpread>,
        /// Whose frames were lost.
        losses: LossesOfGenerators,
    },
    /// Several members of a method shared the frames.
    MembersShared {
        /// The method.
        method: SavedMethod,
        /// The largest number of members.
        members: u32,
        /// How evenly they shared them, in the worst trial.
        shares: SharesOfMembers,
        /// Whether flows stayed together, in the worst trial; absent if frames were not examined one by one.
        #[serde(skip_serializing_if = "Option::is_none")]
        flow_sharing: Option<FlowSharing>,
    },
    /// A set-up delivers less at a higher load.
    Livelock(LivelockedTrial),
    /// The offered load of a placement depends on the receiver.
    LoadDepends {
        /// The placement.
        placement: SavedPlacement,
        /// Why it does.
        because: LoadDepends,
    },
    /// Frames arrived otherwise than they were sent.
    OddFrames {
        /// The trial.
        trial: u32,
        /// Its method.
        method: SavedMethod,
        /// How many, by kind.
        frames: OddFrames,
    },
    /// The sums of what a program reports, next to what was measured.
    ProgramReports(ReportSums),
    /// Only the method itself has seen its frames.
    MethodUnverified {
        /// The method.
        method: SavedMethod,
        /// Why capbench did not verify them.
        reason: String,
    },
    /// A CPU stalled.
    Stalled(StalledCpu),
    /// Attempts at trials were discarded and repeated.
    Retried {
        /// What disturbed them.
        noise: Noise,
        /// The attempts.
        attempts: Vec<Attempt>,
    },
    /// What the tracer itself took, at most.
    TracerCost {
        /// Its time per packet.
        ns_per_packet: f64,
        /// Its share of the CPU that does the kernel's receive work.
        cpu_ratio: f64,
    },
    /// Trials are noisy for this reason.
    Noisy {
        /// The reason.
        noise: Noise,
        /// How many trials are noisy for it.
        noisy_trials: u32,
        /// Trials of the run.
        all_trials: u32,
        /// Methods of the noisy ones.
        methods: Vec<SavedMethod>,
    },
}

/// Where the packets of all trials are.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Account {
    /// Trials of the run.
    pub trials: u32,
    /// Sent frames.
    pub sent_frames: u64,
    /// Whether only generators counted some of them.
    pub is_sent_unverified: bool,
    /// Frames that waited in buffers when sending ended.
    pub buffered_frames: u64,
    /// Lost frames by place, most first.
    pub lost: Vec<LostAt>,
}

/// The trial of a set-up in livelock that delivered least.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LivelockedTrial {
    /// The trial that delivered least.
    pub trial: u32,
    /// Its method.
    pub method: SavedMethod,
    /// Its frames.
    pub frame_size: SizeLabel,
    /// Its placement.
    pub placement: SavedPlacement,
    /// Its work per packet.
    pub work: SavedWork,
    /// Its offered load in packets per second.
    pub offered_pps: f64,
    /// Its delivered rate in packets per second.
    pub delivered_pps: f64,
    /// The trial of the same set-up that delivered most.
    pub best: Livelock,
}

/// Sums of what a program reports of its trials, next to what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct ReportSums {
    /// The program.
    pub method: SavedMethod,
    /// How many trials it reported.
    pub trials: u32,
    /// Frames that it reports as captured; absent if it did not report it of each trial, as the next three.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub captured: Option<u64>,
    /// Frames that it reports as received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<u64>,
    /// Frames that it reports as dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<u64>,
    /// Frames in its capture files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_files: Option<u64>,
    /// Frames of its trials that were delivered.
    pub delivered: u64,
    /// Frames of its trials that were sent.
    pub sent: u64,
}

/// A CPU that stalled.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct StalledCpu {
    /// The CPU.
    pub cpu: u32,
    /// How often it stalled.
    pub stalls: u64,
    /// In how many trials it stalled.
    pub trials: u32,
    /// Upper bound of the longest stall.
    pub at_most_ns: u64,
    /// Largest lower bound of a stall.
    pub at_least_ns: u64,
    /// Frames lost in the softirq backlog meanwhile; absent if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_meanwhile: Option<LostMeanwhile>,
}

/// Losses of trials that lost most of their frames in the softirq backlog, while a CPU stalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct LostMeanwhile {
    /// Frames that these trials lost.
    pub lost_frames: u64,
    /// How many of them were sent while the CPU stalled: a lower bound.
    pub while_stalled_frames: u64,
}

/// A discarded attempt at a trial.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Attempt {
    /// Its number.
    pub trial: u32,
    /// Its method.
    pub method: SavedMethod,
}

impl TrialFinding {
    /// Whether it only gives details of the caveat on noise. The short text of a run leaves it out.
    pub fn is_detail(&self) -> bool {
        matches!(self, Self::Retried { .. } | Self::TracerCost { .. } | Self::Noisy { .. })
    }
}

/// All facts about trials, the most important first. `settings` are facts about settings of the host. They come after the facts that
/// make figures doubtful.
pub fn find(trials: &[TrialResult], settings: Vec<Found>) -> Vec<Found> {
    let mut found = account::invalid(trials);
    found.extend(account::unverified_senders(trials));
    found.extend(account::accounted_for(trials));
    found.extend(account::unexplained(trials));
    found.extend(generators::find(trials));
    found.extend(members::find(trials));
    found.extend(loads::livelocks(trials));
    found.extend(loads::dependences(trials));
    found.extend(settings);
    found.extend(account::odd_frames(trials));
    found.extend(reports::find(trials));
    found.extend(account::unverified_methods(trials));
    found.extend(disturbances::stalls(trials));
    found.extend(loss_pattern::find(trials));
    found.extend(disturbances::retried(trials));
    found.extend(disturbances::tracer_cost(trials));
    found.extend(disturbances::noise(trials));
    found
}

/// A fact with these trials.
fn found(fact: TrialFinding, trials: impl IntoIterator<Item = u32>) -> Found {
    Found::new(Finding::Trials(fact), trials)
}

/// The numbers of these trials.
fn numbers(trials: &[&TrialResult]) -> Vec<u32> {
    trials.iter().map(|trial| trial.number).collect()
}

/// The methods of these trials, each once.
fn methods(trials: &[&TrialResult]) -> Vec<SavedMethod> {
    by_key(trials, |trial| trial.profile.method.clone()).into_iter().map(|(method, _)| method).collect()
}
