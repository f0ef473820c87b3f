//! Losses by the counters of network cards and their drivers, and by the difference of two drivers' counts of frames.

use serde::{Deserialize, Serialize};

/// A counter of a card or its driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CardCounter {
    /// The counter, as the table of drivers has it.
    pub counter: String,
    /// What it counts, as the table of drivers has it.
    pub meaning: String,
    /// Whether it counts only as far as the tracer saw redirects fail.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_bound_by_failed_redirects: bool,
}

/// Whether counters count the trial's losses only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountedFrames {
    /// Each counted frame is a loss of the trial.
    #[default]
    Losses,
    /// Counters have other frames, too, and nothing but the trial's frames came.
    OnlyTrial,
    /// Counters have other frames, too, and such frames came: this many are an upper bound.
    WithOthers {
        /// The sum of the counters.
        up_to: u64,
    },
}

impl CountedFrames {
    fn is_losses(&self) -> bool {
        *self == Self::Losses
    }
}

/// The counters of a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CardCounters {
    /// Those that counted something; all, if none did.
    pub counters: Vec<CardCounter>,
    /// What they count.
    #[serde(default, skip_serializing_if = "CountedFrames::is_losses")]
    pub counted: CountedFrames,
}

/// Losses by the counters of a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CardCount {
    /// Number of lost frames; `None` if the counters have other frames, too.
    pub count: Option<u64>,
    /// The counters.
    pub counters: CardCounters,
}

/// A card whose counters do not show what it loses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BlindCard {
    /// Its driver; absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Why, as the table of drivers has it; absent if the card has no counter for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// Where the count of losses of the receiving card comes from, if not from its counters alone. The difference is that of
/// `tx_packets` of the sender and `rx_packets` of the receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkSource {
    /// Errors in the link statistics of the receiver.
    LinkStatistics,
    /// Counters of the card, and frames of the difference that they do not have.
    CardAndDifference {
        /// The counters.
        card: CardCounters,
        /// Frames that they have.
        by_card: u64,
        /// Frames that only the difference has.
        more: u64,
    },
    /// The difference: the card's counters show nothing.
    Difference(BlindCard),
    /// Unknown: the card's counters show nothing, and there is no difference.
    Blind(BlindCard),
}

/// Where the count of losses between the interfaces comes from, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathSource {
    /// Nothing is between the ends of a veth.
    NothingBetween,
    /// The difference of `tx_packets` of the sender and `rx_packets` of the receiver.
    Difference,
    /// The counters of the interfaces were not compared.
    NotCompared,
    /// Not all drivers are known to count each frame once.
    NotEachOnce,
    /// Foreign frames came, which hide lost ones.
    ForeignFrames,
    /// The counters contradict the frames that were sent or captured.
    Contradicted,
    /// The receiving card counts other frames together with its losses.
    CardCountsOthers,
    /// The counters of the receiving card do not show what it loses.
    BlindCard(BlindCard),
}
