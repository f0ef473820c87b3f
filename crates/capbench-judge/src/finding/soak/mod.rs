//! Facts about a soak: what was lost, and whether the account of it is whole.
//!
//! | file | about |
//! |---|---|
//! | `answers` | whether the load was sustained, and when frames were lost |

mod answers;
#[cfg(test)]
mod tests;

pub use answers::{SoakAnswer, SoakSetUp, answers};

use serde::Serialize;

use super::{Finding, Found, OddFrames};
use crate::soak::noise::NoisySegments;
use crate::soak::record::{Interval, SoakRecord};
use crate::sustained::soak::SoakDoubts;
use capbench_model::noise::Noise;

/// A fact about a soak.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum SoakFinding {
    /// The segment that lost most.
    WorstSegment {
        /// Its start, in seconds of sending since the soak began.
        from_s: f64,
        /// Its lost frames.
        lost: u64,
        /// Its sent frames.
        sent: u64,
        /// Most frames that were lost within 100 ms; absent if frames were not inspected one by one.
        worst_100ms_lost: Option<u64>,
    },
    /// Bursts of loss are stored with their time.
    StoredBursts {
        /// All bursts.
        bursts: u64,
        /// Stored ones.
        stored: u64,
    },
    /// Frames were delivered only because the generator paused between segments.
    Buffered {
        /// Segments at whose end frames were in buffers.
        buffered_segments: u64,
        /// All segments.
        segments: u64,
        /// Longest time that the application was behind, in seconds.
        behind_s: f64,
        /// The frames that were delivered only because of that.
        frames: u64,
        /// Sent frames.
        sent: u64,
        /// Share of the sent frames.
        ratio: f64,
    },
    /// The generator left frames unsent, too few to matter.
    FewUnsent {
        /// Unsent frames.
        unsent: u64,
        /// Intended frames.
        intended: u64,
    },
    /// Counters explain every packet.
    AllExplained,
    /// The account contradicts itself.
    Unexplained {
        /// Packets that no counter explains; below 0 if counters show more than was lost.
        packets: i64,
        /// Segments whose ledger contradicts itself.
        invalid_segments: u64,
    },
    /// Frames arrived otherwise than they were sent.
    OddFrames {
        /// How many, by kind.
        frames: OddFrames,
    },
    /// Segments are noisy.
    Noisy {
        /// The reason.
        noise: Noise,
        /// How many segments.
        segments: u64,
    },
    /// Noise for reasons that are not stored.
    FurtherNoise {
        /// Reports of such reasons.
        reports: u64,
        /// Stored reasons.
        stored_reasons: usize,
    },
}

impl SoakFinding {
    /// Whether it only gives details of the caveat on noise.
    pub fn is_detail(&self) -> bool {
        matches!(self, Self::Noisy { .. } | Self::FurtherNoise { .. })
    }
}

/// All facts about a soak.
pub fn find(record: &SoakRecord) -> Vec<Found> {
    let Some(whole) = &record.whole else { return Vec::new() };
    let mut facts = Vec::new();
    if let Some(worst) = &record.worst {
        facts.push(SoakFinding::WorstSegment {
            from_s: worst.from_s,
            lost: worst.lost(),
            sent: worst.counts.sent,
            worst_100ms_lost: worst.worst_100ms_lost,
        });
    }
    if !record.events.is_empty() {
        facts.push(SoakFinding::StoredBursts { bursts: record.bursts, stored: record.events.len() as u64 });
    }
    if whole.buffered > 0 {
        facts.push(SoakFinding::Buffered {
            buffered_segments: whole.buffered,
            segments: whole.segments,
            behind_s: whole.behind_s,
            frames: whole.backlogged,
            sent: whole.counts.sent,
            ratio: record.backlogged_ratio(),
        });
    }
    let unsent = whole.counts.intended.saturating_sub(whole.counts.sent);
    if unsent > 0 && SoakDoubts::of_record(record).unsent_ratio.is_none() {
        facts.push(SoakFinding::FewUnsent { unsent, intended: whole.counts.intended });
    }
    facts.push(explained(whole));
    facts.extend(odd_frames(whole));
    for NoisySegments { noise, segments } in &record.noise {
        facts.push(SoakFinding::Noisy { noise: noise.clone(), segments: *segments });
    }
    if record.further_noise > 0 {
        let stored_reasons = record.noise.len();
        facts.push(SoakFinding::FurtherNoise { reports: record.further_noise, stored_reasons });
    }
    let mut found = Vec::new();
    for fact in facts {
        found.push(Found::new(Finding::Soak(fact), kept_trials(record)));
    }
    found
}

/// Whether counters explain every packet.
fn explained(whole: &Interval) -> SoakFinding {
    let packets = whole.counts.unexplained;
    if packets == 0 && whole.invalid == 0 {
        return SoakFinding::AllExplained;
    }
    SoakFinding::Unexplained { packets, invalid_segments: whole.invalid }
}

fn odd_frames(whole: &Interval) -> Option<SoakFinding> {
    let counts = &whole.counts;
    let frames = OddFrames {
        foreign: counts.foreign,
        duplicates: counts.duplicates,
        reordered: counts.reordered,
        truncated: counts.truncated,
        corrupt: counts.corrupt,
    };
    (frames != OddFrames::default()).then_some(SoakFinding::OddFrames { frames })
}

/// Numbers of the trials that a record keeps.
pub fn kept_trials(record: &SoakRecord) -> Vec<u32> {
    record.kept.iter().map(|trial| trial.number).collect()
}
