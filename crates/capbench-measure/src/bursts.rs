//! The longest burst of which no frame is lost, at one rate: what back-to-back tests have in common.
//!
//! Lengths are searched as ETSI GS NFV-TST 009 12.3.3 does with its binary search with loss verification: a length that
//! loses is tried again before it is believed to lose. The search does not begin in the middle of all lengths, the longest
//! of which may take 30 s, but doubles a short one until it loses; between two lengths that differ by a factor of two it
//! halves. A burst is sent by a plan, at the rate that times are worked out with.

use std::num::NonZeroU64;
use std::time::Duration;

use capbench_frames::rates::Pps;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::laboratory::Setup;
use crate::percent::Percent;
use crate::session::{Missing, Session};
use crate::trial::{Load, Phase, TrialResult};
use capbench_model::ledger::LostAt;

/// A burst that took longer by more than this share came at another rate; that it was held shows nothing of this one.
const SLOWER: f64 = 0.01;
/// So much later, on top of it, its last frame may be handed over, as a share of what the burst lasts: the generator looks
/// at the clock and calls the kernel.
const HAND_OVER: f64 = 0.1;
/// But at most so much later, and in the shortest bursts at least: their frames are handed over in one call, which took
/// 20 to 40 us on a veth pair.
const HAND_OVER_WITHIN: (Duration, Duration) = (Duration::from_micros(50), Duration::from_micros(100));
/// A generator that was disturbed in a burst may try again this many times as often as losses are verified.
const ATTEMPTS: u32 = 3;

/// How the longest burst is searched for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstSearch {
    /// The length that is tried first.
    pub first: NonZeroU64,
    /// How long a burst may last at most.
    pub limit: Duration,
    /// The length is found to this share of it, and not finer than one frame.
    pub resolution: Percent,
    /// How often a length that loses is tried again before that is believed.
    pub verifications: u32,
    /// How long the path is idle before a burst, at least; never shorter than the burst (RFC 9004: at least 2 s).
    pub depletion: Duration,
}

/// How a search for a burst ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BurstEnd {
    /// The longest burst is known.
    #[default]
    Found,
    /// Even the shortest burst lost frames.
    NoneHeld,
    /// The load is held for as long as a trial lasts: the buffer never fills, and has no length (RFC 9004 section 5.1).
    NeverFills,
    /// The longest burst is longer than the search went.
    AtLimit,
    /// The generator did not send at the rate asked for, so there was no burst.
    GeneratorLimited,
    /// A trial of the search shows nothing.
    Invalid,
    /// A burst could not be run.
    NotRun,
}

/// How long a burst may take that is to last so long.
fn longest(lasts: Duration) -> Duration {
    let (least, most) = HAND_OVER_WITHIN;
    lasts.mul_f64(1.0 + SLOWER) + lasts.mul_f64(HAND_OVER).clamp(least, most)
}

/// The longest burst without loss.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Longest {
    /// Its frames; 0 where the shortest one lost.
    pub(crate) frames: u64,
    /// The shortest length that lost, less that one; absent where none did.
    pub(crate) step: Option<u64>,
    /// The rate at which it was sent.
    pub(crate) offered_pps: Option<f64>,
    pub(crate) end: BurstEnd,
    /// Numbers of the trials.
    pub(crate) trials: Vec<u32>,
    /// Where the shortest burst that lost frames lost them.
    pub(crate) lost_at: Vec<LostAt>,
}

/// What one length showed.
enum Shown {
    Held(Box<TrialResult>),
    Lost(Vec<LostAt>),
    NotSent,
}

impl BurstSearch {
    /// Frames of the longest burst that is tried.
    pub(crate) fn limit_frames(&self, rate: Pps) -> u64 {
        (rate.get() * self.limit.as_secs_f64()).round() as u64
    }

    /// About how many trials a search takes.
    pub(crate) fn trials(&self, rate: Pps) -> usize {
        let doublings = (self.limit_frames(rate) as f64 / self.first.get() as f64).log2().max(1.0);
        let halvings = (1.0 / self.resolution.ratio()).log2().max(0.0);
        (1.0 + doublings + halvings * f64::from(2 + self.verifications) / 2.0).ceil() as usize
    }

    /// One search. The path is left idle before every burst, whatever was sent before.
    ///
    /// # Errors
    /// When a trial cannot be saved.
    pub(crate) fn longest(
        &self,
        session: &mut Session<'_>,
        setup: &Setup,
        rate: Pps,
    ) -> Result<std::result::Result<Longest, Missing>> {
        let limit = self.limit_frames(rate);
        let mut found = Longest::default();
        let mut upper = None;
        let mut next = Some(self.first);
        while let Some(length) = next {
            let shown = match self.show(session, setup, rate, length, &mut found.trials)? {
                Ok(shown) => shown,
                Err(missing) => return Ok(Err(missing)),
            };
            match shown {
                Shown::Held(trial) => {
                    found.frames = length.get();
                    found.offered_pps = Some(trial.offered_pps);
                }
                Shown::Lost(lost_at) => {
                    upper = Some(length.get());
                    found.lost_at = lost_at;
                }
                Shown::NotSent => {
                    found.end = BurstEnd::GeneratorLimited;
                    break;
                }
            }
            next = match upper {
                Some(upper) => self.between(found.frames, upper),
                None => NonZeroU64::new(found.frames.saturating_mul(2).min(limit))
                    .filter(|longer| longer.get() > found.frames),
            };
        }
        found.step = upper.map(|upper| upper - found.frames);
        found.end = match (found.end, found.frames, upper) {
            (BurstEnd::GeneratorLimited, ..) => BurstEnd::GeneratorLimited,
            (_, 0, _) => BurstEnd::NoneHeld,
            (_, _, None) => BurstEnd::AtLimit,
            (end, ..) => end,
        };
        Ok(Ok(found))
    }

    /// The length in the middle of one without loss and one with, if they are not near enough to each other.
    fn between(&self, clean: u64, lossy: u64) -> Option<NonZeroU64> {
        let near = (clean as f64 * self.resolution.ratio()).floor().max(1.0) as u64;
        NonZeroU64::new(clean.midpoint(lossy)).filter(|_| lossy - clean > near)
    }

    /// Tries a length, again where it loses or is not sent.
    fn show(
        &self,
        session: &mut Session<'_>,
        setup: &Setup,
        rate: Pps,
        frames: NonZeroU64,
        trials: &mut Vec<u32>,
    ) -> Result<std::result::Result<Shown, Missing>> {
        let load = Load::Burst { frames, rate };
        let duration = Duration::try_from_secs_f64(frames.get() as f64 / rate.get()).unwrap_or(self.limit);
        let mut lossy: Vec<TrialResult> = Vec::new();
        for _ in 0..(self.verifications + 1) * ATTEMPTS {
            session.rest(self.depletion.max(duration));
            let trial = match session.sound(setup, load, duration, Phase::BackToBack)? {
                Ok(trial) => trial,
                Err(missing) => return Ok(Err(missing)),
            };
            trials.push(trial.number);
            let longest_s = longest(duration).as_secs_f64();
            if trial.lost() > 0 {
                lossy.push(trial);
            } else if trial.sending_s <= longest_s && trial.sent == frames.get() {
                return Ok(Ok(Shown::Held(Box::new(trial))));
            }
            if lossy.len() > self.verifications as usize {
                return Ok(Ok(Shown::Lost(LostAt::sum(lossy.iter().flat_map(TrialResult::losses)))));
            }
        }
        Ok(Ok(Shown::NotSent))
    }
}

#[cfg(test)]
mod tests {
    use super::longest;
    use std::time::Duration;

    #[test]
    fn a_burst_that_took_much_longer_than_planned_was_none() {
        let ns = |planned| longest(Duration::from_nanos(planned)).as_nanos();
        assert_eq!(ns(46_000), 96_460, "64 frames at 1.4 million a second: twice as long, not three times");
        assert_eq!(ns(800_000), 888_000);
        assert_eq!(ns(1_000_000_000), 1_010_100_000);
    }
}
