//! Losses that the tracer saw in a trial, by the place that lost the frames.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::places::Place;

/// Numbers of frames by drop reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct LossesByReason(BTreeMap<String, u64>);

impl LossesByReason {
    /// Sum over all reasons.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds frames with this drop reason.
    pub fn add(&mut self, why: String, count: u64) {
        *self.0.entry(why).or_default() += count;
    }

    /// Drop reasons with their frames, in the order of their names.
    pub fn by_reason(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(reason, frames)| (reason.as_str(), *frames))
    }
}

/// Reasons to doubt that the tracer saw all losses of the receiving interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Doubts {
    /// Drops at an unknown place, which count nowhere.
    #[serde(default, skip_serializing_if = "LossesByReason::is_empty")]
    pub unplaced: LossesByReason,
    /// Events of the whole host that the tracer missed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed: u64,
    /// Frames that ended on the interface without the tracer seeing it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unseen: u64,
}

impl Doubts {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Losses that the tracer counted at a place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TracedCount {
    /// Those that it saw.
    #[serde(default, skip_serializing_if = "LossesByReason::is_empty")]
    pub lost: LossesByReason,
    /// Why there may be more.
    #[serde(default, skip_serializing_if = "Doubts::is_empty")]
    pub doubts: Doubts,
}

impl TracedCount {
    /// The number of losses. In doubt, a count of 0 is unknown, and a count above 0 is a lower bound.
    pub fn count(&self) -> Option<u64> {
        if self.lost.is_empty() && !self.doubts.is_empty() { None } else { Some(self.lost.total()) }
    }
}

/// What is known of losses in XDP that the method does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TracedXdp {
    /// The tracer saw the drops of generic XDP.
    Generic {
        /// The drops.
        #[serde(flatten)]
        seen: TracedCount,
        /// Those among them that were exceptions or failed redirects.
        #[serde(default, skip_serializing_if = "is_zero")]
        failed: u64,
    },
    /// No XDP program was attached.
    NotAttached,
    /// A program ran in the driver, where the tracer sees only what failed.
    InDriver {
        /// Exceptions and failed redirects.
        failed: u64,
    },
    /// Nothing is known of a program.
    Unknown,
}

impl TracedXdp {
    /// The number of losses; `None` if it is unknown.
    pub fn count(&self) -> Option<u64> {
        match self {
            Self::Generic { seen, .. } => seen.count(),
            Self::NotAttached => Some(0),
            Self::InDriver { .. } | Self::Unknown => None,
        }
    }
}

/// Losses that the tracer saw during a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracedLosses {
    /// Losses by place, each one of [`Self::PLACES`].
    pub lost: BTreeMap<Place, LossesByReason>,
    /// Dropped on the sending interface. Unknown whether its counters include them.
    pub unplaced_transmit: LossesByReason,
    /// Dropped on the receiving interface. Unknown whether before or after the capture point.
    pub unplaced: LossesByReason,
    /// Dropped on the receiving interface after the capture point. These are no losses: each frame that reached it ends so.
    pub after: u64,
    /// Those among them that tc consumed, which no program of the tracer counts.
    pub consumed: u64,
    /// XDP programs' exceptions and failed redirects on the receiving interface.
    pub xdp_failures: u64,
    /// Failed redirects among them.
    pub failed_redirects: u64,
    /// Frames dropped on both interfaces, for any reason: how often the counting program ran for the trial.
    pub drops: u64,
    /// Events of the whole host that the tracer missed.
    pub missed: u64,
    /// Whether the receiving interface's XDP program runs on socket buffers (generic XDP). The tracer then sees every drop.
    pub xdp_is_generic: bool,
    /// All counters, by name.
    pub counters: BTreeMap<String, u64>,
}

impl TracedLosses {
    /// The places that the ledger books with the tracer's losses: on the sending interface what its counters miss; on the
    /// receiving one what the backlog of a CPU refused, what generic XDP lost, and what the stack lost before the capture point.
    pub const PLACES: [Place; 4] = [Place::Transmit, Place::Backlog, Place::Xdp, Place::Stack];

    /// Adds losses with this drop reason at a place.
    pub fn add(&mut self, place: Place, why: String, count: u64) {
        self.lost.entry(place).or_default().add(why, count);
    }

    /// The losses at a place.
    pub fn lost_at(&self, place: Place) -> &LossesByReason {
        static NONE: LossesByReason = LossesByReason(BTreeMap::new());
        self.lost.get(&place).unwrap_or(&NONE)
    }

    /// Frames seen to end on the receiving interface, lost or captured, without those that other counters include.
    pub fn ended(&self) -> u64 {
        let lost = self.lost_at(Place::Xdp).total() + self.lost_at(Place::Stack).total();
        lost + self.unplaced.total() + self.after
    }

    /// Frames lost in XDP that the method does not count. `unseen` is as for [`Self::in_stack`].
    pub fn xdp(traced: Option<&Self>, attached: Option<bool>, unseen: u64) -> TracedXdp {
        match (traced, attached) {
            (Some(traced), _) if !traced.lost_at(Place::Xdp).is_empty() => {
                TracedXdp::Generic { seen: traced.seen_at(Place::Xdp, unseen), failed: traced.xdp_failures }
            }
            (_, Some(false)) => TracedXdp::NotAttached,
            (Some(traced), Some(true)) if traced.xdp_is_generic => {
                TracedXdp::Generic { seen: traced.seen_at(Place::Xdp, unseen), failed: 0 }
            }
            (Some(traced), Some(true)) => TracedXdp::InDriver { failed: traced.xdp_failures },
            (_, _) => TracedXdp::Unknown,
        }
    }

    /// Frames lost in the stack. `unseen` is the number of frames that must have ended on the receiving interface without the
    /// tracer seeing it. 0 if unknown.
    pub fn in_stack(&self, unseen: u64) -> TracedCount {
        self.seen_at(Place::Stack, unseen)
    }

    /// Reasons to doubt that the tracer saw all losses of the receiving interface.
    pub fn doubts(&self, unseen: u64) -> Doubts {
        // A kernel may skip BPF programs while certain threads are on the CPU, and for a softirq that interrupts them,
        // without counting it. If it hid the end of captured frames, it may have hidden losses.
        Doubts { unplaced: self.unplaced.clone(), missed: self.missed, unseen }
    }

    fn seen_at(&self, place: Place, unseen: u64) -> TracedCount {
        TracedCount { lost: self.lost_at(place).clone(), doubts: self.doubts(unseen) }
    }
}
