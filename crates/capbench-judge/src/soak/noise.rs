//! The noise of a soak: the reasons of its segments, counted. The list of reasons is sorted by [`Noise`], the order of reports.

use std::collections::BTreeMap;

use capbench_model::noise::Noise;
use serde::{Deserialize, Serialize};

/// Maximum number of stored noise reasons.
const MOST_REASONS: usize = 64;

/// A reason of noise, and the segments that have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NoisySegments {
    /// The reason.
    pub noise: Noise,
    /// How many segments.
    pub segments: u64,
}

/// Counts a segment with this reason. Returns false if it is a new reason and there are [`MOST_REASONS`] already: then it counts
/// nothing.
pub(super) fn count_if_room(reasons: &mut Vec<NoisySegments>, noise: &Noise) -> bool {
    match reasons.binary_search_by(|known| known.noise.cmp(noise)) {
        Ok(nth) => reasons[nth].segments += 1,
        Err(_) if reasons.len() >= MOST_REASONS => return false,
        Err(nth) => reasons.insert(nth, NoisySegments { noise: noise.clone(), segments: 1 }),
    }
    true
}

/// The reasons that a file of an earlier version states as texts, with their segments. They are sorted: the map is sorted by
/// text, and so are the reasons [`Noise::Earlier`] made of texts.
pub(super) fn from_earlier(segments_by_text: &BTreeMap<String, u64>) -> Vec<NoisySegments> {
    let mut reasons = Vec::new();
    for (text, segments) in segments_by_text {
        reasons.push(NoisySegments { noise: Noise::from_earlier(text), segments: *segments });
    }
    reasons
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use capbench_model::noise::Noise;

    use super::{MOST_REASONS, count_if_room, from_earlier};

    #[test]
    fn reasons_of_an_earlier_file_and_new_ones_are_counted_in_one_sorted_list() {
        let texts = ["steal took time", "a CPU was slower than usual", "the moon"];
        let earlier = BTreeMap::from(texts.map(|text| (text.to_string(), 2)));
        let mut reasons = from_earlier(&earlier);
        for noise in [Noise::Steal, Noise::Stall, Noise::from_earlier("the moon"), Noise::Steal] {
            assert!(count_if_room(&mut reasons, &noise));
        }
        assert!(reasons.is_sorted_by(|one, next| one.noise < next.noise), "{reasons:?}");
        let segments: Vec<u64> = reasons.iter().map(|reason| reason.segments).collect();
        assert_eq!(segments, [1, 2, 2, 2, 3], "a stall, steal, and three texts, the last one again");
    }

    #[test]
    fn a_new_reason_has_no_room_after_the_maximum_and_a_known_one_has() {
        let mut reasons = Vec::new();
        for number in 0..MOST_REASONS {
            assert!(count_if_room(&mut reasons, &Noise::from_earlier(&number.to_string())));
        }
        assert!(!count_if_room(&mut reasons, &Noise::Steal));
        assert!(count_if_room(&mut reasons, &Noise::from_earlier("0")));
        assert_eq!(reasons.len(), MOST_REASONS);
    }
}
