//! How a search ended.

use serde::{Deserialize, Serialize};

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum End {
    /// Every goal has its final result.
    Complete,
    /// The user stopped it, or its process ended and this is its intermediate outcome.
    Stopped,
    /// The time allowed was used up.
    TimeUp,
    /// The traffic allowed was used up.
    TrafficUp,
    /// A trial is invalid, and was invalid again when repeated.
    Invalid {
        /// Its number.
        trials: Vec<u32>,
        /// Why; empty in results of early versions.
        #[serde(default)]
        because: String,
    },
    /// A trial shows a rate above the capacity of the link: counts or clock are wrong.
    AboveLineRate {
        /// The trial.
        trial: u32,
    },
    /// A trial could not be run.
    Failed {
        /// Why, in one line.
        reason: String,
    },
}
