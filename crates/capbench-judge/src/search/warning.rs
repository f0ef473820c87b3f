//! Doubts about a search: about its goals, its time, its generator and its trials. capbench-report makes their words.

use serde::{Deserialize, Serialize};

use super::{Ratio, Width};

/// A doubt about a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum SearchWarning {
    /// The width of a goal is below the loss ratio of another one, which RFC 9971 advises against.
    WidthBelowLoss {
        /// The goal.
        goal: String,
        /// Its width.
        width: Width,
        /// The loss ratio of the other goal.
        loss_ratio: Ratio,
    },
    /// Goals have different trial durations, so they share few trials.
    UnequalDurations,
    /// Trials of a goal are shorter than RFC 2544 asks for.
    ShortTrials {
        /// The goal.
        goal: String,
        /// The duration of its trials.
        duration_ns: u64,
    },
    /// The allowed time or traffic may not suffice.
    MayNotSuffice {
        /// What is allowed.
        allowed_s: f64,
        /// Of what.
        of: Allowance,
        /// How likely it is too little.
        chance: ChanceToSuffice,
        /// What the goals can need.
        need: SearchNeed,
    },
    /// Stored trials are of no use to the search.
    UnusedTrials {
        /// How many.
        trials: u64,
    },
    /// The offered load depends on the receiver.
    LoadDepends {
        /// Why.
        because: String,
    },
    /// The generator left frames unsent, which count as lost.
    UnsentFrames {
        /// The numbers of the trials.
        trials: Vec<u32>,
        /// Trials of the search, without the self-test.
        all_trials: u64,
    },
    /// Trials do not show when the last frame was read.
    LastReadUnknown {
        /// How many.
        trials: u64,
        /// Trials of the search, without the self-test.
        all_trials: u64,
    },
    /// The generator did not send a rate of its plan at once.
    SelfTestRate {
        /// The rate of the plan in packets per second.
        planned_pps: f64,
        /// What each try sent, in packets per second.
        offered_pps: Vec<f64>,
        /// What is known of the reason.
        cause: SelfTestCause,
    },
    /// The generator sent different rates without a plan: the host disturbed it.
    SelfTestUnpaced {
        /// What each try sent, in packets per second.
        offered_pps: Vec<f64>,
    },
    /// The generator sent less by plan than without one.
    SelfTestByPlan {
        /// By plan, in packets per second.
        paced_pps: f64,
        /// Without a plan, in packets per second.
        unpaced_pps: f64,
    },
}

/// What a user limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Allowance {
    /// The time of the search.
    Time,
    /// The time of sending.
    Traffic,
}

/// How likely an allowance suffices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChanceToSuffice {
    /// Hardly.
    Hardly,
    /// Hardly, unless the maximum load is sustained.
    HardlyBelowMaximum,
    /// It may not.
    Perhaps,
}

/// What a search takes, by an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SearchNeed {
    /// Trials.
    pub trials: u32,
    /// Time of sending.
    pub traffic_s: f64,
    /// Time in all.
    pub time_s: f64,
}

/// Why the generator did not send a rate of its plan at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SelfTestCause {
    /// The tries differ: the host, not the generator.
    Host,
    /// It did so later.
    NotAtFirst,
    /// It never did.
    NotSustained,
}
