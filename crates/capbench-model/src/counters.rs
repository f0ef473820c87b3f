//! Counters of a method since it was opened.

use capbench_sys::packet::Frame;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

pub use crate::places::Place;

/// Counters since the capture was opened, all 64 bits and monotonic. `None` means that the method does not report it; it does
/// not mean 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Counters {
    /// Frames that reached the method's capture point, including those lost there in fill ring, ring and method queue.
    pub accepted: Option<u64>,
    /// Places where the method can lose frames, each once.
    pub losses: Vec<Loss>,
    /// Places that the method does not have. Losses at a place in neither list are unknown.
    pub without: Vec<Place>,
    /// The method's raw counters, by their original names and values.
    pub raw: Vec<(String, u64)>,
}

/// Frames lost at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Loss {
    /// The place.
    pub place: Place,
    /// Number of frames. `None` if the method does not report it.
    pub count: Option<u64>,
    /// The counter that reports it, or why there is none.
    pub source: LossSource,
}

/// The counter of a loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum LossSource {
    /// The counter of a capture method, or why there is none, as the method states it.
    Method(Cow<'static, str>),
    /// What a program under test reports.
    Program(ProgramCount),
}

/// Where the count of a loss of a program under test comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProgramCount {
    /// The program reported it.
    Reported {
        /// The program.
        program: String,
        /// The name of its count.
        count: String,
    },
    /// The program did not report it.
    NotReported {
        /// The program.
        program: String,
        /// The name of its count.
        count: String,
    },
    /// The program has no such count.
    NoCount {
        /// The program.
        program: String,
    },
    /// PACKET_STATISTICS of its sockets, read when it had ended.
    SocketStatistics,
}

impl LossSource {
    /// The name of the counter; empty if a program has none.
    pub fn counter(&self) -> &str {
        match self {
            Self::Method(counter) => counter,
            Self::Program(ProgramCount::Reported { count, .. } | ProgramCount::NotReported { count, .. }) => {
                count
            }
            Self::Program(ProgramCount::NoCount { .. }) => "",
            Self::Program(ProgramCount::SocketStatistics) => "PACKET_STATISTICS",
        }
    }
}

impl<T: Into<Cow<'static, str>>> From<T> for LossSource {
    fn from(counter: T) -> Self {
        Self::Method(counter.into())
    }
}

impl Counters {
    /// Those of a method that loses frames in one ring or queue only.
    pub fn of_ring(
        accepted: Option<u64>,
        lost: Option<u64>,
        source: impl Into<LossSource>,
        raw: Vec<(String, u64)>,
    ) -> Self {
        let loss = Loss { place: Place::Ring, count: lost, source: source.into() };
        Self { accepted, losses: vec![loss], without: ONE_RING_WITHOUT.to_vec(), raw }
    }

    /// Frames lost at a place, if the method knows.
    pub fn lost_at(&self, place: Place) -> Option<u64> {
        self.losses.iter().find(|loss| loss.place == place)?.count
    }

    /// Frames lost after they were accepted. `None` if a place is unknown, or all are.
    pub fn dropped(&self) -> Option<u64> {
        lost_behind_capture_point(&self.losses)
    }

    /// Whether the method captures with an XDP program, so that frames never reach the stack. Only such a method can lose
    /// frames in XDP or because a fill ring is empty.
    pub fn takes_by_xdp(&self) -> bool {
        self.losses.iter().any(|loss| matches!(loss.place, Place::Xdp | Place::FillRing))
    }

    /// Sum of the counters of several captures of one interface, place by place. A place unknown in one of them is unknown in
    /// the sum.
    pub fn sum<'c>(several: impl IntoIterator<Item = &'c Self>) -> Self {
        let mut several = several.into_iter();
        let Some(first) = several.next() else { return Self::default() };
        several.fold(first.clone(), |mut sum, other| {
            sum.accepted = sum.accepted.zip(other.accepted).map(|(a, b)| a + b);
            for loss in &mut sum.losses {
                loss.count = loss.count.zip(other.lost_at(loss.place)).map(|(a, b)| a + b);
            }
            for (name, value) in &mut sum.raw {
                *value += other.raw(name).unwrap_or(0);
            }
            // A receive queue is read by one capture only.
            let others = other.raw.iter().filter(|(name, _)| sum.raw(name).is_none());
            let others: Vec<_> = others.cloned().collect();
            sum.raw.extend(others);
            sum
        })
    }

    /// Counters since `before`, an earlier reading of the same capture.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let difference = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then.unwrap_or(0)));
        Self {
            accepted: difference(self.accepted, before.accepted),
            losses: self
                .losses
                .iter()
                .map(|loss| Loss {
                    count: difference(loss.count, before.lost_at(loss.place)),
                    ..loss.clone()
                })
                .collect(),
            without: self.without.clone(),
            raw: self
                .raw
                .iter()
                .map(|(name, value)| (name.clone(), value.saturating_sub(before.raw(name).unwrap_or(0))))
                .collect(),
        }
    }

    /// Whether the ring was full at some time since `before`, an earlier reading of the same capture: it lost frames, or a V3
    /// ring reports it.
    pub fn shows_full_ring_since(&self, before: &Self) -> bool {
        let lost = |of: &Self| of.lost_at(Place::Ring).unwrap_or(0);
        let freezes = |of: &Self| of.raw(FREEZES).unwrap_or(0);
        lost(self) > lost(before) || freezes(self) > freezes(before)
    }

    /// One of the method's raw counters.
    pub fn raw(&self, name: &str) -> Option<u64> {
        self.raw.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

/// Frames lost behind the capture point. `None` if one of the counts is unknown, or if there is none.
pub fn lost_behind_capture_point(losses: &[Loss]) -> Option<u64> {
    let mut sum = None;
    for loss in losses {
        if loss.place.is_accepted() {
            sum = Some(sum.unwrap_or(0) + loss.count?);
        }
    }
    sum
}

/// Places that a packet socket, or a card's ring, does not have: it has only one ring or queue.
pub const ONE_RING_WITHOUT: [Place; 2] = [Place::FillRing, Place::MethodQueue];

/// A V3 ring's counter of times without a free block.
pub const FREEZES: &str = "tp_freeze_q_cnt";

/// How often a capture waited since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WaitCounts {
    /// System calls that could sleep until frames arrived: poll(2), or a blocking receive.
    pub waits: u64,
    /// Those that ended without a frame.
    pub empty: u64,
    /// Times that frames arrived while spinning, which saved a system call.
    pub spun: u64,
}

impl WaitCounts {
    /// Waits of two captures.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            waits: self.waits + other.waits,
            empty: self.empty + other.empty,
            spun: self.spun + other.spun,
        }
    }

    /// Waits since `before`, an earlier reading of the same capture.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            waits: self.waits - before.waits,
            empty: self.empty - before.empty,
            spun: self.spun - before.spun,
        }
    }
}

/// How a method reports where in the stream it lost frames. A mark says: frames were lost since the last counter read, all of
/// them before the marked place. Reading the counters removes the mark from later frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossMark {
    /// The method does not report it.
    Unknown,
    /// Each batch is marked as a whole; no frames are lost within a batch.
    Batch(bool),
    /// Each frame is marked: see [`Frame::is_losing`].
    Frames,
}

impl LossMark {
    /// Whether a frame, or the batch that starts with it, is marked.
    #[inline]
    pub fn is_on(self, frame: &Frame<'_>, begins_batch: bool) -> bool {
        match self {
            Self::Unknown => false,
            Self::Batch(is_marked) => is_marked && begins_batch,
            Self::Frames => frame.is_losing(),
        }
    }
}
