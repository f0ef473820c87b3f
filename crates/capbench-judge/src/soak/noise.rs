//! The noise of a soak: the reasons of its segments, counted.

use std::collections::BTreeMap;

use capbench_model::noise::Noise;
use serde::{Deserialize, Serialize};

/// Maximum number of stored noise reasons.
const REASONS: usize = 64;

/// A reason of noise, and the segments that have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NoisySegments {
    /// The reason.
    pub noise: Noise,
    /// How many segments.
    pub segments: u64,
}

/// Counts a segment with this reason; the reasons are in the order of reports. Returns false if there are too many already.
pub(super) fn count(reasons: &mut Vec<NoisySegments>, noise: &Noise) -> bool {
    match reasons.binary_search_by(|known| known.noise.cmp(noise)) {
        Ok(nth) => reasons[nth].segments += 1,
        Err(_) if reasons.len() >= REASONS => return false,
        Err(nth) => reasons.insert(nth, NoisySegments { noise: noise.clone(), segments: 1 }),
    }
    true
}

/// The reasons that a file of an earlier version states as texts.
pub(super) fn from_earlier(words: &BTreeMap<String, u64>) -> Vec<NoisySegments> {
    let mut reasons = Vec::new();
    for (text, segments) in words {
        reasons.push(NoisySegments { noise: Noise::from_earlier(text), segments: *segments });
    }
    reasons
}
