//! The goals and limits of a search, which are saved with its outcome.

use std::time::Duration;

use capbench_frames::rates::Pps;
use serde::{Deserialize, Serialize};

use super::goal::{Goal, seconds};
use capbench_model::trial::{TrialResult, Verdict};

/// A search: its goals and its limits. All other properties of its trials are constant and not part of the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SearchPlan {
    /// The goals, which share one set of trials.
    pub goals: Vec<Goal>,
    /// The minimum load of the search.
    pub least_pps: Pps,
    /// The maximum load of the search. If absent, the self-test determines the generator's maximum.
    pub maximum_pps: Option<Pps>,
    /// The maximum load of the link, if it has a speed.
    pub line_rate_pps: Option<Pps>,
    /// Length of the self-test's trials.
    #[serde(rename = "self_test_s", with = "seconds")]
    #[schemars(with = "f64")]
    pub self_test: Duration,
    /// Time allowed for trials, including drains. A trial does not begin if its sending alone would exceed the remaining time.
    #[serde(rename = "time_allowed_s", with = "seconds::optional")]
    #[schemars(with = "Option<f64>")]
    pub time_allowed: Option<Duration>,
    /// Sending time allowed for trials, without drains and other overhead. A trial does not begin if it would exceed the rest.
    #[serde(
        rename = "traffic_allowed_s",
        with = "seconds::optional",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<f64>")]
    pub traffic_allowed: Option<Duration>,
    /// Number of frames that the traffic sends at once; 1 if it is evenly spaced.
    pub burst_frames: u32,
    /// A trial at maximum load that ran before the search; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overload: Option<Overload>,
    /// The load of the first trial after that one; absent if it is the rate that the method delivered there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_at_pps: Option<Pps>,
    /// How long a trial waits for missing frames, as in its set-up. Only the estimate uses it.
    #[serde(rename = "quiet_s", with = "seconds", default)]
    #[schemars(with = "f64")]
    pub quiet: Duration,
}

/// A trial at maximum load of the same set-up. No self-test runs then: the generator's rate there is the maximum load of the
/// search, unless the user gives one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Overload {
    /// Its number.
    pub trial: u32,
    /// The offered load in frames per second.
    pub offered_pps: Pps,
    /// The rate at which the method read frames, in frames per second.
    pub read_pps: Pps,
    /// Whether the offered load depended on the receiver.
    pub load_depends: bool,
}

impl Overload {
    /// The overload by this trial; `None` if the trial is invalid, or sent less than one frame per second.
    pub fn from_trial(trial: &TrialResult) -> Option<Self> {
        if trial.verdict == Verdict::Invalid {
            return None;
        }
        Some(Self {
            trial: trial.number,
            offered_pps: Pps::new(trial.offered_pps.floor()).ok()?,
            // Also a method that read nothing has a load to begin with.
            read_pps: Pps::new(trial.read_pps().max(1.0)).ok()?,
            load_depends: trial.profile.load_depends_because.is_some(),
        })
    }
}

impl SearchPlan {
    /// A search for these goals with default limits.
    pub fn new(goals: Vec<Goal>) -> Self {
        Self {
            goals,
            least_pps: Pps::new(1000.0).expect("a legal rate"),
            maximum_pps: None,
            line_rate_pps: None,
            self_test: Duration::from_secs(1),
            time_allowed: None,
            traffic_allowed: None,
            burst_frames: 1,
            overload: None,
            starts_at_pps: None,
            quiet: Duration::ZERO,
        }
    }

    /// The same search on a link with this maximum rate; `None` if the link has no speed.
    #[must_use]
    pub fn on_link(&self, line_rate: Option<Pps>) -> Self {
        Self { line_rate_pps: line_rate, ..self.clone() }
    }

    /// Length of a trial of the self-test: no longer than a trial that decides a load.
    pub fn self_test_trial(&self) -> Duration {
        self.goals.iter().map(|goal| goal.final_duration).fold(self.self_test, Duration::min)
    }
}
