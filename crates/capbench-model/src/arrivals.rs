//! Received frames of a trial, by kind.

/// Frames that the application read, by kind.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Arrivals {
    /// All frames read from the method.
    pub read: u64,
    /// Frames of the trial, intact, counted once each.
    pub delivered: u64,
    /// Repetitions of those.
    pub duplicates: u64,
    /// Frames that came after a later frame of their stream (RFC 4737).
    pub reordered: u64,
    /// Frames that are not of this trial.
    pub foreign: u64,
    /// Frames of the trial cut shorter than the snap length.
    pub truncated: u64,
    /// Damaged frames addressed like those of the trial.
    pub corrupt: u64,
}

/// Frames of one stream that the application read.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct StreamArrivals {
    /// Its frames, intact, counted once each.
    pub delivered: u64,
    /// Repetitions of those.
    pub duplicates: u64,
    /// Frames that came after a later one of the stream.
    pub reordered: u64,
    /// The highest number that came, plus 1: so many were sent, or more.
    pub reached: u64,
    /// When its sending began, in nanoseconds after that of the stream that began first: by the first frame that came, less its
    /// planned time. `None`: no frame came.
    pub start_ns: Option<u64>,
}

impl StreamArrivals {
    /// The frames of two streams of one generator.
    pub fn plus(self, other: Self) -> Self {
        Self {
            delivered: self.delivered + other.delivered,
            duplicates: self.duplicates + other.duplicates,
            reordered: self.reordered + other.reordered,
            reached: self.reached + other.reached,
            start_ns: self.start_ns.into_iter().chain(other.start_ns).min(),
        }
    }
}

/// How far apart the streams of a trial began, in nanoseconds; `None` if frames of fewer than two came.
pub fn start_spread_ns(streams: &[StreamArrivals]) -> Option<u64> {
    let starts: Vec<u64> = streams.iter().filter_map(|stream| stream.start_ns).collect();
    // One of them is 0.
    starts.iter().max().copied().filter(|_| starts.len() > 1)
}
