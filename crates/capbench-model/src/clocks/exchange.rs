//! Bounds of the difference of two clocks, from four timestamps (RFC 5905 section 8).
//!
//! A request cannot arrive before it was sent, nor an answer. So the other clock is ahead by at least `t3 - t4` and at most
//! `t2 - t1`: its middle is the usual offset, half of its width is half of the round trip time. This holds however unequal the two
//! ways are. Several exchanges give the intersection.

use serde::{Deserialize, Serialize};

/// The four timestamps of a request and its answer, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FourStamps {
    /// The request was sent, by the own clock.
    pub sent_ns: i64,
    /// The request was received, by the other clock.
    pub received_ns: i64,
    /// The answer was sent, by the other clock.
    pub answered_ns: i64,
    /// The answer was received, by the own clock.
    pub returned_ns: i64,
}

/// Bounds by which one clock is ahead of another, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// At least that much.
    pub low_ns: i64,
    /// At most that much.
    pub high_ns: i64,
}

impl Bounds {
    /// The bounds that all exchanges agree on; `None` without an exchange, or if one contradicts another: a clock was set.
    pub fn of(exchanges: &[FourStamps]) -> Option<Self> {
        let low_ns = exchanges.iter().map(|stamps| stamps.answered_ns - stamps.returned_ns).max()?;
        let high_ns = exchanges.iter().map(|stamps| stamps.received_ns - stamps.sent_ns).min()?;
        (low_ns <= high_ns).then_some(Self { low_ns, high_ns })
    }

    /// By how much this clock is ahead of one of which `other` is known, both compared with the same third clock.
    pub fn ahead_of(self, other: Self) -> Self {
        Self {
            low_ns: self.low_ns.saturating_sub(other.high_ns),
            high_ns: self.high_ns.saturating_sub(other.low_ns),
        }
    }

    /// The middle.
    pub fn offset_ns(self) -> i64 {
        self.low_ns + (self.high_ns - self.low_ns) / 2
    }

    /// Half of the width: the middle is wrong by up to that much.
    pub fn error_ns(self) -> u64 {
        self.high_ns.abs_diff(self.low_ns).div_ceil(2)
    }

    /// Whether two clocks that differ by up to `error_ns` can show these bounds.
    pub fn allow(self, error_ns: u64) -> bool {
        let most = i64::try_from(error_ns).unwrap_or(i64::MAX);
        self.low_ns <= most && self.high_ns >= -most
    }
}
