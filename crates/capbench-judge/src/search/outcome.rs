//! The saved outcome of a search.

use serde::{Deserialize, Serialize};

use super::bound::Buffered;
use super::end::End;
use super::goal_result::GoalResult;
use super::maximum::MaximumLoad;
use super::numbers::LossNumbers;
use super::plan::SearchPlan;
use super::warning::SearchWarning;
use capbench_model::saved::{SavedMethod, SavedPlacement, SavedWork};
use capbench_model::trial::SizeLabel;

/// A search and its outcome. Its trials are in the list of all trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SearchOutcome {
    /// The method of its trials; this and the next fields are absent if no trial was run.
    pub method: Option<SavedMethod>,
    /// Their placement.
    pub placement: Option<SavedPlacement>,
    /// Their frame size.
    pub frame_size: Option<SizeLabel>,
    /// Their work per packet.
    pub work: Option<SavedWork>,
    /// The number of this search among those of this set-up, from 1; absent if there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nth: Option<u32>,
    /// The plan of the search. A resumed search needs it.
    pub plan: SearchPlan,
    /// The highest load of the search, and its origin; absent if it was not determined.
    pub maximum: Option<MaximumLoad>,
    /// A result for each goal.
    pub goals: Vec<GoalResult>,
    /// Strict, NDR, PDR and loss events.
    pub numbers: LossNumbers,
    /// Trials that lost nothing at loads above the rate at which frames were read; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffered: Option<Buffered>,
    /// How the search ended.
    pub ended: End,
    /// Warnings about the result in words, for readers of the file. The report makes them when the search is saved.
    pub warnings: Vec<String>,
    /// The same as facts. Absent in files of versions that did not write them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warning_facts: Vec<SearchWarning>,
    /// Numbers of its trials, in the order in which they were requested.
    pub trials: Vec<u32>,
    /// Seconds of traffic.
    pub sending_s: f64,
    /// Total seconds, including drains.
    pub spent_s: f64,
}
