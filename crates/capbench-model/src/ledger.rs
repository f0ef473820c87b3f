//! The loss ledger. It counts each intended frame as delivered, or under the place that lost it.
//!
//! ```text
//! intended = unsent + sent
//! sent = transmit + path + link + driver + backlog + xdp + stack + filter + ring + queues + unread + damaged + delivered
//!        + unexplained
//! ```
//!
//! Entries are counters of the kernel or of capbench, each with its source. A place whose counter does not exist here is
//! unknown, not 0. `unexplained` is the computed remainder. It is never forced to 0 and can be negative.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};

pub use crate::places::Place;
use crate::sources::Source;

/// Frames lost at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LostAt {
    /// The place.
    pub place: Place,
    /// How many.
    pub frames: u64,
}

impl LostAt {
    /// Losses of several trials by place, most first. Sums saturate, because a damaged file can have any number.
    pub fn sum(losses: impl IntoIterator<Item = (Place, u64)>) -> Vec<Self> {
        let mut lost: Vec<Self> = Vec::new();
        for (place, frames) in losses {
            match lost.iter_mut().find(|known| known.place == place) {
                Some(known) => known.frames = known.frames.saturating_add(frames),
                None => lost.push(Self { place, frames }),
            }
        }
        lost.sort_by_key(|lost| std::cmp::Reverse(lost.frames));
        lost
    }
}

/// One line of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Entry {
    /// The place.
    pub place: Place,
    /// Number of frames. `None` if no counter here reports it.
    pub count: Option<u64>,
    /// The counter, or why there is none, in words, for readers of the file. The report makes them when the trial is saved.
    pub source: String,
    /// The same as a fact. Absent in files of versions that did not write it, and of a fact that this version does not know.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known_source")]
    pub source_fact: Option<Source>,
}

impl Entry {
    /// A count with its source, without words.
    pub fn new(place: Place, count: Option<u64>, source: Source) -> Self {
        Self { place, count, source: String::new(), source_fact: Some(source) }
    }
}

/// A source, unless only a later version knows it.
fn known_source<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Option<Source>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Read {
        Known(Box<Source>),
        Other(IgnoredAny),
    }
    match Read::deserialize(deserializer)? {
        Read::Known(source) => Ok(Some(*source)),
        Read::Other(_) => Ok(None),
    }
}

/// The complete ledger of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// The entries, in the order of the path.
    pub entries: Vec<Entry>,
    /// Frames passed to the kernel that were neither delivered nor counted in an entry. Negative if more frames were counted
    /// than sent.
    pub unexplained: i64,
}

impl Ledger {
    /// Balances entries against the sent and delivered frames.
    pub fn balance(sent: u64, delivered: u64, entries: Vec<Entry>) -> Self {
        let booked: i128 = entries
            .iter()
            .filter(|entry| entry.place != Place::Unsent)
            .filter_map(|entry| entry.count)
            .map(i128::from)
            .sum();
        let left = i128::from(sent) - booked - i128::from(delivered);
        Self { entries, unexplained: left.clamp(i64::MIN.into(), i64::MAX.into()) as i64 }
    }

    /// The count recorded for a place, if known.
    pub fn count(&self, place: Place) -> Option<u64> {
        self.entries.iter().find(|entry| entry.place == place)?.count
    }

    /// Places that lost frames after they were sent, most first.
    pub fn losses(&self) -> Vec<(Place, u64)> {
        let mut losses: Vec<_> = self
            .entries
            .iter()
            .filter(|entry| entry.place != Place::Unsent)
            .filter_map(|entry| entry.count.filter(|&count| count > 0).map(|count| (entry.place, count)))
            .collect();
        losses.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        losses
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;
    use crate::sources::{BacklogOfCpu, BacklogPart, BacklogSource};
    use crate::traced_losses::{Doubts, LossesByReason, TracedCount, TracedXdp};
    use capbench_sys::host::CpuId;

    #[test]
    fn a_source_is_read_as_it_was_written() {
        let mut lost = LossesByReason::default();
        lost.add("XDP".into(), 5);
        let doubts = Doubts { unseen: 2, ..Doubts::default() };
        let generic = TracedXdp::Generic { seen: TracedCount { lost, doubts }, failed: 1 };
        let cpus = vec![BacklogOfCpu { cpu: CpuId::new(3), dropped: 7 }];
        for source in [
            Source::Method("tp_drops".into()),
            Source::NotTraced { because: None },
            Source::Xdp(generic),
            Source::Backlog(BacklogSource { part: BacklogPart::Sender, cpus }),
        ] {
            let entry = Entry::new(Place::Xdp, Some(5), source);
            assert_eq!(from_value::<Entry>(to_value(&entry).unwrap()).unwrap(), entry);
        }
    }

    #[test]
    fn files_of_other_versions_have_words_only() {
        let expected = Entry { place: Place::Ring, count: Some(1), source: "x".into(), source_fact: None };
        let mut file = json!({ "place": "ring", "count": 1, "source": "x" });
        assert_eq!(from_value::<Entry>(file.clone()).unwrap(), expected, "an earlier one");
        for later in [json!("telepathy"), json!({ "xdp": "guessed" }), json!({ "new": [1] })] {
            file["source_fact"] = later;
            assert_eq!(from_value::<Entry>(file.clone()).unwrap(), expected, "a later one");
        }
    }
}
